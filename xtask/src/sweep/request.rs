//! Arguments of a sweep.

use std::path::{Path, PathBuf};

/// Batch system that a script is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Slurm,
    Pbs,
    Lsf,
    /// A file of shell lines, one for each shard.
    Plain,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Slurm, Self::Pbs, Self::Lsf, Self::Plain];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Slurm => "slurm",
            Self::Pbs => "pbs",
            Self::Lsf => "lsf",
            Self::Plain => "plain",
        }
    }
}

/// A sweep to be written or submitted. All paths are absolute: a batch system starts programs in folders of its own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) kind: Kind,
    pub(crate) shards: usize,
    /// True if the scripts are submitted.
    pub(crate) submits: bool,
    /// Folder of results and report.
    pub(crate) out: PathBuf,
    /// Program that was built before.
    pub(crate) program: Option<PathBuf>,
    /// Threads of a process; by default as many processors as the batch system gives.
    pub(crate) threads: Option<usize>,
    /// Folder of data sets that the environment names.
    pub(crate) data: Option<PathBuf>,
    /// Arguments of `mcsa-bench figures`, among them `--out`.
    pub(crate) arguments: Vec<String>,
    /// Arguments of `sbatch`.
    pub(crate) flags: Vec<String>,
}

/// Reads the arguments of `figures`; `None` if they ask for no sweep. Paths are relative to `here`.
pub(crate) fn read(
    arguments: &[String],
    here: &Path,
    data: Option<PathBuf>,
) -> Result<Option<Request>, String> {
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let (ours, flags) = (&arguments[..end], arguments.get(end + 1..).unwrap_or_default());
    let asks =
        |argument: &String| ["--slurm", "--script"].iter().any(|name| value(argument, name) != Value::Other);
    if !ours.iter().any(asks) {
        return Ok(None);
    }
    let (mut kind, mut submits, mut shards, mut out) = (None, false, None, here.to_path_buf());
    let (mut program, mut threads, mut named, mut kept) = (None, None, false, Vec::new());
    let mut rest = ours.iter();
    while let Some(argument) = rest.next() {
        let mut take = |name: &str| match value(argument, name) {
            Value::Other => Ok(None),
            Value::Joined(text) => Ok(Some(text.to_owned())),
            Value::Next => rest.next().cloned().map(Some).ok_or(format!("{name} needs a value")),
        };
        if let Some(count) = take("--slurm")? {
            (kind, submits, shards) = (Some(Kind::Slurm), true, Some(number("--slurm", &count)?));
        } else if let Some(name) = take("--script")? {
            let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
            kind = Some(found.ok_or(format!("--script is slurm, pbs, lsf or plain, not `{name}`"))?);
        } else if let Some(count) = take("--shards")? {
            shards = Some(number("--shards", &count)?);
        } else if let Some(file) = take("--program")? {
            program = Some(here.join(file));
        } else if let Some(count) = take("--jobs")? {
            threads = Some(number("--jobs", &count)?);
        } else if let Some(folder) = take("--out")? {
            out = here.join(folder);
        } else if let Some(folder) = take("--data")? {
            named = true;
            kept.extend(["--data".to_owned(), text(&here.join(folder))?]);
        } else if ["--force", "--no-run", "--list", "--status", "--forecast"].contains(&argument.as_str()) {
            return Err(format!("{argument} does not go with a sweep"));
        } else if argument.ends_with(".toml") {
            kept.push(text(&here.join(argument))?);
        } else {
            kept.push(argument.clone());
        }
    }
    let (Some(kind), Some(shards)) = (kind, shards) else {
        return Err("--script needs --shards N, the number of processes".into());
    };
    if !submits && !flags.is_empty() {
        return Err("arguments after `--` go to sbatch: they need --slurm N".into());
    }
    kept.extend(["--out".to_owned(), text(&out)?]);
    let (data, flags) = (data.filter(|_| !named), flags.to_vec());
    Ok(Some(Request { kind, shards, submits, out, program, threads, data, arguments: kept, flags }))
}

/// Value of an option on the command line.
#[derive(PartialEq)]
enum Value<'a> {
    /// The argument is another.
    Other,
    /// `--name=value`.
    Joined(&'a str),
    /// `--name value`.
    Next,
}

fn value<'a>(argument: &'a str, name: &str) -> Value<'a> {
    match argument.strip_prefix(name) {
        Some("") => Value::Next,
        Some(rest) => rest.strip_prefix('=').map_or(Value::Other, Value::Joined),
        None => Value::Other,
    }
}

fn number(name: &str, text: &str) -> Result<usize, String> {
    let read = text.parse().ok().filter(|count| (1..=1_000_000).contains(count));
    read.ok_or(format!("{name} is a number from 1, not `{text}`"))
}

fn text(path: &Path) -> Result<String, String> {
    path.to_str().map(String::from).ok_or(format!("the path {} is not text in UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Option<Request>, String> {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        read(&words, Path::new("/here"), Some("/data".into()))
    }

    #[test]
    fn a_sweep_has_absolute_paths_and_flags_of_its_own() {
        let request = asked("gaussian my.toml --preset quick --slurm 8 --out far --jobs=2 -- --time=5");
        let request = request.unwrap().unwrap();
        assert_eq!((request.kind, request.shards, request.submits), (Kind::Slurm, 8, true));
        assert_eq!((request.threads, request.data), (Some(2), Some("/data".into())));
        assert_eq!(request.arguments.join(" "), "gaussian /here/my.toml --preset quick --out /here/far");
        assert_eq!(request.flags, ["--time=5"]);
        let request = asked("--script=plain --shards 3 --data d").unwrap().unwrap();
        assert_eq!((request.kind, request.submits, request.data), (Kind::Plain, false, None));
        assert_eq!(request.arguments.join(" "), "--data /here/d --out /here");
    }

    #[test]
    fn other_figures_are_no_sweep() {
        assert_eq!(asked("gaussian --jobs 2"), Ok(None));
        assert_eq!(asked("-- --slurm 3"), Ok(None));
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "--slurm",
            "--slurm 0",
            "--slurm x",
            "--script pbs",
            "--script sge --shards 3",
            "--slurm 3 --force",
            "--script pbs --shards 3 -- --time=5",
        ] {
            assert!(asked(line).is_err(), "{line}");
        }
    }
}
