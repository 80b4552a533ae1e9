//! Verbs of `cargo xtask`: names, help texts and actions.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use crate::anchors;
use crate::steps::{self, Step};
use crate::terminal::say;
use crate::{python, sweep, workspace};

/// One verb.
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    summary: &'static str,
    usage: &'static str,
    details: &'static str,
    /// Refuses arguments that the verb does not accept, with an error message.
    pub(crate) check: fn(&[String]) -> Result<(), String>,
    pub(crate) run: fn(&[String]) -> io::Result<ExitCode>,
}

impl Verb {
    pub(crate) fn help(&self) -> String {
        let Self { name, summary, usage, details, .. } = self;
        format!("{summary}\n\nUsage: cargo xtask {name}{usage}\n\n{details}\n")
    }
}

/// All verbs, in the order of the overview.
pub(crate) const VERBS: [Verb; 11] = [
    Verb {
        name: "test",
        summary: "Run everything that says whether the workspace is right",
        usage: " [ARGS]...",
        details: "Runs the house rules (`tidy`) and `cargo test --workspace`: unit, law, claim and doc tests.\n\
                  Needs Rust and nothing else. Both parts run even if the first fails.\n\n\
                  --slurm            instead: start Slurm on this machine, run a sweep on four nodes, kill a task\n\
                  \x20                  and a node, and compare all results with those of one process. Needs root\n\
                  \x20                  and the Debian packages munge slurmctld slurmd slurm-client\n\
                  \x20                  slurm-wlm-basic-plugins; without them nothing is tested\n\n\
                  Other ARGS go to `cargo test`: a filter on test names, or `-- --nocapture`.",
        check: anything,
        run: test,
    },
    Verb {
        name: "figures",
        summary: "Run the experiments and draw the figures",
        usage: " [ARGS]... [-- SBATCH FLAGS]",
        details: "Builds bench-suite in release mode, runs the jobs that have no result of this code, draws every\n\
                  figure, judges every claim and writes report/index.html. An interrupted run goes on where it\n\
                  stopped.\n\n\
                  IDS...             only these experiments, by name, or files of your own: my_experiment.toml\n\
                  --preset P         quick (about a minute), default (half an hour) or paper (many hours)\n\
                  --jobs N           jobs at once; results do not depend on it\n\
                  --out DIR          where results/ and report/ go\n\
                  --data DIR         where imported data sets are\n\
                  --force            run all jobs again\n\
                  --no-run           draw what is there\n\
                  --list             list the experiments\n\
                  --status           tell what is done, running, failed and missing\n\n\
                  --slurm N          instead: submit N processes to Slurm and a job that draws after them;\n\
                  \x20                  the same again goes on. FLAGS go to sbatch: `-- --time=4:00:00`\n\
                  --script KIND      instead: write scripts for slurm, pbs, lsf, or plain shell lines,\n\
                  --shards N         for N processes\n\
                  --program FILE     for these: a program built before\n\n\
                  docs/cluster.md tells more. Its own help: `cargo xtask figures -- --help`.",
        check: |arguments| swept(arguments).map(drop),
        run: figures,
    },
    Verb {
        name: "claims",
        summary: "Print what results say of each claim",
        usage: " [ARGS]...",
        details: "Builds bench-suite in release mode and starts `mcsa-bench claims ARGS`. Runs no experiment:\n\
                  `figures` does. Takes IDS, --preset, --out and --data as `figures` does.",
        check: anything,
        run: claims,
    },
    Verb {
        name: "fit",
        summary: "Fit one model by one method, or without a choice of method",
        usage: " --model NAME [--method NAME | --auto] [ARGS]...",
        details: "Builds bench-suite in release mode and starts `mcsa-bench fit ARGS`; writes JSON: outcome,\n\
                  parameters by name, held-out metrics, evaluations. With `--auto` starts, climb, weighted\n\
                  draws and a verdict; exit code 3 if it is no.\n\n\
                  --auto             no choice of method: --budget EVALUATIONS, --seconds S, --no-gradient,\n\
                  \x20                  --draws FILE.csv\n\
                  --set KEY=VALUE    a setting: `method.chains=20`, `optimizer.rate=0.1`, `steps=2000`; repeatable\n\
                  --seed N           the seed\n\
                  --out FILE         where to write\n\
                  --checkpoint FILE  where an interrupted fit is kept, and goes on from\n\
                  --list-models, --list-methods\n\n\
                  Its own help: `cargo xtask fit -- --help`.",
        check: anything,
        run: fit,
    },
    Verb {
        name: "data",
        summary: "List the data sets, check them, or import one",
        usage: " [ARGS]...",
        details: "Builds bench-suite in release mode and starts `mcsa-bench data ARGS`. Sets are carried (part of\n\
                  the repository), imported (a file you brought) or absent. Nothing fails because a set is absent\n\
                  but the experiments on it.\n\n\
                  (nothing), list     all sets with their state; where to get those that are absent\n\
                  show NAME           columns, labels, source, citation and terms of one set\n\
                  check [NAME]        load every set that is there, or one, and check all that is known of it\n\
                  import NAME FILE    check a file you brought and keep it: `import sml path/to/data.csv`\n\
                  --data DIR          where imported files are; else MCSA_DATA names it, else `data` at the root\n\n\
                  Its own help: `cargo xtask data -- --help`.",
        check: anything,
        run: data,
    },
    Verb {
        name: "theory",
        summary: "Try what the papers claim about bias, variance and rates",
        usage: " [ARGS]...",
        details: "Builds bench-suite in release mode and starts `mcsa-bench theory ARGS`: a table of all claims with\n\
                  the worst case found for each, and `report/theory.html`.\n\n\
                  --claim ID     only this claim, such as 000-T1\n\
                  --long         a hundred thousand cases per statement\n\
                  --json         all that was found, as JSON\n\
                  --instance FILE  instead, work out one finite problem exactly; JSON in and out\n\
                  --replay FILE  instead, value and gradient of one annealed path; JSON in and out\n\n\
                  Its own help: `cargo xtask theory -- --help`.",
        check: anything,
        run: theory,
    },
    Verb {
        name: "ci",
        summary: "Run what every commit has to pass",
        usage: " [--keep-going]",
        details: "Format, clippy and rustdoc with warnings as errors, then all that `test` runs; closes with a\n\
                  table of steps. Needs the components rustfmt and clippy, and says so where they are missing.\n\n\
                  --keep-going   run the remaining steps after a failure",
        check: only_keep_going,
        run: ci,
    },
    Verb {
        name: "tidy",
        summary: "Check the house rules on the text of the repository",
        usage: "",
        details: "Reads every tracked text file and prints `path:line: rule: what to do` for each breach:\n\
                  file lengths and names, lints silenced, unfinished work, unwrap in libraries, dependency\n\
                  arrows between our crates, manifests, citation keys, words that mean nothing outside.\n\
                  CONTRIBUTING.md gives the reasons.",
        check: nothing,
        run: tidy,
    },
    Verb {
        name: "bench",
        summary: "Measure speed with the criterion benches",
        usage: " [ARGS]...",
        details: "Runs every bench target of the workspace. With `--counts` instead: counts the instructions of a\n\
                  step of each estimator with valgrind and writes the table docs/counts.md.\n\n\
                  ARGS go to criterion: a filter on bench names, `--quick`, `--save-baseline NAME`.",
        check: anything,
        run: bench,
    },
    Verb {
        name: "anchors",
        summary: "Run samplers and guides of Python packages on our targets",
        usage: " [--seeds N] [SCRIPTS]...",
        details: "Makes an environment with pinned packages below target/, writes the cases, checks the densities\n\
                  in Python against ours, runs the scripts of bench-suite/anchors and writes its rows.csv.\n\
                  Needs Python 3.11 and the network; without Python it says so and changes nothing.\n\n\
                  --seeds N      seeds per method and case; 5 if not given\n\
                  SCRIPTS        only these: nutpie_nuts, blackjax_nuts, blackjax_pathfinder, numpyro_guides",
        check: anchors::check,
        run: anchors::run,
    },
    Verb {
        name: "python",
        summary: "Build the Python package and run its tests",
        usage: " [ARGS]...",
        details: "Makes an environment below target/, installs the package of the folder `python` with pip, and runs\n\
                  pytest on its tests. Tests that need JAX, PyMC, ArviZ or Stan are skipped where these are absent:\n\
                  `target/python/venv/bin/pip install jax pymc nutpie arviz zarr matplotlib` brings them;\n\
                  for Stan, MCSA_STAN names a folder of compiled programs (stan/README.md).\n\
                  Needs Python 3.11 and the network; without Python it says so.\n\n\
                  ARGS go to pytest: `-k interrupt`.",
        check: anything,
        run: python::run,
    },
];

