//! Cuts a watch's body into lines. Pure.

use super::buffer::Buffer;
use bytes::{Buf, Bytes};
use zeroize::Zeroizing;

/// The longest line that is taken, in bytes: an object of etcd's size limit with much to spare.
pub const LONGEST: usize = 8 << 20;

/// A line is longer than the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// Pieces of a body come in, whole lines go out.
pub struct Lines {
    cap: usize,
    begun: Buffer,
    rest: Bytes,
}

impl Lines {
    /// Lines of at most `cap` bytes.
    pub fn new(cap: usize) -> Self {
        Self { cap, begun: Buffer::default(), rest: Bytes::new() }
    }

    /// Adds a piece. The one before must have been used up: [`Self::cut`] said `None`.
    pub fn push(&mut self, piece: Bytes) {
        debug_assert!(self.rest.is_empty(), "lines of the last piece are left");
        self.rest = piece;
    }

    /// The next whole line that is not empty, without its end; `None`: push another piece.
    pub fn cut(&mut self) -> Result<Option<Zeroizing<Vec<u8>>>, TooLong> {
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line = self.rest.split_to(end);
            self.rest.advance(1);
            self.keep(&line)?;
            let line = self.begun.take();
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(line));
            }
        }
        let rest = std::mem::take(&mut self.rest);
        self.keep(&rest)?;
        Ok(None)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.begun.push(bytes, self.cap) { Ok(()) } else { Err(TooLong) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(pieces: &[&[u8]], cap: usize) -> Result<Vec<String>, TooLong> {
        let (mut lines, mut out) = (Lines::new(cap), Vec::new());
        for piece in pieces {
            lines.push(Bytes::copy_from_slice(piece));
            while let Some(line) = lines.cut()? {
                out.push(String::from_utf8(line.to_vec()).unwrap());
            }
        }
        Ok(out)
    }

    #[test]
    fn lines_come_out_whole() {
        let table: [(&[&[u8]], &[&str]); 6] = [
            (&[b"a\nb\n"], &["a", "b"]),
            (&[b"a", b"b\nc", b"\n"], &["ab", "c"]),
            (&[b"a\n", b"", b"\n\r\n", b"b\n"], &["a", "b"]),
            (&[b"never ended"], &[]),
            (&[b""], &[]),
            (&[b"abcd\nabcd\n"], &["abcd", "abcd"]),
        ];
        for (pieces, expected) in table {
            assert_eq!(lines(pieces, 12).unwrap(), expected);
        }
    }

    #[test]
    fn a_line_beyond_the_cap_is_an_error_also_when_it_never_ends() {
        assert_eq!(lines(&[b"abcde\n"], 4), Err(TooLong));
        assert_eq!(lines(&[b"abc", b"de"], 4), Err(TooLong));
        assert_eq!(lines(&[b"abcd\n"], 4).unwrap(), ["abcd"]);
    }

    proptest! {
        #[test]
        fn where_the_pieces_are_cut_makes_no_difference(text in "[ab\n]{0,60}", cuts in proptest::collection::vec(0..60_usize, 0..8)) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(text.len())).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<_> = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let expected: Vec<_> = whole.split('\n').filter(|line| !line.is_empty()).map(str::to_owned).collect();
            prop_assert_eq!(lines(&pieces, 100).unwrap(), expected);
        }
    }
}
