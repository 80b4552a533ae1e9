//! Sweeps of figures under Slurm: an array of processes, and a job behind them that draws.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

pub(crate) const HELP: &str = "\
IDS...         only these experiments, by name, or files of your own: my_experiment.toml
--preset P     quick (about a minute once it is built), default (half an hour) or paper (many hours)
--archive      draw the report from the archived results of the repository, and run nothing
--only TEXT    only jobs whose name or settings contain the text
--replicates N only the first N replicates
--keep         add the results to the archive
--shard K/N    one of N parts of the jobs, with --no-draw
--slurm N      submit N processes to Slurm instead, and a job that draws after them; the same
               command again goes on. Flags of sbatch follow a bare --: `-- --time=4:00:00`
--program FILE a program of bench-suite that was built before, for --slurm

`cargo xtask figures -- --help` lists all options; docs/book/src/clusters.md explains sweeps.";

const SCRIPT: &str = include_str!("sweep.sh");

/// A sweep that is to be submitted.
#[derive(Debug, PartialEq)]
pub(crate) struct Request {
    shards: usize,
    /// Program that was built before.
    program: Option<PathBuf>,
    /// Jobs at once of each process; by default as many as Slurm gives it processors.
    jobs: Option<String>,
    /// Folder of results and report.
    out: PathBuf,
    /// Arguments of `mcsa-bench figures`, among them `--out`.
    arguments: Vec<String>,
    /// Arguments of `sbatch`.
    flags: Vec<String>,
}

impl Request {
    /// Reads the arguments of `figures`; `None` without `--slurm`.
    pub(crate) fn read(arguments: &[String]) -> io::Result<Option<Self>> {
        let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
        let (ours, flags) = (&arguments[..end], arguments.get(end + 1..).unwrap_or_default());
        let mut ours = ours.to_vec();
        let Some(count) = take(&mut ours, "--slurm")? else { return Ok(None) };
        let shards = count.parse().ok().filter(|count| (1..=1_000_000).contains(count));
        let shards =
            shards.ok_or_else(|| io::Error::other(format!("--slurm takes a number, not `{count}`")))?;
        let program = take(&mut ours, "--program")?.map(PathBuf::from);
        let jobs = take(&mut ours, "--jobs")?;
        let out = take(&mut ours.clone(), "--out")?.unwrap_or_else(|| ".".into()).into();
        Ok(Some(Self { shards, program, jobs, out, arguments: ours, flags: flags.to_vec() }))
    }
}

