//! What commands print: the only place that writes to standard output and, without a log, to standard error.

use serde::Serialize;
use std::io::{self, Write};

/// Prints text to standard output. A reader that has gone away is no error (`towline plan | head`).
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Prints JSON, indented.
pub fn json(value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
    print(&(text + "\n"))
}

/// Prints an error to standard error.
pub fn complain(text: &str) {
    // There is nobody left to tell if this fails.
    let _lost = writeln!(io::stderr(), "error: {text}");
}

/// Rows in columns, as kubectl prints them.
pub fn table<const COLUMNS: usize>(head: [&str; COLUMNS], rows: &[[String; COLUMNS]]) -> String {
    let mut widths = head.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; COLUMNS]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("   ").trim_end().to_owned() + "\n"
    };
    let body = rows.iter().map(|row| line(std::array::from_fn(|column| row.get(column).map_or("", String::as_str))));
    line(head) + &body.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a".to_owned(), "x".to_owned()], ["longer".to_owned(), String::new()]];
        assert_eq!(table(["ONE", "TWO"], &rows), "ONE      TWO\na        x\nlonger\n");
    }
}
