//! Lists of names, globs and exceptions: `*, !prod-legacy`. `*` stands for any run of characters (also `/` and `:`, of
//! which follower names are full), `?` for one.

use std::{fmt, str::FromStr, sync::Arc};

/// A text is matched when some wanted pattern matches it and no unwanted (`!`) one does, in whatever order they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patterns {
    wanted: Arc<[Box<str>]>,
    unwanted: Arc<[Box<str>]>,
}

/// Why a text is not a list of patterns. Never holds the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// No item at all.
    #[error("at least one name or glob, for example `*`")]
    Empty,
    /// `!` alone, or twice.
    #[error("a name or glob after each `!`")]
    Bare,
    /// Only exceptions: nobody can say from what they are taken out.
    #[error("at least one name or glob without `!`: add `*` to mean all others")]
    OnlyUnwanted,
}

impl Patterns {
    /// Reads a comma list; blanks around items and empty items are dropped.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        Self::from_items(text.split(','))
    }

    /// The same from a list of items.
    pub fn from_items<'a>(items: impl IntoIterator<Item = &'a str>) -> Result<Self, PatternError> {
        let (mut wanted, mut unwanted) = (Vec::new(), Vec::new());
        for item in items.into_iter().map(str::trim).filter(|item| !item.is_empty()) {
            match item.strip_prefix('!').map(str::trim_start) {
                None => wanted.push(Box::from(item)),
                Some(item) if item.is_empty() || item.starts_with('!') => return Err(PatternError::Bare),
                Some(item) => unwanted.push(Box::from(item)),
            }
        }
        match (wanted.is_empty(), unwanted.is_empty()) {
            (true, true) => Err(PatternError::Empty),
            (true, false) => Err(PatternError::OnlyUnwanted),
            (false, _) => Ok(Self { wanted: wanted.into(), unwanted: unwanted.into() }),
        }
    }

    /// Whether `text` is wanted and not taken out.
    pub fn matches(&self, text: &str) -> bool {
        self.wanted.iter().any(|pattern| glob(pattern, text)) && !self.takes_out(text)
    }

    /// Names that are wanted literally (without a wildcard) and not taken out.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        self.wanted.iter().map(AsRef::as_ref).filter(|text| !is_glob(text) && !self.takes_out(text))
    }

    /// Whether [`Self::literals`] is all that can ever match.
    pub fn is_literal_only(&self) -> bool {
        !self.wanted.iter().any(|pattern| is_glob(pattern))
    }

    /// Every pattern without its `!`, wanted or not: for checks of what may stand in one.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.wanted.iter().chain(self.unwanted.iter()).map(AsRef::as_ref)
    }

    fn takes_out(&self, text: &str) -> bool {
        self.unwanted.iter().any(|pattern| glob(pattern, text))
    }
}

impl FromStr for Patterns {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = self.wanted.iter().map(|text| ("", text));
        let unwanted = self.unwanted.iter().map(|text| ("!", text));
        for (place, (sign, text)) in wanted.chain(unwanted).enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{sign}{text}")?;
        }
        Ok(())
    }
}

impl<'de> serde::Deserialize<'de> for Patterns {
    /// A list of items, as policy files write it.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = Vec::<String>::deserialize(deserializer)?;
        Self::from_items(items.iter().map(String::as_str)).map_err(serde::de::Error::custom)
    }
}

/// Whether a pattern has a wildcard.
pub(super) fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?'])
}

/// Matches in at most |pattern| × |text| steps: after a mismatch only the last `*` takes one more character.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    let mut last_star = None;
    loop {
        let here = text.clone();
        match (pattern.next(), text.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                last_star = Some((pattern.clone(), here.clone()));
                text = here;
            }
            (Some(_), None) => return false,
            (Some(wanted), Some(found)) if wanted == '?' || wanted == found => {}
            (_, Some(_)) => {
                let Some((after_star, taken)) = &mut last_star else { return false };
                taken.next();
                (pattern, text) = (after_star.clone(), taken.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn patterns(text: &str) -> Patterns {
        Patterns::parse(text).unwrap()
    }

    #[test]
    fn a_text_matches_when_some_pattern_wants_it_and_none_takes_it_out() {
        let table = [
            ("a, b", "b", true),
            ("a, b", "c", false),
            ("*, !prod-legacy", "prod-legacy", false),
            ("!prod-legacy, *", "prod-legacy", false),
            ("*, !prod-legacy", "prod", true),
            ("prod-*, !*-legacy", "prod-legacy", false),
            ("prod-?", "prod-1", true),
            ("prod-?", "prod-12", false),
            ("prod-?", "prod-", false),
            ("?", "é", true),
            ("*", "", true),
            ("*", "arn:aws:eks:eu-west-1:111122223333:cluster/prod", true),
            ("arn:aws:eks:*:cluster/prod", "arn:aws:eks:eu-west-1:111122223333:cluster/prod", true),
            ("a*b*c", "aXbXbc", true),
            ("a*b*c", "aXbXbcd", false),
            ("Prod", "prod", false),
            ("! b , * ", "b", false),
            ("a,,b,", "b", true),
        ];
        for (text, candidate, expected) in table {
            assert_eq!(patterns(text).matches(candidate), expected, "{text} on {candidate}");
        }
    }

    #[test]
    fn a_list_without_a_wanted_pattern_is_refused() {
        let table = [
            ("", PatternError::Empty),
            (" , ", PatternError::Empty),
            ("!", PatternError::Bare),
            ("*, !", PatternError::Bare),
            ("*, !!a", PatternError::Bare),
            ("!a", PatternError::OnlyUnwanted),
        ];
        for (text, error) in table {
            assert_eq!(Patterns::parse(text), Err(error), "{text}");
        }
        assert!(PatternError::OnlyUnwanted.to_string().contains("add `*`"));
    }

    #[test]
    fn literals_are_wanted_names_without_a_wildcard_that_are_not_taken_out() {
        let list = patterns("a, b, web-*, !b");
        assert_eq!(list.literals().collect::<Vec<_>>(), ["a"]);
        assert!(!list.is_literal_only());
        assert!(patterns("a, b, !b*").is_literal_only());
    }

    #[test]
    fn patterns_are_written_as_they_are_read() {
        assert_eq!(patterns(" !c,a ,b").to_string(), "a, b, !c");
    }

    #[test]
    fn a_hostile_pattern_costs_no_more_than_its_length_times_the_texts() {
        assert!(!glob(&"a*".repeat(500), &format!("{}b", "a".repeat(499))));
        assert!(!glob(&format!("{}b", "*a".repeat(500)), &"a".repeat(20_000)));
    }

    /// The definition, in exponential time.
    fn by_definition(pattern: &[char], text: &[char]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            (['*', rest @ ..], text) => (0..=text.len()).any(|taken| by_definition(rest, &text[taken..])),
            (['?', rest @ ..], [_, text @ ..]) => by_definition(rest, text),
            ([wanted, rest @ ..], [found, text @ ..]) => wanted == found && by_definition(rest, text),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn globs_match_by_their_definition(pattern in "[ab*?]{0,8}", text in "[abc]{0,8}") {
            let expected = by_definition(&pattern.chars().collect::<Vec<_>>(), &text.chars().collect::<Vec<_>>());
            prop_assert_eq!(glob(&pattern, &text), expected);
        }

        #[test]
        fn what_was_written_is_read_again(text in "[ab*?!, ]{0,20}") {
            if let Ok(list) = Patterns::parse(&text) {
                prop_assert_eq!(Patterns::parse(&list.to_string()), Ok(list));
            }
        }
    }
}
