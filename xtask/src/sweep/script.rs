//! Texts of the scripts.

use std::path::Path;

use super::request::Kind;

/// Processes of a sweep.
pub(crate) struct Script<'a> {
    pub(crate) program: &'a Path,
    pub(crate) arguments: &'a [String],
    pub(crate) threads: Option<usize>,
    pub(crate) data: Option<&'a Path>,
    pub(crate) folder: &'a Path,
    pub(crate) shards: usize,
}

/// Shell lines that run the shard `$K` of `$N` in the background, and on a signal let it save its state and end.
///
/// The program writes checkpoints and ends within a step after TERM; bash runs a trap only between commands, hence `wait`.
const RUN: &str = r#""$program" "${arguments[@]}" --shard "$K/$N" --no-draw --jobs "$threads" &
child=$!
wait "$child"
code=$?
exit "$code"
"#;

impl Script<'_> {
    /// Script of all shards.
    pub(crate) fn work(&self, kind: Kind) -> String {
        let Self { folder, shards, .. } = self;
        let log = quoted(&folder.join("log").display().to_string());
        let log = log.trim_matches('\'');
        match kind {
            Kind::Slurm => format!(
                "#!/bin/bash\n\
                 #SBATCH --job-name=mcsa\n\
                 #SBATCH --array=1-{shards}\n\
                 #SBATCH --requeue\n\
                 #SBATCH --open-mode=append\n\
                 #SBATCH --signal=B:USR1@90\n\
                 #SBATCH --output=\"{log}/%A-%a.txt\"\n\
                 {start}N={shards}\nK=$SLURM_ARRAY_TASK_ID\nthreads={threads}\n\
                 # Before its time is over, a task saves its state and begins again.\n\
                 again() {{\n    trap '' USR1\n    kill -TERM \"$child\"\n    wait \"$child\"\n    \
                 scontrol requeue \"${{SLURM_ARRAY_JOB_ID}}_$K\"\n    exit 0\n}}\n\
                 trap again USR1\n{RUN}",
                start = self.start(),
                threads = self.threads("${SLURM_CPUS_PER_TASK:-1}"),
            ),
            Kind::Pbs => format!(
                "#!/bin/bash\n\
                 #PBS -N mcsa\n\
                 #PBS -J 1-{shards}\n\
                 #PBS -r y\n\
                 #PBS -j oe\n\
                 #PBS -o {log}\n\
                 {start}N={shards}\nK=$PBS_ARRAY_INDEX\nthreads={threads}\n\
                 trap 'kill -TERM \"$child\"; wait \"$child\"; exit 143' TERM\n{RUN}",
                start = self.start(),
                threads = self.threads("${NCPUS:-1}"),
            ),
            Kind::Lsf => format!(
                "#!/bin/bash\n\
                 #BSUB -J \"mcsa[1-{shards}]\"\n\
                 #BSUB -r\n\
                 #BSUB -o \"{log}/%J-%I.txt\"\n\
                 #BSUB -wa USR1 -wt 2\n\
                 {start}N={shards}\nK=$LSB_JOBINDEX\nthreads={threads}\n\
                 trap 'kill -TERM \"$child\"; wait \"$child\"; brequeue \"$LSB_JOBID[$K]\"; exit 0' USR1\n\
                 trap 'kill -TERM \"$child\"; wait \"$child\"; exit 143' TERM\n{RUN}",
                start = self.start(),
                threads = self.threads("${LSB_DJOB_NUMPROC:-1}"),
            ),
            Kind::Plain => {
                let threads = self.threads.unwrap_or(1).to_string();
                let line = |k| {
                    let shard = format!("{k}/{shards}");
                    self.command(&["--shard", &shard, "--no-draw", "--jobs", &threads]) + "\n"
                };
                (1..=*shards).map(line).collect()
            }
        }
    }

    /// Script of the job that draws.
    pub(crate) fn draw(&self, kind: Kind) -> String {
        let log = self.folder.join("log").display().to_string();
        let head = match kind {
            Kind::Slurm => format!(
                "#SBATCH --job-name=mcsa-draw\n#SBATCH --open-mode=append\n#SBATCH --output=\"{log}/%A-draw.txt\"\n"
            ),
            Kind::Pbs => format!("#PBS -N mcsa-draw\n#PBS -j oe\n#PBS -o {log}\n"),
            Kind::Lsf => format!("#BSUB -J mcsa-draw\n#BSUB -o \"{log}/%J-draw.txt\"\n"),
            Kind::Plain => String::new(),
        };
        format!("#!/bin/bash\n{head}{}\n", self.command(&["--no-run"]))
    }

    /// Command line of the program with all its arguments, for a shell.
    pub(crate) fn command(&self, more: &[&str]) -> String {
        let program = self.program.display().to_string();
        let words = ["figures"].into_iter().chain(self.arguments.iter().map(String::as_str));
        let words = [program.as_str()].into_iter().chain(words).chain(more.iter().copied());
        let line = words.map(quoted).collect::<Vec<_>>().join(" ");
        match self.data {
            Some(data) => format!("MCSA_DATA={} {line}", quoted(&data.display().to_string())),
            None => line,
        }
    }

    /// Commands that submit the scripts, for people.
    pub(crate) fn advice(&self, kind: Kind, work: &Path, draw: &Path, status: &str) -> String {
        let [work, draw] = [work, draw].map(|path| quoted(&path.display().to_string()));
        let how = match kind {
            Kind::Slurm => {
                format!("job=$(sbatch --parsable {work})\nsbatch --dependency=afterany:$job {draw}\n")
            }
            Kind::Pbs => format!("job=$(qsub {work})\nqsub -W depend=afterany:$job {draw}\n"),
            Kind::Lsf => format!("bsub < {work}\nbsub -w 'ended(mcsa)' < {draw}\n"),
            Kind::Plain => {
                let log = quoted(&self.folder.join("joblog").display().to_string());
                format!("parallel --joblog {log} < {work}\nbash {draw}\n")
            }
        };
        format!(
            "written: {work}\n         {draw}\nto run:\n{how}to watch: {status}\nto go on, whatever has run: the same again\n"
        )
    }

    fn start(&self) -> String {
        let data =
            self.data.map(|data| format!("export MCSA_DATA={}\n", quoted(&data.display().to_string())));
        let words: Vec<String> = self.arguments.iter().map(|word| quoted(word)).collect();
        format!(
            "set -u\n{}program={}\narguments=(figures {})\n",
            data.unwrap_or_default(),
            quoted(&self.program.display().to_string()),
            words.join(" "),
        )
    }

    fn threads(&self, given: &str) -> String {
        self.threads.map_or_else(|| given.to_owned(), |threads| threads.to_string())
    }
}

