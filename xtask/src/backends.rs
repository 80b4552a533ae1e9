//! Tests once per vector unit of this machine.
//!
//! Each program chooses its instructions by the processor that it finds, also in the packages below ours. Another processor therefore
//! changes all of them, which a switch of ours could not. Where Linux lets CPUID fault, `processor.c` answers it with fewer units and
//! the whole suite runs at full speed; elsewhere qemu emulates such a processor for the numeric tests.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::terminal::{complain, say};
use crate::workspace;

/// A vector unit, by its name for `processor.c`.
struct Unit {
    name: &'static str,
    title: &'static str,
    /// Instructions that the C library is told to do without, because it chooses before `processor.c` is loaded.
    without: &'static str,
    /// Processor of qemu.
    emulated: &'static str,
}

const UNITS: [Unit; 2] = [
    Unit {
        name: "avx2",
        title: "AVX2 with FMA",
        without: "-AVX512F,-AVX512VL,-AVX512BW",
        emulated: "Haswell",
    },
    Unit {
        name: "sse2",
        title: "SSE2",
        without: "-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-FMA,-AVX,-BMI2",
        emulated: "Nehalem",
    },
];

/// The whole suite.
const ALL: &[&str] = &["--workspace", "--exclude", "mcsa-speed", "--no-fail-fast"];

/// Tests that run in qemu, which is slow: packages, test binaries and filters.
const NUMERIC: [&[&str]; 2] = [
    &["-p", "mcsa-core", "--test", "numeric"],
    &["-p", "mcsa-estimators", "--test", "estimators", "resuming::"],
];

const EMULATOR: &str = "qemu-x86_64";

/// Units that are named, all if none is, and the other arguments, which are those of `cargo test`.
fn chosen(arguments: &[String]) -> (Vec<&'static Unit>, Vec<&str>) {
    let (units, rest): (Vec<_>, Vec<_>) =
        arguments.iter().partition(|argument| UNITS.iter().any(|unit| unit.name == **argument));
    let asked = |unit: &&Unit| units.is_empty() || units.iter().any(|name| **name == unit.name);
    (UNITS.iter().filter(asked).collect(), rest.into_iter().map(String::as_str).collect())
}

/// Runs the tests on this machine's own unit, unless units are named, and on the others; says what is not run.
pub(crate) fn run(arguments: &[String]) -> io::Result<ExitCode> {
    let (units, rest) = chosen(arguments);
    let whole = if rest.is_empty() { ALL } else { rest.as_slice() };
    let mut outcomes = String::new();
    let mut failed = false;
    let mut note = |title: &str, outcome: io::Result<bool>| {
        let passed = outcome?;
        failed |= !passed;
        outcomes += &format!("{title:<16}{}\n", if passed { "pass" } else { "FAIL" });
        Ok::<(), io::Error>(())
    };
    if units.len() == UNITS.len() {
        note("this machine", tested(&[whole], None))?;
    }
    let library = processor()?;
    for unit in units {
        if let Some(library) = &library {
            say(&format!("\n== {}: {}\n", unit.title, unit.variables(library).join(" ")))?;
            note(unit.title, tested(&[whole], Some(&unit.runner(library))))?;
        } else if is_there(EMULATOR) {
            say(&format!("\n== {}: numeric tests in {EMULATOR} -cpu {}\n", unit.title, unit.emulated))?;
            note(unit.title, tested(&NUMERIC, Some(&format!("{EMULATOR} -cpu {}", unit.emulated))))?;
        } else {
            say(&format!("not run: {}; it needs a C compiler or {EMULATOR}\n", unit.title))?;
        }
    }
    say(&format!("\n{outcomes}"))?;
    if failed {
        complain("test: a vector unit fails")?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Unit {
    /// Environment in which a program meets this unit.
    fn variables(&self, library: &Path) -> [String; 3] {
        [
            format!("LD_PRELOAD={}", library.display()),
            format!("MCSA_UNIT={}", self.name),
            format!("GLIBC_TUNABLES=glibc.cpu.hwcaps={}", self.without),
        ]
    }

    fn runner(&self, library: &Path) -> String {
        format!("env {}", self.variables(library).join(" "))
    }
}

/// Library of `processor.c`, compiled; `None` where it cannot be compiled or CPUID does not fault.
fn processor() -> io::Result<Option<PathBuf>> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) || !is_there("cc") {
        return Ok(None);
    }
    let library = workspace::target().join("processor.so");
    std::fs::create_dir_all(workspace::target())?;
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library);
    compiler.arg(workspace::root().join("xtask/src/backends/processor.c"));
    if !compiler.status()?.success() {
        return Ok(None);
    }
    let mut probe = Command::new("true");
    probe.env("LD_PRELOAD", &library).env("MCSA_UNIT", UNITS[0].name).stderr(Stdio::null());
    Ok(probe.status()?.success().then_some(library))
}

fn is_there(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

/// True if the tests pass, under this runner if there is one.
fn tested(all: &[&[&str]], runner: Option<&str>) -> io::Result<bool> {
    let mut passed = true;
    for tests in all {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(workspace::root()).arg("test").args(*tests);
        if let Some(runner) = runner {
            command.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", runner);
        }
        passed &= command.status()?.success();
    }
    Ok(passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_chosen_by_name() {
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        assert_eq!(chosen(&[]).0.len(), 2);
        let line = words("sse2 -p mcsa-core");
        let (units, rest) = chosen(&line);
        assert_eq!((units.len(), units[0].title, rest), (1, "SSE2", vec!["-p", "mcsa-core"]));
    }

    /// A program that asks for the processor gets the answer of the unit; without the library, that of the machine.
    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn a_program_meets_the_unit() {
        let Some(library) = processor().expect("runs") else { return };
        let told = |unit: &Unit| {
            let mut command = Command::new(std::env::current_exe().expect("this program"));
            command.args(["--exact", "backends::tests::tell", "--ignored", "--nocapture"]);
            command.env("LD_PRELOAD", &library).env("MCSA_UNIT", unit.name);
            let output = command.output().expect("it starts");
            String::from_utf8(output.stdout).expect("text")
        };
        let own = std::arch::is_x86_feature_detected!("avx2");
        assert!(told(&UNITS[0]).contains(&format!("avx2 {own}, avx512f false")));
        assert!(told(&UNITS[1]).contains("avx2 false, avx512f false"));
    }

    #[test]
    #[ignore = "run by the test before"]
    #[cfg(target_arch = "x86_64")]
    fn tell() {
        let (avx2, avx512f) =
            (std::arch::is_x86_feature_detected!("avx2"), std::arch::is_x86_feature_detected!("avx512f"));
        say(&format!("avx2 {avx2}, avx512f {avx512f}\n")).expect("written");
    }
}
