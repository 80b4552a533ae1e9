//! Logistic regression in one dimension: the parts of the gap by quadrature over the noise.

use crate::claims::{Bound, Claim, Domain, Numbers, SL_DAIS, Sides};
use crate::dais::Gap;

/// Log posterior of a logistic regression with weighted rows and a standard normal prior, without the evidence.
struct Logistic<'a> {
    x: &'a [f64],
    weights: &'a [f64],
}

impl Logistic<'_> {
    /// Log likelihood of labels 1, `-sum_n weight_n log(1 + exp(-x_n z))`, and its slope.
    fn log_likelihood(&self, z: f64) -> (f64, f64) {
        let (mut value, mut slope) = (0.0, 0.0);
        for (x, weight) in self.x.iter().zip(self.weights) {
            let t = x * z;
            let tail = (-t.abs()).exp();
            value -= weight * (tail.ln_1p() + (-t).max(0.0));
            slope += weight * x * if t > 0.0 { tail } else { 1.0 } / (1.0 + tail);
        }
        (value, slope)
    }

    fn log_joint(&self, z: f64) -> f64 {
        log_normal(z) + self.log_likelihood(z).0
    }
}

fn log_normal(z: f64) -> f64 {
    -0.5 * (z * z + std::f64::consts::TAU.ln())
}

/// `sum_i f(z_i) step` over equal steps on both sides of 0. The rule converges geometrically for analytic integrands.
fn integral(reach: f64, step: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    let count = (reach / step) as i64;
    (-count..=count).map(|i| f(i as f64 * step)).sum::<f64>() * step
}

/// Calls `f(e, N(e) step)` at equal steps, the nodes of a quadrature for the standard normal distribution N.
fn each_node(step: f64, mut f: impl FnMut(f64, f64)) {
    integral(7.0, step, |e| {
        f(e, step * log_normal(e).exp());
        0.0
    });
}

/// Chain on a logistic regression, with surrogate weights of its rows.
struct Chain<'a> {
    likelihood: Logistic<'a>,
    surrogate: Logistic<'a>,
    mean: f64,
    deviation: f64,
    eta: f64,
    gamma: f64,
    betas: &'a [f64],
}

impl Chain<'_> {
    /// `z_K` and `-log q_0(z_0) + sum_k (v_{k-1}^2 - v^_k^2) / 2` of the path of noise `e` and `nu`.
    fn path(&self, e: f64, nu: &[f64]) -> (f64, f64) {
        let (mut z, mut v) = (self.mean + self.deviation * e, nu[0]);
        let mut weight = self.deviation.ln() - log_normal(e);
        for (k, beta) in self.betas.iter().enumerate() {
            if k > 0 {
                v = self.gamma * v + (1.0 - self.gamma * self.gamma).sqrt() * nu[k];
            }
            z += 0.5 * self.eta * v;
            weight += 0.5 * v * v;
            let base = (self.mean - z) / (self.deviation * self.deviation);
            let guide = self.surrogate.log_likelihood(z).1 - z;
            v += self.eta * ((1.0 - beta) * base + beta * guide);
            weight -= 0.5 * v * v;
            z += 0.5 * self.eta * v;
        }
        (z, weight)
    }

    /// Calls `f` with `z_K`, the log weight and the probability of each path of a quadrature.
    fn each_path(&self, step: f64, mut f: impl FnMut(f64, f64, f64)) {
        let mut at = |e: f64, nu: &[f64], probability: f64| {
            let (z, weight) = self.path(e, nu);
            f(z, weight, probability);
        };
        each_node(step, |e, p| {
            each_node(step, |nu, q| match self.betas.len() {
                1 => at(e, &[nu], p * q),
                _ => each_node(step, |fresh, r| at(e, &[nu, fresh], p * q * r)),
            });
        });
    }
}