/// A word quoted for a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn script(arguments: &[String]) -> Script<'_> {
        let (program, folder) = (Path::new("/out/sweep/mcsa-bench"), Path::new("/out/sweep"));
        Script { program, arguments, threads: None, data: Some(Path::new("/a b")), folder, shards: 4 }
    }

    #[test]
    fn numbers_of_shards_are_in_the_script() {
        let arguments = ["gaussian".to_owned(), "--out".to_owned(), "/out".to_owned()];
        let text = script(&arguments).work(Kind::Slurm);
        for part in [
            "#SBATCH --array=1-4\n",
            "#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --signal=B:USR1@90\n",
            "export MCSA_DATA='/a b'\n",
            "arguments=(figures gaussian --out /out)\n",
            "N=4\nK=$SLURM_ARRAY_TASK_ID\n",
            "--shard \"$K/$N\" --no-draw",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let plain = script(&arguments).work(Kind::Plain);
        assert_eq!(plain.lines().count(), 4);
        let line = "MCSA_DATA='/a b' /out/sweep/mcsa-bench figures gaussian --out /out --shard 3/4 --no-draw --jobs 1";
        assert_eq!(plain.lines().nth(2), Some(line));
        assert!(script(&arguments).draw(Kind::Slurm).ends_with("--out /out --no-run\n"));
    }

    /// Bash reads every script; a script with a bracket left out is refused.
    #[test]
    #[cfg(unix)]
    fn scripts_are_bash() {
        let arguments = ["it's".to_owned()];
        let script = script(&arguments);
        let is_read = |text: &str| {
            let mut bash = Command::new("bash");
            let status = bash.args(["-n", "-c", text]).stderr(std::process::Stdio::null()).status();
            status.map_or(true, |status| status.success())
        };
        for kind in [Kind::Slurm, Kind::Pbs, Kind::Lsf, Kind::Plain] {
            assert!(is_read(&script.work(kind)) && is_read(&script.draw(kind)));
        }
        assert!(!is_read(&script.work(Kind::Slurm).replace("(figures", "figures")));
    }
}
