//! Exact expectations of estimators over atoms, computed along every branch: no sampling error, no false alarm.

use faer::Mat;
use mcsa_core::{Estimator, LogDensity, Parametric, Stream};
use mcsa_estimators::{
    Average, ChainScore, ScoreWeights, Weighting, jsa, msc, msc_rb, pmcsa, pmcsa_rb, snis,
};
use mcsa_families::{Atoms, Defence, Tail};
use mcsa_kernels::{Acceptance, Cis, Imh, Repeat, WasteRecycling};
use mcsa_testing::Finite;

use super::{starts, step};

const TARGET: [f64; 3] = [0.5, 0.3, 0.2];
const LOGITS: [f64; 3] = [0.4, -0.3, 0.1];
const TOLERANCE: f64 = 1e-13;

fn target() -> Finite {
    Finite::on_line(&TARGET.map(|p| 7.0 * p)).unwrap()
}

fn family() -> Atoms {
    Atoms::on_line(3).unwrap()
}

fn proposal_probabilities() -> [f64; 3] {
    let total: f64 = LOGITS.iter().map(|l| l.exp()).sum();
    LOGITS.map(|l| l.exp() / total)
}

/// The score at atom `k`: one-hot minus probabilities.
fn score(k: usize) -> [f64; 3] {
    let mut score = proposal_probabilities().map(|q| -q);
    score[k] += 1.0;
    score
}

fn mean(weights: [f64; 3]) -> [f64; 3] {
    let mut mean = [0.0; 3];
    for (k, weight) in weights.into_iter().enumerate() {
        mean.iter_mut().zip(score(k)).for_each(|(m, s)| *m += weight * s);
    }
    mean
}

fn close(a: [f64; 3], b: [f64; 3]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < TOLERANCE)
}

/// Exact expectation of a direction, for an estimator whose state is initialised for every branch.
fn expectation<E: Estimator<Finite, Atoms>>(estimator: &E, state: &dyn Fn() -> E::State) -> [f64; 3] {
    let (target, family) = (target(), family());
    let run = |lanes: &mut [Stream]| step(estimator, (&target, &family), &LOGITS, &mut state(), lanes).0;
    super::expectation(estimator.lanes(), run).try_into().unwrap()
}

/// Exact expectation when every chain starts independently with these probabilities.
fn from_law<K, G>(estimator: &ChainScore<K, G>, law: [f64; 3]) -> [f64; 3]
where
    K: mcsa_core::Kernel<Finite>,
    G: mcsa_estimators::Guard,
{
    let mut total = [0.0; 3];
    for (probability, atoms) in starts(estimator.lanes, &law) {
        let positions = Mat::from_fn(1, estimator.lanes, |_, j| atoms[j] as f64);
        let state = || estimator.kernel.init(&target(), positions.clone()).unwrap();
        let found = expectation(estimator, &state);
        total.iter_mut().zip(found).for_each(|(t, f)| *t += probability * f);
    }
    total
}

/// From stationarity every chain estimator is unbiased: the marginal of each averaged point is the target.
#[test]
fn chains_at_the_target_give_the_exact_score() {
    let exact = mean(TARGET);
    assert!(close(from_law(&pmcsa(1), TARGET), exact));
    assert!(close(from_law(&pmcsa(2), TARGET), exact));
    assert!(close(from_law(&jsa(3), TARGET), exact));
    assert!(close(from_law(&msc(3), TARGET), exact));
    assert!(close(from_law(&msc_rb(3), TARGET), exact));
    assert!(close(from_law(&pmcsa_rb(2), TARGET), exact));
    let barker = Imh { acceptance: Acceptance::Barker, sweeps: 2 };
    let recycled = WasteRecycling { imh: barker.clone() };
    assert!(close(from_law(&ChainScore::new(recycled, 1, Average::Cloud), TARGET), exact));
    assert!(close(from_law(&ChainScore::new(barker, 1, Average::Cloud), TARGET), exact));
    let repeated = Repeat { kernel: Cis::with_candidates(2), times: 2 };
    assert!(close(from_law(&ChainScore::new(repeated, 1, Average::Cloud), TARGET), exact));
}

