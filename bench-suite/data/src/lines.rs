//! Lines of a file, with line numbers and a checksum of the file.

use std::io::{BufRead, Read as _};

use sha2::{Digest, Sha256};

use super::DataError;

/// Largest length of a line in bytes: no table has a line of a megabyte, and the limit stops reading of devices without line
/// ends.
const LONGEST: u64 = 1 << 20;

/// Reads line by line, so that a file larger than memory can be checked.
///
/// Line endings of either kind, a byte order mark and empty lines at the end (also lines of commas alone, as written by
/// spreadsheets) are not part of a line. An empty line before another line is an error, as are bytes that are not UTF-8.
pub(super) struct Lines<'a, R> {
    pub(super) file: &'a str,
    reader: R,
    number: usize,
    bytes: Vec<u8>,
    sum: Sha256,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub(super) fn new(file: &'a str, reader: R) -> Self {
        Self { file, reader, number: 0, bytes: Vec::new(), sum: Sha256::new() }
    }

    /// The next line with its number, counted from 1.
    pub(super) fn next(&mut self) -> Result<Option<(usize, &str)>, DataError> {
        let mut empty = None;
        loop {
            self.bytes.clear();
            let read = (&mut self.reader).take(LONGEST + 1).read_until(b'\n', &mut self.bytes);
            let read = read.map_err(|error| DataError::of(self.file, format!("cannot be read: {error}")))?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.bytes.len() as u64 > LONGEST {
                let problem =
                    format!("the line is longer than {LONGEST} bytes; a table has a row on each line");
                return Err(DataError::line(self.file, self.number, problem));
            }
            self.sum.update(&self.bytes);
            let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
            match (self.bytes.iter().all(blank), empty) {
                (true, None) => empty = Some(self.number),
                (true, Some(_)) => {}
                (false, None) => break,
                (false, Some(line)) => {
                    return Err(DataError::line(self.file, line, "the line is empty; take it out"));
                }
            }
        }
        let number = self.number;
        let line = std::str::from_utf8(&self.bytes)
            .map_err(|_| DataError::line(self.file, number, "not text in UTF-8"))?;
        let line = if number == 1 { line.trim_start_matches('\u{feff}') } else { line };
        Ok(Some((number, line.trim_end_matches(['\n', '\r']))))
    }

    /// SHA-256 of all bytes read.
    pub(super) fn sha256(self) -> String {
        hex(self.sum)
    }
}

/// The digest in hexadecimal digits.
pub(super) fn hex(sum: Sha256) -> String {
    sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_they_may() {
        let mut lines = Lines::new("x", "\u{feff}a\r\nb\n\n ,,\n".as_bytes());
        assert_eq!(lines.next().unwrap(), Some((1, "a")));
        assert_eq!(lines.next().unwrap(), Some((2, "b")));
        assert_eq!(lines.next().unwrap(), None);
        let mut lines = Lines::new("x", &b"a\n\nb\n\xff\n"[..]);
        lines.next().unwrap();
        let message = lines.next().unwrap_err().to_string();
        assert_eq!(message, "x, line 2: the line is empty; take it out");
        assert_eq!(lines.next().unwrap_err().to_string(), "x, line 4: not text in UTF-8");
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut lines = Lines::new("x", std::io::BufReader::new(std::io::repeat(0)));
        let error = lines.next().unwrap_err().to_string();
        assert_eq!(error, "x, line 1: the line is longer than 1048576 bytes; a table has a row on each line");
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        // The one-block example of FIPS 180-2, appendix B.1.
        let mut lines = Lines::new("x", &b"abc"[..]);
        while lines.next().unwrap().is_some() {}
        assert_eq!(lines.sha256(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
