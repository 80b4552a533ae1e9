//! Mean weight of a chain: the Gaussian integral of an exponential of a quadratic form in the noise.

use faer::{Mat, Side};

use super::{LinearDais, Normal, Phase, Quadratic, Slope};

impl LinearDais {
    /// `log E[exp W]` of the log weight `W = log p(D, z_K) - log q_0(z_0) + sum_k (|S^-1 v_{k-1}|^2 - |S^-1 v^_k|^2) / 2`. It
    /// equals the log evidence of `likelihood`, unless `complete` is false: then the terms of the momenta are left out.
    ///
    /// W is a quadratic form in the standard normal noise behind `z_0` and all `v_k`, so its exponential has a Gaussian integral.
    /// The result is `None` if the integral diverges.
    pub fn log_mean_weight(&self, likelihood: &Quadratic, complete: bool) -> Option<f64> {
        let d = self.base.dim();
        let size = d * (self.betas.len() + 1);
        let Rows { z, mut form, .. } = self.rows(complete)?;
        form.constant += 0.5 * self.base.log_volume + likelihood.constant;
        form.add_log_density(&self.prior, &z);
        let mut one = vec![0.0; size + 1];
        one[size] = 1.0;
        for i in 0..d {
            form.add(likelihood.slope[i], &z[i], &one);
            (0..d).for_each(|j| form.add(-0.5 * likelihood.curvature[(i, j)], &z[i], &z[j]));
        }
        form.log_mean()
    }

    /// The last point, and the log weight but for the likelihood, the prior and the volume of the base.
    fn rows(&self, complete: bool) -> Option<Rows> {
        let (d, steps) = (self.base.dim(), self.betas.len());
        let size = d * (steps + 1);
        let rows = || vec![vec![0.0; size + 1]; d];
        let mut phase = Rows { z: rows(), v: rows(), drawn: d, form: Form::new(size), complete };
        // z_0 = mean + L e, and log q_0(z_0) = -|e|^2 / 2 - log det(2 pi L L^T) / 2.
        let factor = self.base.covariance().llt(Side::Lower).ok()?;
        for i in 0..d {
            (0..=i).for_each(|j| phase.z[i][j] = factor.L()[(i, j)]);
            phase.z[i][size] = self.base.mean()[i];
            let mut unit = vec![0.0; size + 1];
            unit[i] = 1.0;
            phase.form.add(0.5, &unit, &unit);
        }
        if steps > 0 {
            phase.refresh(0.0, &self.deviation);
        }
        self.sweep(&mut phase);
        Some(phase)
    }
}

/// Position and momentum as affine functions of the noise: a row of coefficients per coordinate, with the constant last.
struct Rows {
    z: Vec<Vec<f64>>,
    v: Vec<Vec<f64>>,
    /// Number of noise variables in use.
    drawn: usize,
    form: Form,
    complete: bool,
}

/// `x += by y`.
fn add(x: &mut [f64], by: f64, y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += by * y);
}

impl Phase for Rows {
    fn drift(&mut self, rate: &[f64]) {
        for ((z, v), &rate) in self.z.iter_mut().zip(&self.v).zip(rate) {
            add(z, rate, v);
        }
    }

    fn kick(&mut self, eta: f64, slope: &Slope) {
        let d = slope.shift.len();
        for (i, v) in self.v.iter_mut().enumerate() {
            for (j, z) in self.z.iter().enumerate() {
                add(v, -eta * slope.precision[i * d + j], z);
            }
            if let Some(constant) = v.last_mut() {
                *constant += eta * slope.shift[i];
            }
        }
    }

    fn refresh(&mut self, gamma: f64, deviation: &[f64]) {
        for (v, s) in self.v.iter_mut().zip(deviation) {
            v.iter_mut().for_each(|x| *x *= gamma);
            v[self.drawn] = (1.0 - gamma * gamma).sqrt() * s;
            self.drawn += 1;
        }
    }

    fn add_energy(&mut self, scale: f64, deviation: &[f64]) {
        for (v, s) in self.v.iter().zip(deviation).filter(|_| self.complete) {
            self.form.add(scale / (s * s), v, v);
        }
    }
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

    /// Adds `scale x y` of two affine functions, their constants last.
    fn add(&mut self, scale: f64, x: &[f64], y: &[f64]) {
        let size = self.linear.len();
        for i in 0..size {
            self.linear[i] += scale * (x[size] * y[i] + y[size] * x[i]);
            for j in 0..size {
                self.square[(i, j)] += scale * (x[i] * y[j] + x[j] * y[i]);
            }
        }
        self.constant += scale * x[size] * y[size];
    }

