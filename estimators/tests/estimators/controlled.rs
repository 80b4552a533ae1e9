//! Control variates and mirrored draws: exactly equal means, less noise.

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{Error, Estimator, Family, Parametric, Seed, Stream, enumerate};
use mcsa_estimators::{ChainScore, Controllable, Controlled, ScoreWeights, Weighting, msc_rb, pmcsa, snis};
use mcsa_families::{Atoms, Defence, MeanField, Tail};
use mcsa_models::Gaussian;
use mcsa_testing::Finite;

use super::step;

/// Four atoms at -3, -1, 1, 3 with symmetric logits, so that the family has a centre.
struct Even(Atoms);

impl Even {
    fn new() -> Self {
        Self(Atoms::new(Mat::from_fn(1, 4, |_, k| 2.0 * k as f64 - 3.0)).unwrap())
    }
}

impl Parametric for Even {
    fn dim(&self) -> usize {
        1
    }
    fn num_params(&self) -> usize {
        4
    }
    fn work_len(&self, columns: usize) -> usize {
        self.0.work_len(columns)
    }
}

impl Family for Even {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]) {
        self.0.log_probs(params, z, log_q, work);
    }
    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        self.0.sample_into(params, lanes, z, log_q, work);
    }
    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.0.add_scores(params, z, weights, gradient, work);
    }
    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        z[0] = -z[0];
        params[0] == params[3] && params[1] == params[2]
    }
}

const LOGITS: [f64; 4] = [0.2, -0.3, -0.3, 0.2];
const TOLERANCE: f64 = 1e-12;

fn target() -> Finite {
    let atoms = Mat::from_fn(1, 4, |_, k| 2.0 * k as f64 - 3.0);
    Finite::new(atoms, [0.1_f64, 0.4, 0.3, 0.2].map(f64::ln).to_vec()).unwrap()
}

/// Exact mean and total variance of a direction, and the exact mean of the control.
struct Law {
    mean: [f64; 4],
    variance: f64,
    control: [f64; 4],
}

fn law<E: Controllable<Finite, Even>>(estimator: &E, state: &dyn Fn() -> E::State, share: f64) -> Law {
    let (target, family) = (target(), Even::new());
    let mut work = vec![f64::NAN; estimator.work_len(&target, &family)];
    let branches = enumerate(estimator.lanes(), 3_000_000, |lanes: &mut [Stream]| {
        let (mut direction, mut control) = ([f64::NAN; 4], [f64::NAN; 4]);
        let both = (&mut direction[..], Some(&mut control[..]));
        estimator
            .direction_and_control(&target, &family, &LOGITS, &mut state(), lanes, both, &mut work)
            .unwrap();
        for (g, c) in direction.iter_mut().zip(control) {
            *g -= share * c;
        }
        (direction, control)
    })
    .unwrap();
    let mut law = Law { mean: [0.0; 4], variance: 0.0, control: [0.0; 4] };
    for branch in &branches {
        for k in 0..4 {
            law.mean[k] += branch.probability * branch.outcome.0[k];
            law.control[k] += branch.probability * branch.outcome.1[k];
        }
    }
    for branch in &branches {
        for k in 0..4 {
            law.variance += branch.probability * (branch.outcome.0[k] - law.mean[k]).powi(2);
        }
    }
    law
}

fn close(a: [f64; 4], b: [f64; 4]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < TOLERANCE)
}

fn at<E: Estimator<Finite, Even>>(estimator: &E) -> impl Fn() -> E::State {
    move || {
        let mut lanes = Seed::new(5).streams(estimator.lanes(), 0);
        estimator.init(&target(), &Even::new(), &LOGITS, &mut lanes).unwrap()
    }
}

/// A multiple of the control leaves the mean unchanged, because the control has mean zero.
#[test]
fn the_control_has_mean_zero_and_takes_noise_off() {
    fn check<E: Controllable<Finite, Even>>(name: &str, estimator: &E) {
        let state = at(estimator);
        let (plain, less) = (law(estimator, &state, 0.0), law(estimator, &state, 0.5));
        assert!(close(plain.control, [0.0; 4]), "{name}: {:?}", plain.control);
        assert!(close(plain.mean, less.mean), "{name}");
        assert!(less.variance < 0.9 * plain.variance, "{name}: {} from {}", less.variance, plain.variance);
    }
    check("pmcsa", &pmcsa(2));
    check("msc_rb", &msc_rb(3));
    check("snis", &snis(3));
    check("known", &ScoreWeights::new(2, Weighting::Known { log_normaliser: 0.0 }));
    check("mirrored", &ChainScore { mirrored: true, ..pmcsa(2) });
}

/// Each chain of a mirrored pair keeps its distribution, so the mean of the direction is equal.
#[test]
fn mirrored_chains_keep_the_mean() {
    let (alone, mirrored) = (pmcsa(2), ChainScore { mirrored: true, ..pmcsa(2) });
    let (state, same) = (at(&alone), at(&mirrored));
    let (independent, paired) = (law(&alone, &state, 0.0), law(&mirrored, &same, 0.0));
    assert!(close(independent.mean, paired.mean));
    assert!((independent.variance - paired.variance).abs() > 1e-3, "the joint law is another");
}

/// `Known` weights are unbiased, mirrored or not.
#[test]
fn mirrored_importance_sampling_is_unbiased() {
    let known = ScoreWeights::new(2, Weighting::Known { log_normaliser: 0.0 });
    let exact: [f64; 4] = {
        let total: f64 = LOGITS.iter().map(|l| l.exp()).sum();
        std::array::from_fn(|k| [0.1, 0.4, 0.3, 0.2][k] - LOGITS[k].exp() / total)
    };
    assert!(close(law(&known, &|| (), 0.0).mean, exact));
    assert!(close(law(&ScoreWeights { mirrored: true, ..known }, &|| (), 0.0).mean, exact));
}

