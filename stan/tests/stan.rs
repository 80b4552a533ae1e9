//! Stan programs against models of the library. Skipped, with a message, where no library can be compiled.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use mcsa::Options;
use mcsa::models::{EightSchools, LogisticRegression};
use mcsa::prelude::*;
use mcsa::testing::model;
use mcsa_stan::StanProgram;

/// The library of a program: from the folder that `MCSA_STAN` names, else compiled by the Python that `MCSA_STAN_PYTHON` names, which
/// has the package httpstan. `None`, with a message, if there is neither.
fn library(program: &str) -> Option<PathBuf> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if let Some(folder) = std::env::var_os("MCSA_STAN") {
        return Some(Path::new(&folder).join(program).with_extension("so"));
    }
    let python = std::env::var_os("MCSA_STAN_PYTHON").unwrap_or_else(|| "python3".into());
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(program).with_extension("so");
    let mut compile = Command::new(python);
    compile
        .arg(root.join("../python/mcsa/stan/compile.py"))
        .arg(root.join("programs").join(program).with_extension("stan"));
    match compile.arg(&library).output() {
        Ok(done) if done.status.success() => Some(library),
        // The tools are missing.
        Ok(done) if done.status.code() == Some(2) => skipped(&String::from_utf8_lossy(&done.stderr)),
        Ok(done) => panic!("{}", String::from_utf8_lossy(&done.stderr)),
        Err(error) => skipped(&error.to_string()),
    }
}

fn skipped(reason: &str) -> Option<PathBuf> {
    eprintln!("skipped, because no Stan program can be compiled: {}", reason.trim());
    None
}

const SCHOOLS: &str = r#"{"schools": 8, "effects": [28, 8, -3, 7, -1, 1, 18, 12],
    "errors": [15, 10, 16, 11, 9, 11, 10, 18]}"#;

fn schools() -> Option<StanProgram> {
    Some(StanProgram::open(library("eight_schools")?, SCHOOLS, 1).unwrap())
}

/// Differences of log densities at two points, and gradients, up to rounding.
fn equal(stan: &StanProgram, ours: &impl Gradient) {
    let dim = stan.dim();
    assert_eq!(dim, ours.dim());
    let mut work = vec![0.0; ours.work_len(1)];
    let mut both = |z: &[f64]| {
        let (mut a, mut b) = (vec![0.0; dim], vec![0.0; dim]);
        let values = (stan.gradient_into(z, &mut a, &mut []), ours.gradient_into(z, &mut b, &mut work));
        a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} {b}"));
        assert_eq!(values.0, stan.log_density(z, &mut []));
        values.0 - values.1
    };
    let constant = both(&vec![0.0; dim]);
    for k in 1..20 {
        let z: Vec<f64> = (0..dim).map(|i| ((k * 7 + i * 3) % 11) as f64 / 4.0 - 1.2).collect();
        assert!((both(&z) - constant).abs() < 1e-9, "{constant}");
    }
}

#[test]
fn eight_schools_are_ours() {
    let Some(stan) = schools() else { return };
    equal(&stan, &EightSchools::non_centred());
    assert_eq!(stan.names()[..3], ["mu", "tau", "eta[0]"]);
    assert_eq!(stan.names()[17], "theta[7]");
    let mut named = Named::default();
    stan.constrain(&[1.0, 0.5, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], &mut named);
    let values = named.row();
    assert_eq!(values.len(), 18);
    assert!((values[1] - 0.5_f64.exp()).abs() < 1e-12);
    assert!((values[10] - (1.0 + 2.0 * 0.5_f64.exp())).abs() < 1e-12);
    model::check_gradient(&model::Case::new(stan)).unwrap();
}

/// Means within 0.15 standard deviations: both are of 4000 weighted draws.
#[test]
fn a_fit_of_a_program_is_that_of_the_model() {
    let Some(stan) = schools() else { return };
    let (by_stan, ours) = (
        mcsa::fit(&stan, &Options::seeded(1)).unwrap(),
        mcsa::fit(&EightSchools::non_centred(), &Options::seeded(1)).unwrap(),
    );
    assert!(by_stan.verdict.is_yes(), "{by_stan}");
    // The program reports the standardised effects, too.
    assert_eq!(by_stan.parameters.len(), ours.parameters.len() + 8);
    for b in &ours.parameters {
        let a = by_stan.parameters.iter().find(|a| a.name == b.name).expect("names are equal");
        assert!((a.mean - b.mean).abs() < 0.15 * b.sd, "{} {} {}", a.name, a.mean, b.mean);
    }
}

#[test]
fn a_logistic_regression_is_ours() {
    let Some(path) = library("logistic_regression") else { return };
    let rows = [[1.0, -0.5], [0.3, 2.0], [-1.0, 0.7], [0.2, -0.1], [1.5, 0.4]];
    let y = [1.0, 0.0, 1.0, 1.0, 0.0];
    let data = format!(r#"{{"rows": 5, "features": 2, "x": {rows:?}, "y": [1,0,1,1,0], "prior_scale": 2}}"#);
    let stan = StanProgram::open(path, &data, 1).unwrap();
    let x = Mat::from_fn(5, 2, |i, j| rows[i][j]);
    equal(&stan, &LogisticRegression::new(x.as_ref(), &y, 2.0).unwrap());
}

#[test]
fn threads_share_a_program() {
    let Some(stan) = schools() else { return };
    let values = |stan: &StanProgram| -> Vec<f64> {
        let at = |k: usize| [0.01 * k as f64; 10];
        (0..500).map(|k| stan.gradient_into(&at(k), &mut [0.0; 10], &mut [])).collect()
    };
    let alone = values(&stan);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| values(&stan))).collect();
        threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), alone));
    });
}

#[test]
fn wrong_libraries_and_data_are_refused() {
    let open = |path: &Path, data: &str| match StanProgram::open(path, data, 1) {
        Ok(_) => panic!("accepted"),
        Err(error) => error.to_string(),
    };
    assert!(open("none.so".as_ref(), "").contains("StanProgram: none.so"));
    assert!(open("Cargo.toml".as_ref(), "").contains("StanProgram: Cargo.toml"));
    let Some(path) = library("eight_schools") else { return };
    assert!(open(&path, "").contains("schools"), "{}", open(&path, ""));
    assert!(!open(&path, "{").is_empty());
    let short = r#"{"schools": 2, "effects": [1], "errors": [1, 2]}"#;
    assert!(open(&path, short).contains("effects"), "{}", open(&path, short));
    let negative = r#"{"schools": 1, "effects": [1], "errors": [-1]}"#;
    assert!(open(&path, negative).contains("errors"), "{}", open(&path, negative));
}
