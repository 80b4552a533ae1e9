//! Sweeps as many processes: killed at random, they end with the results of one process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use mcsa_bench_suite::provenance::Run;
use mcsa_bench_suite::store::Store;
use mcsa_core::Seed;
use serde_json::Value;

use crate::process::{figures, folder, program, words};

/// Writes an experiment of 32 jobs of unequal length into a folder and returns its path.
pub(crate) fn written(folder: &Path, id: &str, steps: u64) -> String {
    fs::create_dir_all(folder).expect("a place");
    let file = folder.join(format!("{id}.toml"));
    let text = format!(
        "id = '{id}'\ntitle = 'A sweep'\nseed = 7\npreset.quick = {{ replicates = 4, steps = {steps} }}\n\
         [fits]\nstart = {{ kind = 'standard' }}\ntrace = {{ points = 4, spacing = 'even' }}\n\
         [[fits.target]]\nkind = 'correlated-gaussian'\ndim = 10\ncorrelation = 0.2\n\
         [[fits.target]]\nkind = 'diagonal-gaussian'\ndim = 40\n\
         [[fits.family]]\nkind = 'mean-field'\n\
         [[fits.method]]\nkind = 'pmcsa'\nchains = 10\n\
         [[fits.method]]\nkind = 'jsa'\ntransitions = 10\n\
         [[fits.method]]\nkind = 'snis'\nsamples = 10\n\
         [[fits.method]]\nkind = 'elbo'\nsamples = 10\n\
         [[fits.optimizer]]\nkind = 'adam'\nrate = 0.01\n"
    );
    fs::write(&file, text).expect("a file");
    file.display().to_string()
}

/// Removes what may differ between machines and runs: seconds, vector units, and the checksum over them.
fn without_seconds(value: &mut Value) {
    if let Value::Object(map) = value {
        ["seconds", "measuring", "judging", "unit", "sha256"].iter().for_each(|name| drop(map.remove(*name)));
        map.values_mut().for_each(without_seconds);
    }
}

/// All results of an experiment by file name, byte for byte but for seconds and machines.
pub(crate) fn results(out: &Path, id: &str) -> BTreeMap<String, String> {
    let files = fs::read_dir(out.join("results").join(id)).into_iter().flatten().flatten();
    let files = files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|e| e == "jsonl"));
    let read = |path: PathBuf| {
        let line = |line: &str| {
            let mut value: Value = serde_json::from_str(line).expect("JSON");
            without_seconds(&mut value);
            value.to_string() + "\n"
        };
        let text = fs::read_to_string(&path).expect("a text");
        let text: String =
            text.lines().filter(|line| !line.contains("\"name\":\"seconds\"")).map(line).collect();
        (path.file_name().expect("a name").to_string_lossy().into_owned(), text)
    };
    files.map(read).collect()
}

/// Starts a shard on one thread.
fn start(file: &str, shard: &str, out: &Path) -> Child {
    let mut command = program(&["figures", file, "--preset", "quick", "--no-draw", "--jobs", "1"]);
    command.args(["--shard", shard, "--out"]).arg(out).stdout(Stdio::null());
    command.spawn().expect("it starts")
}

/// Eight processes on one folder, one shard twice, each killed at random times and started again, leave the results of one
/// process; no file that is being written is touched.
#[test]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "a kill must fall anywhere, also inside a write")]
fn killed_shards_lose_and_repeat_nothing() {
    let (here, id) = (folder("sweep-killed"), "swept");
    let file = written(&here, id, 4_000);
    let [one, many] = ["one", "many"].map(|name| here.join(name));
    figures(&one, &[&file, "--no-draw", "--jobs", "2"]);
    let expected = results(&one, id);
    assert_eq!(expected.len(), 32);
    let elsewhere = many.join("results").join(id).join(".a.jsonl.00.mcsa-tmp");
    fs::create_dir_all(elsewhere.parent().expect("a folder")).expect("a place");
    fs::write(&elsewhere, "half a resu").expect("a file");
    let writer = fs::File::open(&elsewhere).expect("a file");
    writer.lock().expect("a lock");
    let mut chance = Seed::new(1).stream(0, 0);
    let shards: Vec<String> = (1..=8).map(|k| format!("{k}/8")).chain(["3/8".to_owned()]).collect();
    let mut children: Vec<(&str, Child)> =
        shards.iter().map(|shard| (shard.as_str(), start(&file, shard, &many))).collect();
    for _ in 0..24 {
        std::thread::sleep(Duration::from_micros(chance.index(120_000).unwrap_or(0) as u64));
        let (shard, child) = &mut children[chance.index(9).unwrap_or(0)];
        // A process that has ended cannot be killed; it is started again nevertheless.
        let _ = child.kill();
        let _ = child.wait();
        *child = start(&file, shard, &many);
    }
    for (shard, child) in children {
        let ended = child.wait_with_output().expect("it ends");
        assert!(ended.status.success(), "{shard}: {}", words(&ended.stderr));
    }
    assert_eq!(results(&many, id), expected);
    assert!(elsewhere.is_file(), "it is in use");
    let left = fs::read_dir(many.join("results").join(id)).expect("a folder").flatten();
    let litter = left.filter(|file| {
        let name = file.file_name().to_string_lossy().into_owned();
        ["tmp", ".checkpoint", ".bad"].iter().any(|ending| name.ends_with(ending))
    });
    assert_eq!(litter.count(), 1);
    // A killed process has recorded what it stored, but for one result at most.
    let runs = Run::all(&Store::new(many.join("results")), id).0;
    let told: usize = runs.iter().map(|run| run.jobs).sum();
    assert!(runs.len() >= 8 && told + 24 >= 32, "{told} results of {} runs", runs.len());
    let status = figures(&many, &[&file, "--status"]);
    assert!(
        status.lines().next().is_some_and(|line| line.contains("32 jobs       32 done        0 failed")),
        "{status}"
    );
    assert!(figures(&many, &[&file, "--no-draw"]).contains("32 jobs, 0 to run"));
    // Counterexample: without one of the shards, its results are missing.
    let some = here.join("some");
    for shard in &shards[1..8] {
        assert!(start(&file, shard, &some).wait().expect("it ends").success());
    }
    let found = results(&some, id);
    assert!(found.len() < 32 && found.iter().all(|(name, text)| expected[name] == *text), "{}", found.len());
}
