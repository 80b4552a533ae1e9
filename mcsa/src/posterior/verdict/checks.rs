//! The checks that compare q with something: starts, chains of another kernel, weights, spreads.

use mcsa_core::{Family, LogDensity, Seed};
use mcsa_diagnostics::{Pareto, simultaneous_quantile};
use mcsa_estimators::Draws;

use super::outside::Outside;
use super::witness::{CHAINS, FrozenProposal, functions};
use crate::posterior::rule::RULE;
use crate::posterior::start::ascent::{Evaluated, Passed};
use crate::posterior::{Chains, Mode, ModeSearch, Objection, Target};

/// A fit as the witnesses see it.
pub(crate) struct Checks<'a> {
    pub(crate) target: &'a Target<'a>,
    pub(crate) q: &'a FrozenProposal<'a>,
    pub(crate) draws: &'a Draws,
    pub(crate) ascents: &'a ModeSearch,
    pub(crate) chains: &'a Chains,
    pub(crate) seed: Seed,
}

impl Checks<'_> {
    /// The objections of all witnesses that compare q with something.
    pub(crate) fn objections(&self, passed: &[(Evaluated, f64)]) -> Vec<Objection> {
        let log_weight = passed.iter().map(|(_, over)| *over).fold(f64::NEG_INFINITY, f64::max);
        let has_passed = !passed.is_empty();
        let passed = Objection::Passed { log_weight, points: passed.len(), made: self.ascents.made };
        let found = [
            self.weights(),
            self.spread(),
            self.non_finite(),
            self.starts(),
            has_passed.then_some(passed),
            self.mixing(),
            self.missed(),
        ];
        found.into_iter().flatten().chain(self.moments()).collect()
    }

    fn weights(&self) -> Option<Objection> {
        let Draws { shape, shape_threshold: threshold, sample_size, .. } = *self.draws;
        let draws = self.draws.len();
        (!are_light(self.draws)).then_some(Objection::Weights { shape, threshold, sample_size, draws })
    }

    fn spread(&self) -> Option<Objection> {
        let (i, shape) = heaviest_spread(self.draws)?;
        (!(shape < RULE.spread)).then(|| Objection::Spread {
            name: self.target.name(i),
            shape,
            threshold: RULE.spread,
        })
    }

    fn non_finite(&self) -> Option<Objection> {
        let (draws, of) = (self.draws.non_finite, self.draws.len());
        (draws > 0).then_some(Objection::NonFinite { draws, of })
    }

    fn starts(&self) -> Option<Objection> {
        let log_z = self.draws.log_evidence();
        let outside = self.ascents.modes.iter().filter_map(|mode| {
            let log_weight = weight_outside(self.target, self.q.family, self.q.params, self.draws, mode)?;
            let is_outside = !(mode.log_evidence <= log_z + RULE.negligible.ln())
                || self.looks_outside(&|outside| outside.has_mass(mode));
            is_outside.then_some((log_weight - log_z, mode.reached))
        });
        let (log_weight, reached) = outside.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(Objection::Start { log_weight, reached, made: self.ascents.made })
    }

    /// Points outside q that ascents passed, with mass around them, and their log weights less the log evidence.
    pub(crate) fn passed_points(&self) -> Vec<(Evaluated, f64)> {
        let log_z = self.draws.log_evidence();
        let mut work = vec![0.0; self.q.family.work_len(1)];
        let entries: Vec<&Passed> = self.ascents.entries.iter().collect();
        let found = self.looks_outside(&|outside| outside.points(&entries, &self.ascents.seen));
        let over = |at: Evaluated| {
            let over = at.log_p - self.q.family.log_prob(self.q.params, &at.point, &mut work) - log_z;
            (at, over)
        };
        found.into_iter().map(over).collect()
    }

    /// A look at p where its log weight exceeds that of every draw by far.
    fn looks_outside<T>(&self, look: &dyn Fn(&Outside<'_>) -> T) -> T {
        let most = self.draws.log_ratios().into_iter().fold(f64::NEG_INFINITY, f64::max);
        let (mean, variance) = self.draws.moments();
        let lack = |z: &[f64], log_p: f64| {
            let mut work = vec![0.0; self.q.family.work_len(1)];
            if log_p - self.q.family.log_prob(self.q.params, z, &mut work) <= most + RULE.outside {
                return f64::NEG_INFINITY;
            }
            let square = |i: usize| (z[i] - mean[i]).powi(2) / variance[i];
            (0..mean.len()).map(square).fold(1.0, f64::max).ln()
        };
        look(&Outside {
            target: self.target,
            gradient: self.target.gradient().map(|gradient| gradient as _),
            map: self.q.map,
            least: self.draws.log_evidence() + RULE.moment.ln(),
            lack: &lack,
            seed: self.seed,
        })
    }

    fn mixing(&self) -> Option<Objection> {
        if self.chains.positions.ncols() == 0 {
            return None;
        }
        let r_hat = self.chains.r_hat;
        let name = || self.target.name(self.chains.worst % self.target.dim());
        (!(r_hat <= RULE.witness_r_hat) || self.chains.astray > RULE.astray)
            .then(|| Objection::Mixing { name: name(), r_hat })
    }

    /// Mean log weight over the chains, less that of the weighted draws, with its standard error: both estimate `E_p[log w]`.
    pub(crate) fn offset(&self) -> (f64, f64) {
        let ratios = self.draws.log_ratios();
        let weighed = ratios.iter().zip(self.draws.weights()).filter(|(_, weight)| *weight > 0.0);
        let expected: f64 = weighed.map(|(ratio, weight)| weight * ratio).sum();
        let of_chains = &self.chains.log_weights;
        let count = of_chains.len() as f64;
        let mean = of_chains.iter().sum::<f64>() / count;
        let square = of_chains.iter().map(|w| (w - mean).powi(2)).sum::<f64>();
        (mean - expected, (square / (count - 1.0) / count).sqrt())
    }

    /// Chains without any weight are the objection of [`mixing`](Self::mixing).
    fn missed(&self) -> Option<Objection> {
        if self.chains.log_weights.is_empty() {
            return None;
        }
        let log_z = self.draws.log_evidence();
        let over: Vec<f64> = self.chains.log_weights.iter().map(|w| w - log_z).collect();
        let chains = over.iter().filter(|over| !(**over <= RULE.two_stuck)).count();
        let log_weight = over.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (offset, error) = self.offset();
        let is_missed = chains > 1 || !(log_weight <= RULE.stuck) || !(offset <= RULE.offset + 3.0 * error);
        is_missed.then_some(Objection::Missed { log_weight, chains, of: over.len(), offset })
    }

    /// The objection to the moment that differs most from that of the chains.
    fn moments(&self) -> Option<Objection> {
        if self.chains.log_weights.is_empty() {
            return None;
        }
        let dim = self.target.dim();
        let (weights, white) = (self.draws.weights(), self.q.map.inverse(self.draws.points.as_ref()));
        let mut sums = vec![[0.0; 2]; 2 * dim];
        for (j, weight) in weights.iter().enumerate() {
            for (sum, value) in sums.iter_mut().zip(functions(white.col_as_slice(j))) {
                sum[0] += weight * value;
            }
        }
        for (j, weight) in weights.iter().enumerate() {
            for (sum, value) in sums.iter_mut().zip(functions(white.col_as_slice(j))) {
                sum[1] += (weight * (value - sum[0])).powi(2);
            }
        }
        let quantile = simultaneous_quantile(RULE.confidence, 2 * dim, (CHAINS - 1) as f64);
        let differences = sums.iter().enumerate().map(|(k, [mean, square])| {
            let difference = mean - self.chains.means[k];
            (k, difference, difference / (square + self.chains.errors[k].powi(2)).sqrt())
        });
        let (k, difference, z) = differences
            .filter(|(k, difference, z)| {
                let least = if *k < dim { RULE.shift } else { RULE.stretch };
                !(z.abs() <= quantile) && !(difference.abs() <= least)
            })
            .max_by(|a, b| a.2.abs().total_cmp(&b.2.abs()))?;
        let name = self.target.name(k % dim);
        Some(Objection::Moments { name, difference, z, of_variance: k >= dim })
    }
}

