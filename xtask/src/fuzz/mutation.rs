//! Random changes of bytes, from a seed.

/// Pseudorandom numbers: SplitMix64 (Steele, Lea & Flood, 2014).
pub(crate) struct Dice(pub(crate) u64);

/// Words that readers of numbers and lists are likely to mistake.
const WORDS: [&str; 24] = [
    "0",
    "-1",
    "1e308",
    "-1e-308",
    "1e-2147483648",
    "NaN",
    "inf",
    "null",
    "\"\"",
    "[]",
    "{}",
    "[[",
    "}}",
    "18446744073709551615",
    "9223372036854775807",
    "2147483648",
    "1/0",
    "1000000000",
    "0.1",
    "true",
    "\u{feff}",
    "\u{0}",
    "\n\n",
    ",",
];

/// Longest mutated input.
const LONGEST: usize = 1 << 20;

impl Dice {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Number below `end`; 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % (end.max(1) as u64)) as usize
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        start..(start + self.below(32)).min(length)
    }
}

/// A changed copy of `input`: one to four changes; `other` lends pieces.
pub(super) fn mutated(input: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=dice.below(4) {
        change(&mut bytes, other, dice);
        bytes.truncate(LONGEST);
    }
    bytes
}

/// A changed copy of `input` with as many lines: two change places, one replaces another, or one is changed within.
pub(super) fn mutated_rows(input: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = input.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let (one, two) = (dice.below(lines.len()), dice.below(lines.len()));
    match dice.below(6) {
        0 => lines.swap(one, two),
        1 => lines[one] = lines[two].clone(),
        _ => {
            lines[one] = mutated(&lines[one], other, dice);
            lines[one].retain(|byte| *byte != b'\n');
        }
    }
    lines.join(&b'\n')
}

fn change(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let range = dice.range(bytes.len());
    match dice.below(10) {
        0 if !bytes.is_empty() => {
            let at = dice.below(bytes.len());
            bytes[at] ^= 1 << dice.below(8);
        }
        1 => drop(bytes.drain(range)),
        2 => bytes.truncate(range.start),
        3 => {
            let piece = other[dice.range(other.len())].to_vec();
            drop(bytes.splice(range, piece));
        }
        4 => {
            let piece = bytes[range.clone()].repeat(1 + dice.below(3));
            drop(bytes.splice(range.start..range.start, piece));
        }
        5 => {
            let piece =
                [b"[".as_slice(), b"{\"a\":", b"(", b"-", b"9"][dice.below(5)].repeat(1 + dice.below(20_000));
            drop(bytes.splice(range, piece));
        }
        _ => {
            let word = WORDS[dice.below(WORDS.len())].as_bytes().to_vec();
            let number = numbers(bytes);
            let place = if number.is_empty() { range } else { number[dice.below(number.len())].clone() };
            drop(bytes.splice(place, word));
        }
    }
}

/// Places of numbers.
fn numbers(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let (mut found, mut start) = (Vec::new(), None);
    for (at, byte) in bytes.iter().copied().chain([0]).enumerate() {
        let part = byte.is_ascii_digit() || (start.is_some() && b".e-+_".contains(&byte));
        match (part, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_and_inputs_change() {
        let input = b"{\"n\": [1, 2.5e3], \"m\": 12}";
        let all =
            |seed: u64| (0..200).map(|k| mutated(input, b"xyz", &mut Dice(seed + k))).collect::<Vec<_>>();
        assert_eq!(all(1), all(1));
        assert!(all(1).iter().filter(|changed| changed.as_slice() != input).count() > 180);
        assert!(all(1).iter().all(|changed| changed.len() <= LONGEST));
    }

    #[test]
    fn changed_rows_are_as_many() {
        let (input, rows) =
            (b"name\na,b\n1,2\n3,4\n".as_slice(), |text: &[u8]| text.split(|b| *b == b'\n').count());
        let all: Vec<_> = (0..300).map(|seed| mutated_rows(input, b"x\ny", &mut Dice(seed))).collect();
        assert!(all.iter().all(|changed| rows(changed) == rows(input)));
        assert!(all.iter().filter(|changed| changed.as_slice() != input).count() > 200);
    }

    #[test]
    fn empty_inputs_are_no_trouble() {
        for seed in 0..500 {
            mutated(b"", b"", &mut Dice(seed));
            mutated_rows(b"", b"", &mut Dice(seed));
        }
    }

    #[test]
    fn numbers_are_found() {
        assert_eq!(numbers(b"a 12, -3.5e-7]"), [2..4, 7..13]);
    }
}
