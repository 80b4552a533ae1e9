//! Means and covariances of position and momentum under linear moves.

use super::chain::{End, LinearDais};
use super::phase::{Phase, Slope};
use faer::Mat;

/// Mean and covariance of `(z, v)` in row-major blocks, and the expected log weight of the momenta.
struct Moments {
    z: Vec<f64>,
    v: Vec<f64>,
    zz: Vec<f64>,
    zv: Vec<f64>,
    vv: Vec<f64>,
    /// `zz precision` and `precision zv` of a kick.
    bent: [Vec<f64>; 2],
    weight: f64,
}

/// `out = a b`, row-major.
fn product(a: &[f64], b: &[f64], d: usize, out: &mut [f64]) {
    for i in 0..d {
        for j in 0..d {
            let mut sum = 0.0;
            for k in 0..d {
                sum += a[i * d + k] * b[k * d + j];
            }
            out[i * d + j] = sum;
        }
    }
}

impl Phase for Moments {
    fn drift(&mut self, rate: &[f64]) {
        let d = rate.len();
        for i in 0..d {
            self.z[i] += rate[i] * self.v[i];
            for j in 0..d {
                self.zz[i * d + j] += rate[j] * self.zv[i * d + j]
                    + rate[i] * (self.zv[j * d + i] + rate[j] * self.vv[i * d + j]);
            }
        }
        for (i, rate) in rate.iter().enumerate() {
            for j in 0..d {
                self.zv[i * d + j] += rate * self.vv[i * d + j];
            }
        }
    }

    fn kick(&mut self, eta: f64, slope: &Slope) {
        let d = slope.shift.len();
        let [by_position, by_momentum] = &mut self.bent;
        product(&self.zz, &slope.precision, d, by_position);
        product(&slope.precision, &self.zv, d, by_momentum);
        for i in 0..d {
            let mut force = slope.shift[i];
            for j in 0..d {
                force -= slope.precision[i * d + j] * self.z[j];
                let mut twice = 0.0;
                for k in 0..d {
                    twice += slope.precision[i * d + k] * by_position[k * d + j];
                }
                self.vv[i * d + j] += eta * (eta * twice - by_momentum[i * d + j] - by_momentum[j * d + i]);
                self.zv[i * d + j] -= eta * by_position[i * d + j];
            }
            self.v[i] += eta * force;
        }
    }

    fn refresh(&mut self, gamma: f64, deviation: &[f64]) {
        self.v.iter_mut().chain(&mut self.zv).for_each(|x| *x *= gamma);
        self.vv.iter_mut().for_each(|x| *x *= gamma * gamma);
        for (i, s) in deviation.iter().enumerate() {
            self.vv[i * (deviation.len() + 1)] += (1.0 - gamma * gamma) * s * s;
        }
    }

    fn add_energy(&mut self, scale: f64, deviation: &[f64]) {
        for (i, s) in deviation.iter().enumerate() {
            let square = self.vv[i * (deviation.len() + 1)] + self.v[i] * self.v[i];
            self.weight += scale * square / (s * s);
        }
    }
}

impl LinearDais {
    /// Mean and covariance of `z_K`, and the expected log weight of the momenta.
    ///
    /// # Panics
    /// If the dimensions of prior, base, surrogate, mass and deviations differ.
    pub fn end(&self) -> End {
        let d = self.dim();
        let square = || vec![0.0; d * d];
        let covariance = self.base.covariance();
        let mut moments = Moments {
            z: self.base.mean().to_vec(),
            v: vec![0.0; d],
            zz: (0..d * d).map(|k| covariance[(k / d, k % d)]).collect(),
            zv: square(),
            vv: square(),
            bent: [square(), square()],
            weight: 0.0,
        };
        moments.refresh(0.0, &self.deviation);
        self.sweep(&mut moments);
        let covariance = Mat::from_fn(d, d, |i, j| moments.zz[i * d + j]);
        End { mean: moments.z, covariance, weight: moments.weight }
    }
}