/// Parts of the gap, by quadrature.
fn parts_of(chain: &Chain<'_>) -> Gap {
    let Chain { likelihood, surrogate, .. } = chain;
    let total = |f: &dyn Fn(f64) -> f64| integral(12.0, 0.25, f);
    let log_evidence = |model: &Logistic<'_>| total(&|z| model.log_joint(z).exp()).ln();
    let (log_p, log_p_s) = (log_evidence(likelihood), log_evidence(surrogate));
    let posterior = |z: f64| (surrogate.log_joint(z) - log_p_s).exp();
    let error = |z: f64| likelihood.log_likelihood(z).0 - surrogate.log_likelihood(z).0;
    let log_ratio = |z: f64| surrogate.log_joint(z) - log_p_s - likelihood.log_joint(z) + log_p;
    let (mut bound, mut own, mut error_at_end) = (0.0, 0.0, 0.0);
    chain.each_path(0.85, |z, weight, probability| {
        let (right, wrong) = (likelihood.log_likelihood(z).0, surrogate.log_likelihood(z).0);
        let rest = log_normal(z) + weight;
        bound += probability * (rest + right);
        own += probability * (rest + wrong);
        error_at_end += probability * (right - wrong);
    });
    Gap {
        whole: log_p - bound,
        divergence: total(&|z| posterior(z) * log_ratio(z)),
        own: log_p_s - own,
        error: total(&|z| posterior(z) * error(z)) - error_at_end,
    }
}

fn gap(case: &Numbers) -> Gap {
    let x = case.of("x");
    let beta = [case.number("beta"), 1.0];
    parts_of(&Chain {
        likelihood: Logistic { x, weights: &[1.0; 3] },
        surrogate: Logistic { x, weights: case.of("omega") },
        mean: case.number("base mean"),
        deviation: case.number("base deviation"),
        eta: case.number("eta"),
        gamma: case.number("gamma"),
        betas: &beta[2 - case.count..],
    })
}

/// The gap in its parts, for three data of a logistic regression.
pub(super) fn parts() -> Claim {
    let variables = [
        ("x", Domain::Between(-2.0, 2.0), 3),
        ("omega", Domain::Between(0.0, 3.0), 3),
        ("base mean", Domain::Between(-1.0, 1.0), 1),
        ("base deviation", Domain::Between(0.4, 1.0), 1),
        ("eta", Domain::Between(0.0, 0.4), 1),
        ("gamma", Domain::Between(0.0, 0.95), 1),
        ("beta", Domain::Between(0.0, 1.0), 1),
    ];
    let formula = "log p(D) - L = KL(p_S || p) + gap_S(K) + (E_(p_S) - E_(z_K))[log l - log l_S] for logistic regression";
    let settings = Numbers::settings(&variables, &[1, 1, 1, 2]);
    let exact = Bound::<Numbers>::new(formula, settings, |case| {
        let gap = gap(case);
        Some(Sides::equal(gap.whole, gap.sum()))
    });
    let exact = exact.by("quadrature over the noise of one or two steps");
    let exact = exact.twin("without the last term", |case| {
        let gap = gap(case);
        Some(Sides::equal(gap.whole, gap.divergence + gap.own))
    });
    Claim::new("004-P3-LOGISTIC", SL_DAIS, "Proposition 3", exact)
        .assuming("three data in one dimension, a surrogate of their weights")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lemma 1 for a model that is not Gaussian. The twin: the evidence is not that of the surrogate.
    #[test]
    fn mean_weight_is_the_evidence() {
        let x = [1.3, -0.8, 0.4];
        let chain = Chain {
            likelihood: Logistic { x: &x, weights: &[1.0; 3] },
            surrogate: Logistic { x: &x, weights: &[2.0, 0.5, 1.0] },
            mean: 0.3,
            deviation: 0.9,
            eta: 0.3,
            gamma: 0.6,
            betas: &[0.4, 1.0],
        };
        let evidence = |model: &Logistic<'_>| integral(12.0, 0.25, |z| model.log_joint(z).exp());
        let mut found = 0.0;
        chain.each_path(0.5, |z, weight, probability| {
            found += probability * (chain.likelihood.log_joint(z) + weight).exp();
        });
        assert!((found / evidence(&chain.likelihood) - 1.0).abs() < 1e-6);
        assert!((found / evidence(&chain.surrogate) - 1.0).abs() > 1e-2);
    }
}
