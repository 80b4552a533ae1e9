//! Base64 encoding of embedded images.

/// Encodes bytes as in RFC 4648, with padding.
pub(super) fn encode(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().chain([0; 2].iter()).take(3).fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::encode;

    /// The test vectors of RFC 4648.
    #[test]
    fn the_standard_is_met() {
        let found = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| encode(text.as_bytes()));
        assert_eq!(found, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }
}
