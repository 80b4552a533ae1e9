//! Running moments: exact expectation of a step of a Gaussian, and the gain. Steps of other families have their formulas in `mcsa-families`.

use faer::{Mat, mat};
use mcsa_core::{Columns, Error, Estimator, Kernel, Metric, Proposal, Record, Seed};
use mcsa_estimators::{
    Average, ChainScore, Guard, Moments, MomentsInfo, MomentsState, jsa, msc, msc_rb, pmcsa, pmcsa_rb, single,
};
use mcsa_families::{FullRank, GaussianFamily, MeanField};
use mcsa_kernels::Rwm;
use mcsa_models::Gaussian;
use mcsa_optim::Sgd;
use mcsa_testing::{Finite, FiniteProposal};

use super::{ascent, expectation, outcomes::AllBut, starts, step};

/// Guard that draws an atom of the target with probabilities proportional to the density of the guarded proposal there.
struct OnAtoms;

fn atoms() -> Mat<f64> {
    mat![[0.0, 1.0, 3.0], [0.0, 2.0, 0.5]]
}

fn target() -> Finite {
    Finite::new(atoms(), [0.5_f64, 0.2, 0.3].map(f64::ln).to_vec()).unwrap()
}

impl Guard for OnAtoms {
    fn work_len(&self, _: usize) -> usize {
        0
    }

    fn guarded(
        &self,
        proposal: &mut dyn Proposal,
        _: usize,
        _: &mut [f64],
        run: &mut dyn FnMut(&mut dyn Proposal),
    ) -> Result<(), Error> {
        let atoms = atoms();
        let mut logits = vec![0.0; 3];
        for (k, logit) in logits.iter_mut().enumerate() {
            proposal.log_probs(atoms.as_ref().subcols(k, 1), std::slice::from_mut(logit));
        }
        run(&mut FiniteProposal::new(Finite::new(atoms, logits)?));
        Ok(())
    }
}

/// `E[z_0], E[z_1], E[z_0^2], E[z_0 z_1], E[z_1^2]`.
fn moments(mean: &[f64], second: impl Fn(usize, usize) -> f64) -> [f64; 5] {
    [mean[0], mean[1], second(0, 0), second(0, 1), second(1, 1)]
}

fn family_moments(params: &[f64]) -> [f64; 5] {
    let normal = FullRank::new(2).moments(params).unwrap();
    let (mean, covariance) = (normal.mean(), normal.covariance());
    moments(mean, |i, k| covariance[(i, k)] + mean[i] * mean[k])
}

fn target_moments() -> [f64; 5] {
    let mut total = [0.0; 5];
    for (k, probability) in target().probabilities().into_iter().enumerate() {
        let atoms = atoms();
        let z = atoms.as_ref().column(k);
        let at_atom = moments(z, |i, k| z[i] * z[k]);
        total.iter_mut().zip(at_atom).for_each(|(sum, t)| *sum += probability * t);
    }
    total
}

/// The inclusive optimum, and another lambda.
fn optimum() -> Vec<f64> {
    let t = target_moments();
    let covariance = mat![[t[2] - t[0] * t[0], t[3] - t[0] * t[1]], [t[3] - t[0] * t[1], t[4] - t[1] * t[1]]];
    let normal = mcsa_families::Normal::new(t[..2].to_vec(), covariance.as_ref()).unwrap();
    FullRank::new(2).moment_match(&normal).unwrap()
}

fn elsewhere() -> Vec<f64> {
    FullRank::new(2).at(&[0.5, 1.5], mat![[2.0, 0.0], [-0.5, 1.0]].as_ref()).unwrap()
}

