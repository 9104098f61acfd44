//! Reports for people. Pure.

use super::step::{Outcome, Report, Step};

/// As wide as the longest name of a step.
const WIDTH: usize = 11;

/// All of them, and a line that counts.
pub(super) fn text(reports: &[Report]) -> String {
    let good = reports.iter().filter(|report| report.good).count();
    let all = reports.len();
    let end = match all - good {
        0 => format!("All is good: {all} of {all}.\n"),
        bad => format!("Not all is good: {bad} of {all} must be looked at.\n"),
    };
    reports.iter().map(report).collect::<String>() + &end
}

fn report(report: &Report) -> String {
    let steps: String = report.steps.iter().map(step).collect();
    format!("{}\n{steps}\n", report.follower)
}

fn step(step: &Step) -> String {
    let sign = match step.result {
        Outcome::Passed => '✓',
        Outcome::Warned => '!',
        Outcome::Failed => '✗',
        Outcome::NotTried => '·',
    };
    let found = if step.result == Outcome::NotTried { "not tried" } else { &step.found };
    let said = [step.subject.as_str(), found].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    let line = format!("  {sign} {:WIDTH$}  {}", step.step.as_str(), said.join(": "));
    let fix = if step.fix.is_empty() { String::new() } else { format!("\n    {:WIDTH$}  → {}", "", step.fix) };
    line.trim_end().to_owned() + &fix + "\n"
}

#[cfg(test)]
mod tests {
    use super::{super::step::Kind, *};

    #[test]
    fn steps_stand_in_lines_and_what_to_change_below_them() {
        let bad = vec![
            Step::passed(Kind::Identity, "arn:me"),
            Step::failed(Kind::Role, "AccessDenied", "trust it").about("arn:r"),
            Step::warned(Kind::Clock, "off", "set it"),
            Step::not_tried(Kind::Tls),
        ];
        let good = vec![Step::passed(Kind::Certificate, "long")];
        let wanted = "\
a
  ✓ identity     arn:me
  ✗ role         arn:r: AccessDenied
                 → trust it
  ! clock        off
                 → set it
  · tls          not tried

b
  ✓ certificate  long

Not all is good: 1 of 2 must be looked at.
";
        let reports = [Report::new("a".into(), bad), Report::new("b".into(), good)];
        assert_eq!(text(&reports), wanted);
        assert!(text(&reports[1..]).ends_with("\nAll is good: 1 of 1.\n"));
    }
}
