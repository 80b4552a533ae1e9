//! A fit that goes wrong keeps what it had.

use mcsa::{Error, Optimizer, Seed};
use mcsa_estimators::{Ascent, pmcsa};
use mcsa_families::MeanField;
use mcsa_models::Gaussian;

/// Steps of length one, and on the third an infinite one.
struct Explodes;

impl Optimizer for Explodes {
    type State = u64;
    fn init(&self, _: usize) -> u64 {
        0
    }
    fn check(&self, _: usize, _: &u64) -> Result<(), Error> {
        Ok(())
    }
    fn ascend(&self, steps: &mut u64, params: &mut [f64], _: &[f64]) {
        *steps += 1;
        params[0] += if *steps == 3 { f64::INFINITY } else { 1.0 };
    }
}

#[test]
fn an_exploding_step_is_not_counted_and_lambda_stays() {
    let (target, family) = (Gaussian::standard(1), MeanField::new(1));
    let ascent = Ascent {
        target: &target,
        family: &family,
        estimator: pmcsa(2),
        optimizer: Explodes,
        seed: Seed::new(1),
    };
    let mut fit = ascent.start(vec![0.0, 0.5]).unwrap();
    let error = ascent.run(&mut fit, 10, &mut []).unwrap_err().to_string();
    assert!(error.starts_with("Ascent, step 3, after the optimiser: params[0] is inf"), "{error}");
    assert_eq!((fit.step(), fit.params()), (2, &[2.0, 0.5][..]));
}
