//! Differentiable annealed chains on Gaussian targets: exact laws, and mistakes that the laws find.

use std::cell::Cell;

use mcsa_families::dais::{Base, Dais, DaisGradient, Guide, Mass, Path, Shape, Target};

/// `a . z - z^T P z / 2` in two dimensions, with parameters a.
#[derive(Clone)]
struct Quadratic {
    a: [f64; 2],
    precision: [[f64; 2]; 2],
}

impl Quadratic {
    fn posterior() -> Self {
        Self { a: [0.7, -1.1], precision: [[2.5, 0.6], [0.6, 1.4]] }
    }

    fn surrogate() -> Self {
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

    fn product(&self, u: &[f64]) -> [f64; 2] {
        self.precision.map(|row| row[0] * u[0] + row[1] * u[1])
    }
}

impl Guide for Quadratic {
    fn dim(&self) -> usize {
        2
    }

    fn num_params(&self) -> usize {
        2
    }

    fn gradient_into(&self, z: &[f64], gradient: &mut [f64]) {
        let bent = self.product(z);
        (0..2).for_each(|i| gradient[i] = self.a[i] - bent[i]);
    }

    fn add_second(&self, _: &[f64], u: &[f64], scale: f64, product: &mut [f64], params: &mut [f64]) {
        let bent = self.product(u);
        for i in 0..2 {
            product[i] -= scale * bent[i];
            params[i] += scale * u[i];
        }
    }
}

impl Target for Quadratic {
    fn dim(&self) -> usize {
        2
    }

    fn num_params(&self) -> usize {
        0
    }

