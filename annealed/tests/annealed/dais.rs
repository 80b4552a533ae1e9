//! Differentiable annealed chains on Gaussian targets: exact laws, dual numbers, and mistakes that both find.

use mcsa_annealed::dais::{Base, Dais, DaisGradient, Mass, Shape};
use mcsa_annealed::{Along, PathPoint, Surrogate};
use num_dual::{Dual64, DualNum};

use crate::surrogates::Faulty;

/// `a . z - z^T P z / 2` in two dimensions, with parameters a.
#[derive(Clone)]
pub(crate) struct Quadratic {
    a: [f64; 2],
    precision: [[f64; 2]; 2],
}

impl Quadratic {
    pub(crate) fn posterior() -> Self {
        Self { a: [0.7, -1.1], precision: [[2.5, 0.6], [0.6, 1.4]] }
    }

    pub(crate) fn surrogate() -> Self {
        Self { a: [0.2, -0.6], precision: [[1.9, -0.3], [-0.3, 2.2]] }
    }

    fn determinant(&self) -> f64 {
        let [[p, r], [_, q]] = self.precision;
        p * q - r * r
    }

    /// `log int exp f = log(2 pi) - log det(P) / 2 + a^T P^-1 a / 2`.
    fn log_evidence(&self) -> f64 {
        let ([[p, r], [_, q]], [a, b]) = (self.precision, self.a);
        let bent = (q * a * a - 2.0 * r * a * b + p * b * b) / self.determinant();
        std::f64::consts::TAU.ln() - 0.5 * self.determinant().ln() + 0.5 * bent
    }

    fn mean(&self) -> [f64; 2] {
        let ([[p, r], [_, q]], [a, b]) = (self.precision, self.a);
        [(q * a - r * b) / self.determinant(), (p * b - r * a) / self.determinant()]
    }

    fn product(&self, u: &[f64]) -> [f64; 2] {
        self.precision.map(|row| row[0] * u[0] + row[1] * u[1])
    }
}

impl Quadratic {
    fn gradient(&self, a: &[f64], z: &[f64]) -> [f64; 2] {
        let bent = self.product(z);
        [a[0] - bent[0], a[1] - bent[1]]
    }

    fn value_and_gradient(&self, z: &[f64]) -> (f64, [f64; 2]) {
        let bent = self.product(z);
        ((0..2).map(|i| z[i] * (self.a[i] - 0.5 * bent[i])).sum(), self.gradient(&self.a, z))
    }
}

/// Psi is a.
impl Surrogate for Quadratic {
    fn dim(&self) -> usize {
        2
    }

    fn num_params(&self) -> usize {
        2
    }

    fn gradient_into(&self, at: PathPoint<'_>, gradient: &mut [f64], _: &mut [f64], _: &mut [f64]) {
        let PathPoint { psi, z, .. } = at;
        gradient.copy_from_slice(&self.gradient(psi, z));
    }

    fn add_second(&self, along: Along<'_>, product: &mut [f64], psi_bar: &mut [f64], _: &mut [f64]) {
        let Along { u, scale, .. } = along;
        let bent = self.product(u);
        for i in 0..2 {
            product[i] -= scale * bent[i];
            psi_bar[i] += scale * u[i];
        }
    }
}

fn chain(steps: usize, law: Mass) -> Dais {
    let base = Base::new(vec![0.4, -0.3], Shape::Lower, vec![0.6, 0.0, 0.2, 0.5]).unwrap();
    Dais {
        base,
        step_size: 0.2,
        kappa: 0.1,
        longest: 0.5,
        gamma: 0.6,
        betas: (1..=steps).map(|k| k as f64 / steps as f64).collect(),
        mass: vec![0.8, 1.3],
        law,
    }
}

fn log_weight(dais: &Dais, guide: &impl Surrogate, a: &[f64], target: &Quadratic, noise: &[f64]) -> f64 {
    let path = dais.path(guide, a, noise);
    target.value_and_gradient(path.end()).0 - path.log_q
}

