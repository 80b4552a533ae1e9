//! Metrics of the bound on a regression in two dimensions, against quadrature.

use std::path::PathBuf;

use mcsa_bench_suite::experiment::{Experiment, PresetName};
use mcsa_bench_suite::jobs::Running;
use mcsa_bench_suite::plan::plan;
use mcsa_bench_suite::store::{Outcome, Store};
use mcsa_core::Seed;
use mcsa_data::Catalogue;

const DRAWS: f64 = 20_000.0;

/// A synthetic regression of 20 rows; the fit begins at the prior `N(0, I)` and does not move.
fn text(family: &str) -> String {
    let preset = |name: &str| format!("[preset.{name}]\nreplicates = 1\nsteps = 3\n");
    let presets = ["quick", "default", "paper"].map(preset).concat();
    format!(
        "id = 'bounded'\ntitle = 'Bounded'\nreproduces = []\nseed = 3\n{presets}\
         [fits]\nstart = {{ kind = 'standard' }}\ntrace = {{ points = 1, spacing = 'even' }}\n\
         metrics = {{ bound = {{ draws = {DRAWS} }} }}\n\
         [[fits.optimizer]]\nkind = 'sgd'\nrate = 1e-12\n\
         [[fits.target]]\nkind = 'synthetic-logistic'\nname = 'synthetic'\nrows = 20\nheld_out = 10\ndim = 2\n\
         rate = 0.2\ncorrelation = 0.5\nprior_scale = 1.0\nseed = 1\n\
         [[fits.family]]\n{family}\n[[fits.method]]\nkind = 'minibatched'\nsamples = 1\nbatch = 5\n"
    )
}

fn outcome(folder: &str, family: &str) -> Outcome {
    let experiment = Experiment::parse("bounded.toml", &text(family)).expect("it can be read");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bounds").join(folder);
    let (store, catalogue) = (Store::new(&folder), Catalogue::new(None));
    let plan = plan(&experiment, PresetName::Quick, &catalogue).expect("a plan");
    store.remove(&plan.jobs[0]);
    plan.jobs[0].run(&Running::new(&store, &catalogue)).expect("it runs");
    store.fresh(&plan.jobs[0]).expect("it can be read").expect("a result")
}

/// Bound of the prior, log evidence, and the standard error of its estimate by draws of the prior, by the trapezoidal rule.
fn exact() -> (f64, f64, f64) {
    let experiment = Experiment::parse("bounded.toml", &text("kind = 'mean-field'")).expect("it can be read");
    let catalogue = Catalogue::new(None);
    let plan = plan(&experiment, PresetName::Quick, &catalogue).expect("a plan");
    let target = plan.jobs[0].task.target().build(&catalogue, Seed::new(1)).expect("a target").posterior;
    let (step, mut work) = (0.05, vec![0.0; target.work_len(1)]);
    let (mut bound, mut evidence, mut squares) = (0.0, 0.0, 0.0);
    for i in -160..=160 {
        for j in -160..=160 {
            let z = [f64::from(i) * step, f64::from(j) * step];
            let log_q = -0.5 * (z[0] * z[0] + z[1] * z[1]) - std::f64::consts::TAU.ln();
            let log_w = target.log_density(&z, &mut work) - log_q;
            let mass = log_q.exp() * step * step;
            bound += mass * log_w;
            evidence += mass * log_w.exp();
            squares += mass * (2.0 * log_w).exp();
        }
    }
    (bound, evidence.ln(), ((squares / evidence.powi(2) - 1.0) / DRAWS).sqrt())
}

/// Six standard errors: a false alarm in 5e8 runs, and the seed is fixed.
#[test]
fn bound_and_evidence_are_those_of_all_rows() {
    let (bound, evidence, spread) = exact();
    let plain = outcome("plain", "kind = 'mean-field'\nlink = 'exp'");
    let [row] = &plain.rows[..] else { panic!("one row, at the end") };
    let (found, error) = (row.values["elbo"], row.values["elbo_error"]);
    assert!((found - bound).abs() < 6.0 * error, "{found} is not {bound}");
    assert!((row.values["log_z"] - evidence).abs() < 6.0 * spread, "{} {evidence}", row.values["log_z"]);
    // Counterexample: the bound is not the evidence.
    assert!((found - evidence).abs() > 6.0 * error);
    assert_eq!((row.step, row.values["zero_steps"], row.values["still"]), (3, 0.0, 0.0));
    assert!((0.0..=1.0).contains(&row.values["accuracy"]) && row.values["lpd"] < 0.0);
}

