//! The program from the command line: exit codes, files, messages.

use std::fs;

use crate::process::{folder, printed, said};

/// Arguments, exit code, and a part of the message. Code 2 is bad usage, code 1 anything else.
const WRONG: [(&str, i32, &str); 77] = [
    ("figures no-such-figure", 2, "no-such-figure"),
    ("figures --preset huge", 2, "huge"),
    ("figures --jobs 99999999", 2, "1..=1024"),
    ("figures --jobs 0", 2, "1..=1024"),
    ("figures pmsca/tab-cost", 2, "did you mean \"pmcsa/tab-cost\""),
    ("figures pmcsa/tab-cost --no-draw --shard 0/3", 2, "0/3"),
    ("figures pmcsa/tab-cost --no-draw --shard 4/3", 2, "4/3"),
    ("figures pmcsa/tab-cost --shard 1/3", 2, "--no-draw"),
    ("claims no-such-figure", 2, "no-such-figure"),
    ("theory --claim 001-T-JSAA", 2, "similar value exists: '001-T-JSA'"),
    ("theory --instance no-such.json", 2, "no-such.json: cannot be read"),
    ("fit", 2, "--model"),
    ("fit --model no-such-model", 2, "no-such-model"),
    ("fit --model eight_schools", 2, "did you mean \"eight-schools\""),
    ("fit --auto --model standard-gaussian --budget 0", 2, "evaluations is 0"),
    ("fit --model standard-gaussian --set method.chain=3", 2, "method: unknown field `chain`"),
    ("fit --model radon --set speed=3", 2, "speed"),
    ("fit --model radon --set speed", 2, "KEY=VALUE"),
    ("fit --model radon --set =3", 2, "a key is expected"),
    ("fit --model radon --set method=0.5", 2, "a key is steps, model.*"),
    ("fit --model radon --set method.chains=0.5", 2, "method.chains: invalid type: floating point `0.5`"),
    ("fit --model radon --set method.chains=-1", 2, "method.chains: invalid value"),
    ("fit --model radon --set optimizer.rate=fast", 2, "optimizer.rate: invalid type: string \"fast\""),
    ("fit --model radon --set steps=many", 2, "steps: invalid type: string \"many\""),
    ("fit --model radon --method ep", 2, "probit"),
    ("fit --model standard-gaussian --set optimizer.rate=0", 2, "rate"),
    ("fit --model standard-gaussian --set method.chains=0", 2, "chains is 0, expected at least 1"),
    ("fit --model standard-gaussian --set family.kind=no-such-family", 2, "no-such-family"),
    ("fit --model standard-gaussian --set model.dim=0", 2, "dim is 0, expected at least 1"),
    ("fit --model correlated-gaussian --set model.dim=0", 2, "dim is 0, expected at least 1"),
    ("fit --model diagonal-gaussian --set model.dim=0", 2, "dim is 0, expected at least 1"),
    ("fit --model wishart-gaussian --set model.dim=0", 2, "dim is 0, expected at least 1"),
    ("fit --model funnel --set model.dim=0", 2, "dim is 0, expected at least 1"),
    ("fit --model modes --set model.dim=0", 2, "dim is 0, expected at least 1"),
    ("fit --model fx-volatility --method smc", 2, "not for a single fit"),
    ("fit --model probit --set model.data=pimma", 2, "did you mean \"pima\""),
    ("fit --model robust-gp --set model.data=pima", 2, "pima"),
    ("fit --model robust-gp --set model.data=gas --data no-such-folder", 1, "gas"),
    // Sizes that cannot be allocated: the message has the largest possible number.
    ("fit --model standard-gaussian --set model.dim=1000000000000", 2, "expected at most 11585"),
    (
        "fit --model eight-schools --method pmcsa --set method.chains=9223372036854775807",
        2,
        "lanes is 9223372036854775807, expected at most",
    ),
    (
        "fit --model banana --method hmc --set method.leapfrog=9223372036854775807",
        2,
        "states of a trajectory",
    ),
    (
        "fit --model eight-schools --set family.kind=low-rank --set family.rank=9223372036854775807",
        2,
        "rank is",
    ),
    (
        "fit --model synthetic-logistic --method sl-dais --set method.batch=9223372036854775807",
        2,
        "rows a batch, the target has 500",
    ),
    (
        "fit --model synthetic-logistic --method sl-dais --set family.steps=9223372036854775807",
        2,
        "steps is 9223372036854775807, expected at most",
    ),
    ("fit --model neural-regression --set model.hidden=9223372036854775807", 2, "hidden units is"),
    ("fit --model skew-normal --set model.kind=eight-schools", 2, "the kind is the name of `--model`"),
    ("fit --model skew-normal --set method.kind=jsa", 2, "the kind is the name of `--method`"),
    ("fit --model logistic --set start.mean=3", 2, "start.mean: standard has no such setting"),
    ("fit --model skew-normal --set model.foo=7", 2, "model.foo: skew-normal has no such setting"),
    ("fit --model probit --method ep --set steps=77", 2, "it has method.sweeps"),
    ("fit --model logistic --method sl-dias", 2, "did you mean \"sl-dais\"?"),
    ("fit --model logistic --method minibatched", 2, "`sl-dais` has minibatches"),
    (
        "fit --auto --model skew-normal --budget 1000 --set options.evaluations=50",
        2,
        "--budget is given, too",
    ),
    ("fit --auto --model standard-gaussian --set options.seed=5", 2, "options.seed: give `--seed`"),
    ("fit --auto --model standard-gaussian --set options.checkpoint=c", 2, "give `--checkpoint`"),
    ("references --only no-such-case --file no-such-folder/r.csv", 2, "no case has this title"),
    (
        "fit --model eight-schools --method snis --set method.samples=9223372036854775807",
        2,
        "expected at most 13421772",
    ),
    (
        "fit --model eight-schools --method jsa --set method.transitions=1000000000",
        2,
        "expected at most 13421772",
    ),
    ("fit --model standard-gaussian --out x.zarr", 2, "`result.to_arviz().to_zarr(path)`"),
    ("fit --model standard-gaussian --budget 5", 2, "--auto"),
    ("fit --model standard-gaussian --seconds 5", 2, "--auto"),
    ("fit --model standard-gaussian --no-gradient", 2, "--auto"),
    ("fit --model standard-gaussian --draws x.csv", 2, "--auto"),
    ("fit --auto --model no-such-model", 2, "no-such-model"),
    ("fit --auto --model standard-gaussian --out x.zarr", 2, "`result.to_arviz().to_zarr(path)`"),
    ("fit --auto --model standard-gaussian --method jsa", 2, "--method"),
    ("fit --auto --model standard-gaussian --seconds=-1", 2, "seconds is -1"),
    ("fit --auto --model standard-gaussian --seconds nan", 2, "seconds is NaN"),
    ("fit --auto --model standard-gaussian --set steps=3", 2, "model.* or options.*"),
    ("fit --auto --model standard-gaussian --set options.start=3", 2, "unknown field `start`"),
    ("fit --auto --model standard-gaussian --set options.draws=many", 2, "options.draws"),
    ("fit --auto --model standard-gaussian --set options.starts=0", 2, "starts is 0"),
    ("fit --auto --model standard-gaussian --set model.dim=1000000000", 2, "at most 11585"),
    ("fit --auto --model standard-gaussian --set model.dim=1000000000000", 2, "at most"),
    (
        "fit --auto --model standard-gaussian --set options.starts=18446744073709551615",
        2,
        "leading zeros is expected, at most 922",
    ),
    (
        "fit --auto --model standard-gaussian --set options.starts=007",
        2,
        "a whole number without leading zeros",
    ),
    ("fit --auto --model neural-regression --set model.data=gas --data no-such-folder", 1, "gas"),
];

