//! Differentiable annealed importance sampling in one dimension with Gaussian distributions, in closed form (SL-DAIS).

use faer::Mat;
use faer::Side;

/// Log likelihood `log l(z) = a z - B z^2 / 2`, up to a constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quadratic {
    /// The slope `a`.
    pub slope: f64,
    /// The curvature `B`.
    pub curvature: f64,
}

/// Normal distribution, by its mean and variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    /// The mean.
    pub mean: f64,
    /// The variance.
    pub variance: f64,
}

impl Law {
    /// Divergence `KL(self || other)`.
    ///
    /// Numerics: without a difference of nearly equal logarithms.
    pub fn divergence(&self, other: &Self) -> f64 {
        let excess = self.variance / other.variance - 1.0;
        let shift = (self.mean - other.mean).powi(2) / other.variance;
        0.5 * (excess - excess.ln_1p() + shift)
    }

    /// The log density.
    pub fn log_density(&self, z: f64) -> f64 {
        let square = (z - self.mean).powi(2) / self.variance;
        -0.5 * (square + (2.0 * std::f64::consts::PI * self.variance).ln())
    }
}

/// Annealing chain from the prior towards a posterior, with a surrogate of the likelihood in its potentials.
///
/// ```text
/// z_0 ~ N(m_0, 1/L_0),   v ~ N(0, 1) anew in each step,   beta_k = k / K
/// h = z + eta v / 2,   v' = v - eta grad V_k(h),   z = h + eta v' / 2,   V_k = -log prior - beta_k log surrogate
/// ```
/// Every step is linear, so the distribution of `z_K`, the bound and its gap are exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearDais {
    /// The prior, the distribution of `z_0`.
    pub prior: Law,
    /// The surrogate likelihood in the potentials.
    pub surrogate: Quadratic,
    /// Number of steps `K`.
    pub steps: usize,
    /// Step size `eta`.
    pub step_size: f64,
}

impl LinearDais {
    /// Posterior under `likelihood`, and the log evidence without the likelihood's constant.
    pub fn posterior(&self, likelihood: &Quadratic) -> (Law, f64) {
        let before = 1.0 / self.prior.variance;
        let precision = before + likelihood.curvature;
        let mean = (before * self.prior.mean + likelihood.slope) / precision;
        let evidence = 0.5 * (before / precision).ln() + 0.5 * precision * mean * mean
            - 0.5 * before * self.prior.mean * self.prior.mean;
        (Law { mean, variance: 1.0 / precision }, evidence)
    }

    /// Coefficients of step `k` (from 1): `z' = keep z + kick v + drift` and `v' = turn v - pull z + push`.
    fn step(&self, k: usize) -> Step {
        let (eta, beta) = (self.step_size, k as f64 / self.steps as f64);
        let before = 1.0 / self.prior.variance;
        let force = before + beta * self.surrogate.curvature;
        let centre = before * self.prior.mean + beta * self.surrogate.slope;
        Step {
            keep: 1.0 - 0.5 * eta * eta * force,
            kick: eta * (1.0 - 0.25 * eta * eta * force),
            drift: 0.5 * eta * eta * centre,
            turn: 1.0 - 0.5 * eta * eta * force,
            pull: eta * force,
            push: eta * centre,
        }
    }

    /// Distribution of `z_K`, and the expected log weight of the momenta, `1/2 sum_k E[v_k^2 - v'_k^2]`.
    pub fn end(&self) -> (Law, f64) {
        let Law { mut mean, mut variance } = self.prior;
        let mut weight = 0.0;
        for k in 1..=self.steps {
            let Step { keep, kick, drift, turn, pull, push } = self.step(k);
            let after = push - pull * mean;
            weight += 0.5 * (1.0 - turn * turn - pull * pull * variance - after * after);
            mean = keep * mean + drift;
            variance = keep * keep * variance + kick * kick;
        }
        (Law { mean, variance }, weight)
    }