/// `log E[w]`, exactly.
fn log_mean_weight(dais: &Dais, guide: &Quadratic, target: &Quadratic) -> f64 {
    log_mean_exp(2 * (1 + dais.num_steps()), |noise| log_weight(dais, guide, &guide.a, target, noise))
}

/// `log E[1/w]` over backward paths from draws `z = mean + L^-T eps` of the posterior `L L^T = P`, exactly.
fn log_mean_reciprocal(dais: &Dais, guide: &Quadratic, target: &Quadratic) -> f64 {
    let [[p, r], [_, q]] = target.precision;
    let (mean, factor) = (target.mean(), [p.sqrt(), r / p.sqrt(), (q - r * r / p).sqrt()]);
    log_mean_exp(2 * (1 + dais.num_steps()), |noise| {
        let second = noise[1] / factor[2];
        let end = [mean[0] + (noise[0] - factor[1] * second) / factor[0], mean[1] + second];
        dais.path_back(guide, &guide.a, &end, &noise[2..]).log_q - target.value_and_gradient(&end).0
    })
}

/// `log E[exp(f)]` over n normal numbers for a quadratic f, whose coefficients are differences.
fn log_mean_exp(n: usize, f: impl Fn(&[f64]) -> f64) -> f64 {
    let at = |moves: &[(usize, f64)]| {
        let mut noise = vec![0.0; n];
        moves.iter().for_each(|(i, by)| noise[*i] += by);
        f(&noise)
    };
    let origin = at(&[]);
    let slope: Vec<f64> = (0..n).map(|i| 0.5 * (at(&[(i, 1.0)]) - at(&[(i, -1.0)]))).collect();
    // log w = origin + slope . x - x^T A x / 2, and log E[w] = origin + slope^T (I + A)^-1 slope / 2 - log det(I + A) / 2.
    let entry = |i: usize, j: usize| {
        let mixed = at(&[(i, 1.0), (j, 1.0)]) - at(&[(i, 1.0)]) - at(&[(j, 1.0)]) + origin;
        f64::from(u8::from(i == j)) - mixed
    };
    let row = |i: usize| (0..n).map(|j| entry(i, j)).chain([slope[i]]).collect();
    let mut matrix: Vec<Vec<f64>> = (0..n).map(row).collect();
    // Elimination: the squares of the reduced right-hand side, over the pivots, sum to slope^T (I + A)^-1 slope.
    let (mut bent, mut log_determinant) = (0.0, 0.0);
    for i in 0..n {
        let pivot = matrix[i].clone();
        assert!(pivot[i] > 0.0, "the weight has a mean");
        log_determinant += pivot[i].ln();
        bent += pivot[n] * pivot[n] / pivot[i];
        for row in &mut matrix[i + 1..] {
            let share = row[i] / pivot[i];
            row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= share * p);
        }
    }
    origin + 0.5 * (bent - log_determinant)
}

#[test]
fn mean_weight_is_the_evidence() {
    let posterior = Quadratic::posterior();
    for law in [Mass::Variance, Mass::Deviation] {
        for steps in [0, 1, 3] {
            for guide in [&posterior, &Quadratic::surrogate()] {
                let far = log_mean_weight(&chain(steps, law), guide, &posterior) - posterior.log_evidence();
                assert!(far.abs() < 1e-10, "{law:?}, {steps} steps: {far:e}");
            }
        }
    }
}

/// Paths drawn backward from the posterior have the reciprocal evidence as their mean reciprocal weight.
#[test]
fn mean_reciprocal_weight_is_that_of_the_evidence() {
    let posterior = Quadratic::posterior();
    for law in [Mass::Variance, Mass::Deviation] {
        for steps in [0, 1, 3] {
            for guide in [&posterior, &Quadratic::surrogate()] {
                let dais = chain(steps, law);
                let far = log_mean_reciprocal(&dais, guide, &posterior) + posterior.log_evidence();
                assert!(far.abs() < 1e-10, "{law:?}, {steps} steps: {far:e}");
            }
        }
    }
    // The failing twin: paths from draws of another density.
    let far = log_mean_reciprocal(&chain(3, Mass::Variance), &posterior, &Quadratic::surrogate());
    assert!((far + posterior.log_evidence()).abs() > 0.01);
}

