//! Text that may be secret: it has no `Debug` or `Display` that shows it, and is wiped on drop.

use serde::{Deserialize, Deserializer, de::Visitor};
use std::fmt;
use zeroize::Zeroizing;

/// A value of `data`, of `binaryData` or of somebody's annotation.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Hidden(Zeroizing<String>);

impl Hidden {
    /// The text itself. Never log it, never put it into an error.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Hidden {
    fn from(text: &str) -> Self {
        Self(Zeroizing::new(text.to_owned()))
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<hidden>")
    }
}

impl<'de> Deserialize<'de> for Hidden {
    /// A string, or null, which the API server reads as empty. An error never quotes what was found.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Hidden;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<Hidden, E> {
                Ok(Hidden::from(text))
            }

            fn visit_string<E>(self, text: String) -> Result<Hidden, E> {
                Ok(Hidden(Zeroizing::new(text)))
            }

            fn visit_unit<E>(self) -> Result<Hidden, E> {
                Ok(Hidden::default())
            }
        }
        deserializer.deserialize_any(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_text_is_not_shown_by_debug() {
        assert_eq!(format!("{:?}", Hidden::from("hunter2")), "<hidden>");
    }

    #[test]
    fn null_reads_as_empty() {
        assert_eq!(serde_json::from_str::<Hidden>("null").unwrap().reveal(), "");
        assert_eq!(serde_json::from_str::<Hidden>(r#""a\nb""#).unwrap().reveal(), "a\nb");
    }
}