/// True if the weights of draws are light-tailed and even enough.
pub(crate) fn are_light(draws: &Draws) -> bool {
    draws.shape < draws.shape_threshold && draws.sample_size >= RULE.fewest
}

/// Log weight of a mode that lies outside q: its excess over that of every draw is large.
pub(crate) fn weight_outside(
    target: &Target<'_>,
    family: &dyn Family,
    params: &[f64],
    draws: &Draws,
    mode: &Mode,
) -> Option<f64> {
    let density = target.density().inner();
    let mut work = vec![0.0; family.work_len(1).max(density.work_len(1))];
    let log_q = family.log_prob(params, &mode.point, &mut work);
    let log_weight = density.log_density(&mode.point, &mut work) - log_q;
    let most = draws.log_ratios().into_iter().fold(f64::NEG_INFINITY, f64::max);
    (!(log_weight <= most + RULE.outside)).then_some(log_weight)
}

/// The parameter whose squared deviations have the heaviest tail under the weights, and the k-hat of the estimate of its variance
/// (Vehtari et al. 2024).
fn heaviest_spread(draws: &Draws) -> Option<(usize, f64)> {
    let ratios = draws.log_ratios();
    let (mean, _) = draws.moments();
    let shape_of = |i: usize| {
        let square = |j: usize| 2.0 * (draws.points[(i, j)] - mean[i]).abs().ln();
        let products: Vec<f64> = ratios.iter().enumerate().map(|(j, ratio)| ratio + square(j)).collect();
        Pareto::of(&products).shape
    };
    (0..mean.len()).map(|i| (i, shape_of(i))).max_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::from_fn;
    use mcsa_families::MultivariateT;

    /// Draws of a standard t with so many degrees of freedom, weighted for the product of a standard normal and a standard t.
    fn draws(of_p: f64, of_q: f64) -> Draws {
        let fall = |freedom: f64, z: f64| -0.5 * (freedom + 1.0) * (z * z / freedom).ln_1p();
        let target = from_fn(2, move |z| -0.5 * z[0] * z[0] + fall(of_p, z[1]));
        let family = MultivariateT::fixed(2, of_q).expect("degrees of freedom");
        let params = family.at(&[0.0; 2], faer::mat![[1.0, 0.0], [0.0, 1.0]].as_ref()).expect("a factor");
        Draws::of(&target, &family, &params, Seed::new(1).stream(0, 0), 20_000).expect("draws")
    }

    /// A margin `t(a)` weighted from `t(b)`: weights grow like `z^(b - a)` while draws fall like `z^-b`, so that weights have the shape
    /// `(b - a) / b` and weights times squared deviations `(b - a + 2) / b`. That is 0.4 and 1.2 for 1.5 and 2.5 degrees of freedom: no
    /// variance, which the k-hat of the weights does not show. It is 0 and 0.5 for 4 and 4.
    #[test]
    fn a_spread_without_a_variance_is_seen_where_the_weights_are_light() {
        let heavy = draws(1.5, 2.5);
        let (i, shape) = heaviest_spread(&heavy).expect("two parameters");
        assert!(heavy.shape < 0.7, "{}", heavy.shape);
        assert!(i == 1 && shape > RULE.spread, "{i} {shape}");
        // Counterexample: a variance that exists.
        let (_, shape) = heaviest_spread(&draws(4.0, 4.0)).expect("two parameters");
        assert!(shape < RULE.spread, "{shape}");
    }
}
