//! Jobs of each kind under signals, in processes of their own.

use super::*;
use mcsa_bench_suite::interrupt::Interrupt;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const FOLDER: &str = "MCSA_KINDS_FOLDER";
const KIND: &str = "MCSA_KINDS_KIND";

/// Code of a child process, not a test: saves a checkpoint after every step, reports each and whether work preceded it, and waits for a line of its
/// standard input before it goes on: `step`, or `free` to wait no more. After the last line it waits for a signal.
#[test]
#[ignore = "run by the tests of signals, in processes of its own"]
#[expect(clippy::disallowed_methods, reason = "waits for a signal")]
fn child() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the parent says where"));
    let kind = std::env::var(KIND).expect("the parent says which");
    let interrupt = Interrupt::listen().unwrap();
    let say = |text: &str| writeln!(std::io::stdout(), "{text}").unwrap();
    say("listening");
    let Some((_, jobs)) = jobs().into_iter().find(|(name, _)| *name == kind) else {
        // A process that ignores requests to stop.
        loop {
            std::thread::park();
        }
    };
    let (store, catalogue) = (Store::new(folder), Catalogue::new(None));
    let is_free = AtomicBool::new(false);
    let progress = |work| {
        say(if work > 0 { "checkpoint after work" } else { "checkpoint" });
        let mut line = String::new();
        if !is_free.load(Relaxed) && std::io::stdin().read_line(&mut line).unwrap() == 0 {
            while interrupt.code().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        is_free.fetch_or(line.trim() == "free", Relaxed);
        interrupt.code().is_none()
    };
    let checkpoint = Due::Steps(1);
    let running = Running { checkpoint, progress: &progress, ..Running::new(&store, &catalogue) };
    if jobs[0].run(&running).unwrap() == Ending::Interrupted {
        std::process::exit(i32::from(interrupt.code().expect("a signal")));
    }
}

fn spawn(kind: &str, folder: &Path) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "signals::child", "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env(FOLDER, folder).env(KIND, kind).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines.map_while(Result::ok))
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Each kind is killed, and asked to stop, while it runs, and resumed in between.
#[test]
fn signals_change_no_row() {
    // A health has checkpoints without steps, more of them on a slower machine.
    let worked = |line: &String| line.contains("after work");
    for (kind, jobs) in jobs() {
        let parts = folder(&format!("signals-{kind}"));
        let ends = [("-KILL", 5, None), ("-TERM", 3, Some(143)), ("-INT", 6, Some(130)), ("-KILL", 4, None)];
        let mut told = 0;
        for (signal, checkpoints, code) in ends {
            let (mut child, mut lines) = spawn(kind, &parts);
            let mut orders = child.stdin.take().unwrap();
            orders.write_all("step\n".repeat(checkpoints - 1).as_bytes()).unwrap();
            let said = |line: &String| line.contains("checkpoint");
            // The reader lives until the end, because a child whose pipe breaks would end.
            let first: Vec<String> = lines.by_ref().filter(said).take(checkpoints).collect();
            assert_eq!(first.len(), checkpoints, "{kind}");
            // The child waits here, however slow the machine is.
            send(signal, &child);
            drop(orders);
            told += first.into_iter().chain(lines).filter(worked).count();
            let status = child.wait().unwrap();
            assert_eq!(status.code(), code, "{kind}, {signal}: {status}");
            assert_eq!(status.signal(), code.is_none().then_some(9), "{kind}, {signal}: {status}");
        }
        let (mut child, lines) = spawn(kind, &parts);
        child.stdin.take().unwrap().write_all(b"free\n").unwrap();
        told += lines.filter(worked).count();
        assert!(child.wait().unwrap().success(), "{kind}");
        // At most 40 steps (some kinds tell several at once), the first call of each of the four runs that resume, and one
        // repeated step after each kill.
        assert!((5..=40 + 4 + 2).contains(&told), "{kind}: it went on, and did not begin again: {told}");
        assert!(same(&result(&parts, &jobs[0]), &whole(&jobs[0], "signals")), "{kind}");
    }
}

/// Two signals at once count as one, as `timeout` sends them; a later one ends the program at once.
#[test]
#[expect(clippy::disallowed_methods, reason = "a person presses a key twice, and not in the same moment")]
fn a_second_signal_ends_at_once() {
    let (mut child, mut lines) = spawn("deaf", &folder("deaf"));
    assert!(lines.any(|line| line.contains("listening")));
    send("-TERM", &child);
    send("-TERM", &child);
    std::thread::sleep(Interrupt::GRACE / 2);
    assert_eq!(child.try_wait().unwrap(), None, "it was asked, not ended");
    std::thread::sleep(2 * Interrupt::GRACE);
    assert_eq!(child.try_wait().unwrap(), None, "it still is");
    send("-INT", &child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
