//! Warnings to the user during a run.

/// Prints a warning to the standard error stream.
#[expect(clippy::print_stderr, reason = "a program speaks to its user")]
pub(crate) fn warn(message: &str) {
    eprintln!("warning: {message}");
}