/// Exact expectation, over stationary chains, of `factor` times the change of the moments in a step of a fit in its middle. The factor is a
/// function of the metrics and of the draws that the step accepted. The gain is `recent / (start_draws + accepted / 2 + recent)`.
fn expected_change<K: Kernel<Finite>>(
    climb: ChainScore<K>,
    params: &[f64],
    factor: impl Fn(&MomentsInfo<K::Info>, f64) -> f64,
) -> [f64; 5] {
    let (target, family, before) = (target(), FullRank::new(2), family_moments(params));
    let estimator = Moments::new(climb.guarded(OnAtoms), 4.0);
    let chains = estimator.climb.lanes;
    let mut total = [0.0; 5];
    for (law, start) in starts(chains, &target.probabilities()) {
        let positions = Mat::from_fn(2, chains, |i, j| atoms()[(i, start[j])]);
        let kernel = estimator.climb.kernel.init(&target, positions).unwrap();
        let state = MomentsState { kernel, accepted: 6.0, recent: 1.5, steps: 9 };
        let change = expectation(chains, |lanes| {
            let mut state = state.clone();
            let (direction, info) = step(&estimator, (&target, &family), params, &mut state, lanes);
            let moved: Vec<f64> = params.iter().zip(&direction).map(|(param, step)| param + step).collect();
            let (factor, after) = (factor(&info, state.accepted - 6.0), family_moments(&moved));
            after.iter().zip(before).map(|(after, before)| factor * (after - before)).collect()
        });
        total.iter_mut().zip(change).for_each(|(total, change)| *total += law * change);
    }
    total
}

fn holds<K: Kernel<Finite> + Clone>(name: &str, climb: &ChainScore<K>) {
    // 1.5 / (4 + 6 / 2 + 1.5), whatever the chains do.
    let gain = 1.5 / 8.5;
    for params in [optimum(), elsewhere()] {
        let change = expected_change(climb.clone(), &params, |info, _| {
            assert!((info.gain - gain).abs() < 1e-15 && info.refused == 0);
            1.0
        });
        let before = family_moments(&params);
        for (k, expected) in target_moments().into_iter().enumerate() {
            let expected = gain * (expected - before[k]);
            assert!((change[k] - expected).abs() < 1e-13, "{name} {k}: {} {expected}", change[k]);
        }
    }
}

/// Exactly zero at the inclusive optimum, and `gain (E_p[T] - E_q[T])` elsewhere.
#[test]
fn the_expected_step_moves_the_moments_towards_those_of_the_target() {
    holds("pmcsa", &pmcsa(1));
    holds("two chains", &pmcsa(2));
    holds("recycled", &pmcsa_rb(1));
    holds("recycled chains", &pmcsa_rb(2));
    holds("jsa", &jsa(2));
    holds("msc", &msc(3));
    holds("msc_rb", &msc_rb(3));
    holds("unaveraged jsa", &ChainScore::new(jsa(2).kernel, 1, Average::Chains));
}

/// The twin: a gain in proportion to the acceptance of the same step weights moves more than stays, and the optimum is no fixed point.
#[test]
fn a_gain_from_the_same_step_has_another_fixed_point() {
    for (climb, least) in [(pmcsa(1), 0.01), (pmcsa(2), 0.005)] {
        let change = expected_change(climb, &optimum(), |_, accepted| accepted);
        assert!(change.iter().any(|change| change.abs() > least), "{change:?}");
    }
}

#[test]
fn impossible_settings_are_refused() {
    let (target, family) = (Gaussian::standard(1), FullRank::new(1));
    let begin = |start_draws, memory| {
        let estimator = Moments { memory, ..Moments::new(pmcsa(2), start_draws) };
        let lanes = &mut Seed::new(1).streams(2, 0);
        estimator.init(&target, &family, &[0.0, 0.0], lanes).map_err(|error| error.to_string())
    };
    assert!(begin(1.0, 1.0).is_ok());
    for start_draws in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(begin(start_draws, 0.5).unwrap_err().starts_with("Moments: start_draws"));
    }
    for memory in [0.0, 1.1, f64::NAN] {
        assert!(begin(1.0, memory).unwrap_err().starts_with("Moments: memory"));
    }
}

