//! Numeric tests once per vector unit: on this machine, and in qemu on processors with fewer instructions.
//!
//! Each program chooses its instructions by the processor that it finds, also in the packages below ours. An emulated processor
//! therefore changes all of them, which a switch of ours could not.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::terminal::{complain, say};
use crate::workspace;

/// Processors of qemu with their vector units.
const EMULATED: [(&str, &str); 2] = [("Haswell", "AVX2 with FMA"), ("Nehalem", "SSE2")];

/// Tests that run on each: packages, test binaries and filters.
const TESTS: [&[&str]; 2] = [
    &["-p", "mcsa-core", "--test", "numeric"],
    &["-p", "mcsa-estimators", "--test", "estimators", "resuming::"],
];

/// Runs the tests on this machine and in qemu; says what is not run where qemu is missing.
pub(crate) fn run() -> io::Result<ExitCode> {
    let emulator = "qemu-x86_64";
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let is_there = cfg!(all(target_os = "linux", target_arch = "x86_64"))
        && std::env::split_paths(&paths).any(|folder: std::path::PathBuf| folder.join(emulator).is_file());
    let mut failed = !tested(None)?;
    for (processor, unit) in EMULATED {
        if is_there {
            say(&format!("\n== {unit}: {emulator} -cpu {processor}\n"))?;
            failed |= !tested(Some(&format!("{emulator} -cpu {processor}")))?;
        } else {
            say(&format!("not run: {unit}; it needs {emulator} (Debian: qemu-user)\n"))?;
        }
    }
    if failed {
        complain("test: a vector unit fails")?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// True if the tests pass, under this runner if there is one.
fn tested(runner: Option<&str>) -> io::Result<bool> {
    let root: &Path = &workspace::root();
    for tests in TESTS {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(root).arg("test").args(tests);
        if let Some(runner) = runner {
            command.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", runner);
        }
        if !command.status()?.success() {
            return Ok(false);
        }
    }
    Ok(true)
}
