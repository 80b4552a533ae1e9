//! Invariance tests of kernels without a guide (random walk, gradient-based, elliptical) on continuous targets with exact draws.
//!
//! Seeds are fixed. The false-alarm probability is 1e-4 for the crate: a quarter of it is for this file, split over
//! its reports.

use mcsa_core::{Error, ExactDraws, Gradient, Kernel, Seed};
use mcsa_kernels as kernels;
use mcsa_kernels::{Cycle, Elliptical, GaussianPrior, Hmc, Imh, Leapfrog, Mala, Mass, Nuts, Repeat, Rwm};
use mcsa_kernels::{Selection, Unguided};
use mcsa_models::{Banana, Gaussian};
use mcsa_theory::{Invariance, Report, Shifted, Trial, judge};

use crate::targets::{banana, correlated, funnel, mixture, student};

/// Number of reports of this file that must hold: five targets and six kernels, and four compositions.
const REPORTS: usize = 34;

fn split() -> Invariance {
    judge(0.25e-4).share(REPORTS).draws(8_192).steps(16)
}

fn holds(report: &Report) {
    assert!(report.holds(), "{report}");
}

fn hmc(step_size: f64, selection: Selection) -> Hmc {
    Hmc::with(Leapfrog::new(step_size, Mass::default()).expect("a step size"), 5, selection)
        .expect("a step size")
}

fn on_every_kernel<P: ExactDraws + Gradient>(target: &P) {
    holds(&split().of(&Rwm::new(0.8).expect("a step size"), target));
    holds(&split().of(&Mala::new(0.7).expect("a step size"), target));
    holds(&split().of(&hmc(0.4, Selection::EndPoint), target));
    holds(&split().of(&hmc(0.4, Selection::Multinomial), target));
    // The doubling favours the newer half of a trajectory: the kernel is invariant, but need not be reversible.
    holds(&split().not_reversible().of(&Nuts::new(0.4).expect("a step size"), target));
    holds(&split().of(&Elliptical::new(GaussianPrior::standard(target.dim())), target));
}

#[test]
fn walks_keep_a_correlated_gaussian() {
    on_every_kernel(&correlated(3, 0.8));
}

#[test]
fn walks_keep_a_banana() {
    on_every_kernel(&banana());
}

#[test]
fn walks_keep_a_funnel() {
    on_every_kernel(&funnel());
}

#[test]
fn walks_keep_a_mixture() {
    on_every_kernel(&mixture());
}

#[test]
fn walks_keep_heavy_tails() {
    on_every_kernel(&student(2, 5.0));
}

/// After another kernel has moved the chains, cached quantities of the old positions must not be used.
#[test]
fn compositions_forget_old_gradients() {
    let target = banana();
    let mala = Mala::new(0.7).unwrap();
    let cycle = Cycle { first: Imh::default(), second: mala.clone() };
    holds(&split().not_reversible().of(&cycle, &target));
    let cycle = Cycle { first: mala, second: Imh::default() };
    holds(&split().not_reversible().of(&cycle, &target));
    let hmc = hmc(0.4, Selection::Multinomial);
    let either = kernels::Mixture::new(0.5, hmc.clone(), Imh::default()).unwrap();
    holds(&split().interacting().of(&either, &target));
    holds(&split().of(&Repeat { kernel: hmc, times: 2 }, &target));
}

/// Laws of constants, labels, replay and restoring, without false alarms.
#[test]
fn what_must_not_matter_does_not() {
    fn tried<K>(kernel: &K)
    where
        K: Kernel<Banana> + for<'a> Kernel<Shifted<'a, Banana>>,
    {
        let target = banana();
        let mut guide = Unguided { dim: 2 };
        let trial = Trial::new(kernel, &target);
        let checks = vec![
            trial.forgets_constants(&mut guide, 2048.0),
            trial.forgets_labels(&mut guide),
            trial.replays(&mut guide),
            trial.restores(&mut guide, through_json),
        ];
        holds(&Report::new("walk", checks));
    }
    tried(&Rwm::new(0.8).unwrap());
    tried(&Mala::new(0.7).unwrap());
    tried(&hmc(0.4, Selection::EndPoint));
    tried(&hmc(0.4, Selection::Multinomial));
    tried(&Nuts::new(0.4).unwrap());
    tried(&Elliptical::new(GaussianPrior::standard(2)));
}

fn through_json<S: serde::Serialize + serde::de::DeserializeOwned>(state: &S) -> Result<S, Error> {
    let text = serde_json::to_string(state).map_err(|error| Error::invalid(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| Error::invalid(error.to_string()))
}

/// Draws from a target somewhat wider than the kernels' target must be detected.
#[test]
fn the_wrong_target_is_caught() {
    struct Narrow(Gaussian);
    impl mcsa_core::LogDensity for Narrow {
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn work_len(&self, columns: usize) -> usize {
            self.0.work_len(columns)
        }
        fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
            1.3 * self.0.log_density(z, work)
        }
    }
    impl Gradient for Narrow {
        fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
            1.3 * self.0.gradient_into(z, gradient, work)
        }
    }
    impl ExactDraws for Narrow {
        fn draw_into(&self, stream: &mut mcsa_core::Stream, z: &mut [f64]) {
            self.0.draw_into(stream, z);
        }
    }
    let target = Narrow(Gaussian::standard(2));
    assert!(split().seed(Seed::new(4)).of(&hmc(0.4, Selection::Multinomial), &target).fails());
    assert!(split().of(&Elliptical::new(GaussianPrior::standard(2)), &target).fails());
    assert!(split().of(&Nuts::new(0.4).unwrap(), &target).fails());
}
