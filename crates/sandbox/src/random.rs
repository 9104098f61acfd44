//! Ids, keys and tokens that look like those of AWS.

use aws_lc_rs::rand;

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `prefix` and then `length` characters: `ASIA…` is an access key, `AROA…` a role.
pub(crate) fn id(prefix: &str, length: usize) -> String {
    prefix.to_owned() + &text(BASE32, length)
}

/// A secret access key.
pub(crate) fn secret_key() -> String {
    text(BASE64, 40)
}

/// A session token of that many characters.
pub(crate) fn session_token(length: usize) -> String {
    const START: &str = "IQoJb3JpZ2luX2Vj";
    START.to_owned() + &text(BASE64, length.saturating_sub(START.len()))
}

/// A version 4 UUID, as request ids are.
pub(crate) fn uuid() -> String {
    let digits = text(b"0123456789abcdef", 31);
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-a{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
}

fn text(alphabet: &[u8], length: usize) -> String {
    let mut bytes = vec![0; length];
    // Fails only where the operating system has no randomness, and then all are alike, which the first test notices.
    let _ = rand::fill(&mut bytes);
    let pick = |byte: u8| alphabet.get(usize::from(byte) % alphabet.len()).copied().map_or('A', char::from);
    bytes.into_iter().map(pick).collect()
}
