//! A growing buffer that leaves no copy of its content behind. Pure.

use zeroize::Zeroizing;

/// Bytes of an answer. A plain `Vec` that grows would leave what it held in freed memory.
#[derive(Default)]
pub struct Buffer(Zeroizing<Vec<u8>>);

impl Buffer {
    /// Room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Zeroizing::new(Vec::with_capacity(capacity)))
    }

    /// Appends `bytes`, unless there would be more than `cap` bytes then: `false`, and nothing is appended.
    #[must_use]
    pub fn push(&mut self, bytes: &[u8], cap: usize) -> bool {
        let length = self.0.len().saturating_add(bytes.len());
        if length > cap {
            return false;
        }
        if length > self.0.capacity() {
            self.grow(length.max(self.0.capacity() * 2).min(cap));
        }
        self.0.extend_from_slice(bytes);
        true
    }

    fn grow(&mut self, capacity: usize) {
        let mut larger = Zeroizing::new(Vec::with_capacity(capacity));
        larger.extend_from_slice(&self.0);
        self.0 = larger;
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes; the buffer starts anew.
    pub fn take(&mut self) -> Zeroizing<Vec<u8>> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_pushed_comes_out_up_to_the_cap(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20), cap in 0..400_usize) {
            let mut buffer = Buffer::default();
            let mut expected = Vec::new();
            for piece in &pieces {
                let fits = expected.len() + piece.len() <= cap;
                prop_assert_eq!(buffer.push(piece, cap), fits);
                if fits {
                    expected.extend_from_slice(piece);
                }
            }
            prop_assert_eq!(&*buffer.take(), &expected);
            prop_assert!(buffer.is_empty());
        }
    }
}
