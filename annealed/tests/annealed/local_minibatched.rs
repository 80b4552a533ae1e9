//! Semi-DAIS on a regression with local scales: between mean field and the bound with the local latents integrated out.

use mcsa_annealed::dais::SemiAnnealed;
use mcsa_annealed::{LocalFamily, LocalMinibatch, LocalMinibatched};
use mcsa_core::{Seed, from_fn};
use mcsa_estimators::{Ascent, Draws, Elbo, Outcome, Run};
use mcsa_families::{Link, MeanField};
use mcsa_models::LocalRobustRegression;
use mcsa_optim::Adam;

const N: usize = 20;
/// Two weights and `log s`.
const GLOBALS: usize = 3;

fn model() -> LocalRobustRegression {
    let x = faer::Mat::from_fn(N, 2, |i, k| if k == 0 { 1.0 } else { (1.7 * i as f64).sin() });
    let mut stream = Seed::new(2).stream(0, 0);
    let noise = |stream: &mut mcsa_core::Stream| stream.normal() / (0.2 + stream.uniform());
    let y: Vec<f64> = (0..N).map(|i| 0.5 - x[(i, 1)] + 0.3 * noise(&mut stream)).collect();
    LocalRobustRegression::new(x.as_ref(), &y, 3.0, 2.0).unwrap()
}

/// Mean of `log p - log q` over draws, and its standard error.
fn bound(draws: &Draws) -> (f64, f64) {
    let terms = draws.log_ratios();
    let count = terms.len() as f64;
    let mean = terms.iter().sum::<f64>() / count;
    let variance = terms.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / count;
    (mean, (variance / count).sqrt())
}

fn semi(model: &LocalRobustRegression, steps: usize, batch: usize) -> (f64, f64) {
    let family = SemiAnnealed { shared: true, ..SemiAnnealed::new(model.clone(), steps) };
    let start = family.at(&[0.0; GLOBALS], &[0.2; GLOBALS], 0.6, 0.1).unwrap();
    let (estimator, optimizer) = (LocalMinibatched::new(batch), Adam::new(5e-3).unwrap());
    let ascent = Ascent { target: model, family: &family, estimator, optimizer, seed: Seed::new(4) };
    let mut fit = ascent.start(start).unwrap();
    assert_eq!(ascent.run(&mut fit, 6_000).unwrap(), Outcome::BudgetSpent { accuracy: None });
    let rows: Vec<usize> = (0..N).collect();
    let (target, part) = (LocalMinibatch::new(model, &rows).unwrap(), family.on(&rows));
    bound(&Draws::pushed(&target, &part, fit.params(), Seed::new(9).stream(0, 0), 20_000).unwrap())
}

/// Mean-field bound of theta alone, with every local latent integrated out.
fn oracle(model: &LocalRobustRegression) -> (f64, f64) {
    let target = from_fn(GLOBALS, |theta| {
        let terms = (0..N).map(|n| model.term(n, theta).log_integral());
        model.add_prior_gradient(theta, &mut []) + terms.sum::<f64>()
    })
    .with_gradient(|theta, gradient| {
        gradient.fill(0.0);
        model.add_prior_gradient(theta, gradient);
        for n in 0..N {
            let term = model.term(n, theta);
            let of_square = -0.5 * (term.shape + 0.5) / (term.shape + 0.5 * term.square);
            model.add_theta_gradient(n, theta, of_square, 1.0, gradient);
        }
    });
    let family = MeanField::new(GLOBALS).with_link(Link::Exp);
    let (estimator, optimizer) = (Elbo::closed(1), Adam::new(5e-3).unwrap());
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(4) };
    let mut fit = ascent.start(family.at(&[0.0; GLOBALS], &[0.2; GLOBALS]).unwrap()).unwrap();
    ascent.run(&mut fit, 6_000).unwrap();
    bound(&Draws::of(&target, &family, fit.params(), Seed::new(9).stream(0, 0), 20_000).unwrap())
}

/// More steps of the local chains close part of the gap of mean field, and none of them passes the bound without local latents. The
/// differences exceed six standard errors.
#[test]
fn steps_close_the_gap_of_mean_field() {
    let model = model();
    let (oracle, plain, four) = (oracle(&model), semi(&model, 0, N), semi(&model, 4, N));
    let above = |a: (f64, f64), b: (f64, f64)| a.0 - b.0 > 6.0 * a.1.hypot(b.1);
    assert!(above(four, plain), "four steps {four:?}, mean field {plain:?}");
    assert!(above(oracle, four), "integrated {oracle:?}, four steps {four:?}");
    // Minibatches of half of the data lead to the same bound, up to the noise of the fit.
    let half = semi(&model, 4, N / 2);
    assert!((half.0 - four.0).abs() < 0.25 * (four.0 - plain.0), "half of the rows {half:?}, all {four:?}");
}

#[test]
fn a_fit_resumes_bit_for_bit_and_allocates_nothing() {
    let model = model();
    let family = SemiAnnealed::new(model.clone(), 2);
    let start = family.at(&[0.0; GLOBALS], &[0.2; GLOBALS], 0.6, 0.1).unwrap();
    let (estimator, optimizer) = (LocalMinibatched::new(5), Adam::new(1e-3).unwrap());
    let ascent = Ascent { target: &model, family: &family, estimator, optimizer, seed: Seed::new(4) };
    let mut whole = ascent.start(start.clone()).unwrap();
    ascent.run(&mut whole, 50).unwrap();
    let mut parts = ascent.start(start).unwrap();
    ascent.run(&mut parts, 20).unwrap();
    let mut parts = serde_json::from_str(&serde_json::to_string(&parts).unwrap()).unwrap();
    ascent.run(&mut parts, Run::to(50)).unwrap();
    assert_eq!(whole.params(), parts.params());
    let mut count = |steps: u64| {
        allocation_counter::measure(|| {
            ascent.run(&mut parts, steps).unwrap();
        })
        .count_total
    };
    count(1);
    assert_eq!(count(5), count(50));
}