    /// Gap `log p(D) - L` between the log evidence of `likelihood` and the bound `L`.
    pub fn gap(&self, likelihood: &Quadratic) -> f64 {
        let ((posterior, _), (end, weight)) = (self.posterior(likelihood), self.end());
        let start_entropy = 0.5 * (1.0 + (2.0 * std::f64::consts::PI * self.prior.variance).ln());
        let mean_log_posterior = posterior.log_density(end.mean) - 0.5 * end.variance / posterior.variance;
        -mean_log_posterior - start_entropy - weight
    }

    /// `log E[exp W]` of the weight `W = log p(D, z_K) - log q_0(z_0) + sum_k log N(v'_k) - log N(v_k)`, which equals the log
    /// evidence. `W` is a quadratic form in the standard normal noise behind `z_0` and all `v_k`, so its exponential has a Gaussian
    /// integral. `None` if the integral diverges. If `complete` is false, the terms of the momenta are left out.
    pub fn log_mean_weight(&self, likelihood: &Quadratic, complete: bool) -> Option<f64> {
        // z and v' are affine in the noise: a row of coefficients, with the constant last.
        let size = self.steps + 1;
        let mut z = vec![0.0; size + 1];
        (z[0], z[size]) = (self.prior.variance.sqrt(), self.prior.mean);
        // log E exp(c + b'e + e'Ae/2); the density of the noise is part of A.
        let mut form = Form::new(size);
        for k in 1..=self.steps {
            let Step { keep, kick, drift, turn, pull, push } = self.step(k);
            let mut after: Vec<f64> = z.iter().map(|z| -pull * z).collect();
            after[k] += turn;
            after[size] += push;
            if complete {
                form.add_square(&after, -0.5);
                let mut before = vec![0.0; size + 1];
                before[k] = 1.0;
                form.add_square(&before, 0.5);
            }
            z.iter_mut().for_each(|z| *z *= keep);
            z[k] += kick;
            z[size] += drift;
        }
        let before = 1.0 / self.prior.variance;
        let centre = before * self.prior.mean + likelihood.slope;
        // log p(D, z) - log N(z_0), up to constants that cancel: e_0 is the standardised z_0.
        form.add_square(&z, -0.5 * (before + likelihood.curvature));
        form.add_linear(&z, centre);
        form.constant -= 0.5 * before * self.prior.mean * self.prior.mean;
        let mut start = vec![0.0; size + 1];
        start[0] = 1.0;
        form.add_square(&start, 0.5);
        form.log_mean()
    }
}

struct Step {
    keep: f64,
    kick: f64,
    drift: f64,
    turn: f64,
    pull: f64,
    push: f64,
}

/// Quadratic form `constant + linear' e + e' square e / 2` in standard normal noise `e`.
struct Form {
    square: Mat<f64>,
    linear: Vec<f64>,
    constant: f64,
}

impl Form {
    fn new(size: usize) -> Self {
        Self { square: Mat::zeros(size, size), linear: vec![0.0; size], constant: 0.0 }
    }

    /// Adds `scale x^2`, with `x` affine and its constant last.
    fn add_square(&mut self, x: &[f64], scale: f64) {
        let (constant, size) = (x[x.len() - 1], self.linear.len());
        for i in 0..size {
            self.linear[i] += 2.0 * scale * constant * x[i];
            for j in 0..size {
                self.square[(i, j)] += 2.0 * scale * x[i] * x[j];
            }
        }
        self.constant += scale * constant * constant;
    }

    fn add_linear(&mut self, x: &[f64], scale: f64) {
        self.linear.iter_mut().zip(x).for_each(|(linear, x)| *linear += scale * x);
        self.constant += scale * x[x.len() - 1];
    }

