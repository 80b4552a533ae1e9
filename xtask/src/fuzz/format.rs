//! Formats that the program reads, each with its inputs and the command that reads one.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::mutation::{Dice, mutated, mutated_rows};
use super::table::{WHOLE, whole_table};
use crate::sweep::hash;
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
    /// Checkpoints of a fit in one call that has come to its flow: configurations and weights.
    Flow,
    /// A stored result, from which tables, figures and verdicts are made.
    Result,
    /// A folder of posteriordb: `reference.json`, a line `%%`, and the table of its posterior.
    Posteriordb,
    /// Points of the plane.
    Points,
}

impl Format {
    pub(super) const ALL: [Self; 11] = [
        Self::Experiment,
        Self::Setting,
        Self::Instance,
        Self::Replay,
        Self::Table,
        Self::Checkpoint,
        Self::Fit,
        Self::Flow,
        Self::Result,
        Self::Posteriordb,
        Self::Points,
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
            Self::Flow => "flow",
            Self::Result => "result",
            Self::Posteriordb => "posteriordb",
            Self::Points => "points",
        }
    }

    /// A changed copy of `input`. Of inputs that are rows, three in four keep the number of rows, on which all else depends.
    pub(super) fn mutated(self, input: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
        match self {
            Self::Table | Self::Result | Self::Posteriordb | Self::Points if dice.below(4) > 0 => {
                mutated_rows(input, other, dice)
            }
            _ => mutated(input, other, dice),
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
            Self::Checkpoint | Self::Fit | Self::Flow => inputs.extend(self.interrupted(program, place)?),
            Self::Table => {
                let manifest = fs::read_to_string(root.join("data/manifest.toml"))?;
                inputs.extend(WHOLE.iter().filter_map(|name| whole_table(&manifest, name)));
            }
            Self::Result => {
                let mut run = self.drawn(program, place)?;
                run.args(["--no-draw", "--force"]).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
                inputs.extend(result_file(place).map(fs::read).transpose()?);
            }
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
            Self::Result => {
                let Some(stored) = result_file(place) else { return Ok(None) };
                fs::write(stored, sealed(input))?;
                command = self.drawn(program, place)?;
                command.arg("--no-run");
            }
            Self::Posteriordb => {
                let folder = place.join(self.name());
                fs::create_dir_all(&folder)?;
                let cut = input.windows(4).position(|four| four == b"\n%%\n");
                let (reference, table) =
                    cut.map_or((input, &input[..0]), |at| (&input[..at], &input[at + 4..]));
                fs::write(folder.join("reference.json"), reference)?;
                fs::write(folder.join("small.csv"), table)?;
                command = self.drawn(program, place)?;
                command.env("MCSA_POSTERIORDB", folder).args(["--no-draw", "--force"]);
            }
            Self::Points => {
                fs::write(place.join("input-points.csv"), input)?;
                command = self.drawn(program, place)?;
                command.args(["--no-draw", "--force"]);
            }
            Self::Checkpoint | Self::Fit | Self::Flow => {
                fs::write(&file, if self == Self::Checkpoint { input.to_vec() } else { signed(input) })?;
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
            Self::Flow => {
                command.args(["fit", "--model=funnel", "--set=model.dim=10", "--auto", "--budget=300000"])
            }
            _ => command.args(["fit", "--model=radon", "--method=pmcsa", "--set=steps=20000"]),
        };
    }

    /// Command that runs and draws the experiment of this format, `bench-suite/fuzz/<name>.toml`, in the working folder.
    fn drawn(self, program: &Path, place: &Path) -> io::Result<Command> {
        let file = format!("{}.toml", self.name());
        fs::copy(workspace::root().join("bench-suite/fuzz").join(&file), place.join(&file))?;
        let mut command = limited(program);
        command.current_dir(place).env("MCSA_DATA", place.join("data"));
        command.args(["figures", &file, "--preset=quick", "--jobs=1", "--out", self.name()]);
        Ok(command)
    }

    /// Different checkpoints of a fit that is interrupted later and later until it ends; none on systems without `kill`. Those of
    /// [`Format::Flow`] have a flow.
    fn interrupted(self, program: &Path, place: &Path) -> io::Result<Vec<Vec<u8>>> {
        let file = place.join(format!("interrupted-{}.json", self.name()));
        let mut found: Vec<Vec<u8>> = Vec::new();
        let mut wait = Duration::from_millis(30);
        while wait < Duration::from_secs(60) {
            let _ = fs::remove_file(&file); // of an earlier run; most often there is none
            let mut command = Command::new(program);
            self.arguments(command.current_dir(place));
            command.arg("--checkpoint").arg(&file).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn()?;
            #[expect(clippy::disallowed_methods, reason = "the fit has to be under way")]
            std::thread::sleep(wait);
            let asked =
                Command::new("kill").args(["-TERM", &child.id().to_string()]).stderr(Stdio::null()).status();
            if !asked.is_ok_and(|status| status.success()) {
                child.kill()?;
            }
            let ended = child.wait()?;
            let text = fs::read(&file).unwrap_or_default();
            let is_wanted = self != Self::Flow || text.windows(8).any(|part| part == b"\"flow\":{");
            if is_wanted && !text.is_empty() && !found.contains(&text) {
                found.push(text);
            }
            if matches!(ended.code(), Some(0..=3)) {
                break;
            }
            wait = wait * 3 / 2;
        }
        Ok(found)
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

/// The input with the checksum of its second part in its first line, so that more than the checksum is tried; unchanged if it has no
/// such line.
fn signed(input: &[u8]) -> Vec<u8> {
    let Some(end) = input.iter().position(|byte| *byte == b'\n').filter(|end| *end > 17 && *end < 60) else {
        return input.to_vec();
    };
    let (rest, sum) = (&input[end + 1..], end - 16);
    let rest = rest.strip_suffix(b"\n").unwrap_or(rest);
    [&input[..sum], format!("{:016x}", hash(rest)).as_bytes(), b"\n", rest, b"\n"].concat()
}

/// File of the only stored result.
fn result_file(place: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(place.join("result/results/fuzz-result")).ok()?;
    let mut paths = files.flatten().map(|entry| entry.path());
    paths.find(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
}

/// A stored result whose last line has the number of the rows and the SHA-256 of all lines before it, by the command `sha256sum`;
/// unchanged without one.
fn sealed(input: &[u8]) -> Vec<u8> {
    let whole = input.strip_suffix(b"\n").unwrap_or(input);
    let Some(last) = whole.iter().rposition(|byte| *byte == b'\n') else { return input.to_vec() };
    let body = &input[..=last];
    let rows = body.iter().filter(|byte| **byte == b'\n').count().saturating_sub(2);
    match sha256(body) {
        Ok(sum) => [body, format!("{{\"rows\":{rows},\"sha256\":\"{sum}\"}}\n").as_bytes()].concat(),
        Err(_) => input.to_vec(),
    }
}

fn sha256(bytes: &[u8]) -> io::Result<String> {
    let mut child = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    if let Some(mut to) = child.stdin.take() {
        to.write_all(bytes)?;
    }
    let told = String::from_utf8_lossy(&child.wait_with_output()?.stdout).into_owned();
    told.split(' ').next().map(String::from).ok_or_else(|| io::Error::other("sha256sum told nothing"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_checkpoint_has_its_checksum() {
        let text = format!("format of a fit 1 {:016x}\nabc\n", hash(b"abc"));
        assert_eq!(signed(text.as_bytes()), text.as_bytes());
        assert_ne!(signed(text.replace("abc", "abd").as_bytes()), text.replace("abc", "abd").as_bytes());
        assert_eq!(signed(b"no line"), b"no line");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_changed_result_has_its_seal() {
        let seal =
            "{\"rows\":1,\"sha256\":\"1b0c15eef4d92f1c8e2e8de7a8a36ef42f9bc1aa35b3a2b3ea4e7f55f9b3ad5c\"}";
        let text = format!("head\nrow\ntail\n{seal}\n");
        let changed = String::from_utf8(sealed(text.as_bytes())).expect("text");
        assert!(changed.starts_with("head\nrow\ntail\n{\"rows\":1,\"sha256\":\"") && changed != text);
        assert_eq!(sealed(changed.as_bytes()), changed.as_bytes());
        assert_eq!(sealed(b"cut short"), b"cut short");
    }
}