/// Removes `name VALUE` or `name=VALUE` and returns the value.
fn take(arguments: &mut Vec<String>, name: &str) -> io::Result<Option<String>> {
    let is_it = |argument: &String| {
        argument.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    let Some(place) = arguments.iter().position(is_it) else { return Ok(None) };
    let argument = arguments.remove(place);
    match argument.split_once('=') {
        Some((_, value)) => Ok(Some(value.to_owned())),
        None if place < arguments.len() => Ok(Some(arguments.remove(place))),
        None => Err(io::Error::other(format!("{name} needs a value"))),
    }
}

/// Writes the script of a sweep and submits it, with the job that draws.
pub(crate) fn submit(request: &Request) -> io::Result<ExitCode> {
    let here = std::env::current_dir()?;
    let folder = here.join(&request.out).join("sweep");
    fs::create_dir_all(folder.join("log"))?;
    let program = kept(&program(request)?, &folder)?;
    let script = folder.join("sweep.sh");
    fs::write(&script, text(request, &program, &here, &crate::data(), &folder))?;
    let job = sbatch(request, &[script.as_os_str()])?;
    let command = command(request, &program);
    let draw = format!("cd {} && MCSA_DATA={} {command} --no-run", quoted(&here), quoted(crate::data()));
    let log = format!("--output={}/%A-draw.txt", folder.join("log").display());
    let after = format!("--dependency=afterany:{job}");
    let draw = sbatch(request, &["--job-name=mcsa-draw", &log, &after, "--wrap", &draw].map(AsRef::as_ref))?;
    crate::print(&format!(
        "submitted: {job}, {} tasks; then {draw}, which draws\n\
         to watch: squeue --job {job},{draw}\nmessages: {}\nto stop: scancel {job} {draw}\n\
         to go on, whatever has run: the same command again",
        request.shards,
        folder.join("log").display(),
    ))
}

/// The program of the request, or else the one that cargo builds now.
fn program(request: &Request) -> io::Result<PathBuf> {
    if let Some(program) = &request.program {
        return Ok(program.clone());
    }
    let mut build = crate::at_root(&crate::cargo());
    build.args(["build", "--release", "-p", "mcsa-bench-suite", "--bin", "mcsa-bench"]);
    if !build.status()?.success() {
        return Err(io::Error::other("mcsa-bench was not built"));
    }
    Ok(crate::target().join("release/mcsa-bench"))
}

/// Copies the program beside the results under a name made of its bytes: a later build replaces no running program.
fn kept(program: &Path, folder: &Path) -> io::Result<PathBuf> {
    let bytes = fs::read(program)?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let place = folder.join(format!("mcsa-bench-{:016x}", hasher.finish()));
    if !place.is_file() {
        let beside = folder.join(format!(".mcsa-bench-{}", std::process::id()));
        fs::copy(program, &beside)?;
        fs::rename(&beside, &place)?;
    }
    Ok(place)
}

fn text(request: &Request, program: &Path, here: &Path, data: &Path, folder: &Path) -> String {
    let jobs = request.jobs.as_deref().unwrap_or("\"$threads\"");
    SCRIPT
        .replace("@SHARDS@", &request.shards.to_string())
        .replace("@LOG@", &folder.join("log").display().to_string())
        .replace("@HERE@", &quoted(here))
        .replace("@DATA@", &quoted(data))
        .replace("@JOBS@", jobs)
        .replace("@COMMAND@", &command(request, program))
}

fn command(request: &Request, program: &Path) -> String {
    let words = request.arguments.iter().map(quoted);
    [quoted(program), "figures".into()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// A word quoted for a POSIX shell.
fn quoted(word: impl AsRef<Path>) -> String {
    format!("'{}'", word.as_ref().display().to_string().replace('\'', r"'\''"))
}

/// Submits a job and returns its number.
fn sbatch(request: &Request, arguments: &[&std::ffi::OsStr]) -> io::Result<String> {
    let mut sbatch = Command::new("sbatch");
    sbatch.arg("--parsable").args(&request.flags).args(arguments).stderr(Stdio::inherit());
    let named = |error: io::Error| io::Error::new(error.kind(), format!("sbatch: {error}"));
    let output = sbatch.output().map_err(named)?;
    if !output.status.success() {
        return Err(io::Error::other("sbatch failed"));
    }
    // In a federation the answer is `JOB;CLUSTER`.
    let answer = String::from_utf8_lossy(&output.stdout);
    Ok(answer.trim().split(';').next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> io::Result<Option<Request>> {
        Request::read(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    fn script(line: &str) -> String {
        let request = read(line).unwrap().unwrap();
        text(&request, "/out/mcsa-bench".as_ref(), "/it's here".as_ref(), "/data".as_ref(), "/out".as_ref())
    }

    #[test]
    fn arguments_and_flags_are_told_apart() {
        let request = read("gaussian my.toml --slurm 8 --out far --jobs=2 -- --time=5").unwrap().unwrap();
        assert_eq!((request.shards, request.jobs.as_deref()), (8, Some("2")));
        assert_eq!(request.arguments, ["gaussian", "my.toml", "--out", "far"]);
        assert_eq!(
            (request.out.as_path(), &request.flags[..]),
            ("far".as_ref(), &["--time=5".to_owned()][..])
        );
        assert_eq!(read("gaussian --jobs 2 -- --slurm 3").unwrap(), None);
        for line in ["--slurm", "--slurm 0", "--slurm x", "--slurm 3 --out"] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn the_script_has_the_shards_and_the_command() {
        let text = script("gaussian --slurm=4");
        for part in [
            "#SBATCH --array=1-4\n",
            "#SBATCH --output=\"/out/log/%A-%a.txt\"\n",
            "cd '/it'\\''s here' || exit\n",
            "'/out/mcsa-bench' figures 'gaussian' --shard \"$SLURM_ARRAY_TASK_ID/4\" --no-draw --jobs \"$threads\" &\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("@S") && !text.contains("@C"), "{text}");
        assert!(script("--slurm 4 --jobs 3").contains("--jobs 3 &\n"));
    }

    /// Bash reads the script; one with a bracket left out is rejected.
    #[test]
    #[cfg(unix)]
    fn the_script_is_bash() {
        let is_read = |text: &str| {
            let mut bash = Command::new("bash");
            let status = bash.args(["-n", "-c", text]).stderr(Stdio::null()).status();
            status.map_or(true, |status| status.success())
        };
        let text = script("it's --slurm 4");
        assert!(is_read(&text));
        assert!(!is_read(&text.replace("again() {", "again() ")));
    }
}
