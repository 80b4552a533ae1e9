//! Annealed paths as proposals: their kernels keep a posterior, and path and weight of a chain stay together.

use faer::mat;
use mcsa_annealed::dais::{Annealed, Shape};
use mcsa_annealed::surrogate::PosteriorSurrogate;
use mcsa_core::{ChainState, Kernel, Record, Seed, Stream};
use mcsa_kernels::{Cis, ExtendedSpace, Imh, NoProposal};
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
    judge(0.25e-4).share(2).quick()
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

/// The mean weight of the paths that a step proposes is the evidence, within 5 standard errors: false alarm 6e-7.
#[test]
fn the_mean_weight_of_annealed_proposals_is_the_evidence() {
    let target = regression();
    let (paths, params) = paths(&target);
    let kernel = ExtendedSpace::new(Cis::with_fresh(50), &paths, params).unwrap();
    let mut state = kernel.init(&target, faer::Mat::zeros(2, 1)).unwrap();
    let (mut lanes, mut work) = (Seed::new(3).streams(1, 0), vec![f64::NAN; kernel.work_len(&target, 1)]);
    let mut means = Vec::new();
    for step in 0..400 {
        Stream::go_to_step(&mut lanes, step);
        let info = kernel.step(&target, &mut NoProposal { dim: 2 }, &mut state, &mut lanes, &mut work);
        info.record(&mut |metric, value| {
            if metric.name == "log_weight_mean" {
                means.push((value - target.log_evidence()).exp());
            }
        });
    }
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let error = (means.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt();
    assert!((mean - 1.0).abs() < 5.0 * error && error < 0.02, "{mean} {error}");
    assert!((state.weights().unwrap().iter().sum::<f64>() - 1.0).abs() < 1e-12);
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
