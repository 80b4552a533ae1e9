//! Running moments of the Gaussian families: exact moments, positive definiteness, formula of factor analysis; a
//! target of weighted atoms, on which the exact inclusive optimum is computed.

use faer::linalg::solvers::DenseSolveCore;
use faer::{Mat, MatRef, Scale, mat};
use mcsa_core::{Columns, Family};
use mcsa_families::{FullRank, GaussianFamily, Link, LowRank, MeanField, MomentMatched};
use mcsa_optim::deterministic::Lbfgs;

const LINKS: [Link; 2] = [Link::Softplus, Link::Exp];
pub(crate) const WEIGHTS: [f64; 4] = [0.1, 0.4, 0.0, 0.5];

pub(crate) fn points(dim: usize) -> Mat<f64> {
    Mat::from_fn(dim, 4, |i, j| 2.0 + ((3 * i + 7 * j + i * j) as f64).sin() * 3.0)
}

fn full_rank(dim: usize, link: Link) -> (FullRank, Vec<f64>) {
    let family = FullRank::new(dim).with_link(link);
    let factor = Mat::from_fn(dim, dim, |i, k| match i.cmp(&k) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 0.5 + 0.3 * i as f64,
        std::cmp::Ordering::Greater => 0.4 - 0.2 * k as f64,
    });
    let mean: Vec<f64> = (0..dim).map(|i| 0.7 - 0.4 * i as f64).collect();
    let params = family.at(&mean, factor.as_ref()).unwrap();
    (family, params)
}

fn mean_field(dim: usize, link: Link) -> (MeanField, Vec<f64>) {
    let family = MeanField::new(dim).with_link(link);
    let mean: Vec<f64> = (0..dim).map(|i| 0.7 - 0.4 * i as f64).collect();
    let scales: Vec<f64> = (0..dim).map(|i| 0.5 + 0.3 * i as f64).collect();
    let params = family.at(&mean, &scales).unwrap();
    (family, params)
}

/// A step of running moments: `None` if it is refused.
pub(crate) fn step<F: MomentMatched>(
    family: &F,
    params: &[f64],
    gain: f64,
    points: MatRef<'_, f64>,
    weights: &[f64],
) -> Option<Vec<f64>> {
    let mut matched = vec![f64::NAN; params.len()];
    let mut work = vec![f64::NAN; family.work_len(points.ncols())];
    family.match_moments(params, gain, points, weights, &mut matched, &mut work).then_some(matched)
}

/// Lambda after a step to [`points`] with [`WEIGHTS`].
pub(crate) fn stepped<F: MomentMatched>(family: &F, params: &[f64], gain: f64) -> Vec<f64> {
    step(family, params, gain, points(family.dim()).as_ref(), &WEIGHTS).unwrap()
}

/// First and second moments, `E[z_i]` and `E[z_i z_k]`; of a mean-field family only `E[z_i^2]`.
fn moments<F: GaussianFamily>(family: &F, params: &[f64]) -> Vec<f64> {
    let normal = family.moments(params).unwrap();
    let (mean, covariance) = (normal.mean(), normal.covariance());
    statistic(mean, |i, k| covariance[(i, k)] + mean[i] * mean[k], params.len() == 2 * mean.len())
}

fn statistic(z: &[f64], second: impl Fn(usize, usize) -> f64, diagonal: bool) -> Vec<f64> {
    let pairs = (0..z.len()).flat_map(|i| (0..=i).map(move |k| (i, k)));
    let seconds = pairs.filter(|(i, k)| !diagonal || i == k).map(|(i, k)| second(i, k));
    z.iter().copied().chain(seconds).collect()
}

/// Largest difference between the moments after a step and the convex combination of those of q and of the points.
fn departure<F: GaussianFamily>(family: &F, before: &[f64], gain: f64, after: &[f64]) -> f64 {
    let points = points(family.dim());
    let diagonal = before.len() == 2 * family.dim();
    let mut expected = moments(family, before).iter().map(|moment| (1.0 - gain) * moment).collect::<Vec<_>>();
    for (j, weight) in WEIGHTS.iter().enumerate() {
        let z = points.as_ref().column(j);
        let at_point = statistic(z, |i, k| z[i] * z[k], diagonal);
        expected.iter_mut().zip(at_point).for_each(|(sum, t)| *sum += gain * weight * t);
    }
    gap(&moments(family, after), &expected)
}