/// If q is p every proposal is accepted and the direction equals the control: with the right coefficient no noise is
/// left. Elsewhere some is.
#[test]
fn at_the_optimum_no_noise_is_left() {
    let (target, family) = (Gaussian::standard(3), MeanField::new(3));
    let estimator = Controlled::new(pmcsa(4));
    let params = family.at(&[0.0; 3], &[1.0; 3]).unwrap();
    let run = |params: &[f64]| {
        let mut lanes = Seed::new(2).streams(4, 0);
        let mut state = estimator.init(&target, &family, params, &mut lanes).unwrap();
        let direction =
            (0..40).map(|_| step(&estimator, (&target, &family), params, &mut state, &mut lanes).0);
        direction.last().unwrap().iter().map(|g| g * g).sum::<f64>().sqrt()
    };
    assert!(run(&params) < 1e-12, "{}", run(&params));
    let elsewhere = family.at(&[0.5; 3], &[1.3; 3]).unwrap();
    assert!(run(&elsewhere) > 1e-2);
}

/// The coefficient is zero before the first step, and after it `g / c`.
#[test]
fn a_coefficient_is_that_of_a_regression() {
    let (target, family) = (Gaussian::standard(1), MeanField::new(1));
    let (estimator, params) = (Controlled::new(snis(3)), [0.4, 0.8]);
    let lanes = || Seed::new(5).streams(1, 0);
    let mut work = vec![0.0; estimator.work_len(&target, &family)];
    let mut state = estimator.init(&target, &family, &params, &mut lanes()).unwrap();
    assert_eq!((state.coefficient(0), state.coefficient(1)), (0.0, 0.0));
    let (direction, _) = step(&estimator, (&target, &family), &params, &mut state, &mut lanes());
    let (mut g, mut c) = ([0.0; 2], [0.0; 2]);
    let both = (&mut g[..], Some(&mut c[..]));
    let inner = &estimator.estimator;
    inner.direction_and_control(&target, &family, &params, &mut (), &mut lanes(), both, &mut work).unwrap();
    assert_eq!(direction, g, "the first step has no control yet");
    for k in 0..2 {
        let expected = g[k] / c[k];
        assert!((state.coefficient(k) - expected).abs() < 1e-12 * expected.abs(), "{k}");
    }
}

#[test]
fn impossible_settings_are_refused() {
    let (target, family) = (Gaussian::standard(1), MeanField::new(1));
    let params = [0.0, 0.5];
    let mut lanes = Seed::new(1).streams(4, 0);
    let told = |result: Result<(), Error>| result.unwrap_err().to_string();
    let odd = (ChainScore { mirrored: true, ..pmcsa(3) })
        .init(&target, &family, &params, &mut lanes[..3])
        .map(drop);
    assert_eq!(told(odd), "ChainScore: chains is 3, expected even, for mirrored pairs");
    let guarded =
        ChainScore { mirrored: true, ..pmcsa(4) }.guarded(Defence::new(0.1, Tail::cauchy(1)).unwrap());
    let refused = guarded.init(&target, &family, &params, &mut lanes).map(drop);
    assert_eq!(told(refused), "ChainScore: mirrored draws have no guard, which would part the pairs");
    let evidence = ScoreWeights { mirrored: true, ..ScoreWeights::new(4, Weighting::Evidence) };
    let refused = evidence.init(&target, &family, &params, &mut lanes);
    assert_eq!(told(refused), "ScoreWeights: a leave-one-out baseline is biased by mirrored draws");
    let atoms = Atoms::on_line(2).unwrap();
    let no_centre = (ScoreWeights { mirrored: true, ..snis(2) }).init(
        &Finite::on_line(&[1.0, 1.0]).unwrap(),
        &atoms,
        &[0.0; 2],
        &mut lanes,
    );
    assert!(told(no_centre).ends_with("has no known centre of symmetry"));
    let forgetful = Controlled { estimator: pmcsa(2), memory: 1.0 };
    let refused = forgetful.init(&target, &family, &params, &mut lanes[..2]).map(drop);
    assert_eq!(told(refused), "Controlled: memory is 1, expected at least 0 and less than 1");
}

/// If q is p all weights are equal and all proposals accepted: the score of the mean is odd, so it cancels in mirrored
/// pairs. With independent draws it does not.
#[test]
fn what_is_odd_cancels_in_mirrored_draws() {
    let (target, family) = (Gaussian::standard(3), MeanField::new(3));
    let params = family.at(&[0.0; 3], &[1.0; 3]).unwrap();
    fn of_mean<E: Estimator<Gaussian, MeanField>>(
        estimator: &E,
        (target, family, params): (&Gaussian, &MeanField, &[f64]),
    ) -> f64 {
        let mut lanes = Seed::new(6).streams(estimator.lanes(), 0);
        let mut state = estimator.init(target, family, params, &mut lanes).unwrap();
        let (direction, _) = step(estimator, (target, family), params, &mut state, &mut lanes);
        direction[..3].iter().map(|g| g.abs()).sum()
    }
    let place = (&target, &family, &params[..]);
    assert!(of_mean(&ScoreWeights { mirrored: true, ..snis(6) }, place) < 1e-12);
    assert!(of_mean(&ChainScore { mirrored: true, ..pmcsa(6) }, place) < 1e-12);
    assert!(of_mean(&snis(6), place) > 1e-2 && of_mean(&pmcsa(6), place) > 1e-2);
}
