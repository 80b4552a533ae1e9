//! Build script: sets the fingerprints of the code and the version of the compiler, which every result records.

#[path = "fingerprint.rs"]
mod fingerprint;

use std::path::PathBuf;
use std::process::Command;
use std::{env, io};

use fingerprint::{CALL, Fingerprint};

/// Settings of the build that can change results, besides profiles.
const SETTINGS: [&str; 6] = [
    "CARGO_CFG_DEBUG_ASSERTIONS",
    "CARGO_CFG_TARGET_FEATURE",
    "CARGO_ENCODED_RUSTFLAGS",
    "OPT_LEVEL",
    "PROFILE",
    "TARGET",
];

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let profile = match env::var("PROFILE").as_deref() {
        Ok("debug") => "dev",
        _ => "release",
    };
    let mut found = Fingerprint::find(folder.parent().unwrap_or(&folder), "bench-suite", profile)?;
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let answer = |argument: &str| match Command::new(&rustc).arg(argument).output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Err(_) => "rustc unknown".to_owned(),
    };
    for (name, value) in env::vars_os() {
        let name = name.to_string_lossy();
        if SETTINGS.contains(&&*name) || name.starts_with("CARGO_PROFILE_") {
            println!("cargo:rerun-if-env-changed={name}");
            found.add(&name, &value.to_string_lossy());
        }
    }
    found.add("rustc", &answer("-vV"));
    for path in found.paths.iter().map(|path| path.display()) {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=fingerprint.rs");
    println!("cargo:rustc-env=MCSA_CODE={}", found.code(&[]));
    println!("cargo:rustc-env=MCSA_CODE_BELOW={}", found.code(&CALL));
    println!("cargo:rustc-env=MCSA_RUSTC={}", answer("--version"));
    Ok(())
}