#[test]
fn moments_after_a_step_are_the_convex_combination() {
    for (link, dim) in LINKS.into_iter().flat_map(|link| [1, 2, 3].map(|dim| (link, dim))) {
        // Gain one is moment matching; three points have no covariance in space.
        for gain in [1e-9, 0.01, 0.3, 0.9, 1.0].into_iter().take(if dim < 3 { 5 } else { 4 }) {
            let (family, params) = full_rank(dim, link);
            let off = departure(&family, &params, gain, &stepped(&family, &params, gain));
            assert!(off < 1e-13, "full rank {dim} {link:?} {gain}: {off}");
            let (family, params) = mean_field(dim, link);
            let off = departure(&family, &params, gain, &stepped(&family, &params, gain));
            assert!(off < 1e-13, "mean field {dim} {link:?} {gain}: {off}");
        }
    }
}

/// Twins: equal weights, and squares about the old mean with the mean moved.
#[test]
fn forgotten_weights_and_moments_about_the_old_mean_are_seen() {
    for dim in [1, 2, 3] {
        let (gain, z) = (0.3, points(dim));
        let (family, params) = full_rank(dim, Link::Softplus);
        let equal = step(&family, &params, gain, z.as_ref(), &[0.25; 4]).unwrap();
        assert!(departure(&family, &params, gain, &equal) > 0.01);
        let (family, params) = mean_field(dim, Link::Exp);
        let mut about_the_old_mean = stepped(&family, &params, gain);
        for i in 0..dim {
            let square = |j: usize| WEIGHTS[j] * (z[(i, j)] - params[i]).powi(2);
            let spread: f64 = (0..WEIGHTS.len()).map(square).sum();
            let variance = (1.0 - gain) * family.link.scale(params[dim + i]).powi(2) + gain * spread;
            about_the_old_mean[dim + i] = family.link.inverse(variance.sqrt()).unwrap();
        }
        assert!(departure(&family, &params, gain, &about_the_old_mean) > 0.01);
    }
}

/// A point that is not finite, and a single one at gain one, have moments outside the family; steps to a far point stay inside.
pub(crate) fn stays_in_the_family<F: MomentMatched>(family: &F, params: &[f64]) {
    for far in [f64::NAN, f64::INFINITY] {
        let z = Mat::from_fn(family.dim(), 1, |i, _| if i == 0 { far } else { 0.0 });
        assert!(step(family, params, 0.5, z.as_ref(), &[1.0]).is_none(), "{far}");
    }
    let one = Mat::from_fn(family.dim(), 1, |i, _| 1.0 + i as f64);
    assert!(step(family, params, 1.0, one.as_ref(), &[1.0]).is_none());
    let far = Mat::from_fn(family.dim(), 1, |i, _| [1e6, -3e5, 2e4][i]);
    for gain in [1e-12, 0.5, 1.0 - 1e-12] {
        let mut params = params.to_vec();
        for _ in 0..5 {
            params = step(family, &params, gain, far.as_ref(), &[1.0]).unwrap();
            family.check(&params).unwrap();
        }
    }
    let farther = Mat::from_fn(family.dim(), 1, |_, _| 1e100);
    family.check(&step(family, params, 0.5, farther.as_ref(), &[1.0]).unwrap()).unwrap();
}

#[test]
fn moments_outside_a_gaussian_family_are_errors() {
    let (family, params) = full_rank(3, Link::Softplus);
    stays_in_the_family(&family, &params);
    let (family, params) = mean_field(3, Link::Exp);
    stays_in_the_family(&family, &params);
    let (family, params) = low_rank(2, Link::Exp);
    stays_in_the_family(&family, &params);
    assert!(step(&family, &params, 0.5, mat![[1e200], [0.0], [0.0]].as_ref(), &[1.0]).is_none());
}

