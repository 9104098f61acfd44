//! Text with `*` (any run of characters) and `?` (any one).

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(String);

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        fits(self.0.as_bytes(), text.as_bytes())
    }

    /// Both are ARNs, and `*` does not reach beyond a colon, but for the last of the six parts.
    pub(super) fn fits_by_parts(&self, text: &str) -> bool {
        let (patterns, parts) = (self.0.splitn(6, ':'), text.splitn(6, ':'));
        patterns.clone().count() == parts.clone().count()
            && patterns.zip(parts).all(|(pattern, part)| fits(pattern.as_bytes(), part.as_bytes()))
    }

    pub(super) fn fits_without_case(&self, text: &str) -> bool {
        fits(self.0.to_ascii_lowercase().as_bytes(), text.to_ascii_lowercase().as_bytes())
    }
}

/// Recursion is as deep as the pattern has stars; policies are short.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=text.len()).any(|taken| fits(rest, text.get(taken..).unwrap_or_default())),
        ([b'?', pattern @ ..], [_, text @ ..]) => fits(pattern, text),
        ([wanted, pattern @ ..], [found, text @ ..]) => wanted == found && fits(pattern, text),
        _ => false,
    }
}
