//! Cost of each estimator in evaluations: exactly the least that its definition allows.
//!
//! A draw brings its own log density, so `log q` is evaluated once per draw and once per `log_prob`.

use mcsa_core::{Counted, Counts, Estimator, Seed};
use mcsa_estimators::{
    ChainScore, Controlled, Elbo, ScoreWeights, Weighting, jsa, msc, msc_rb, pmcsa, rws, single, snis,
};
use mcsa_families::{Defence, MeanField, Tail};
use mcsa_kernels::Hmc;
use mcsa_models::Gaussian;

use super::step;

const STEPS: u64 = 12;

/// Counts for `STEPS` steps after the start: of the target, and of the family.
fn cost<E: Estimator<Counted<Gaussian>, Counted<MeanField>>>(estimator: &E) -> (Counts, Counts) {
    let (mut target, mut family) = (Counted::new(Gaussian::standard(2)), Counted::new(MeanField::new(2)));
    let params = [0.1, -0.2, 0.4, 0.6];
    let mut lanes = Seed::new(3).streams(estimator.lanes(), 0);
    let mut state = estimator.init(&target, &family, &params, &mut lanes).unwrap();
    let mut run = |place: (&_, &_)| {
        (0..STEPS).for_each(|_| drop(step(estimator, place, &params, &mut state, &mut lanes)));
    };
    // One round first: the gradient at a chain's start is evaluated once.
    run((&target, &family));
    target.reset();
    family.reset();
    run((&target, &family));
    (target.counts(), family.counts())
}

/// A row of the ledger: draws of q, evaluations of p, evaluations of q other than those of draws, gradients of p, scores.
fn row<E: Estimator<Counted<Gaussian>, Counted<MeanField>>>(estimator: &E) -> [f64; 5] {
    let (p, q) = cost(estimator);
    assert_eq!((p.sample, p.score, q.log_density, q.gradient), (0, 0, 0, 0));
    [q.sample, p.log_density, q.log_prob, p.gradient, q.score].map(|count| count as f64 / STEPS as f64)
}

#[test]
fn every_estimator_costs_the_least() {
    for n in [1, 2, 5, 10] {
        let x = n as f64;
        assert_eq!(row(&pmcsa(n)), [x, x, x, 0.0, x], "pmcsa({n})");
        assert_eq!(row(&jsa(n)), [x, x, 1.0, 0.0, x], "jsa({n})");
        assert_eq!(row(&msc(n + 1)), [x, x, 1.0, 0.0, 1.0], "msc, {n} fresh");
        assert_eq!(row(&msc_rb(n + 1)), [x, x, 1.0, 0.0, x + 1.0], "msc_rb, {n} fresh");
        assert_eq!(row(&snis(n)), [x, x, 0.0, 0.0, x], "snis({n})");
        assert_eq!(row(&ScoreWeights::new(n, Weighting::ChiSquare)), [x, x, 0.0, 0.0, x]);
        assert_eq!(row(&Elbo::closed(n)), [x, 0.0, 0.0, x, x], "closed({n})");
        assert_eq!(row(&Elbo::path(n)), [x, 0.0, 0.0, x, x], "path({n})");
        // A control variate costs a score per draw; a mirrored draw costs as much as an independent one.
        assert_eq!(row(&Controlled::new(pmcsa(n))), [x, x, x, 0.0, 2.0 * x]);
        assert_eq!(row(&ChainScore { mirrored: true, ..pmcsa(2 * n) }), row(&pmcsa(2 * n)));
    }
    // The path derivative needs a gradient of log q per draw, the closed entropy needs none.
    assert_eq!(cost(&Elbo::path(3)).1.slope, 3 * STEPS);
    assert_eq!(cost(&Elbo::closed(3)).1.slope, 0);
}

#[test]
fn chains_with_gradients_cost_their_trajectories() {
    let length = 7.0;
    let hmc = || Hmc::new(0.3, 7).unwrap();
    assert_eq!(row(&single(hmc()))[4], 1.0);
    // Of six steps five are importance sampling and one moves the chain.
    let (often, seldom) = (5.0 / 6.0, 1.0 / 6.0);
    let [draws, of_p, of_q, gradients, scores] = row(&rws(4, hmc()));
    let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
    assert!(near(draws, often * 4.0) && near(of_p, often * 4.0) && of_q == 0.0);
    assert!(near(scores, often * 4.0 + seldom));
    assert!(gradients > 0.99 * seldom * length && gradients < seldom * (length + 1.01), "{gradients}");
}

/// With a defence, the family's density is needed at draws of the tail; that of the target is evaluated once only.
#[test]
fn a_defence_costs_no_evaluation_of_the_target() {
    let defence = || Defence::new(0.25, Tail::cauchy(2)).unwrap();
    let (p, q) = cost(&pmcsa(8).guarded(defence()));
    assert_eq!(p.log_density, 8 * STEPS);
    let (from_family, from_tail) = (q.sample, 8 * STEPS - q.sample);
    assert!(from_tail > 0 && from_family > from_tail);
    assert_eq!(q.log_prob, 8 * STEPS + from_tail);
    assert_eq!(q.score, 8 * STEPS);
}