#[test]
fn what_is_wrong_has_its_code_and_is_named() {
    for (line, code, part) in WRONG {
        let arguments: Vec<&str> = line.split(' ').collect();
        let (found, words) = said(&arguments);
        assert_eq!(found, code, "{line}: {words}");
        assert!(words.contains(part), "{line}: {words}");
    }
    // Levels of an index are not carried: synthetic ones stand in, and the program says so.
    let index = ["fit", "--model", "stock-volatility", "--data", "no-such-folder", "--set", "steps=1"];
    let (_, words) = said(&index);
    assert!(words.contains("SYNTHETIC data stand in for sp500_close_2007_2017"), "{words}");
}

#[test]
fn one_is_singular() {
    let one = ["fit", "--auto", "--model", "standard-gaussian", "--set", "options.starts=1"];
    let table = said(&one).1;
    assert!(table.contains("start: 1 ascent, ") && table.contains(" 1 mode\n"), "{table}");
}

#[test]
fn listings_name_everything() {
    assert!(printed(&["fit", "--list-models"]).contains("hierarchical-logistic"));
    assert!(printed(&["fit", "--list-methods"]).contains("pmcsa"));
    assert!(printed(&["figures", "--list"]).contains("cw/fig6-gaussian"));
    assert!(
        printed(&["figures", "pmcsa/fig-pruning", "--list"]).starts_with("pmcsa/tab-neural-regression: ")
    );
}

#[test]
fn a_fit_is_written_with_names_and_counts() {
    let file = folder("program-fit").join("fit.json");
    let out = file.to_str().expect("a path in words");
    let settings =
        ["--set", "steps=300", "--set", "method.chains=4", "--set", "optimizer.kind=sgd", "--seed", "3"];
    let model = ["fit", "--model", "eight-schools", "--method", "pmcsa", "--out", out];
    printed(&[model.as_slice(), &settings].concat());
    let text = fs::read_to_string(&file).expect("it was written");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["outcome"]["kind"], "budget-spent");
    assert_eq!(report["parameters"].as_array().expect("a list").len(), 10);
    assert_eq!(report["counts"]["p_evaluations"], 4 * 301);
    assert_eq!(report["fit"]["optimizer"]["kind"], "sgd");
}
