//! Warnings: what a user has to know while work goes on.

/// Says it on the standard error stream.
#[expect(clippy::print_stderr, reason = "a program speaks to its user")]
pub(crate) fn warn(message: &str) {
    eprintln!("warning: {message}");
}
