//! The program from the command line: exit codes, files, messages.

use std::fs;

use crate::process::{folder, run};

fn code(arguments: &[&str]) -> i32 {
    run(arguments).status.code().expect("it ends by itself")
}

fn errors(arguments: &[&str]) -> String {
    String::from_utf8(run(arguments).stderr).expect("words")
}

#[test]
fn what_is_not_understood_has_code_2() {
    assert_eq!(code(&["figures", "no-such-figure"]), 2);
    assert_eq!(code(&["figures", "--preset", "huge"]), 2);
    assert_eq!(code(&["claims", "no-such-figure"]), 2);
    assert_eq!(code(&["fit"]), 2);
    assert_eq!(code(&["fit", "--model", "no-such-model"]), 2);
    assert!(errors(&["figures", "no-such-figure"]).contains("no-such-figure"));
    let refused = ["fit", "--model", "standard-gaussian", "--set", "method.chain=3"];
    assert_eq!(code(&refused), 2);
    assert!(errors(&refused).contains("method: unknown field `chain`"), "{}", errors(&refused));
    assert!(errors(&["fit", "--model", "radon", "--set", "speed=3"]).contains("speed"));
    assert!(errors(&["fit", "--model", "radon", "--set", "speed"]).contains("KEY=VALUE"));
    assert!(errors(&["fit", "--model", "radon", "--set", "=3"]).contains("a key is expected"));
    assert!(errors(&["fit", "--model", "radon", "--set", "method=0.5"]).contains("a key is steps, model.*"));
    // Levels of an index are not carried: synthetic ones stand in, and the program says so.
    let index = ["fit", "--model", "stock-volatility", "--data", "no-such-folder", "--set", "steps=1"];
    assert!(
        errors(&index).contains("SYNTHETIC data stand in for sp500_close_2007_2017"),
        "{}",
        errors(&index)
    );
    // An error about a wrong value names its key.
    for (setting, key) in [
        ("method.chains=0.5", "method.chains: invalid type: floating point `0.5`"),
        ("method.chains=-1", "method.chains: invalid value"),
        ("optimizer.rate=fast", "optimizer.rate: invalid type: string \"fast\""),
        ("steps=many", "steps: invalid type: string \"many\""),
    ] {
        let refused = ["fit", "--model", "radon", "--set", setting];
        assert_eq!(code(&refused), 2, "{setting}");
        assert!(errors(&refused).contains(key), "{setting}: {}", errors(&refused));
    }
    // Sizes that cannot be allocated are refused with the largest possible number.
    for (method, setting) in [
        ("pmcsa", "method.chains=9223372036854775807"),
        ("snis", "method.samples=9223372036854775807"),
        ("jsa", "method.transitions=1000000000"),
    ] {
        let refused = ["fit", "--model", "eight-schools", "--method", method, "--set", setting];
        assert!([1, 2].contains(&code(&refused)), "{setting}");
        assert!(errors(&refused).contains("expected at most 13421772"), "{setting}: {}", errors(&refused));
    }
    let large = ["fit", "--model", "standard-gaussian", "--set", "model.dim=1000000000000"];
    assert_eq!(code(&large), 2);
    assert!(errors(&large).contains("expected at most 11585"), "{}", errors(&large));
    let threads = ["figures", "--jobs", "99999999"];
    assert_eq!(code(&threads), 2);
    assert!(errors(&threads).contains("0..=1024"), "{}", errors(&threads));
}

#[test]
fn listings_name_everything() {
    let text = |arguments: &[&str]| String::from_utf8(run(arguments).stdout).expect("words");
    assert!(text(&["fit", "--list-models"]).contains("hierarchical-logistic"));
    assert!(text(&["fit", "--list-methods"]).contains("pmcsa"));
    assert!(text(&["figures", "--list"]).contains("cw/fig6-gaussian"));
    assert!(text(&["figures", "pmcsa/fig-pruning", "--list"]).starts_with("pmcsa/tab-neural-regression: "));
}

#[test]
fn a_fit_is_written_with_names_and_counts() {
    let file = folder("program-fit").join("fit.json");
    let out = file.to_str().expect("a path in words");
    let settings =
        ["--set", "steps=300", "--set", "method.chains=4", "--set", "optimizer.kind=sgd", "--seed", "3"];
    let model = ["fit", "--model", "eight-schools", "--method", "pmcsa", "--out", out];
    assert_eq!(code(&[model.as_slice(), &settings].concat()), 0);
    let text = fs::read_to_string(&file).expect("it was written");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["outcome"]["kind"], "budget-spent");
    assert_eq!(report["parameters"].as_array().expect("a list").len(), 10);
    assert_eq!(report["counts"]["p_evaluations"], 4 * 301);
    assert_eq!(report["fit"]["optimizer"]["kind"], "sgd");
    let absent = ["fit", "--model", "neural-regression", "--set", "model.data=gas", "--data", out];
    assert_eq!(code(&absent), 1);
    assert!(errors(&absent).contains("gas"));
}

/// Report without results: every experiment is shown with its missing jobs, and no claim is judged.
#[test]
fn a_report_can_be_drawn_before_anything_was_run() {
    let folder = folder("program-nothing");
    let out = folder.to_str().expect("a path in words");
    assert_eq!(
        code(&["figures", "cw/fig7-conditional-variance", "--preset", "quick", "--no-run", "--out", out]),
        0
    );
    let page = fs::read_to_string(folder.join("report/index.html")).expect("it was written");
    assert!(page.contains("576 of 576 jobs have not been run"), "what is missing is said");
    assert!(page.contains("not enough evidence") && page.contains("not reproducible"));
    assert!(
        !page.contains("http://")
            || page.matches("http://").count() == page.matches("http://www.w3.org").count()
    );
    assert!(folder.join("report/cw-fig7-conditional-variance-variance.png").is_file());
    assert!(folder.join("report/cw-fig7-conditional-variance.csv").is_file());
}
