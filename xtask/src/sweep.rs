//! Sweeps of figures as many processes: scripts for batch systems, their submission, and a drawing job behind them.

mod request;
mod script;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::terminal::{complain, say};
use crate::workspace;

pub(crate) use request::{Request, read};
use script::Script;

/// Writes the scripts of a sweep and, if that is asked for, submits them.
pub(crate) fn run(request: &Request) -> io::Result<ExitCode> {
    let Some(built) = program(request)? else { return Ok(ExitCode::FAILURE) };
    let folder = request.out.join("sweep");
    fs::create_dir_all(folder.join("log"))?;
    let program = kept(&built, &folder)?;
    let words = |more: &[&str]| {
        let words = request.arguments.iter().map(String::as_str);
        words.chain(more.iter().copied()).map(String::from).collect::<Vec<_>>()
    };
    // The shards divide the jobs by this forecast; without it, by their number of steps.
    if !started(Command::new(&program).arg("figures").args(words(&["--forecast"])))? {
        return Ok(ExitCode::FAILURE);
    }
    let script = Script {
        program: &program,
        arguments: &request.arguments,
        threads: request.threads,
        data: request.data.as_deref(),
        folder: &folder,
        shards: request.shards,
    };
    let name = format!("{}-{:08x}", request.kind.name(), hash(words(&[]).join("\n").as_bytes()) as u32);
    let [work, draw] = [folder.join(format!("{name}.sh")), folder.join(format!("{name}-draw.sh"))];
    fs::write(&work, script.work(request.kind))?;
    fs::write(&draw, script.draw(request.kind))?;
    let status = script.command(&["--status"]);
    if !request.submits {
        return say(&script.advice(request.kind, &work, &draw, &status));
    }
    let Some(job) = submitted(&request.flags, &work)? else { return Ok(ExitCode::FAILURE) };
    let after = [format!("--dependency=afterany:{job}")];
    let flags: Vec<String> = request.flags.iter().chain(&after).cloned().collect();
    let Some(drawing) = submitted(&flags, &draw)? else { return Ok(ExitCode::FAILURE) };
    say(&format!(
        "submitted: {job}, {shards} tasks; then {drawing}, which draws\n\
         to watch: squeue --job {job},{drawing}\n          {status}\n\
         messages: {log}\n\
         to stop: scancel {job} {drawing}\n\
         to go on, whatever has run: the same command again\n",
        shards = request.shards,
        log = folder.join("log").display(),
    ))
}

/// The program: that of the request, or else the one that cargo builds now.
fn program(request: &Request) -> io::Result<Option<PathBuf>> {
    if let Some(program) = &request.program {
        return Ok(Some(program.clone()));
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = ["build", "--release", "-p", "mcsa-bench-suite", "--bin", "mcsa-bench"];
    if !started(Command::new(cargo).current_dir(workspace::root()).args(build))? {
        return Ok(None);
    }
    Ok(Some(workspace::target().join("release").join(format!("mcsa-bench{}", std::env::consts::EXE_SUFFIX))))
}

/// Copies the program beside the results under a name made of its bytes: a later build replaces no running program.
fn kept(program: &Path, folder: &Path) -> io::Result<PathBuf> {
    let name = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", program.display()));
    let bytes = fs::read(program).map_err(name)?;
    let place = folder.join(format!("mcsa-bench-{:016x}", hash(&bytes)));
    if !place.is_file() {
        let beside = folder.join(format!(".mcsa-bench-{}", std::process::id()));
        fs::copy(program, &beside)?;
        fs::rename(&beside, &place)?;
    }
    Ok(place)
}

/// Submits a script to Slurm and returns the number of its job; `None` after a failure, which `sbatch` explains.
fn submitted(flags: &[String], script: &Path) -> io::Result<Option<String>> {
    let mut sbatch = Command::new("sbatch");
    sbatch.arg("--parsable").args(flags).arg(script).stderr(Stdio::inherit());
    let output = match sbatch.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            complain("sbatch is not installed here; `--script slurm --shards N` writes the scripts alone")?;
            return Ok(None);
        }
        output => output?,
    };
    // Of a federation the answer is `JOB;CLUSTER`.
    let said = String::from_utf8_lossy(&output.stdout);
    let job = said.trim().split(';').next().unwrap_or_default().to_owned();
    Ok(output.status.success().then_some(job))
}

fn started(command: &mut Command) -> io::Result<bool> {
    let name = command.get_program().to_owned();
    let place = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", show(&name)));
    Ok(command.status().map_err(place)?.success())
}

fn show(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

/// 64-bit FNV-1a hash, for names.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published test vectors of FNV-1a, 64 bits.
    #[test]
    fn the_hash_is_fnv() {
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
    }
}
