//! What was measured, and whether it is what DESIGN §13 wants.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Map, Value, json};

/// What a figure should be.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Reach {
    /// At most this, in the figure's unit; of a ratio, this many times the floor.
    AtMost(f64),
    /// At most so many times the floor, and so many seconds more.
    TimesPlus(f64, f64),
    /// Told, not judged.
    None,
}

/// One line of the table.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Figure {
    pub(super) name: String,
    unit: &'static str,
    floor: Option<f64>,
    pub(super) towline: f64,
    reach: Reach,
    /// How much of what is allowed was used: 1 is the limit.
    pub(super) used: Option<f64>,
    details: Map<String, Value>,
}

impl Figure {
    /// A time in seconds beside its floor.
    pub(super) fn ratio(name: &str, towline: f64, floor: f64, reach: Reach) -> Self {
        let limit = match reach {
            Reach::AtMost(times) => Some(times * floor),
            Reach::TimesPlus(times, more) => Some(times * floor + more),
            Reach::None => None,
        };
        Self { floor: Some(floor), ..Self::new(name, "s", towline, reach, limit) }
    }

    /// A number by itself.
    pub(super) fn plain(name: &str, unit: &'static str, towline: f64, reach: Reach) -> Self {
        let limit = match reach {
            Reach::AtMost(limit) => Some(limit),
            Reach::TimesPlus(..) | Reach::None => None,
        };
        Self::new(name, unit, towline, reach, limit)
    }

    /// A detail for the JSON.
    pub(super) fn with(mut self, name: &str, value: impl Serialize) -> Self {
        self.details.insert(name.to_owned(), json!(value));
        self
    }

    fn new(name: &str, unit: &'static str, towline: f64, reach: Reach, limit: Option<f64>) -> Self {
        // Of nothing allowed, nothing is the limit and anything is beyond it.
        let used = limit.map(|limit| if limit == 0.0 { 1.0 + towline } else { towline / limit });
        Self { name: name.to_owned(), unit, floor: None, towline, reach, used, details: Map::new() }
    }

    /// What was measured, and its ratio to the floor.
    pub(super) fn measured(&self) -> String {
        let ratio = self.floor.map(|floor| format!(" = {:.2} × floor", self.towline / floor));
        self.number(self.towline) + &ratio.unwrap_or_default()
    }

    fn number(&self, value: f64) -> String {
        match self.unit {
            "s" if value < 1.0 => format!("{:.1} ms", 1e3 * value),
            "s" => format!("{value:.2} s"),
            "" => format!("{value}"),
            unit => format!("{value:.1} {unit}"),
        }
    }

    fn line(&self) -> String {
        let ratio = self.floor.map(|floor| format!("{:.2}", self.towline / floor)).unwrap_or_default();
        let verdict = match self.used {
            None => "",
            Some(used) if used <= 1.0 => "yes",
            Some(_) => "NO",
        };
        let floor = self.floor.map(|floor| self.number(floor)).unwrap_or_default();
        let towline = self.number(self.towline);
        format!("| {:<66} | {floor:>9} | {towline:>10} | {ratio:>5} | {:>17} | {verdict:<7} |", self.name, self.reach())
    }

    fn reach(&self) -> String {
        match (self.reach, self.floor) {
            (Reach::None, _) => String::new(),
            (Reach::AtMost(times), Some(_)) => format!("≤ {times} × floor"),
            (Reach::AtMost(limit), None) if self.unit.is_empty() => format!("≤ {limit}"),
            (Reach::AtMost(limit), None) => format!("≤ {limit} {}", self.unit),
            (Reach::TimesPlus(times, more), _) => format!("≤ {times} × + {more} s"),
        }
    }
}

/// The table, as Markdown that is readable as it is.
pub(super) fn table(figures: &[Figure]) -> String {
    let mut text = format!(
        "| {:<66} | {:>9} | {:>10} | {:>5} | {:>17} | {:<7} |\n",
        "figure", "floor", "Towline", "ratio", "reach", "reached"
    );
    let _ = writeln!(text, "|{:-<68}|{:-<10}:|{:-<11}:|{:-<6}:|{:-<18}:|{:-<9}|", "", "", "", "", "", "");
    for figure in figures {
        let _ = writeln!(text, "{}", figure.line());
    }
    text
}
