//! Verbs of `cargo xtask`: names, help texts and actions.

use std::io;
use std::process::ExitCode;

use crate::actions::{
    anything, bench, ci, claims, data, figures, fit, manner_of_steps, nothing, swept, test, theory, tidy,
};
use crate::{anchors, audit, book, fuzz, mutants, python, release};

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
pub(crate) const VERBS: [Verb; 16] = [
    Verb {
        name: "test",
        summary: "Run everything that says whether the workspace is right",
        usage: " [ARGS]...",
        details: "Runs the house rules (`tidy`) and `cargo test --workspace`: unit, law, claim and doc tests.\n\
                  Needs Rust and nothing else. Both parts run even if the first fails.\n\n\
                  --backends [UNITS] [ARGS]\n\
                  \x20                  instead: the suite on this machine, as on one without AV\x20-512 (avx2),\n\
                  \x20                  and without AV\x202 (sse2), or on UNITS alone; ARGS go to `cargo test`.\n\
                  \x20                  Where CPUID cannot fault, the numeric tests in qemu\n\
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
                  --terms             licences and citations of all sets on one page\n\
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
        usage: " [--keep-going] [--skip-missing]",
        details: "Format, clippy and rustdoc with warnings as errors, then all that `test` runs; closes with a\n\
                  table of steps. Needs the components rustfmt and clippy, and says so where they are missing.\n\n\
                  --keep-going     run the remaining steps after a failure\n\
                  --skip-missing   skip steps whose component is not installed, and say so",
        check: manner_of_steps,
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
                  step of each estimator with valgrind and writes the table docs/counts.md; with\n\
                  `--counts --check`: compares, and refuses counts that grew by more than 3 %.\n\n\
                  ARGS go to criterion: a filter on bench names, `--quick`, `--save-baseline NAME`.",
        check: anything,
        run: bench,
    },
    Verb {
        name: "audit",
        summary: "Run the checks that need another Rust or a tool",
        usage: " [NAMES]...",
        details: "Each check runs where its tool is installed; elsewhere it says what brings the tool.\n\n\
                  oldest-rust        the workspace builds with Rust 1.89\n\
                  minimal-versions   and with the lowest versions of its dependencies (needs nightly)\n\
                  semver             no public name changed since the last tag v* without a version for it\n\
                  advisories         advisories, licences and sources of dependencies (deny.toml)\n\
                  spelling           words (_typos.toml)\n\
                  counts             instructions of each step within 3 % of docs/counts.md (valgrind)",
        check: audit::check,
        run: audit::run,
    },
    Verb {
        name: "fuzz",
        summary: "Feed changed inputs to everything that reads files",
        usage: " [--seconds N] [--seed S] [--program FILE] [FORMATS]...",
        details: "Changes experiments, settings, finite problems, annealed paths, tables, checkpoints, stored results,\n\
                  folders of posteriordb and files of points at random and starts mcsa-bench on each.\n\
                  A panic, an end by a signal, 10 s of one core, or 4 GB of memory is a finding;\n\
                  its input is kept below target/fuzz. The files of bench-suite/fuzz are read unchanged first.\n\n\
                  --seconds N      how long, in equal shares; 60 if not given\n\
                  --seed S         seed of the changes; 1 if not given\n\
                  --program FILE   mcsa-bench, built before\n\
                  FORMATS          only these: experiment, setting, instance, replay, table, checkpoint, fit,\n\
                  \x20                flow, result, posteriordb, points",
        check: fuzz::check,
        run: fuzz::run,
    },
    Verb {
        name: "mutants",
        summary: "Change a crate in random places, and see whether its tests notice",
        usage: " --crate NAME [--sample N] [--seed S] [--list]",
        details: "Draws N of the changes that `cargo mutants` lists for the crate, and tries each with the crate's\n\
                  own tests; target/mutants.out has the outcomes. docs/mutants.md tells those of two crates.\n\
                  Without cargo-mutants it says how to get it.\n\n\
                  --crate NAME   folder of the crate, such as kernels\n\
                  --sample N     how many changes; 150 if not given\n\
                  --seed S       seed of the sample; 24 if not given\n\
                  --list         print the sample alone",
        check: mutants::check,
        run: mutants::run,
    },
    Verb {
        name: "release",
        summary: "Verify that the library crates can be published",
        usage: " --dry-run [--no-build]",
        details: "Checks manifests, licence texts and READMEs, versions (also of CITATION.cff and the Python package),\n\
                  the changelog and what each package contains (no data); prints the order; packages the crates\n\
                  and builds each from its package alone. Nothing is published.\n\n\
                  --no-build     leave out the builds",
        check: release::check,
        run: release::run,
    },
    Verb {
        name: "anchors",
        summary: "Run samplers and guides of Python packages on our targets",
        usage: " [--seeds N] [--case TITLE]... [--method NAME]... [SCRIPTS]...",
        details: "Makes an environment with pinned packages below target/, writes the cases, checks the densities\n\
                  in Python against ours, runs the scripts of bench-suite/anchors and puts the rows in its rows.csv,\n\
                  in place of stored ones of the same method and case.\n\
                  Needs Python 3.11 and the network; without Python it says so and changes nothing.\n\n\
                  --seeds N      seeds per method and case; 5 if not given\n\
                  --case TITLE   only this case\n\
                  --method NAME  only this method, as rows.csv names it\n\
                  SCRIPTS        only these: nutpie_nuts, blackjax_nuts, blackjax_pathfinder, numpyro_guides",
        check: anchors::check,
        run: anchors::run,
    },
    Verb {
        name: "python",
        summary: "Build the Python package and run its tests",
        usage: " [ARGS]...",
        details: "Makes an environment below target/, installs the package of the folder `python` with pip, and runs\n\
                  pytest on its tests. Tests that need other packages are skipped where these are absent:\n\
                  `target/python/venv/bin/pip install jax pymc nutpie arviz zarr matplotlib mypy` brings them.\n\
                  For Stan: `pip install --no-deps httpstan==4.13.0` and a C++ compiler, or MCSA_STAN, a folder of\n\
                  compiled programs (stan/README.md).\n\
                  Needs Python 3.11 and the network; without Python it says so.\n\n\
                  ARGS go to pytest: `-k interrupt`.",
        check: anything,
        run: python::run,
    },
    Verb {
        name: "book",
        summary: "Build the book with mdBook",
        usage: " [ARGS]...",
        details: "Runs `mdbook build docs/book`; the result is docs/book/book/index.html. Without mdBook it says\n\
                  how to get it: the chapters are also readable as they are, from docs/book/src/SUMMARY.md.\n\
                  Their code is run by `cargo xtask test`, which does not need mdBook.\n\n\
                  ARGS go to mdbook: `--open`.",
        check: anything,
        run: book::run,
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
}
