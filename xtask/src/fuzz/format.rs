//! Formats that the program reads, each with its inputs and the command that reads one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::workspace;

/// A format that is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Format {
    /// Experiments of a user.
    Experiment,
    /// Settings of a fit, `model method key=value`.
    Setting,
    /// Finite problems.
    Instance,
    /// Annealed paths.
    Replay,
    /// Tables that are imported, after a line with the name of the set.
    Table,
    /// Checkpoints of the optimisation loop.
    Checkpoint,
    /// Checkpoints of a fit in one call.
    Fit,
}

impl Format {
    pub(super) const ALL: [Self; 7] = [
        Self::Experiment,
        Self::Setting,
        Self::Instance,
        Self::Replay,
        Self::Table,
        Self::Checkpoint,
        Self::Fit,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Experiment => "experiment",
            Self::Setting => "setting",
            Self::Instance => "instance",
            Self::Replay => "replay",
            Self::Table => "table",
            Self::Checkpoint => "checkpoint",
            Self::Fit => "fit",
        }
    }

    /// Inputs that the mutations start from: files of the repository, and checkpoints written now.
    pub(super) fn corpus(self, program: &Path, place: &Path) -> io::Result<Vec<Vec<u8>>> {
        let root = workspace::root().join("bench-suite");
        let mut inputs = read(&root.join("fuzz").join(self.name()))?;
        match self {
            Self::Experiment => {
                // Names of experiments of the repository are refused before the rest is read.
                let renamed = |text: Vec<u8>| {
                    String::from_utf8_lossy(&text).replacen("id = \"", "id = \"x-", 1).into_bytes()
                };
                inputs.extend(read(&root.join("experiments"))?.into_iter().map(renamed));
                inputs.push(fs::read(root.join("examples/my_experiment.toml"))?);
            }
            Self::Setting => {
                let lines: Vec<Vec<u8>> = inputs
                    .iter()
                    .flat_map(|file| file.split(|byte| *byte == b'\n'))
                    .map(<[u8]>::to_vec)
                    .collect();
                inputs = lines.into_iter().filter(|line| !line.is_empty()).collect();
            }
            Self::Checkpoint | Self::Fit => inputs.extend(self.interrupted(program, place)?),
            _ => {}
        }
        Ok(inputs)
    }

    /// Command that reads the input; `None` if the input cannot be given to a program.
    pub(super) fn command(self, program: &Path, place: &Path, input: &[u8]) -> io::Result<Option<Command>> {
        let file = place.join(match self {
            Self::Experiment => "input.toml",
            Self::Table => "input.csv",
            _ => "input.json",
        });
        let mut command = limited(program);
        command.current_dir(place).env("MCSA_DATA", place.join("data"));
        match self {
            Self::Experiment => {
                fs::write(&file, input)?;
                command.args(["claims", "input.toml", "--out", "none"]);
            }
            Self::Instance | Self::Replay => {
                fs::write(&file, input)?;
                command.arg("theory").arg(format!("--{}", self.name())).arg(&file);
            }
            Self::Table => {
                let Some(end) = input.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
                let Some(name) = argument(&input[..end]) else { return Ok(None) };
                fs::write(&file, &input[end + 1..])?;
                command.args(["data", "import", "--", name]).arg(&file);
            }
            Self::Setting => {
                let Some(line) = argument(input) else { return Ok(None) };
                let mut words = line.splitn(3, ' ');
                let (Some(model), Some(method), Some(setting)) = (words.next(), words.next(), words.next())
                else {
                    return Ok(None);
                };
                command.args(["fit", &format!("--model={model}"), &format!("--method={method}")]);
                command.args([&format!("--set={setting}"), "--set=steps=2"]);
            }
            Self::Checkpoint | Self::Fit => {
                fs::write(&file, input)?;
                self.arguments(&mut command);
                command.arg("--checkpoint").arg(&file);
            }
        }
        Ok(Some(command))
    }

    fn arguments(self, command: &mut Command) {
        match self {
            Self::Fit => {
                command.args(["fit", "--model=radon", "--auto", "--budget=20000", "--draws=draws.csv"])
            }
            _ => command.args(["fit", "--model=radon", "--method=pmcsa", "--set=steps=20000"]),
        };
    }

    /// Checkpoint of a fit that was interrupted after half a second; none on systems without `kill`.
    fn interrupted(self, program: &Path, place: &Path) -> io::Result<Option<Vec<u8>>> {
        let file = place.join(format!("interrupted-{}.json", self.name()));
        let _ = fs::remove_file(&file); // of an earlier run; most often there is none
        let mut command = Command::new(program);
        self.arguments(command.current_dir(place));
        command.arg("--checkpoint").arg(&file).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        #[expect(clippy::disallowed_methods, reason = "the fit has to be under way")]
        std::thread::sleep(Duration::from_millis(500));
        let asked =
            Command::new("kill").args(["-TERM", &child.id().to_string()]).stderr(Stdio::null()).status();
        if !asked.is_ok_and(|status| status.success()) {
            child.kill()?;
        }
        child.wait()?;
        Ok(fs::read(&file).ok())
    }
}

/// The program with at most 4 GB of memory and 10 s of one core, where a shell can say so.
fn limited(program: &Path) -> Command {
    if cfg!(unix) {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v 4000000; ulimit -t 10; exec \"$0\" \"$@\""]).arg(program);
        return command;
    }
    Command::new(program)
}

/// Text of one argument: no NUL, in UTF-8.
fn argument(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0') && text.len() < 100_000)
}

/// Contents of the files of a folder, by name; none if there is no folder.
fn read(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.sort();
    paths.iter().filter(|path| path.is_file()).map(fs::read).collect()
}
