//! Running moments: exact expectation of a step, gain, and moments of a Gaussian target.

use faer::{Mat, mat};
use mcsa_core::{
    Columns, ColumnsMut, Error, Estimator, Guard, Guide, Kernel, LogDensity, Seed, Stream, enumerate,
};
use mcsa_estimators::{
    Ascent, Average, Moments, MomentsInfo, MomentsState, ScoreClimb, jsa, msc, msc_rb, pmcsa,
};
use mcsa_families::{FullRank, GaussianFamily};
use mcsa_kernels::{Hmc, Rwm};
use mcsa_models::Gaussian;
use mcsa_optim::Sgd;
use mcsa_theory::Finite;

/// Guard whose guide draws an atom of the target with probabilities proportional to the density of the guarded guide there.
#[derive(Clone)]
struct OnAtoms(Finite);

struct AtomGuide<'a> {
    atoms: &'a Mat<f64>,
    logits: Vec<f64>,
}

fn atoms() -> Mat<f64> {
    mat![[0.0, 1.0, 3.0], [0.0, 2.0, 0.5]]
}

fn target() -> Finite {
    Finite::new(atoms(), [0.5_f64, 0.2, 0.3].map(f64::ln).to_vec()).unwrap()
}

impl Guide for AtomGuide<'_> {
    fn dim(&self) -> usize {
        2
    }

    fn log_probs(&mut self, z: faer::MatRef<'_, f64>, log_q: &mut [f64]) {
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let atom = (0..3).find(|&k| self.atoms.as_ref().column(k) == z.column(j));
            *log_q = self.logits[atom.expect("chains are at atoms")];
        }
    }

    fn sample_into(&mut self, lanes: &mut [Stream], mut z: faer::MatMut<'_, f64>, log_q: &mut [f64]) {
        let each = log_q.len() / lanes.len();
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let k = lanes[j / each].choose(&self.logits).unwrap();
            z.column_mut(j).copy_from_slice(self.atoms.as_ref().column(k));
            *log_q = self.logits[k];
        }
    }
}

impl Guard for OnAtoms {
    fn work_len(&self, _: usize) -> usize {
        0
    }

