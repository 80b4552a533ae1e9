//! Build script: sets the fingerprint of the code and the version of the compiler, which every result records.

#[path = "fingerprint/mod.rs"]
mod fingerprint;

use std::path::PathBuf;
use std::process::Command;
use std::{env, io};

/// The modules whose code computes rows.
const START: [&str; 1] = ["kinds"];

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let found = fingerprint::find(&folder, &START, home.as_deref())?;
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = |argument: &str| match Command::new(&rustc).arg(argument).output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Err(_) => "rustc unknown".to_owned(),
    };
    let variables =
        env::vars_os().map(|(name, value)| [name, value].map(|text| text.to_string_lossy().into()));
    let mut settings = fingerprint::settings(variables.map(|[name, value]: [String; 2]| (name, value)));
    for name in settings.keys().filter(|name| name.starts_with("CARGO_PROFILE_")) {
        println!("cargo:rerun-if-env-changed={name}");
    }
    for name in found.variables.iter().map(String::as_str).chain(["RUSTFLAGS"]) {
        println!("cargo:rerun-if-env-changed={name}");
        settings.insert(format!("env {name}"), env::var(name).unwrap_or_default());
    }
    settings.insert("rustc".to_owned(), said("-vV"));
    for file in &found.files {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=fingerprint");
    found.warnings.iter().for_each(|warning| println!("cargo:warning={warning}"));
    println!("cargo:rustc-env=MCSA_CODE={}", found.code(&settings));
    println!("cargo:rustc-env=MCSA_RUSTC={}", said("--version"));
    Ok(())
}