/// A kernel that reports no acceptance rate is an error in the first step.
#[test]
fn kernels_without_an_acceptance_rate_are_errors() {
    let (target, family) = (Gaussian::standard(1), FullRank::new(1));
    let estimator = Moments::new(ChainScore::new(AllBut(None), 2, Average::Chains), 2.0);
    let ascent = ascent(&target, &family, estimator, Sgd::new(1.0).unwrap());
    let error = ascent.run(&mut ascent.start(vec![0.0; 2]).unwrap(), 1).unwrap_err().to_string();
    assert!(error.ends_with("reports no acceptance rate, from which the gain is computed"), "{error}");
}

/// Moments outside the family leave lambda where it is, and are counted: the square of 1e200 is infinite.
#[test]
fn refused_moments_are_counted() {
    let (target, family) = (Gaussian::standard(1), MeanField::new(1));
    let estimator = Moments::new(single(Rwm::new(1.0).unwrap()), 1.0);
    for (position, refused) in [(1e200, 1), (1.0, 0)] {
        let kernel = estimator.climb.kernel.init(&target, mat![[position]]).unwrap();
        let mut state = MomentsState { kernel, accepted: 1.0, recent: 1.0, steps: 1 };
        let lanes = &mut Seed::new(1).streams(1, 2);
        let (direction, info) = step(&estimator, (&target, &family), &[0.0, 0.0], &mut state, lanes);
        assert_eq!((info.refused, direction == [0.0; 2]), (refused, refused == 1));
        let mut counted = None;
        info.record(&mut |metric, value| {
            if metric.is(Metric::sum("refused_moments")) {
                counted = Some(value);
            }
        });
        assert_eq!(counted, Some(refused as f64));
    }
}

/// The gain waits for the first accepted draws, and then follows the counts of earlier steps.
#[test]
fn the_gain_follows_what_arrived() {
    let (target, family) = (Gaussian::standard(1), FullRank::new(1));
    let estimator = Moments::new(pmcsa(4), 5.0);
    let mut params = family.at(&[0.5], mat![[1.5]].as_ref()).unwrap();
    let seed = Seed::new(7);
    let mut state = estimator.init(&target, &family, &params, &mut seed.streams(4, 0)).unwrap();
    let mut counts = Vec::new();
    for number in 1..=12 {
        let before = state.clone();
        let lanes = &mut seed.streams(4, number);
        let (direction, info) = step(&estimator, (&target, &family), &params, &mut state, lanes);
        let total: f64 = counts.iter().sum();
        assert_eq!(before.accepted, total);
        assert_eq!(info.gain, before.recent / (5.0 + 0.5 * total + before.recent));
        assert_eq!(number == 1, direction == [0.0; 2]);
        counts.push(info.kernel.accepted as f64);
        // The weights of `t^3`, from the fourth step on.
        let share = (4.0 / number as f64).min(1.0);
        assert_eq!(state.recent, before.recent + share * (info.kernel.accepted as f64 - before.recent));
        params.iter_mut().zip(direction).for_each(|(param, step)| *param += step);
    }
    assert!(counts.iter().any(|&count| count < 4.0));
}

/// A state belongs to its number of chains, and counts of accepted draws are finite and not negative.
#[test]
fn states_of_others_are_refused() {
    let (target, family) = (Gaussian::standard(1), FullRank::new(1));
    let of = |chains| Moments::new(pmcsa(chains), 2.0);
    let state = of(2).init(&target, &family, &[0.0, 0.0], &mut Seed::new(1).streams(2, 0)).unwrap();
    let told = |chains, state: &MomentsState<_>| {
        of(chains).check(&target, &family, state).map_err(|e| e.to_string())
    };
    assert_eq!(told(2, &state), Ok(()));
    assert!(told(3, &state).is_err());
    for number in [-1.0, f64::NAN, f64::INFINITY] {
        let error = told(2, &MomentsState { accepted: number, ..state.clone() }).unwrap_err();
        assert!(error.starts_with("Moments: accepted is"), "{error}");
        let error = told(2, &MomentsState { recent: number, ..state.clone() }).unwrap_err();
        assert!(error.starts_with("Moments: recent is"), "{error}");
    }
    let estimator = of(2);
    let chains = Estimator::<Gaussian, FullRank>::chains(&estimator, &state).unwrap();
    assert_eq!(chains.len(), 2);
}
