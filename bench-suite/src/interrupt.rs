//! Messages to the user during a run, and interruption of the program by INT (Ctrl-C) or TERM.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use mcsa_core::Error;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Prints a line to the standard error stream; failure to print is ignored.
pub(crate) fn tell(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}

pub(crate) fn warn(message: &str) {
    tell(&format!("warning: {message}"));
}

/// Record of whether the program was asked to end, and by which signal.
///
/// After the first signal, jobs finish their step, write their checkpoint and end. A signal that comes [`Interrupt::GRACE`]
/// or more after the first ends the program at once. One that comes sooner is ignored as a copy of the first: `timeout`, for
/// one, sends TERM to the program and then to its process group.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    /// Number of the last signal; 0 before the first.
    signal: Arc<AtomicUsize>,
    /// True if the next signal ends the program.
    at_once: Arc<AtomicBool>,
}

impl Interrupt {
    /// Time after the first signal from which a second one ends the program.
    pub const GRACE: Duration = Duration::from_millis(500);

    /// Installs handlers of INT and TERM for the rest of the program.
    pub fn listen() -> Result<Self, Error> {
        let interrupt = Self::default();
        let refused = |error: std::io::Error| Error::invalid(format!("cannot hear signals: {error}"));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the handler that may end the program must run before the one that stores the signal.
            flag::register_conditional_shutdown(signal, 128 + signal, interrupt.at_once.clone())
                .map_err(refused)?;
            flag::register_usize(signal, interrupt.signal.clone(), signal as usize).map_err(refused)?;
        }
        let watched = interrupt.clone();
        std::thread::spawn(move || watched.watch());
        Ok(interrupt)
    }

    /// Acts like a signal INT: for systems without signals, and for tests.
    pub fn ask(&self) {
        self.signal.store(SIGINT as usize, SeqCst);
    }

    /// Exit code of a program that was asked to end: 130 after INT, 143 after TERM; `None` if it was not.
    pub fn code(&self) -> Option<u8> {
        let signal = u8::try_from(self.signal.load(SeqCst)).unwrap_or(0);
        (signal > 0).then_some(signal.saturating_add(128))
    }

    /// Lets the next signal end the program at once, because there is nothing left to save.
    pub fn release(&self) {
        self.at_once.store(true, SeqCst);
    }

    /// Waits for the first signal, confirms it on the standard error stream, and after the grace period lets a second one end
    /// the program.
    #[expect(
        clippy::disallowed_methods,
        reason = "people wait for an answer to a signal; no result depends on it"
    )]
    fn watch(&self) {
        while self.code().is_none() {
            std::thread::sleep(Duration::from_millis(50));
        }
        tell("interrupted: jobs finish their step and write their checkpoint; a second signal ends at once");
        std::thread::sleep(Self::GRACE);
        self.release();
    }
}

/// The command line of this program, quoted for a shell, without the arguments in `left_out`.
pub fn command_line(left_out: &[&str]) -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let kept = words.filter(|word| !left_out.contains(&word.as_str()));
    kept.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// A word quoted for a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_them_otherwise() {
        assert_eq!(quoted("--set"), "--set");
        assert_eq!(quoted("model.data=heart"), "model.data=heart");
        assert_eq!(quoted("a folder/it's"), r"'a folder/it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("rate={ kind = \"power\" }"), "'rate={ kind = \"power\" }'");
    }
}
