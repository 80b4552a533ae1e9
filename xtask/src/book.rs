//! Build of the book with mdBook.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::terminal::say;
use crate::workspace;

/// Builds the book; `arguments` go to `mdbook build`. Without mdBook it says how to get it, and that nothing was built.
pub(crate) fn run(arguments: &[String]) -> io::Result<ExitCode> {
    build(&workspace::root().join("docs/book"), "mdbook".as_ref(), arguments)
}

fn build(folder: &Path, program: &OsStr, arguments: &[String]) -> io::Result<ExitCode> {
    match Command::new(program).arg("build").arg(folder).args(arguments).status() {
        Ok(ended) if ended.success() => {
            say(&format!("written: {}\n", folder.join("book/index.html").display()))
        }
        Ok(_) => Ok(ExitCode::FAILURE),
        Err(error) if error.kind() == io::ErrorKind::NotFound => say(&format!(
            "book: mdBook was not found, and nothing was built. `cargo install mdbook` brings it.\n\
             The chapters are readable without it: {}\n",
            folder.join("src/SUMMARY.md").display()
        )),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_mdbook_nothing_fails() {
        let folder = Path::new("docs/book");
        assert_eq!(build(folder, "no-such-mdbook".as_ref(), &[]).expect("a message"), ExitCode::SUCCESS);
    }
}
