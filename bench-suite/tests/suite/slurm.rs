//! A sweep under Slurm on this machine: a task and a node are killed, and the results are those of one process.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::process::{figures, folder, wait_until, words};
use crate::sweep::{results, written};

const ID: &str = "slurmed";
/// Steps after which a job takes some seconds.
const STEPS: u64 = 40_000;

#[expect(clippy::print_stdout, reason = "the log of the test is what its caller wants to see")]
fn tell(message: &str) {
    println!("{message}");
}

/// Slurm with four nodes; its end is that of the test, also if that fails.
struct Cluster {
    folder: PathBuf,
}

impl Cluster {
    fn script(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("slurm").join(name)
    }

    fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("mcsa-slurm-{}", std::process::id()));
        let output = Command::new("sh").arg(Self::script("start.sh")).arg(&folder).arg("4").output();
        let Output { status, stderr, .. } = output.expect("a shell");
        assert!(status.success(), "{}", words(&stderr));
        Self { folder }
    }

    fn command(&self, name: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(name);
        command.args(arguments).env("SLURM_CONF", self.folder.join("slurm.conf"));
        command.output().expect("it starts")
    }

    fn says(&self, name: &str, arguments: &[&str]) -> String {
        words(&self.command(name, arguments).stdout).trim().to_owned()
    }

    /// Task, state, and node of the tasks of a job.
    fn tasks(&self, job: &str) -> Vec<(String, String, String)> {
        let format = "--Format=ArrayTaskID:12,State:16,NodeList:12";
        let said = self.says("squeue", &["--noheader", "--array", "--states=all", "--job", job, format]);
        let task = |line: &str| {
            let mut words = line.split_whitespace().map(String::from);
            Some((words.next()?, words.next()?, words.next().unwrap_or_default()))
        };
        said.lines().filter_map(task).collect()
    }

    /// Submits the sweep and returns the numbers of its job and of the one that draws.
    fn submit(&self, file: &str, out: &Path) -> (String, String) {
        let out = out.display().to_string();
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let run = ["run", "--quiet", "--package", "xtask", "--", "figures", file, "--preset", "quick"];
        let program = ["--program", env!("CARGO_BIN_EXE_mcsa-bench"), "--", "--time=30"];
        let sweep = ["--slurm", "4", "--out", &out];
        let output = self.command(&cargo, &[&run[..], &sweep, &program].concat());
        let said = words(&output.stdout);
        assert!(output.status.success(), "{said} {}", words(&output.stderr));
        let line = said.lines().find(|line| line.starts_with("submitted: ")).expect("a line");
        tell(line);
        let mut numbers = line.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
        let job = numbers.next().expect("a job").to_owned();
        (job, numbers.nth(1).expect("a job").to_owned())
    }

    /// Waits for the end of the sweep and of the drawing.
    fn wait(&self, (work, draw): &(String, String)) {
        let is_over = |job| {
            let tasks = self.tasks(job);
            let open = ["PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "REQUEUED", "SUSPENDED"];
            !tasks.is_empty() && tasks.iter().all(|(_, state, _)| !open.contains(&state.as_str()))
        };
        wait_until("the end of the sweep", || is_over(work) && is_over(draw));
        tell(&format!("tasks ended: {:?}; drawing: {}", self.tasks(work), self.tasks(draw)[0].1));
    }

    /// Processes whose command line or environment contains all of these.
    fn processes(parts: &[&str]) -> Vec<String> {
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = all.filter_map(|entry| entry.file_name().into_string().ok());
        let holds = |id: &String| {
            let read =
                |name| fs::read(format!("/proc/{id}/{name}")).map(|bytes| words(&bytes)).unwrap_or_default();
            let text = (read("cmdline") + "\0" + &read("environ")).replace('\0', "\n");
            parts.iter().all(|part| text.contains(part))
        };
        ids.filter(|id| id.bytes().all(|b| b.is_ascii_digit())).filter(holds).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = Command::new("sh").arg(Self::script("stop.sh")).arg(&self.folder).output();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn kill(process: &str) {
    let _ = Command::new("kill").args(["-9", process]).status();
}

#[test]
#[ignore = "needs Slurm: `cargo xtask test --slurm`"]
fn a_sweep_survives_the_loss_of_a_task_and_of_a_node() {
    let here = folder("slurm");
    let file = written(&here, ID, STEPS);
    let [one, many] = ["one", "many"].map(|name| here.join(name));
    figures(&one, &[&file, "--no-draw"]);
    let expected = results(&one, ID);
    let cluster = Cluster::start();
    let jobs = cluster.submit(&file, &many);
    wait_until("four results", || results(&many, ID).len() >= 4);
    let places: Vec<(String, String)> = cluster
        .tasks(&jobs.0)
        .into_iter()
        .filter(|(_, state, _)| state == "RUNNING")
        .map(|(task, _, node)| (task, node))
        .collect();
    assert!(places.len() >= 2, "all tasks have ended: more steps are needed");
    // The process of a task.
    let out = many.display().to_string();
    let shard = |task: &str| format!("{task}/4");
    let killed = Cluster::processes(&[&out, &shard(&places[0].0), "--no-draw"]);
    assert!(!killed.is_empty());
    killed.iter().for_each(|process| kill(process));
    tell(&format!("killed the program of task {} on {}", places[0].0, places[0].1));
    // A node: its daemon, what it started, and the program of its task; its end is told at once instead of after a timeout.
    let (task, node) = &places[1];
    let daemon = fs::read_to_string(cluster.folder.join(format!("slurmd.{node}.pid"))).expect("a file");
    let name = format!("SLURMD_NODENAME={node}\n");
    let conf = cluster.folder.join("slurm.conf").display().to_string();
    let step = cluster.says("squeue", &["--noheader", "--job", &format!("{}_{task}", jobs.0), "--format=%A"]);
    kill(daemon.trim());
    // In this order: the step would tell of the end of its script.
    Cluster::processes(&[&format!("slurmstepd: [{step}.")]).iter().for_each(|process| kill(process));
    Cluster::processes(&[&name, &conf]).iter().for_each(|process| kill(process));
    cluster.says("scontrol", &["update", &format!("nodename={node}"), "state=down", "reason=killed"]);
    tell(&format!("killed node {node} with task {task}"));
    wait_until("the task of the lost node runs elsewhere", || {
        cluster.tasks(&jobs.0).iter().any(|(of, state, at)| {
            of == task && at != node && ["RUNNING", "COMPLETED"].contains(&state.as_str())
        })
    });
    cluster.wait(&jobs);
    let found = results(&many, ID);
    assert!(found.len() < expected.len(), "the killed task had something left");
    let again = cluster.submit(&file, &many);
    cluster.wait(&again);
    let found = results(&many, ID);
    assert_eq!(found, expected);
    assert!(many.join("report/index.html").is_file());
    tell(&format!("{} results, each byte-equal to that of one process; report drawn", found.len()));
}