    fn value_and_gradient(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        self.gradient_into(z, gradient);
        let bent = self.product(z);
        (0..2).map(|i| z[i] * (self.a[i] - 0.5 * bent[i])).sum()
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

fn log_weight(dais: &Dais, guide: &impl Guide, target: &Quadratic, noise: &[f64]) -> f64 {
    let mut path = Path::new(2, dais.num_steps(), 0);
    dais.log_weight(guide, target, noise.split_at(2), &mut path)
}

/// `log E[w]`, exactly: the log weight is a quadratic in the normal numbers, whose coefficients are differences.
fn log_mean_weight(dais: &Dais, guide: &Quadratic, target: &Quadratic) -> f64 {
    let n = 2 * (1 + dais.num_steps());
    let at = |moves: &[(usize, f64)]| {
        let mut noise = vec![0.0; n];
        moves.iter().for_each(|(i, by)| noise[*i] += by);
        log_weight(dais, guide, target, &noise)
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
    let found = log_weight(&chain(0, Mass::Variance), &posterior, &posterior, &eps);
    let z = [0.4 + 0.6 * eps[0], -0.3 + (0.2 * eps[0] + 0.5 * eps[1])];
    let value = posterior.value_and_gradient(&z, &mut [0.0; 2], &mut []);
    let squares = eps[0] * eps[0] + eps[1] * eps[1];
    let log_q = -0.5 * squares - (0.6f64.ln() + 0.5f64.ln()) - std::f64::consts::TAU.ln();
    let tolerance = 4.0 * f64::EPSILON;
    assert!((found - (value - log_q)).abs() <= tolerance, "{found} {}", value - log_q);
    // A chain that stands still has the same bound, to the last bit.
    let still = Dais { step_size: 0.0, kappa: 0.0, ..chain(2, Mass::Variance) };
    let mut path = Path::new(2, 2, 0);
    let noise = (&eps[..], &[0.4, 0.1, -0.8, 0.9][..]);
    let bound = still.log_weight(&posterior, &posterior, noise, &mut path);
    assert_eq!(bound.to_bits(), found.to_bits());
    assert!(path.step_sizes().is_still());
}

const NOISE: [f64; 8] = [0.3, -0.7, 1.1, 0.2, -0.5, 0.9, 0.4, -1.3];

fn gradient(backward: &Dais, guide: &impl Guide) -> DaisGradient {
    let target = Quadratic::posterior();
    let mut path = Path::new(2, 3, 0);
    let noise = NOISE.split_at(2);
    chain(3, Mass::Variance).log_weight(guide, &target, noise, &mut path);
    let mut gradient = DaisGradient::zeros(backward, 2, 0);
    backward.add_gradient(guide, noise, &mut path, &mut gradient);
    gradient
}

/// Largest distance of the gradient from central differences, over mass, gamma, temperatures and the guide's parameters.
fn far_from_differences(found: &DaisGradient) -> f64 {
    let (step, target) = (1e-5, Quadratic::posterior());
    let difference = |change: &dyn Fn(&mut Dais, &mut Quadratic, f64)| {
        let moved = |by: f64| {
            let (mut dais, mut guide) = (chain(3, Mass::Variance), Quadratic::surrogate());
            change(&mut dais, &mut guide, by);
            log_weight(&dais, &guide, &target, &NOISE)
        };
        (moved(step) - moved(-step)) / (2.0 * step)
    };
    let mut far = (difference(&|dais, _, by| dais.gamma += by) - found.gamma).abs();
    far = far.max((difference(&|dais, _, by| dais.step_size += by) - found.step_size).abs());
    far = far.max((difference(&|dais, _, by| dais.kappa += by) - found.kappa).abs());
    for i in 0..2 {
        far = far.max((difference(&|dais, _, by| dais.mass[i] += by) - found.mass[i]).abs());
        far = far.max((difference(&|_, guide, by| guide.a[i] += by) - found.guide[i]).abs());
    }
    for (k, beta) in found.betas.iter().enumerate() {
        far = far.max((difference(&|dais, _, by| dais.betas[k] += by) - beta).abs());
    }
    far
}

#[test]
fn gradient_is_a_difference() {
    let far = far_from_differences(&gradient(&chain(3, Mass::Variance), &Quadratic::surrogate()));
    assert!(far < 1e-6, "{far:e}");
}

/// The failing twin: a reverse sweep that does not pass through the refresh of the momentum.
#[test]
fn missing_refresh_is_caught() {
    let without = Dais { gamma: 0.0, ..chain(3, Mass::Variance) };
    assert!(far_from_differences(&gradient(&without, &Quadratic::surrogate())) > 1e-3);
}

/// A guide that forgets the cross derivative for its parameters, or kicks twice at a given call.
struct Mistaken {
    guide: Quadratic,
    has_cross: bool,
    twice_at: usize,
    calls: Cell<usize>,
}

impl Guide for Mistaken {
    fn dim(&self) -> usize {
        2
    }

    fn num_params(&self) -> usize {
        2
    }

    fn gradient_into(&self, z: &[f64], gradient: &mut [f64]) {
        self.guide.gradient_into(z, gradient);
        self.calls.set(self.calls.get() + 1);
        if self.calls.get() == self.twice_at {
            gradient.iter_mut().for_each(|g| *g *= 2.0);
        }
    }

    fn add_second(&self, z: &[f64], u: &[f64], scale: f64, product: &mut [f64], params: &mut [f64]) {
        let mut dropped = [0.0; 2];
        let params = if self.has_cross { params } else { &mut dropped };
        self.guide.add_second(z, u, scale, product, params);
    }
}

fn mistaken(has_cross: bool, twice_at: usize) -> Mistaken {
    Mistaken { guide: Quadratic::surrogate(), has_cross, twice_at, calls: Cell::new(0) }
}

#[test]
fn missing_cross_derivative_is_caught() {
    assert!(far_from_differences(&gradient(&chain(3, Mass::Variance), &mistaken(false, 0))) > 1e-3);
}

#[test]
fn last_kick_twice_is_caught() {
    assert!(far_from_differences(&gradient(&chain(3, Mass::Variance), &mistaken(true, 3))) > 1e-3);
    let (right, twice) = (mistaken(true, 0), mistaken(true, 3));
    let (dais, target) = (chain(3, Mass::Variance), Quadratic::posterior());
    let value = |guide: &Mistaken| log_weight(&dais, guide, &target, &NOISE);
    assert!((value(&right) - value(&twice)).abs() > 1e-3);
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
