//! The table as a picture: one bar per figure, as long as the part of what is allowed that was used.

use std::fmt::Write;

use super::table::Figure;

const WIDTH: f64 = 1000.0;
const LABELS: f64 = 450.0;
const ROW: f64 = 26.0;
const TOP: f64 = 56.0;
/// The bar of a figure that just reaches its limit.
const LIMIT: f64 = 260.0;
/// Where longer bars are cut.
const LONGEST: f64 = 1.6;

/// An SVG of the figures that are judged.
pub(super) fn draw(figures: &[Figure], machine: &str) -> String {
    let judged: Vec<(&Figure, f64)> = figures.iter().filter_map(|figure| Some((figure, figure.used?))).collect();
    let rows: String = judged.iter().zip(0_u32..).map(|((figure, used), row)| bar(figure, *used, row)).collect();
    let height = TOP + ROW * judged.len() as f64 + 44.0;
    let (limit, bottom) = (LABELS + LIMIT, height - 40.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"16\" y=\"26\" font-size=\"17\" font-weight=\"bold\">Towline: measured, as a part of what is allowed</text>\n"
    );
    let _ = writeln!(
        svg,
        "{rows}<line x1=\"{limit}\" y1=\"{}\" x2=\"{limit}\" y2=\"{bottom}\" stroke=\"#333\" stroke-dasharray=\"4 3\"/>\n\
         <text x=\"{limit}\" y=\"{}\" text-anchor=\"middle\" fill=\"#333\">limit</text>",
        TOP - 8.0,
        TOP - 12.0,
    );
    for (line, y) in machine.lines().zip([height - 22.0, height - 7.0]) {
        let _ = writeln!(svg, "<text x=\"16\" y=\"{y}\" font-size=\"11\" fill=\"#666\">{}</text>", escape(line));
    }
    svg + "</svg>\n"
}

fn bar(figure: &Figure, used: f64, row: u32) -> String {
    let top = TOP + ROW * f64::from(row);
    let length = (used.min(LONGEST) * LIMIT).max(2.0);
    let colour = if used <= 1.0 { "#2f7d5b" } else { "#b3372f" };
    // Beside the line of the limit, not across it.
    let (text, end, middle) = (LABELS - 10.0, LABELS + length.max(LIMIT) + 8.0, top + 14.0);
    format!(
        "<text x=\"{text}\" y=\"{middle}\" text-anchor=\"end\">{}</text>\n\
         <rect x=\"{LABELS}\" y=\"{top}\" width=\"{length:.1}\" height=\"18\" rx=\"2\" fill=\"{colour}\"/>\n\
         <text x=\"{end:.1}\" y=\"{middle}\" fill=\"#333\">{}</text>\n",
        escape(&figure.name),
        escape(&figure.measured()),
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