    /// `log E exp(form) = constant + b' M^-1 b / 2 - log det M / 2`, `M = 1 - square`.
    fn log_mean(&self) -> Option<f64> {
        let size = self.linear.len();
        let unit = |i: usize, j: usize| if i == j { 1.0 } else { 0.0 };
        let precision = Mat::from_fn(size, size, |i, j| unit(i, j) - self.square[(i, j)]);
        let factor = precision.llt(Side::Lower).ok()?;
        let factor = factor.L();
        // Solve L y = b directly: the sizes are those of a few steps.
        let mut solved = vec![0.0; size];
        let mut value = self.constant;
        for i in 0..size {
            let known: f64 = (0..i).map(|j| factor[(i, j)] * solved[j]).sum();
            solved[i] = (self.linear[i] - known) / factor[(i, i)];
            value += 0.5 * solved[i] * solved[i] - factor[(i, i)].ln();
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::quadrature::integrate;

    fn chain(steps: usize) -> LinearDais {
        let surrogate = Quadratic { slope: 0.7, curvature: 1.4 };
        LinearDais { prior: Law { mean: 0.3, variance: 0.8 }, surrogate, steps, step_size: 0.6 }
    }

    const LIKELIHOOD: Quadratic = Quadratic { slope: 1.1, curvature: 2.0 };

    #[test]
    fn the_evidence_is_the_integral() {
        let (posterior, evidence) = chain(1).posterior(&LIKELIHOOD);
        let joint = |z: f64| (chain(1).prior.log_density(z) + 1.1 * z - z * z).exp();
        let mass = integrate(-10.0, 10.0, 1e-13, joint);
        assert!((mass.value.ln() - evidence).abs() < 1e-12);
        let mean = integrate(-10.0, 10.0, 1e-13, |z| z * joint(z)).value / mass.value;
        assert!((mean - posterior.mean).abs() < 1e-12);
    }

    /// One step, by quadrature over the noise: the distribution of `z_1`, the bound, and the mean weight, which is the evidence.
    #[test]
    fn one_step_is_what_the_definition_says() {
        let chain = chain(1);
        let weight = |e: f64, v: f64| {
            let z = chain.prior.mean + chain.prior.variance.sqrt() * e;
            let h = z + 0.3 * v;
            let gradient = (h - 0.3) / 0.8 - (0.7 - 1.4 * h);
            let after = v - 0.6 * gradient;
            let end = h + 0.3 * after;
            let joint = chain.prior.log_density(end) + 1.1 * end - end * end;
            (end, joint - chain.prior.log_density(z) + 0.5 * (v * v - after * after))
        };
        let normal = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let mean = |f: &dyn Fn(f64, f64) -> f64| {
            integrate(-9.0, 9.0, 1e-12, |e| {
                normal(e) * integrate(-9.0, 9.0, 1e-12, |v| normal(v) * f(e, v)).value
            })
            .value
        };
        let (end, _) = chain.end();
        let first = mean(&|e, v| weight(e, v).0);
        assert!((first - end.mean).abs() < 1e-10);
        assert!((mean(&|e, v| (weight(e, v).0 - first).powi(2)) - end.variance).abs() < 1e-10);
        let (_, evidence) = chain.posterior(&LIKELIHOOD);
        assert!((evidence - mean(&|e, v| weight(e, v).1) - chain.gap(&LIKELIHOOD)).abs() < 1e-10);
        assert!((mean(&|e, v| weight(e, v).1.exp()).ln() - evidence).abs() < 1e-9);
    }

    #[test]
    fn the_mean_weight_is_the_evidence_for_any_surrogate() {
        for steps in [1, 2, 5] {
            let (_, evidence) = chain(steps).posterior(&LIKELIHOOD);
            assert!((chain(steps).log_mean_weight(&LIKELIHOOD, true).unwrap() - evidence).abs() < 1e-12);
            assert!((chain(steps).log_mean_weight(&LIKELIHOOD, false).unwrap() - evidence).abs() > 1e-3);
        }
    }
}