/// A path drawn backward from the end of another one, with the momenta of that one, is the same path.
#[test]
fn forward_and_backward_are_inverse() {
    let (dais, guide) = (Dais { gamma: 0.0, ..chain(3, Mass::Variance) }, Quadratic::surrogate());
    // Without correlation of momenta the backward noise is the momentum after each kick.
    let forward = dais.path(&guide, &guide.a, &NOISE);
    let mut noise = vec![0.0; 6];
    let (mut point, fresh) = (forward.points[0].clone(), &NOISE[2..]);
    for k in 0..3 {
        let eta = dais.step_size + dais.kappa * dais.betas[k];
        for i in 0..2 {
            // z_k = z_{k-1} + eta/2 (v + v^) / M gives v^.
            let v = dais.mass[i].sqrt() * fresh[2 * k + i];
            let after = (forward.points[k + 1][i] - point[i]) * 2.0 / eta * dais.mass[i] - v;
            noise[2 * k + i] = after / dais.mass[i].sqrt();
        }
        point.clone_from(&forward.points[k + 1]);
    }
    let back = dais.path_back(&guide, &guide.a, forward.end(), &noise);
    let gap = |k: usize| (0..2).map(|i| (back.points[k][i] - forward.points[k][i]).abs()).fold(0.0, f64::max);
    assert!((0..4).all(|k| gap(k) < 1e-12), "{back:?} {forward:?}");
    assert!((back.log_q - forward.log_q).abs() < 1e-12);
}

/// The failing twin: the evidence is that of the target, not of the guide.
#[test]
fn evidence_of_another_target_is_told_apart() {
    let (posterior, surrogate) = (Quadratic::posterior(), Quadratic::surrogate());
    let found = log_mean_weight(&chain(3, Mass::Variance), &posterior, &surrogate);
    assert!((found - posterior.log_evidence()).abs() > 0.01);
}

#[test]
fn no_step_is_the_plain_bound() {
    let (posterior, eps) = (Quadratic::posterior(), [0.3, -1.2]);
    let found = log_weight(&chain(0, Mass::Variance), &posterior, &posterior.a, &posterior, &eps);
    let z = [0.4 + 0.6 * eps[0], -0.3 + (0.2 * eps[0] + 0.5 * eps[1])];
    let squares = eps[0] * eps[0] + eps[1] * eps[1];
    let log_q = -0.5 * squares - (0.6f64.ln() + 0.5f64.ln()) - std::f64::consts::TAU.ln();
    let expected = posterior.value_and_gradient(&z).0 - log_q;
    assert!((found - expected).abs() <= 4.0 * f64::EPSILON, "{found} {expected}");
    // A chain that stands still has the same bound, to the last bit.
    let still = Dais { step_size: 0.0, kappa: 0.0, ..chain(2, Mass::Variance) };
    let noise = [&eps[..], &[0.4, 0.1, -0.8, 0.9]].concat();
    let bound = log_weight(&still, &posterior, &posterior.a, &posterior, &noise);
    assert_eq!(bound.to_bits(), found.to_bits());
    assert!(still.step_sizes().is_still());
}

const NOISE: [f64; 8] = [0.3, -0.7, 1.1, 0.2, -0.5, 0.9, 0.4, -1.3];

/// Mean (2), factor of the base (3), step size, kappa, gamma, temperatures (3), mass (2), a (2).
fn flat(dais: &Dais, scale: [f64; 3]) -> Vec<f64> {
    let places = [dais.step_size, dais.kappa, dais.gamma];
    [dais.base.mean(), &scale, &places, &dais.betas, &dais.mass, &Quadratic::surrogate().a].concat()
}