/// Target with finitely many atoms.
pub(crate) struct Atomic {
    pub(crate) points: Mat<f64>,
    pub(crate) weights: Vec<f64>,
}

impl Atomic {
    /// Skewed and correlated t with four degrees of freedom, in one or two dimensions, on a grid that is wider in its tails.
    pub(crate) fn skew_t(dim: usize) -> Self {
        let count = 41_usize;
        let node = |k: usize| (k as f64 - 20.0) * 0.2;
        let points =
            Mat::from_fn(dim, count.pow(dim as u32), |i, j| node(j / count.pow(i as u32) % count).sinh());
        let weight = |j: usize| {
            let x = points[(0, j)];
            let y = if dim > 1 { points[(1, j)] - 0.6 * x } else { 0.0 };
            let spacing: f64 = (0..dim).map(|i| points[(i, j)].hypot(1.0)).product();
            let power = -0.5 * (4.0 + dim as f64);
            spacing * (1.0 + (x * x + y * y) / 4.0).powf(power) * (1.0 + 0.5 * x.tanh())
        };
        let weights: Vec<f64> = (0..points.ncols()).map(weight).collect();
        Self::new(points, &weights)
    }

    pub(crate) fn new(points: Mat<f64>, weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        Self { points, weights: weights.iter().map(|weight| weight / total).collect() }
    }

    /// `E_p[log q]`.
    pub(crate) fn value<F: Family>(&self, family: &F, params: &[f64]) -> f64 {
        let mut log_q = vec![0.0; self.weights.len()];
        let mut work = vec![0.0; family.work_len(self.weights.len())];
        family.log_probs(params, self.points.as_ref(), &mut log_q, &mut work);
        self.weights.iter().zip(log_q).map(|(weight, log_q)| weight * log_q).sum()
    }

    /// The inclusive optimum by L-BFGS.
    pub(crate) fn optimum<F: Family>(&self, family: &F, start: &[f64]) -> Vec<f64> {
        let mut work = vec![0.0; family.work_len(self.weights.len())];
        let objective = |params: &[f64], gradient: &mut [f64]| {
            if family.check(params).is_err() {
                return f64::NEG_INFINITY;
            }
            family.add_scores(params, self.points.as_ref(), &self.weights, gradient, &mut work);
            self.value(family, params)
        };
        let lbfgs = Lbfgs::with(1e-9, 10_000, 20).unwrap();
        lbfgs.maximise(objective, start).unwrap().converged().unwrap().point
    }

    pub(crate) fn step<F: MomentMatched>(&self, family: &F, params: &[f64], gain: f64) -> Vec<f64> {
        step(family, params, gain, self.points.as_ref(), &self.weights).expect("moments inside the family")
    }
}