/// The text of `cargo xtask --help`.
pub(crate) fn overview() -> String {
    let mut text =
        String::from("Chores of the mcsa workspace\n\nUsage: cargo xtask <VERB> [ARGS]...\n\nVerbs:\n");
    for verb in &VERBS {
        text += &format!("  {:<9}{}\n", verb.name, verb.summary);
    }
    text + "\n`cargo xtask help <VERB>` explains one.\n"
}

fn anything(_: &[String]) -> Result<(), String> {
    Ok(())
}

fn nothing(arguments: &[String]) -> Result<(), String> {
    match arguments {
        [] => Ok(()),
        [first, ..] => Err(format!("this verb takes no arguments, not even `{first}`")),
    }
}

fn only_keep_going(arguments: &[String]) -> Result<(), String> {
    match arguments.iter().find(|argument| *argument != "--keep-going") {
        None => Ok(()),
        Some(other) => Err(format!("`{other}`? the only option is --keep-going")),
    }
}

fn test(arguments: &[String]) -> io::Result<ExitCode> {
    if arguments == ["--slurm"] {
        return test_slurm();
    }
    steps::run(&test_steps(arguments), true)
}

/// Runs the test of a sweep under Slurm, unless Slurm is not installed.
fn test_slurm() -> io::Result<ExitCode> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| {
        std::env::split_paths(&paths).chain(["/usr/sbin".into()]).any(|folder| folder.join(name).is_file())
    };
    if let Some(name) = ["munged", "slurmctld", "slurmd", "sbatch"].into_iter().find(|name| !is_there(name)) {
        return say(&format!(
            "skipped: {name} is not installed. On Debian, as root:\n\
             apt-get install --no-install-recommends munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins\n"
        ));
    }
    let test = ["test", "-p", "mcsa-bench-suite", "--test", "suite", "--"];
    let only = ["slurm::", "--ignored", "--nocapture", "--test-threads=1"].map(String::from);
    Step::cargo("slurm", &test).and(&only).hand_over()
}

