//! Type names and checksums, by which a checkpoint is recognised as that of the present configuration and data.

/// Name of a type without module paths, such as `ChainScore<Imh>`.
///
/// ```
/// assert_eq!(mcsa_core::type_name::<Option<mcsa_core::Seed>>(), "Option<Seed>");
/// ```
pub fn type_name<T: ?Sized>() -> String {
    let (mut name, mut start) = (String::new(), 0);
    let mut letters = std::any::type_name::<T>().chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == ':' && letters.next_if_eq(&':').is_some() {
            name.truncate(start);
            continue;
        }
        name.push(letter);
        if !(letter.is_alphanumeric() || letter == '_') {
            start = name.len();
        }
    }
    name
}

/// FNV-1a checksum of 64 bits, equal on every machine. It detects accidental differences of texts and data, not intended ones.
pub fn checksum(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_modules() {
        assert_eq!(type_name::<Vec<&dyn crate::LogDensity>>(), "Vec<&dyn LogDensity>");
        assert_eq!(type_name::<(f64, crate::Counted<crate::Seed>)>(), "(f64, Counted<Seed>)");
        assert_eq!(type_name::<()>(), "()");
    }

    /// The test values published with FNV-1a.
    #[test]
    fn checksums_are_those_of_the_definition() {
        assert_eq!(checksum([]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(checksum(*b"foobar"), 0x8594_4171_f739_67e8);
    }
}
