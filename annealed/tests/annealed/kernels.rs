//! Annealed paths as proposals: their kernels keep a posterior.

use faer::mat;
use mcsa_annealed::dais::{Annealed, Shape};
use mcsa_annealed::surrogate::PosteriorSurrogate;
use mcsa_kernels::{Cis, ExtendedSpace, Imh};
use mcsa_models::{LinearRegression, WeightedRows};

use mcsa_testing::{Invariance, Report, judge};

use crate::surrogates::Faulty;

/// A posterior with exact draws, of six data.
fn regression() -> LinearRegression {
    let x = mat![[1.0, 0.3], [1.0, -1.2], [1.0, 0.8], [1.0, 2.0], [1.0, -0.4], [1.0, 1.1]];
    LinearRegression::new(x.as_ref(), &[0.2, 1.5, -0.3, -1.0, 0.9, 0.1], 0.7, 1.5).unwrap()
}

/// Quick tests of two reports, with a false-alarm probability of 0.25e-4.
fn split() -> Invariance {
    judge(0.25e-4 / 2.0).quick()
}

fn holds(report: &Report) {
    assert!(report.holds(), "{report}");
}

/// The family of paths of three steps that follow the posterior of three weighted rows.
type Paths<'a> = Annealed<PosteriorSurrogate<WeightedRows<'a, LinearRegression>>>;

fn paths(target: &LinearRegression) -> (Paths<'_>, Vec<f64>) {
    let surrogate = WeightedRows::new(target, vec![0, 3, 4], vec![2.0; 3]).unwrap();
    let paths = Annealed::new(PosteriorSurrogate(surrogate), Shape::Diagonal, 3);
    let params = paths.at(&[0.3, -0.4, -0.3, -0.4], 0.15, &[]).unwrap();
    (paths, params)
}

#[test]
fn kernels_with_annealed_proposals_keep_the_posterior() {
    let target = regression();
    let (paths, params) = paths(&target);
    let imh = ExtendedSpace::new(Imh::default(), &paths, params.clone()).unwrap();
    holds(&split().of(&imh, &target));
    let cis = ExtendedSpace::new(Cis::with_fresh(3), &paths, params).unwrap();
    holds(&split().of(&cis.refreshed().unwrap(), &target));
}

/// The twin: the first kick of a simulation counts twice, which is that of the last step if a retained point is retraced.
#[test]
fn a_path_that_is_retraced_differently_is_caught() {
    let target = regression();
    let (Annealed { surrogate, .. }, params) = paths(&target);
    let twin = Annealed::new(Faulty::new(surrogate, |_| 1.0, 1), Shape::Diagonal, 3);
    let twin = ExtendedSpace::new(Imh::default(), &twin, params).unwrap();
    assert!(split().of(&twin.refreshed().unwrap(), &target).fails());
}