/// The bound `f(z_K) - log q` of a path of three steps by the formulas of the paper, in dual numbers that carry exact derivatives.
/// Constants of `log q` are left out.
fn bound(p: &[Dual64], law: Mass) -> Dual64 {
    let (surrogate, posterior) = (Quadratic::surrogate(), Quadratic::posterior());
    let s = |i: usize| if law == Mass::Variance { p[11 + i].sqrt() } else { p[11 + i] };
    let mut z = [p[0] + p[2] * NOISE[0], p[1] + (p[3] * NOISE[0] + p[4] * NOISE[1])];
    let mut v = [0, 1].map(|i| s(i) * NOISE[2 + i]);
    let mut log_w = p[2].ln() + p[4].ln();
    for k in 0..3 {
        let beta = p[8 + k];
        let eta = p[5] + p[6] * beta;
        let h = [0, 1].map(|i| z[i] + eta * 0.5 * v[i] / p[11 + i]);
        // L^-T L^-1 (h - mean).
        let first = (h[0] - p[0]) / p[2];
        let last = (h[1] - p[1] - p[3] * first) / (p[4] * p[4]);
        let solved = [(first - p[3] * last) / p[2], last];
        let after = [0, 1].map(|i| {
            let row = surrogate.precision[i];
            let guide = p[13 + i] - h[0] * row[0] - h[1] * row[1];
            v[i] + eta * (beta * guide - (-beta + 1.0) * solved[i])
        });
        for i in 0..2 {
            log_w += (v[i] * v[i] - after[i] * after[i]) * 0.5 / (s(i) * s(i));
        }
        z = [0, 1].map(|i| h[i] + eta * 0.5 * after[i] / p[11 + i]);
        if k < 2 {
            let refresh = (-p[7] * p[7] + 1.0).sqrt();
            v = [0, 1].map(|i| p[7] * after[i] + refresh * s(i) * NOISE[2 * (k + 2) + i]);
        }
    }
    for i in 0..2 {
        let row = posterior.precision[i];
        log_w += z[i] * (-(z[0] * row[0] + z[1] * row[1]) * 0.5 + posterior.a[i]);
    }
    log_w
}

/// Gradient by the reverse sweep of `backward` at the cotangent of the bound of the path of `forward`.
fn gradient(forward: &Dais, backward: &Dais, guide: &impl Surrogate) -> DaisGradient {
    let a = Quadratic::surrogate().a;
    let end = forward.path(guide, &a, &NOISE);
    let (_, slope) = Quadratic::posterior().value_and_gradient(end.end());
    backward.gradient(guide, &a, &NOISE, &slope, -1.0)
}

/// Largest relative distance of a gradient from that of the bound of `chain(3, law)` with a base of this shape.
fn far_from_duals(shape: Shape, law: Mass, found: DaisGradient) -> f64 {
    let (dais, scale, is_lower) = shaped(shape, law);
    let factor =
        if is_lower { [0, 2, 3].map(|at| found.scale[at]) } else { [found.scale[0], 0.0, found.scale[1]] };
    let places = [found.step_size, found.kappa, found.gamma];
    let found = [&found.mean[..], &factor, &places, &found.betas, &found.mass, &found.psi].concat();
    let params = flat(&dais, scale);
    let distance = |(k, found): (usize, &f64)| {
        let mut params: Vec<Dual64> = params.iter().map(|&p| Dual64::from_re(p)).collect();
        params[k].eps = 1.0;
        let exact = bound(&params, law).eps;
        // A diagonal base has no entry below its diagonal.
        if k == 3 && !is_lower { 0.0 } else { (found - exact).abs() / (1.0 + exact.abs()) }
    };
    found.iter().enumerate().map(distance).fold(0.0, f64::max)
}

/// The chain of three steps with a base of this shape, and its factor.
fn shaped(shape: Shape, law: Mass) -> (Dais, [f64; 3], bool) {
    let lower = chain(3, law);
    if shape == Shape::Lower {
        return (lower, [0.6, 0.2, 0.5], true);
    }
    let base = Base::new(vec![0.4, -0.3], shape, vec![0.6, 0.5]).unwrap();
    (Dais { base, ..lower }, [0.6, 0.0, 0.5], false)
}