    fn guarded(
        &self,
        guide: &mut dyn Guide,
        _: usize,
        _: &mut [f64],
        run: &mut dyn FnMut(&mut dyn Guide),
    ) -> Result<(), Error> {
        let atoms = atoms();
        let mut logits = vec![0.0; 3];
        guide.log_probs(atoms.as_ref(), &mut logits);
        let total = logits.iter().map(|l| l.exp()).sum::<f64>().ln();
        logits.iter_mut().for_each(|l| *l -= total);
        run(&mut AtomGuide { atoms: &atoms, logits });
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

/// Exact expectation, over stationary chains, of `factor` times the change of the family's moments in a step of a fit in its middle.
fn expected_change<K: Kernel<Finite>>(
    climb: ScoreClimb<K>,
    params: &[f64],
    factor: impl Fn(&MomentsInfo<K::Info>, f64) -> f64,
) -> [f64; 5] {
    let (target, family) = (target(), FullRank::new(2));
    let estimator = Moments::new(climb.guarded(OnAtoms(target.clone())), 4.0);
    let chains = estimator.climb.lanes;
    let mut work = vec![0.0; estimator.work_len(&target, &family)];
    let mut total = [0.0; 5];
    for start in 0..3_usize.pow(chains as u32) {
        let atom = |j: usize| start / 3_usize.pow(j as u32) % 3;
        let law: f64 = (0..chains).map(|j| target.probabilities()[atom(j)]).product();
        let positions = Mat::from_fn(2, chains, |i, j| atoms()[(i, atom(j))]);
        let kernel = estimator.climb.kernel.init(&target, positions).unwrap();
        let state = MomentsState { kernel, accepted: 6.0, recent: 1.5, steps: 9 };
        let branches = enumerate(chains, 1_000_000, |lanes: &mut [Stream]| {
            let (mut direction, mut state) = (vec![f64::NAN; 5], state.clone());
            let info = estimator
                .ascent_direction(&target, &family, params, &mut state, lanes, &mut direction, &mut work)
                .unwrap();
            let moved: Vec<f64> = params.iter().zip(&direction).map(|(param, step)| param + step).collect();
            let factor = factor(&info, state.accepted - 6.0);
            let (after, before) = (family_moments(&moved), family_moments(params));
            std::array::from_fn::<f64, 5, _>(|i| factor * (after[i] - before[i]))
        });
        for branch in branches.unwrap() {
            let weight = law * branch.probability;
            total.iter_mut().zip(branch.outcome).for_each(|(sum, change)| *sum += weight * change);
        }
    }
    total
}

fn holds<K: Kernel<Finite> + Clone>(name: &str, climb: &ScoreClimb<K>) {
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
    holds("jsa", &jsa(2));
    holds("msc", &msc(3));
    holds("msc_rb", &msc_rb(3));
    holds("unaveraged jsa", &ScoreClimb::new(jsa(2).kernel, 1, Average::Chains));
}

/// The twin: a gain in proportion to the acceptance of the same step weights moves more than stays, and the optimum is no fixed point.
#[test]
fn a_gain_from_the_same_step_has_another_fixed_point() {
    for (climb, least) in [(pmcsa(1), 0.01), (pmcsa(2), 0.005)] {
        let change = expected_change(climb, &optimum(), |_, accepted| accepted);
        assert!(change.iter().any(|change| change.abs() > least), "{change:?}");
    }
}

const DIM: usize = 10;

fn wishart() -> Gaussian {
    Gaussian::random_wishart(DIM, 2.0 * DIM as f64, &mut Seed::new(11).stream(0, 0)).unwrap()
}

/// Errors of the fitted mean and covariance in units of the target's, `L^-1 (m - mu)` and `L^-1 (S - C) L^-T`, from a start that is
/// 3 standard deviations away and 1.3 times as wide.
fn errors<K: Kernel<Gaussian>>(climb: ScoreClimb<K>, memory: f64, steps: u64, seed: u64) -> Vec<f64> {
    let (target, family) = (wishart(), FullRank::new(DIM));
    let truth = mcsa_families::Normal::new(target.mean().to_vec(), target.covariance().as_ref()).unwrap();
    let factor = truth.factor().to_owned();
    let away = 3.0 / (DIM as f64).sqrt();
    let shift = |i: usize| away * (0..=i).map(|k| factor[(i, k)]).sum::<f64>();
    let mean: Vec<f64> = truth.mean().iter().enumerate().map(|(i, mean)| mean + shift(i)).collect();
    let start = family.at(&mean, (1.3 * &factor).as_ref()).unwrap();
    let estimator = Moments { memory, ..Moments::new(climb, 2.0 * DIM as f64) };
    let optimizer = Sgd::new(1.0).unwrap();
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(seed) };
    let mut fit = ascent.start(start).unwrap();
    ascent.run(&mut fit, steps).unwrap();
    let found = family.moments(fit.params()).unwrap();
    let off = Mat::from_fn(DIM, DIM + 1, |i, k| match k {
        0 => found.mean()[i] - truth.mean()[i],
        k => found.covariance()[(i, k - 1)] - truth.covariance()[(i, k - 1)],
    });
    let solve = |mut x: Mat<f64>| {
        faer::linalg::triangular_solve::solve_lower_triangular_in_place(
            factor.as_ref(),
            x.as_mut(),
            faer::Par::Seq,
        );
        x
    };
    let half = solve(off);
    let whole = solve(half.subcols(1, DIM).transpose().to_owned());
    let mut errors: Vec<f64> = (0..DIM).map(|i| half[(i, 0)]).collect();
    errors.extend((0..DIM).flat_map(|i| (0..=i).map(move |k| (i, k))).map(|(i, k)| whole[(i, k)]));
    errors
}

#[test]
fn scratch_numbers() {
    for (name, memory) in [("half", 0.5), ("all", 1.0), ("none", 1e-9)] {
        for steps in [100, 300, 500, 1000] {
            let mut worst = 0.0_f64;
            let (mut mean_square, mut cov_square) = (0.0, 0.0);
            let mut sums = vec![0.0; 65];
            let mut squares = vec![0.0; 65];
            for seed in 0..32 {
                let e = errors(pmcsa(10), memory, steps, seed);
                for (k, e) in e.iter().enumerate() {
                    sums[k] += e;
                    squares[k] += e * e;
                    worst = worst.max(e.abs());
                    if k < DIM { mean_square += e * e / 320.0 } else { cov_square += e * e / (55.0 * 32.0) }
                }
            }
            let t = (0..65)
                .map(|k| {
                    let mean = sums[k] / 32.0;
                    let var = (squares[k] - 32.0 * mean * mean) / 31.0;
                    (mean / (var / 32.0).sqrt()).abs()
                })
                .fold(0.0, f64::max);
            println!(
                "{name} {} evals: rms mean {:.4} cov {:.4} worst {worst:.3} t {t:.2}",
                steps * 10,
                f64::sqrt(mean_square),
                f64::sqrt(cov_square)
            );
        }
    }
}