/// Whatever the surrogate, the mean weight on all rows is the evidence, with weights that vary less than under the prior; paths along
/// the posterior raise the bound, and paths that hardly move do not.
#[test]
fn paths_keep_the_evidence_and_raise_the_bound() {
    let (bound, evidence, spread) = exact();
    let path = |surrogate: &str, size: f64| {
        let settings = format!("kind = 'annealed'\nsteps = 4\nlongest = 0.5\nstep_size = {size:?}");
        let folder: String = surrogate.chars().filter(char::is_ascii_alphanumeric).collect();
        let row = outcome(&folder, &format!("{settings}\nsurrogate = {surrogate}")).rows.remove(0);
        assert_eq!((row.values["zero_steps"], row.values["longest_steps"]), (0.0, 0.0));
        row.values
    };
    for surrogate in
        ["'posterior'", "'rand'\npoints = 10", "'km-fix-pm'\npoints = 10", "'minibatch'\npoints = 10"]
    {
        let values = path(surrogate, 0.2);
        assert!((values["log_z"] - evidence).abs() < 6.0 * spread, "{surrogate}: {}", values["log_z"]);
        assert!(values["elbo"] < evidence, "{surrogate}");
    }
    let values = path("'posterior'", 0.2);
    assert!(values["elbo"] > bound + 6.0 * values["elbo_error"]);
    let values = path("'posterior'", 1e-6);
    assert!((values["elbo"] - bound).abs() < 6.0 * values["elbo_error"]);
}

/// A block neural flow begins near the prior: its mean weight is the evidence, and its bound is near that of the prior.
#[test]
fn a_block_neural_flow_keeps_the_evidence() {
    let (bound, evidence, spread) = exact();
    let row = outcome("flow", "kind = 'block-neural'\nnetworks = 1\ndepth = 2\nwidth = 4").rows.remove(0);
    assert!((row.values["log_z"] - evidence).abs() < 6.0 * spread, "{} {evidence}", row.values["log_z"]);
    let elbo = row.values["elbo"];
    assert!((elbo / bound - 1.0).abs() < 0.1 && elbo < evidence, "{elbo} {bound}");
}

/// In each of three steps of a draw: 5 rows of the bound, and for each step of the path a gradient and a product on every point or row of
/// the surrogate.
#[test]
fn terms_are_counted() {
    let path = |surrogate: &str| {
        format!("kind = 'annealed'\nsteps = 4\nlongest = 0.5\nstep_size = 0.1\n{surrogate}")
    };
    let cases = [
        ("none", "kind = 'mean-field'\nlink = 'exp'".to_owned(), 5),
        ("rand", path("surrogate = 'rand'\npoints = 7"), 5 + 2 * 4 * 7),
        ("minibatch", path("surrogate = 'minibatch'\npoints = 6"), 5 + 2 * 4 * 6),
        ("posterior", path("surrogate = 'posterior'"), 5 + 2 * 4 * 20),
    ];
    for (folder, family, each) in cases {
        let outcome = outcome(&format!("terms-{folder}"), &family);
        assert_eq!(outcome.rows[0].values["terms"], f64::from(3 * each), "{folder}");
        assert_eq!(outcome.ended.counts["terms"], 3 * each as u64);
    }
}

#[test]
fn settings_that_do_not_fit_together_are_named() {
    let good =
        text("kind = 'annealed'\nsteps = 4\nlongest = 0.5\nstep_size = 0.1\nsurrogate = 'rand'\npoints = 5");
    let planned = |text: &str| {
        let experiment = Experiment::parse("bounded.toml", text)?;
        plan(&experiment, PresetName::Quick, &Catalogue::new(None)).map(drop)
    };
    assert!(planned(&good).is_ok());
    let refused = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        planned(&good.replacen(from, to, 1)).expect_err("a refusal").to_string()
    };
    let bound = "metrics = { bound = { draws = 20000 } }";
    assert!(refused(bound, "metrics = 'reference'").contains("need metrics of the bound"));
    assert!(refused(bound, "metrics = { bound = { draws = 1 } }").contains("at least 2 draws"));
    let flow = "kind = 'block-neural'\nnetworks = 1\ndepth = 1\nwidth = 0";
    let path = "kind = 'annealed'\nsteps = 4\nlongest = 0.5\nstep_size = 0.1\nsurrogate = 'rand'\npoints = 5";
    let other = good.replacen(path, flow, 1).replacen(bound, "metrics = 'reference'", 1);
    assert!(planned(&other).expect_err("a refusal").to_string().contains("need metrics of the bound"));
    assert!(refused("points = 5", "points = 0").contains("RAND needs points"));
    assert!(refused("surrogate = 'rand'", "surrogate = 'nn'").contains("NN has no points"));
    assert!(refused("surrogate = 'rand'", "surrogate = 'random'").contains("random"));
    assert!(
        refused("kind = 'minibatched'\nsamples = 1\nbatch = 5", "kind = 'pmcsa'\nchains = 4")
            .contains("pmcsa")
    );
    assert!(refused("kind = 'standard'", "kind = 'jittered'").contains("begins at start"));
    let with = good.replacen("[[fits.family]]\n", "[[fits.family]]\nwith = ['pmcsa']\n", 1);
    assert!(planned(&with).unwrap_err().to_string().contains("with = \"pmcsa\""));
}
