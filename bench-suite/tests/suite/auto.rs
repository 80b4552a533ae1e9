//! `fit --auto`: arguments, table, JSON, draws, both verdicts, and interruptions.

use std::fs;
use std::path::Path;

use mcsa::posterior::{FitState, Stage};
use mcsa_bench_suite::interrupt::Interrupt;
use mcsa_bench_suite::verbs::Exit;
use serde_json::Value;

use crate::process::{self, has_all_numbers, listed, made_folder as folder, run, words};

/// The table, and the end of the verb.
fn fit(interrupt: &Interrupt, arguments: &[&str]) -> (String, Result<(), Exit>) {
    process::fit(interrupt, &[&["--auto"], arguments].concat())
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("it was written")).expect("JSON")
}

#[test]
fn both_verdicts_have_their_codes_and_reports() {
    let folder = folder("auto-verdicts");
    let (out, draws) = (folder.join("fit.json"), folder.join("draws.csv"));
    let [out_name, draws_name] = [&out, &draws].map(|path| path.to_str().expect("a path in words"));
    let files = ["--out", out_name, "--draws", draws_name];
    let small = ["--set", "options.starts=10", "--set", "options.draws=2000"];
    let yes = ["fit", "--auto", "--model", "eight-schools", "--seed", "1"];
    let output = run(&[&yes[..], &small, &files].concat());
    let table = words(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{table}");
    assert!(table.contains("start: 10 ascents") && table.contains("climb of a Student t"), "{table}");
    assert!(table.contains("Reliable: yes, all checks passed; "), "{table}");
    let report = json(&out);
    assert_eq!((&report["verdict"]["answer"], &report["gradient"]), (&"yes".into(), &true.into()));
    assert_eq!(report["parameters"].as_array().map(Vec::len), Some(10));
    for name in ["mean", "error", "sd"] {
        assert!(report["parameters"][0][name].is_number(), "{name}");
    }
    assert_eq!(report["parameters"][0]["quantiles"].as_array().map(Vec::len), Some(3));
    let [lower, log, upper] =
        ["lower", "log", "upper"].map(|name| report["evidence"][name].as_f64().expect("a number"));
    assert!(lower < log && log < upper + 0.5, "{lower} {log} {upper}");
    assert_eq!(report["stages"]["starts"], 10);
    assert!(report["stages"]["climbs"][0]["rounds"][0]["share"].is_number());
    assert_eq!(report["handover"]["covariance"].as_array().map(Vec::len), Some(10));
    assert_eq!(report["handover"]["starts"][15].as_array().map(Vec::len), Some(10));
    assert!(report["evaluations"]["gradient"].as_u64() > Some(0));
    assert!(has_all_numbers(&report, &["seconds", "checkpoint", "evaluations"]), "{report}");
    // The draws have the evidence and the mean of the report.
    let text = fs::read_to_string(&draws).expect("it was written");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a line").split(',').collect();
    assert_eq!((names.len(), &names[10..]), (13, &["log_p", "log_q", "log_weight"][..]));
    let rows: Vec<Vec<f64>> =
        lines.map(|line| line.split(',').map(|word| word.parse().expect("a number")).collect()).collect();
    assert_eq!(rows.len(), 2_000);
    let mean: f64 = rows.iter().map(|row| row[12].exp() * row[0]).sum();
    let reported = report["parameters"][0]["mean"].as_f64().expect("a number");
    assert!((mean - reported).abs() < 1e-9, "{mean} {reported}");
    let evidence = (rows.iter().map(|row| (row[10] - row[11]).exp()).sum::<f64>() / 2_000.0).ln();
    assert!((evidence - log).abs() < 1e-9, "{evidence} {log}");

    // A budget that ends the starts is a no, with its reason, and the files are written all the same.
    let no = ["fit", "--auto", "--model", "eight-schools", "--budget", "500", "--no-gradient"];
    let output = run(&[&no[..], &small, &files].concat());
    let [table, errors] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("words"));
    assert_eq!(output.status.code(), Some(3), "{table}{errors}");
    assert!(table.contains("Reliable: no\n  - ") && errors.contains("the verdict is no"), "{table}");
    let report = json(&out);
    assert_eq!((&report["verdict"]["answer"], &report["gradient"]), (&"no".into(), &false.into()));
    let objections = report["verdict"]["objections"].as_array().expect("a list");
    let tempering = objections.iter().find(|said| said["witness"] == "tempering").expect("an objection");
    assert!(tempering["exponent"].as_f64() < Some(1.0) && tempering["says"].is_string());
    assert_eq!(report["options"]["evaluations"], 500);
    assert!(has_all_numbers(&report, &["seconds", "checkpoint", "handover"]), "{report}");
}

