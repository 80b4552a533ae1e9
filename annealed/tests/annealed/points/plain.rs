//! Logistic surrogate in plain loops, with deliberate mistakes.

use faer::Mat;
use mcsa_annealed::Surrogate;
use num_dual::DualNum;

use super::differences::dot;

/// Written-out logistic surrogate: its formula, for dual numbers too, and its derivatives in plain loops.
#[derive(Clone)]
pub(super) struct Plain {
    pub(super) x: Mat<f64>,
    pub(super) labels: Option<Vec<f64>>,
    pub(super) fixed: Option<(Vec<f64>, Vec<f64>)>,
    pub(super) learned: bool,
    pub(super) prior_scale: f64,
    pub(super) fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Fault {
    None,
    NoWeights,
    CurvatureOfMinus,
    NoPoints,
    NoPointsAlongU,
    NoPointsAlongZ,
    NoPrior,
    LinearWeights,
}

impl Plain {
    fn num_weights(&self) -> usize {
        match (&self.fixed, &self.labels) {
            (Some(_), _) => 0,
            (None, Some(_)) => self.x.nrows(),
            (None, None) => 2 * self.x.nrows(),
        }
    }

    /// w+ and w- of point n.
    fn weights<D: DualNum<Primitive = f64> + Copy>(&self, psi: &[D], n: usize) -> (D, D) {
        match (&self.fixed, &self.labels) {
            (Some((plus, minus)), _) => (D::from(plus[n]), D::from(minus[n])),
            (None, Some(labels)) if labels[n] == 1.0 => (psi[n].exp(), D::from(0.0)),
            (None, Some(_)) => (D::from(0.0), psi[n].exp()),
            (None, None) => (psi[n].exp(), psi[self.x.nrows() + n].exp()),
        }
    }

    fn covariate<D: DualNum<Primitive = f64> + Copy>(&self, psi: &[D], n: usize, k: usize) -> D {
        if self.learned { psi[self.num_weights() + k * self.x.nrows() + n] } else { D::from(self.x[(n, k)]) }
    }

    pub(super) fn log_density<D: DualNum<Primitive = f64> + Copy>(&self, psi: &[D], z: &[D]) -> D {
        let prior = z.iter().fold(D::from(0.0), |sum, &z| sum - z * z * (0.5 / self.prior_scale.powi(2)));
        (0..self.x.nrows()).fold(prior, |sum, n| {
            let t = (0..z.len()).fold(D::from(0.0), |t, k| t + self.covariate(psi, n, k) * z[k]);
            let (plus, minus) = self.weights(psi, n);
            sum - plus * (-t).exp().ln_1p() - minus * t.exp().ln_1p()
        })
    }
}

impl Surrogate for Plain {
    fn dim(&self) -> usize {
        self.x.ncols()
    }
    fn num_params(&self) -> usize {
        self.num_weights() + if self.learned { self.x.nrows() * self.x.ncols() } else { 0 }
    }
    fn gradient_into(&self, psi: &[f64], _: &[f64], z: &[f64], g: &mut [f64], _: &mut [f64], _: &mut [f64]) {
        let precision = self.prior_scale.powi(-2);
        g.iter_mut().zip(z).for_each(|(g, z)| *g = -precision * z);
        for n in 0..self.x.nrows() {
            let x: Vec<f64> = (0..z.len()).map(|k| self.covariate(psi, n, k)).collect();
            let (plus, minus) = self.weights(psi, n);
            let s = 1.0 / (1.0 + (-dot(&x, z)).exp());
            g.iter_mut().zip(&x).for_each(|(g, x)| *g += (plus * (1.0 - s) - minus * s) * x);
        }
    }
    fn add_second(
        &self,
        psi: &[f64],
        _: &[f64],
        _: &[f64],
        z: &[f64],
        u: &[f64],
        scale: f64,
        product: &mut [f64],
        bar: &mut [f64],
        _: &mut [f64],
    ) {
        let is = |fault| self.fault == fault;
        let precision = if is(Fault::NoPrior) { 0.0 } else { self.prior_scale.powi(-2) };
        product.iter_mut().zip(u).for_each(|(p, u)| *p -= scale * precision * u);
        let (points, first) = (self.x.nrows(), self.num_weights());
        for n in 0..points {
            let x: Vec<f64> = (0..z.len()).map(|k| self.covariate(psi, n, k)).collect();
            let (plus, minus) = self.weights(psi, n);
            let (s, along) = (1.0 / (1.0 + (-dot(&x, z)).exp()), dot(&x, u));
            let both = if is(Fault::CurvatureOfMinus) { plus - minus } else { plus + minus };
            let curved = both * s * (1.0 - s) * along;
            product.iter_mut().zip(&x).for_each(|(p, x)| *p -= scale * curved * x);
            if first > 0 && !is(Fault::NoWeights) {
                let (a, b) = if is(Fault::LinearWeights) { (1.0, 1.0) } else { (plus, minus) };
                bar[n] += scale * a * (1.0 - s) * along;
                bar[if first > points { points + n } else { n }] -= scale * b * s * along;
            }
            if self.learned && !is(Fault::NoPoints) {
                let slope = if is(Fault::NoPointsAlongU) { 0.0 } else { plus * (1.0 - s) - minus * s };
                let curved = if is(Fault::NoPointsAlongZ) { 0.0 } else { curved };
                for k in 0..z.len() {
                    bar[first + k * points + n] += scale * (slope * u[k] - curved * z[k]);
                }
            }
        }
    }
}