/// Largest difference of two lambdas.
pub(crate) fn gap(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Largest move of a step from the inclusive optimum, over several gains.
pub(crate) fn drift<F: MomentMatched>(p: &Atomic, family: &F, optimum: &[f64]) -> f64 {
    [0.05, 0.5, 1.0].map(|gain| gap(&p.step(family, optimum, gain), optimum)).into_iter().fold(0.0, f64::max)
}

/// Lambda after steps of gain one from `start`, and the largest fall of `E_p[log q]` in a step.
pub(crate) fn climb<F: MomentMatched>(
    p: &Atomic,
    family: &F,
    start: &[f64],
    steps: usize,
) -> (Vec<f64>, f64) {
    let (mut params, mut value, mut fall) = (start.to_vec(), p.value(family, start), 0.0_f64);
    for _ in 0..steps {
        params = p.step(family, &params, 1.0);
        let next = p.value(family, &params);
        fall = fall.max(value - next);
        value = next;
    }
    (params, fall)
}

fn low_rank(rank: usize, link: Link) -> (LowRank, Vec<f64>) {
    let family = LowRank::new(3, rank).with_link(link);
    let factor = Mat::from_fn(3, rank, |i, k| ((2 * i + 5 * k + 1) as f64).sin());
    let params = family.at(&[0.7, 0.3, -0.1], &[0.5, 0.8, 1.1], factor.as_ref()).unwrap();
    (family, params)
}

/// Mean, factor and variances after a step, with all matrices written out; `phi` multiplies the covariance of the factors given a
/// point, and is 1.
fn low_rank_formula(rank: usize, gain: f64, z: MatRef<'_, f64>, phi: f64) -> (Vec<f64>, Mat<f64>, Vec<f64>) {
    let m = [0.7, 0.3, -0.1];
    let b = Mat::from_fn(3, rank, |i, k| ((2 * i + 5 * k + 1) as f64).sin());
    let mut c = &b * b.transpose();
    for (i, scale) in [0.5, 0.8, 1.1_f64].into_iter().enumerate() {
        c[(i, i)] += scale * scale;
    }
    let centre: Vec<f64> = (0..3).map(|i| (0..4).map(|j| WEIGHTS[j] * z[(i, j)]).sum()).collect();
    let delta = |i: usize| centre[i] - m[i];
    let s = Mat::from_fn(3, 3, |i, k| {
        let away = |j: usize| WEIGHTS[j] * (z.column(j)[i] - centre[i]) * (z.column(j)[k] - centre[k]);
        let spread = (0..4).map(away).sum::<f64>();
        (1.0 - gain) * c[(i, k)] + gain * spread + gain * (1.0 - gain) * delta(i) * delta(k)
    });
    let beta = b.transpose() * c.partial_piv_lu().inverse();
    let s_beta = &s * beta.transpose();
    let given = Scale(phi) * (Mat::<f64>::identity(rank, rank) - &beta * &b);
    let after = &s_beta * (given + &beta * &s_beta).partial_piv_lu().inverse();
    let explained = &after * s_beta.transpose();
    let variances = (0..3).map(|i| s[(i, i)] - explained[(i, i)]).collect();
    ((0..3).map(|i| m[i] + gain * delta(i)).collect(), after, variances)
}

fn off(family: &LowRank, found: &[f64], (mean, factor, variances): &(Vec<f64>, Mat<f64>, Vec<f64>)) -> f64 {
    let scale = |i: usize| family.link.scale(found[3 + i]);
    let variance = (0..3).map(|i| (scale(i).powi(2) - variances[i]).abs()).fold(0.0, f64::max);
    let column = |k: usize| gap(&found[6 + 3 * k..9 + 3 * k], factor.as_ref().column(k));
    (0..family.rank).map(column).fold(variance.max(gap(&found[..3], mean)), f64::max)
}

#[test]
fn the_low_rank_step_is_that_of_the_formula() {
    for (rank, link) in [(1, Link::Softplus), (2, Link::Exp), (3, Link::Softplus)] {
        for gain in [1e-6, 0.01, 0.3, 0.9, 1.0] {
            let (family, params) = low_rank(rank, link);
            let (z, found) = (points(3), stepped(&family, &params, gain));
            let departure = off(&family, &found, &low_rank_formula(rank, gain, z.as_ref(), 1.0));
            assert!(departure < 1e-11, "{rank} {gain}: {departure}");
            // Twin: the covariance of the factors given a point forgotten.
            let departure = off(&family, &found, &low_rank_formula(rank, gain, z.as_ref(), 0.5));
            assert!(departure > 0.01, "{rank} {gain}: {departure}");
        }
    }
}

#[test]
fn rank_zero_is_the_mean_field_family() {
    let (family, one) = (LowRank::new(3, 0), MeanField::new(3));
    let params = one.at(&[0.7, 0.3, -0.1], &[0.5, 0.8, 1.1]).unwrap();
    for gain in [0.01, 0.5, 1.0] {
        assert!(gap(&stepped(&family, &params, gain), &stepped(&one, &params, gain)) < 1e-13);
    }
    let empty = LowRank::new(0, 2);
    assert_eq!(step(&empty, &[], 0.5, Mat::zeros(0, 2).as_ref(), &[0.5, 0.5]), Some(vec![]));
}
