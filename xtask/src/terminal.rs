//! Output to the terminal.

use std::io::{self, Write};
use std::process::ExitCode;

/// Writes to standard output.
pub(crate) fn say(text: &str) -> io::Result<ExitCode> {
    match io::stdout().write_all(text.as_bytes()) {
        // The reader closed the pipe: not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        said => said.map(|()| ExitCode::SUCCESS),
    }
}

/// Writes a message to standard error.
pub(crate) fn complain(text: &str) -> io::Result<()> {
    writeln!(io::stderr(), "xtask: {text}")
}
