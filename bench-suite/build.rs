//! What made a result: a fingerprint of the code that numbers come from, and the compiler.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Folders whose code a number of a result passes through, relative to this crate.
const SOURCES: [&str; 9] = [
    "../core/src",
    "../models/src",
    "../families/src",
    "../kernels/src",
    "../estimators/src",
    "../optim/src",
    "src/catalog",
    "src/data",
    "src/kinds",
];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    for folder in SOURCES {
        println!("cargo:rerun-if-changed={folder}");
        collect(&root.join(folder), &mut files)?;
    }
    files.sort();
    let mut hash = Fnv::new();
    for file in files {
        hash.eat(file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().as_bytes());
        code_lines(&fs::read_to_string(&file)?).for_each(|line| hash.eat(line.as_bytes()));
    }
    println!("cargo:rustc-env=MCSA_CODE={:016x}", hash.0);
    let rustc =
        Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("--version").output();
    let version = rustc.map(|found| String::from_utf8_lossy(&found.stdout).trim().to_owned());
    println!("cargo:rustc-env=MCSA_RUSTC={}", version.unwrap_or_else(|_| "rustc unknown".into()));
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Lines that can change a number: neither comments nor blank, nor the tests at the end of a file.
fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    let body = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"))
}

/// The 64-bit FNV-1a hash.
struct Fnv(u64);

impl Fnv {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn eat(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(b"\n") {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
