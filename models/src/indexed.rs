//! Names of the entries of a vector of parameters: `theta[0]`, `theta[1]`.

use std::borrow::Cow;

/// Decimal digits of the largest index.
const DIGITS: usize = usize::MAX.ilog10() as usize + 1;

/// Name of entry `index` of the vector `name`: `name[index]`. Names are made for every draw; with `format!` they took half of the
/// instructions of a summary of draws.
pub(crate) fn indexed(name: &str, index: usize) -> Cow<'static, str> {
    let (mut digits, mut first, mut rest) = ([0; DIGITS], DIGITS, index);
    loop {
        first -= 1;
        digits[first] = (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let mut text = String::with_capacity(name.len() + DIGITS - first + 2);
    text.push_str(name);
    text.push('[');
    text.extend(digits[first..].iter().map(|digit| char::from(b'0' + digit)));
    text.push(']');
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_a_format() {
        for index in (0..1_100).chain([usize::MAX - 1, usize::MAX]) {
            assert_eq!(indexed("theta", index), format!("theta[{index}]"));
        }
    }
}
