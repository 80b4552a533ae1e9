//! Build and tests of the Python package.

use std::fs;
use std::io;
use std::process::{Command, ExitCode};

use crate::terminal::{complain, say};
use crate::{interpreter, workspace};

/// Installs the package into an environment of its own and runs its tests; `arguments` go to pytest.
pub(crate) fn run(arguments: &[String]) -> io::Result<ExitCode> {
    let root = workspace::root();
    let Some(python) = interpreter::find() else {
        return say(
            "python: no Python 3.11 or later was found (python3, or the program that MCSA_PYTHON names).\n\
             Nothing was built.\n",
        );
    };
    let place = workspace::target().join("python");
    fs::create_dir_all(&place)?;
    let package = format!("{}[test]", root.join("python").display());
    let wanted = ["--upgrade".as_ref(), "--force-reinstall".as_ref(), package.as_ref()];
    let Some(python) = interpreter::environment(&python, &place, &wanted)? else {
        complain("python: the package could not be built or installed")?;
        return Ok(ExitCode::FAILURE);
    };
    let mut tests = Command::new(python);
    // Not from the folder of the sources, which have no compiled part.
    tests.current_dir(root.join("python/tests"));
    let ended = tests.args(["-m", "pytest", "-q", "--rootdir=..", "."]).args(arguments).status()?;
    Ok(if ended.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