    /// Adds the log density of `law` at the affine point `z`.
    fn add_log_density(&mut self, law: &Normal, z: &[Vec<f64>]) {
        for i in 0..z.len() {
            let mut white = vec![0.0; self.linear.len() + 1];
            for (j, z) in z.iter().enumerate().take(i + 1) {
                add(&mut white, law.whitener[(i, j)], z);
                white[self.linear.len()] -= law.whitener[(i, j)] * law.mean()[j];
            }
            self.add(-0.5, &white, &white);
        }
        self.constant -= 0.5 * law.log_volume;
    }

    /// `log E exp(form) = constant + b' M^-1 b / 2 - log det M / 2`, `M = 1 - square`.
    fn log_mean(&self) -> Option<f64> {
        let size = self.linear.len();
        let unit = |i: usize, j: usize| if i == j { 1.0 } else { 0.0 };
        // N(0, M) at b: its log density is -(b' M^-1 b + log det 2 pi M) / 2.
        let law =
            Normal::new(vec![0.0; size], Mat::from_fn(size, size, |i, j| unit(i, j) - self.square[(i, j)]));
        let law = law.ok()?;
        let bent = -2.0 * law.log_density(&self.linear) - law.log_volume;
        let log_determinant = law.log_volume - size as f64 * std::f64::consts::TAU.ln();
        Some(self.constant + 0.5 * (bent - log_determinant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    /// A chain of one to three dimensions and one to five steps with any base, schedule, mass, momentum and refreshment; some step sizes
    /// are clipped.
    fn chain(index: u64) -> LinearDais {
        let stream = &mut Seed::new(11).stream(0, index);
        let (d, steps) = (1 + index as usize % 3, 1 + index as usize / 3 % 5);
        let mut vector = |scale: f64| -> Vec<f64> { (0..d).map(|_| scale * stream.normal()).collect() };
        let positive = |x: Vec<f64>| -> Vec<f64> { x.iter().map(|x| x.exp()).collect() };
        let (mean, slope, prior) = (vector(1.0), vector(1.0), vector(0.5));
        let (mass, deviation) = (positive(vector(0.4)), positive(vector(0.4)));
        let mut square = || {
            let factor = Mat::from_fn(d, d, |_, _| stream.normal());
            let square = &factor * factor.transpose();
            Mat::from_fn(d, d, |i, j| square[(i, j)] / d as f64 + if i == j { 0.5 } else { 0.0 })
        };
        LinearDais {
            prior: Normal::new(prior, square()).unwrap(),
            base: Normal::new(mean, square()).unwrap(),
            surrogate: Quadratic { slope, curvature: square(), constant: 0.0 },
            step_size: 0.1 + 0.2 * stream.uniform(),
            kappa: 0.4 * stream.normal(),
            longest: 0.5,
            gamma: 0.3 + 0.65 * stream.uniform(),
            betas: (1..=steps).map(|k| (k as f64 / steps as f64).powi(2)).collect(),
            mass,
            deviation,
        }
    }

    /// The moments by recursion are those of the affine functions of the noise, whose mean weight is the evidence; with another share of
    /// momentum they are not.
    #[test]
    fn both_representations_have_the_same_moments() {
        for (index, chain) in (0..60).map(|index| (index, chain(index))) {
            let Rows { z, form, .. } = chain.rows(true).unwrap();
            let (d, size) = (chain.base.dim(), form.linear.len());
            let apart = |other: &LinearDais| {
                let end = other.end();
                let trace: f64 = (0..size).map(|k| form.square[(k, k)]).sum();
                let mut far = (form.constant + 0.5 * (trace - d as f64) - end.weight).abs();
                for i in 0..d {
                    far = far.max((z[i][size] - end.mean[i]).abs());
                    for j in 0..d {
                        let covariance: f64 = (0..size).map(|k| z[i][k] * z[j][k]).sum();
                        far = far.max((covariance - end.covariance[(i, j)]).abs());
                    }
                }
                far
            };
            assert!(apart(&chain) < 1e-10, "{index}: {:e}", apart(&chain));
            let other = LinearDais { gamma: 0.5 * chain.gamma, ..chain.clone() };
            let moves = chain.betas.len() > 1 && chain.step_sizes().all(|eta| eta > 0.03);
            assert!(!moves || apart(&other) > 1e-6, "{index}: {:e}", apart(&other));
        }
    }
}