fn ci(arguments: &[String]) -> io::Result<ExitCode> {
    let mut all = vec![
        Step::cargo("fmt", &["fmt", "--all", "--check"]).needs("rustfmt"),
        Step::cargo("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
            .needs("clippy"),
        Step::cargo("rustdoc", &["doc", "--workspace", "--no-deps"]).with("RUSTDOCFLAGS", "-D warnings"),
    ];
    all.extend(test_steps(&[]));
    steps::run(&all, !arguments.is_empty())
}

fn test_steps(arguments: &[String]) -> Vec<Step> {
    let tests = Step::cargo("test", &["test", "--workspace", "--exclude", "mcsa-speed", "--no-fail-fast"])
        .and(arguments);
    vec![Step::tidy(), tests]
}

fn tidy(_: &[String]) -> io::Result<ExitCode> {
    let clean = crate::tidy::check(&workspace::root())?;
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn bench(arguments: &[String]) -> io::Result<ExitCode> {
    if arguments == ["--counts"] {
        return crate::counts::regenerate();
    }
    Step::cargo("bench", &["bench", "-p", "mcsa-speed", "--"]).and(after_dashes(arguments)).hand_over()
}

fn theory(arguments: &[String]) -> io::Result<ExitCode> {
    theory_step(arguments).hand_over()
}

/// Command of the verb `theory`. It runs at the root, where the page is written; with `--instance` or `--replay` it runs
/// in the user's current directory, so that the path of the file resolves.
fn theory_step(arguments: &[String]) -> Step {
    let manifest = workspace::root().join("Cargo.toml").display().to_string();
    let start = ["run", "--release", "--manifest-path", &manifest, "-p", "mcsa-bench-suite"];
    let step = Step::cargo("theory", &start).and(&["--bin", "mcsa-bench", "--", "theory"].map(String::from));
    let step = step.and(after_dashes(arguments));
    let names = |argument: &str, name: &str| {
        argument.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    let reads = |argument: &String| names(argument, "--instance") || names(argument, "--replay");
    if arguments.iter().any(reads) { step.here() } else { step }
}

fn figures(arguments: &[String]) -> io::Result<ExitCode> {
    match swept(arguments).map_err(io::Error::other)? {
        Some(request) => sweep::run(&request),
        None => suite("figures", arguments),
    }
}

/// The sweep that the arguments of `figures` ask for, if they do.
fn swept(arguments: &[String]) -> Result<Option<sweep::Request>, String> {
    let here = std::env::current_dir().map_err(|error| format!("no current directory: {error}"))?;
    let named = std::env::var_os("MCSA_DATA").filter(|name| !name.is_empty());
    let data = named.map_or_else(|| workspace::root().join("data"), |name| here.join(name));
    sweep::read(arguments, &here, Some(data))
}

fn claims(arguments: &[String]) -> io::Result<ExitCode> {
    suite("claims", arguments)
}

fn fit(arguments: &[String]) -> io::Result<ExitCode> {
    suite("fit", arguments)
}

fn data(arguments: &[String]) -> io::Result<ExitCode> {
    suite("data", arguments)
}

fn suite(verb: &'static str, arguments: &[String]) -> io::Result<ExitCode> {
    suite_step(verb, arguments, std::env::var_os("MCSA_DATA").filter(|name| !name.is_empty())).hand_over()
}

/// Command of a verb of bench-suite. It runs in the user's current directory so that paths resolve; the data folder defaults
/// to the one at the root.
fn suite_step(verb: &'static str, arguments: &[String], named: Option<OsString>) -> Step {
    let manifest = workspace::root().join("Cargo.toml").display().to_string();
    let start = ["run", "--quiet", "--release", "--manifest-path", &manifest, "-p", "mcsa-bench-suite"];
    let step = Step::cargo(verb, &start).and(&["--bin", "mcsa-bench", "--", verb].map(String::from));
    let folder = named.unwrap_or_else(|| workspace::root().join("data").into());
    step.and(after_dashes(arguments)).with("MCSA_DATA", folder).here()
}

/// The arguments without a leading `--`.
fn after_dashes(arguments: &[String]) -> &[String] {
    match arguments {
        [first, rest @ ..] if first == "--" => rest,
        all => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_is_listed_and_explained() {
        for verb in &VERBS {
            assert!(overview().contains(verb.summary));
            assert!(verb.help().contains(&format!("cargo xtask {}", verb.name)));
        }
    }

    #[test]
    fn help_fits_a_terminal() {
        let texts = VERBS.iter().map(Verb::help).chain([overview()]);
        for line in texts.flat_map(|text| text.lines().map(String::from).collect::<Vec<_>>()) {
            assert!(line.len() <= 100, "{line}");
        }
    }

    #[test]
    fn an_instance_is_read_where_the_user_is() {
        let place = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            theory_step(&arguments).directory()
        };
        assert_eq!(place(&["--instance", "x.json"]), std::env::current_dir().ok());
        assert_eq!(place(&["--instance=x.json"]), std::env::current_dir().ok());
        assert_eq!(place(&["--replay", "x.json"]), std::env::current_dir().ok());
        assert_eq!(place(&["--claim", "000-T1"]), Some(workspace::root()));
    }

    #[test]
    fn data_is_looked_for_where_the_user_says() {
        let arguments = ["import", "sml", "x.csv"].map(String::from);
        let step = suite_step("data", &arguments, Some("elsewhere".into()));
        assert!(step.title().ends_with("-- data import sml x.csv"), "{}", step.title());
        assert_eq!(step.variable("MCSA_DATA"), Some("elsewhere".into()));
        let at_the_root = workspace::root().join("data").into_os_string();
        assert_eq!(suite_step("data", &[], None).variable("MCSA_DATA"), Some(at_the_root));
    }

    #[test]
    fn leading_dashes_end_our_own_options() {
        let arguments = ["--", "--quick"].map(String::from);
        assert_eq!(after_dashes(&arguments), &arguments[1..]);
        assert_eq!(after_dashes(&arguments[1..]), &arguments[1..]);
        assert!(after_dashes(&[]).is_empty());
    }
}