#[test]
fn reverse_sweep_has_the_derivatives_of_dual_numbers() {
    for shape in [Shape::Diagonal, Shape::Lower] {
        for (law, other) in [(Mass::Variance, Mass::Deviation), (Mass::Deviation, Mass::Variance)] {
            let ((dais, scale, _), guide) = (shaped(shape, law), Quadratic::surrogate());
            // The bound itself, up to the constants of log q.
            let squares = 0.5 * (NOISE[0] * NOISE[0] + NOISE[1] * NOISE[1]) + std::f64::consts::TAU.ln();
            let params: Vec<Dual64> = flat(&dais, scale).into_iter().map(Dual64::from_re).collect();
            let found = log_weight(&dais, &guide, &guide.a, &Quadratic::posterior(), &NOISE);
            assert!((found - squares - bound(&params, law).re).abs() < 1e-13, "{shape:?} {law:?}");
            let found = gradient(&dais, &dais, &guide);
            let far = far_from_duals(shape, law, found.clone());
            assert!(far < 1e-12, "{shape:?} {law:?}: {far:e}");
            // The failing twin: the other law of the momentum has other derivatives.
            assert!(far_from_duals(shape, other, found) > 1e-3);
        }
    }
}

/// Distance of the gradient that a faulty guide or another chain has.
fn far(backward: &Dais, guide: &impl Surrogate) -> f64 {
    let found = gradient(&chain(3, Mass::Variance), backward, guide);
    far_from_duals(Shape::Lower, Mass::Variance, found)
}

#[test]
fn mistakes_of_a_surrogate_are_caught() {
    let dais = chain(3, Mass::Variance);
    let faulty = |kept, twice_at| Faulty::new(Quadratic::surrogate(), kept, twice_at);
    let (right, twice) = (faulty(|_| 1.0, 0), faulty(|_| 1.0, 3));
    assert!(far(&dais, &right) < 1e-12);
    assert!(far(&dais, &faulty(|_| 0.0, 0)) > 1e-3, "no cross derivative");
    assert!(far(&dais, &twice) > 1e-3, "the last kick twice");
    let target = Quadratic::posterior();
    let value = |guide: &Faulty<Quadratic>| log_weight(&dais, guide, &guide.surrogate.a, &target, &NOISE);
    assert!((value(&right) - value(&twice)).abs() > 1e-3);
}

/// The failing twins: a reverse sweep through another refresh, another mass, another law of the momentum, other temperatures.
#[test]
fn reverse_sweeps_of_other_chains_are_caught() {
    let right = || chain(3, Mass::Variance);
    for (name, other) in [
        ("no refresh", Dais { gamma: 0.0, ..right() }),
        ("more refresh", Dais { gamma: 0.5, ..right() }),
        ("another law", Dais { law: Mass::Deviation, ..right() }),
        ("another mass", Dais { mass: vec![0.8, 1.2], ..right() }),
        ("another temperature", Dais { betas: vec![0.3, 0.7, 1.0], ..right() }),
    ] {
        let far = far(&other, &Quadratic::surrogate());
        assert!(far > 1e-3, "{name}: {far:e}");
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let base = |shape, scale: &[f64]| Base::new(vec![0.0, 0.0], shape, scale.to_vec());
    assert!(base(Shape::Diagonal, &[1.0, 0.0]).is_err());
    assert!(base(Shape::Lower, &[1.0, 0.5, 0.0, 1.0]).is_err());
    assert!(base(Shape::Lower, &[1.0, 0.0]).is_err());
    let right = chain(2, Mass::Variance);
    assert!(right.check().is_ok());
    assert!(Dais { gamma: 1.0, ..right.clone() }.check().is_err());
    assert!(Dais { mass: vec![1.0, 0.0], ..right.clone() }.check().is_err());
    assert!(Dais { longest: f64::NAN, ..right.clone() }.check().is_err());
    assert!(Dais { betas: vec![f64::INFINITY], ..right }.check().is_err());
}
