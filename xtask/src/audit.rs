//! Checks that need a tool or another Rust besides the one in use: each runs where its tool is, and says what is missing where it is not.

use std::fs;
use std::io;
use std::process::{Command, ExitCode, Stdio};

use crate::terminal::{complain, say};
use crate::workspace;

/// A check, its tool, and how to get it.
struct Check {
    name: &'static str,
    /// Command whose success shows that the tool is there.
    probe: &'static [&'static str],
    obtain: &'static str,
    command: &'static [&'static str],
}

const OLDEST: &str = "1.89.0";

const CHECKS: [Check; 6] = [
    Check {
        name: "oldest-rust",
        probe: &["rustup", "run", OLDEST, "cargo", "--version"],
        obtain: "rustup toolchain install 1.89.0 --profile minimal",
        command: &[
            "rustup",
            "run",
            OLDEST,
            "cargo",
            "check",
            "--workspace",
            "--locked",
            "--target-dir",
            "target/oldest",
        ],
    },
    Check {
        name: "minimal-versions",
        probe: &["rustup", "run", "nightly", "cargo", "--version"],
        obtain: "rustup toolchain install nightly --profile minimal",
        command: &["rustup", "run", "nightly", "cargo", "update", "-Z", "direct-minimal-versions"],
    },
    Check {
        name: "semver",
        probe: &["cargo", "semver-checks", "--version"],
        obtain: "cargo install cargo-semver-checks --locked",
        command: &["cargo", "semver-checks", "--workspace"],
    },
    Check {
        name: "advisories",
        probe: &["cargo", "deny", "--version"],
        obtain: "cargo install cargo-deny --locked",
        command: &["cargo", "deny", "check"],
    },
    Check {
        name: "spelling",
        probe: &["typos", "--version"],
        obtain: "cargo install typos-cli --locked",
        command: &["typos"],
    },
    Check {
        name: "counts",
        probe: &["valgrind", "--version"],
        obtain: "apt-get install valgrind",
        command: &["cargo", "xtask", "bench", "--counts", "--check"],
    },
];

/// `Ok` if the arguments are names of checks.
pub(crate) fn check(arguments: &[String]) -> Result<(), String> {
    match arguments.iter().find(|name| !CHECKS.iter().any(|check| check.name == **name)) {
        None => Ok(()),
        Some(other) => {
            Err(format!("no check `{other}`; there are {}", CHECKS.map(|check| check.name).join(", ")))
        }
    }
}

/// Runs the checks whose tools are there; fails if one of them fails.
pub(crate) fn run(arguments: &[String]) -> io::Result<ExitCode> {
    let mut lines = String::new();
    let mut failed = false;
    for check in
        CHECKS.iter().filter(|check| arguments.is_empty() || arguments.iter().any(|name| name == check.name))
    {
        let Check { name, probe, obtain, .. } = check;
        let outcome = match ended(probe, true) {
            Err(_) | Ok(false) => format!("not run: `{obtain}` brings its tool"),
            Ok(true) => check.outcome()?,
        };
        failed |= outcome == "FAIL";
        lines += &format!("{name:<18}{outcome}\n");
    }
    say(&lines)?;
    if failed {
        complain("audit: a check failed")?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Check {
    fn outcome(&self) -> io::Result<String> {
        let passed = match self.name {
            "minimal-versions" => with_minimal_versions(self.command)?,
            "semver" => match last_tag()? {
                Some(tag) => ended(&[self.command, &["--baseline-rev", &tag]].concat(), false)?,
                None => return Ok("not run: there is no tag v* to compare with".into()),
            },
            _ => ended(self.command, false)?,
        };
        Ok(if passed { "pass".into() } else { "FAIL".into() })
    }
}

/// Checks the workspace with the lowest versions that the manifests allow; the lock file is put back.
fn with_minimal_versions(update: &[&str]) -> io::Result<bool> {
    let lock = workspace::root().join("Cargo.lock");
    let kept = fs::read(&lock)?;
    let lowered = ended(update, false);
    let passed = match lowered {
        Ok(true) => ended(&["cargo", "check", "--workspace", "--target-dir", "target/minimal"], false),
        other => other,
    };
    fs::write(&lock, kept)?;
    passed
}

/// Name of the last release's tag.
fn last_tag() -> io::Result<Option<String>> {
    let mut git = Command::new("git");
    let told = git
        .current_dir(workspace::root())
        .args(["describe", "--tags", "--abbrev=0", "--match", "v*"])
        .output()?;
    let tag = String::from_utf8_lossy(&told.stdout).trim().to_owned();
    Ok(Some(tag).filter(|tag| told.status.success() && !tag.is_empty()))
}

/// True if the command succeeds.
fn ended(words: &[&str], quiet: bool) -> io::Result<bool> {
    let mut command = Command::new(words[0]);
    command
        .current_dir(workspace::root())
        .args(&words[1..])
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN");
    if quiet {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    Ok(command.status()?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_known_by_name() {
        assert!(check(&[]).is_ok() && check(&["spelling".into(), "counts".into()]).is_ok());
        assert!(check(&["spell".into()]).is_err());
    }

    #[test]
    fn the_oldest_rust_is_that_of_the_manifest() {
        let manifest = fs::read_to_string(workspace::root().join("Cargo.toml")).expect("readable");
        assert!(manifest.contains(&format!("rust-version = \"{}\"", OLDEST.trim_end_matches(".0"))));
        let workflow =
            fs::read_to_string(workspace::root().join(".github/workflows/checks.yml")).expect("readable");
        assert!(workflow.contains(OLDEST));
    }

    /// A version such as `1` also allows the first of its kind, which may lack what the workspace uses.
    #[test]
    fn lowest_versions_have_three_numbers() {
        let manifest = fs::read_to_string(workspace::root().join("Cargo.toml")).expect("readable");
        let (_, section) = manifest.split_once("[workspace.dependencies]").expect("a section");
        let section = section.split("\n[").next().expect("a section");
        for line in section.lines().filter(|line| !line.is_empty() && !line.contains("path = ")) {
            let version = line.split('"').nth(1).unwrap_or_default();
            assert_eq!(version.split('.').count(), 3, "{line}");
        }
    }
}