/// Waste recycling is a conditional expectation: from every start its mean is that of the visited points.
#[test]
fn recycled_proposals_have_the_mean_of_the_chains() {
    for start in 0..3 {
        let mut law = [0.0; 3];
        law[start] = 1.0;
        let (plain, recycled) = (from_law(&pmcsa(1), law), from_law(&pmcsa_rb(1), law));
        assert!(close(plain, recycled), "{plain:?} {recycled:?}");
        for acceptance in [Acceptance::Metropolis, Acceptance::Barker] {
            let imh = Imh { acceptance, sweeps: 3 };
            let plain = from_law(&ChainScore::new(imh.clone(), 1, Average::Cloud), law);
            let recycled = ChainScore::new(WasteRecycling { imh }, 1, Average::Cloud);
            assert!(close(plain, from_law(&recycled, law)));
            // The twin: the last points alone.
            let last = ChainScore { average: Average::Chains, ..recycled };
            assert!(!close(plain, from_law(&last, law)));
        }
    }
}

/// The twin: chains that start elsewhere are biased, and the check detects it.
#[test]
fn chains_elsewhere_are_biased() {
    let exact = mean(TARGET);
    for law in [proposal_probabilities(), [0.5, 0.301, 0.199]] {
        assert!(!close(from_law(&pmcsa(2), law), exact));
        assert!(!close(from_law(&jsa(3), law), exact));
        assert!(!close(from_law(&msc_rb(3), law), exact));
    }
}

#[test]
fn a_guard_keeps_the_target_and_the_family() {
    // The tail is continuous and cannot be enumerated; with share 0 it is never drawn.
    let defence = Defence::new(0.0, Tail::cauchy(1)).unwrap();
    assert!(close(from_law(&pmcsa(2).guarded(defence.clone()), TARGET), mean(TARGET)));
    assert!(close(expectation(&snis(2).guarded(defence), &|| ()), expectation(&snis(2), &|| ())));
}

#[test]
fn known_normalisers_make_importance_sampling_unbiased() {
    let known = Weighting::Known { log_normaliser: 7.0_f64.ln() };
    assert!(close(expectation(&ScoreWeights::new(3, known), &|| ()), mean(TARGET)));
    let wrong = Weighting::Known { log_normaliser: 7.1_f64.ln() };
    assert!(!close(expectation(&ScoreWeights::new(3, wrong), &|| ()), mean(TARGET)));
}

/// `d/dlambda sum_k q_k (log p_k - log q_k) = sum_k q_k (log p_k - log q_k) score_k`.
#[test]
fn the_evidence_direction_is_unbiased() {
    let q = proposal_probabilities();
    let weights = std::array::from_fn(|k| q[k] * (TARGET[k] / q[k]).ln());
    let found = expectation(&ScoreWeights::new(3, Weighting::Evidence), &|| ());
    assert!(close(found, mean(weights)));
    assert!(!close(found, mean(weights.map(|w| 1.01 * w))));
}

/// Every pair of draws, computed by hand.
#[test]
fn biased_weightings_equal_their_definitions() {
    let q = proposal_probabilities();
    let w: [f64; 3] = std::array::from_fn(|k| TARGET[k] / q[k]);
    let by_hand = |weight: &dyn Fn(f64, f64) -> f64| {
        let mut total = [0.0; 3];
        for (a, b) in (0..9).map(|k| (k / 3, k % 3)) {
            total[a] += q[a] * q[b] * weight(w[a], w[b]);
            total[b] += q[a] * q[b] * weight(w[b], w[a]);
        }
        mean(total)
    };
    let found = |weighting| expectation(&ScoreWeights::new(2, weighting), &|| ());
    assert!(close(found(Weighting::SelfNormalised), by_hand(&|own, other| own / (own + other))));
    assert!(close(
        found(Weighting::ChiSquare),
        by_hand(&|own, other| own * own / (own * own + other * other))
    ));
    assert!(close(
        found(Weighting::ChiSquareByMax),
        by_hand(&|own, other| (own / own.max(other)).powi(2) / 2.0)
    ));
    assert!(!close(
        found(Weighting::SelfNormalised),
        by_hand(&|own, other| own * own / (own * own + other * other))
    ));
}

#[test]
fn impossible_settings_are_refused() {
    let (target, family) = (target(), family());
    let refused =
        |estimator: ScoreWeights| estimator.init(&target, &family, &LOGITS, &mut []).unwrap_err().to_string();
    assert_eq!(refused(snis(0)), "ScoreWeights: samples is 0, expected at least 1");
    let lone = ScoreWeights::new(1, Weighting::Evidence);
    assert_eq!(refused(lone), "ScoreWeights: samples is 1, expected at least 2, for the baseline");
    let other = Atoms::new(Mat::zeros(2, 1)).unwrap();
    assert!(Estimator::<Finite, Atoms>::init(&snis(1), &target, &other, &[0.0], &mut []).is_err());
    assert_eq!((target.dim(), family.num_params()), (1, 3));
}
