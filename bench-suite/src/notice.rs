//! Messages to the user during a run, on the standard error stream.

use std::io::Write;

/// Prints a line to the standard error stream; failure to print is ignored.
pub(crate) fn tell(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// Prints a warning.
pub(crate) fn warn(message: &str) {
    tell(&format!("warning: {message}"));
}
