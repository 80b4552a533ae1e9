//! Differentiable annealed chains on Gaussian targets: exact laws, and mistakes that they find.

use faer::linalg::solvers::DenseSolveCore;
use faer::{Mat, Side, mat};
use mcsa_annealed::dais::{Dais, Mass, Shape};
use mcsa_annealed::surrogate::QuadraticSurrogate;
use mcsa_families::Normal;

/// `a . z - z^T P z / 2` in two dimensions.
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

    fn value(&self, z: &[f64]) -> f64 {
        (0..2)
            .map(|i| z[i] * (self.a[i] - 0.5 * (self.precision[i][0] * z[0] + self.precision[i][1] * z[1])))
            .sum()
    }

    /// The surrogate with this gradient, which has a unit prior.
    pub(crate) fn guide(&self) -> QuadraticSurrogate {
        let b = Mat::from_fn(2, 2, |i, k| self.precision[i][k] - if i == k { 1.0 } else { 0.0 });
        QuadraticSurrogate::new(&self.a, b.as_ref(), vec![0.0; 2], 1.0).unwrap()
    }
}

fn chain(steps: usize, law: Mass) -> Dais {
    Dais {
        base: Normal::from_factor(vec![0.4, -0.3], mat![[0.6, 0.0], [0.2, 0.5]]).unwrap(),
        shape: Shape::Lower,
        step_size: 0.2,
        kappa: 0.1,
        longest: 0.5,
        gamma: 0.6,
        betas: (1..=steps).map(|k| k as f64 / steps as f64).collect(),
        mass: vec![0.8, 1.3],
        law,
    }
}

fn log_weight(dais: &Dais, guide: &Quadratic, target: &Quadratic, noise: &[f64]) -> f64 {
    let guide = guide.guide();
    let path = dais.path(&guide, &guide.initial(), noise);
    target.value(path.end()) - path.log_q
}

/// `log E[w]`, exactly.
fn log_mean_weight(dais: &Dais, guide: &Quadratic, target: &Quadratic) -> f64 {
    log_mean_exp(2 * (1 + dais.num_steps()), |noise| log_weight(dais, guide, target, noise))
}

/// `log E[1/w]` over backward paths from draws `z = mean + L^-T eps` of the posterior `L L^T = P`, exactly.
fn log_mean_reciprocal(dais: &Dais, guide: &Quadratic, target: &Quadratic) -> f64 {
    let [[p, r], [_, q]] = target.precision;
    let (mean, factor) = (target.mean(), [p.sqrt(), r / p.sqrt(), (q - r * r / p).sqrt()]);
    let guide = guide.guide();
    log_mean_exp(2 * (1 + dais.num_steps()), |noise| {
        let second = noise[1] / factor[2];
        let end = [mean[0] + (noise[0] - factor[1] * second) / factor[0], mean[1] + second];
        dais.path_back(&guide, &guide.initial(), &end, &noise[2..]).log_q - target.value(&end)
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
    let slope = Mat::from_fn(n, 1, |i, _| 0.5 * (at(&[(i, 1.0)]) - at(&[(i, -1.0)])));
    // log w = origin + slope . x - x^T A x / 2, and log E[w] = origin + slope^T (I + A)^-1 slope / 2 - log det(I + A) / 2.
    let entry = |i: usize, j: usize| {
        let mixed = at(&[(i, 1.0), (j, 1.0)]) - at(&[(i, 1.0)]) - at(&[(j, 1.0)]) + origin;
        f64::from(u8::from(i == j)) - mixed
    };
    let factor = Mat::from_fn(n, n, entry).llt(Side::Lower).expect("the weight has a mean");
    let bent = (slope.transpose() * factor.inverse() * &slope)[(0, 0)];
    origin + 0.5 * bent - (0..n).map(|i| factor.L()[(i, i)].ln()).sum::<f64>()
}

/// The mean weight is the evidence, and over paths drawn backward from the posterior the mean reciprocal weight is its reciprocal.
#[test]
fn mean_weights_are_the_evidence() {
    let (posterior, other) = (Quadratic::posterior(), Quadratic::surrogate());
    let evidence = posterior.log_evidence();
    for law in [Mass::Variance, Mass::Deviation] {
        for steps in [0, 1, 3] {
            for guide in [&posterior, &other] {
                let dais = chain(steps, law);
                let far = [
                    log_mean_weight(&dais, guide, &posterior) - evidence,
                    log_mean_reciprocal(&dais, guide, &posterior) + evidence,
                ];
                assert!(far.iter().all(|far| far.abs() < 1e-10), "{law:?}, {steps} steps: {far:?}");
            }
        }
    }
    // The failing twins: another target, and paths from draws of another density.
    let dais = chain(3, Mass::Variance);
    assert!((log_mean_weight(&dais, &posterior, &other) - evidence).abs() > 0.01);
    assert!((log_mean_reciprocal(&dais, &posterior, &other) + evidence).abs() > 0.01);
}

#[test]
fn parameters_out_of_range_are_errors() {
    let right = chain(2, Mass::Variance);
    assert!(right.check().is_ok());
    assert!(Dais { gamma: 1.0, ..right.clone() }.check().is_err());
    assert!(Dais { mass: vec![1.0, 0.0], ..right.clone() }.check().is_err());
    assert!(Dais { longest: f64::NAN, ..right.clone() }.check().is_err());
    let empty = Normal::from_factor(vec![], Mat::zeros(0, 0)).unwrap();
    assert!(Dais { base: empty, mass: vec![], ..right.clone() }.check().is_err());
    assert!(Dais { betas: vec![f64::INFINITY], ..right }.check().is_err());
}