/// Every model, with and without its gradient, begins its fit; an interrupted one says so. Whole fits of small models come to a verdict.
#[test]
fn every_listed_model_is_begun() {
    let names = listed("--list-models");
    assert!(names.len() >= 20, "{names:?}");
    let names = names.iter().map(String::as_str);
    let small = |name: &str| match name {
        "neural-regression" => "model.hidden=3",
        "stock-volatility" => "model.data=fx_ecb_18",
        "diagonal-gaussian" | "wishart-gaussian" => "model.dim=5",
        _ => "options.starts=4",
    };
    let asked = Interrupt::default();
    asked.ask();
    for name in names {
        let slow =
            ["gp-classification", "robust-gp", "neural-regression", "stock-volatility", "fx-volatility"];
        let is_small = !slow.contains(&name) && name != "radon";
        for gradient in [&[][..], &["--no-gradient"]] {
            let small =
                ["--model", name, "--set", small(name), "--set", "options.draws=100", "--budget", "2000"];
            // Tempering is one piece of work, which an interruption does not shorten.
            if !is_small && !gradient.is_empty() {
                continue;
            }
            let interrupt = if is_small { &Interrupt::default() } else { &asked };
            let (table, done) = fit(interrupt, &[&small[..], gradient].concat());
            match done {
                Ok(()) | Err(Exit::Objected(_)) => {
                    assert!(table.contains("Reliable:"), "{table}")
                }
                Err(Exit::Interrupted { code: 130, said }) => {
                    // A small budget may end the starts within their first piece of work.
                    let begun = ["interrupted in start", "interrupted in climb 1"];
                    assert!(begun.iter().any(|words| said.contains(words)), "{said}");
                }
                other => panic!("{name} {gradient:?}: {other:?}"),
            }
        }
    }
}

/// An interruption keeps the state and prints the command; the fit then goes on to the bits of one without a break.
#[test]
fn interruptions_change_no_number() {
    let folder = folder("auto-killed");
    let name = |file: &str| folder.join(file).to_str().expect("a path in words").to_owned();
    let (whole, parts, state) = (name("whole.json"), name("parts.json"), name("state"));
    let model =
        ["--model", "hierarchical-logistic", "--set", "options.starts=600", "--set", "options.draws=400"];
    let done = fit(&Interrupt::default(), &[&model[..], &["--out", &whole]].concat()).1;
    assert!(matches!(done, Ok(()) | Err(Exit::Objected(_))), "{done:?}");
    // After the first piece of work.
    let asked = Interrupt::default();
    asked.ask();
    let resumed = [&model[..], &["--out", &parts, "--checkpoint", &state]].concat();
    let Err(Exit::Interrupted { code: 130, said }) = fit(&asked, &resumed).1 else {
        panic!("no interruption")
    };
    assert!(said.contains("to go on: "), "{said}");
    let read = FitState::read(&state).expect("a state").expect("a file");
    assert_eq!((read.ascents.made, read.stage == Stage::Done), (1, false));
    // Another model refuses the state, and leaves it.
    let other =
        ["fit", "--auto", "--model", "eight-schools", "--set", "options.starts=600", "--checkpoint", &state];
    let (code, errors) = process::said(&[&other[..], &["--set", "options.draws=400"]].concat());
    assert!(code == 2 && errors.contains("dimension"), "{errors}");
    let done = fit(&Interrupt::default(), &resumed).1;
    assert!(matches!(done, Ok(()) | Err(Exit::Objected(_))), "{done:?}");
    assert!(!Path::new(&state).exists(), "the state is used up");
    let [mut whole, mut parts] = [whole, parts].map(|file| json(Path::new(&file)));
    assert_ne!(whole["options"], parts["options"]);
    for report in [&mut whole, &mut parts] {
        report.as_object_mut().expect("a map").remove("options");
    }
    assert_eq!(whole, parts);
}
