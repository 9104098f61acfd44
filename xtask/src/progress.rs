//! What people see while they wait.

use std::future::Future;
use std::io::{IsTerminal, Write, stdout};
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::time::timeout;

/// How often the seconds on a terminal are counted up.
const TICK: Duration = Duration::from_secs(1);

/// Prints a line.
pub(crate) fn say(line: impl AsRef<str>) {
    println!("{}", line.as_ref());
}

/// Says what is being done, and how long it took. On a terminal, seconds are counted meanwhile.
pub(crate) async fn waiting<T>(what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    let began = Instant::now();
    let mut work = pin!(work);
    let live = stdout().is_terminal();
    show(&format!("{what} … "));
    loop {
        if let Ok(done) = timeout(TICK, &mut work).await {
            let verdict = if done.is_ok() { "" } else { "failed after " };
            let start = if live { format!("\r{what} … ") } else { String::new() };
            say(format!("{start}{verdict}{}", span(began.elapsed())));
            return done;
        }
        if live {
            show(&format!("\r{what} … {} s", began.elapsed().as_secs()));
        }
    }
}

/// A duration as people read it.
pub(crate) fn span(duration: Duration) -> String {
    match duration.as_millis() {
        millis @ ..1000 => format!("{millis} ms"),
        _ => format!("{:.1} s", duration.as_secs_f64()),
    }
}

fn show(text: &str) {
    print!("{text}");
    // A terminal that does not take it shows less; nothing else is lost.
    let _ = stdout().flush();
}
