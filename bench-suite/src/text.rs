//! Text files of the user, read with a size limit.

use std::fs::File;
use std::io::stdin;
use std::path::Path;

use mcsa_core::{Error, file::read_all};

/// Largest size in bytes of a text; the limit stops reading of endless devices.
const LONGEST: u64 = 1 << 24;

/// Text of a file, or of the standard input if the name is `-`.
///
/// # Errors
/// If the file cannot be read, is longer than 16 MiB or is not UTF-8; the message names the file and the first invalid byte.
pub(crate) fn read(path: &Path) -> Result<String, Error> {
    let read = match path.as_os_str() == "-" {
        true => read_all(stdin().lock(), LONGEST),
        false => File::open(path).and_then(|file| read_all(file, LONGEST)),
    };
    let place = || path.display().to_string();
    let bytes = read.map_err(|error| Error::invalid(format!("cannot be read: {error}")).within(place()))?;
    String::from_utf8(bytes).map_err(|error| {
        let byte = error.utf8_error().valid_up_to() + 1;
        Error::invalid(format!("not text in UTF-8: byte {byte} is the first that is not")).within(place())
    })
}
