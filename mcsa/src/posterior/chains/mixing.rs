//! Diagnostics of chains as the answer.

use faer::Mat;
use mcsa_core::bits;
use mcsa_diagnostics::{Pareto, bulk_sample_size, effective_sample_size, r_hat, standard_error};
use serde::{Deserialize, Serialize};

use crate::posterior::Objection;
use crate::posterior::rule::RULE;

/// Diagnostics of the draws of No-U-turn chains, made with fixed coordinates and step size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Mixing {
    /// Largest rank-normalised R-hat of a parameter, and which it is.
    #[serde(with = "bits::scalar")]
    pub r_hat: f64,
    /// The parameter with the largest R-hat.
    pub slowest: usize,
    /// Smallest effective sample size of a mean, by ranks, or of a squared deviation.
    #[serde(with = "bits::scalar")]
    pub sample_size: f64,
    /// The parameter with the smallest effective sample size.
    pub scarcest: usize,
    /// Largest violation of Stein's identities `E[g_i] = 0` and `E[y_i g_i] = -1` by the draws, in units of its limit. Here y are
    /// the coordinates of the chains, less their mean, and g is the gradient of log p in them.
    #[serde(with = "bits::scalar")]
    pub stein: f64,
    /// Largest k-hat of squared deviations of a parameter; in conditional coordinates, of one that sets location and scale of others.
    #[serde(with = "bits::scalar")]
    pub heaviness: f64,
    /// The parameter with the largest such k-hat.
    pub heaviest: usize,
    /// True if some parameters set location and scale of the others in the coordinates of the chains.
    pub is_conditional: bool,
    /// Divergent steps.
    pub divergences: u64,
    /// All steps of the chains that count.
    pub steps: u64,
}

impl Mixing {
    /// Diagnostics of draws, chain after chain: in the coordinates of the target, in those of the chains, and gradients in these. The drivers
    /// set location and scale of the other parameters, in conditional coordinates.
    ///
    /// In coordinates y of the metric, with `g = d/dy log p`, every p has `E[g_i] = 0` and `E[y_i g_i] = -1`, centred; chains that stop at a neck
    /// give a term of its border instead.
    pub(crate) fn of(
        chains: usize,
        [points, white, slopes]: [Mat<f64>; 3],
        drivers: Option<&[usize]>,
        divergences: u64,
    ) -> Self {
        let mut found = Self {
            r_hat: 1.0,
            slowest: 0,
            sample_size: f64::INFINITY,
            scarcest: 0,
            stein: 0.0,
            heaviness: f64::NEG_INFINITY,
            heaviest: 0,
            is_conditional: drivers.is_some(),
            divergences,
            steps: points.ncols() as u64,
        };
        for i in 0..points.nrows() {
            let [values, y, g] = [&points, &white, &slopes].map(|all| split(all, chains, i));
            let average = |chains: &[Vec<f64>]| chains.iter().flatten().sum::<f64>() / points.ncols() as f64;
            let map = |chains: &[Vec<f64>], of: &dyn Fn(f64) -> f64| -> Vec<Vec<f64>> {
                chains.iter().map(|chain| chain.iter().map(|x| of(*x)).collect()).collect()
            };
            let r_hat = r_hat(&values);
            if !(r_hat <= found.r_hat) {
                (found.r_hat, found.slowest) = (r_hat, i);
            }
            let centre = average(&values);
            let squares = map(&values, &|z| (z - centre).powi(2));
            let size = bulk_sample_size(&values).min(effective_sample_size(&squares));
            if !(size >= found.sample_size) {
                (found.sample_size, found.scarcest) = (size, i);
            }
            let has_own_tail = drivers.is_none_or(|drivers| drivers.contains(&i));
            let shape =
                Pareto::of(&squares.iter().flatten().map(|square| square.ln()).collect::<Vec<_>>()).shape;
            if has_own_tail && !(shape <= found.heaviness) {
                (found.heaviness, found.heaviest) = (shape, i);
            }
            let centre = average(&y);
            let products: Vec<Vec<f64>> = y
                .iter()
                .zip(&g)
                .map(|(y, g)| y.iter().zip(g).map(|(y, g)| (y - centre) * g + 1.0).collect())
                .collect();
            for (values, least) in [(&g, RULE.stein.0), (&products, 2.0 * RULE.stein.0)] {
                let excess = average(values).abs() / least.max(RULE.stein.1 * standard_error(values));
                found.stein = if excess <= found.stein { found.stein } else { excess };
            }
        }
        found
    }

    /// What speaks against the draws as an answer.
    pub(crate) fn objections(&self, name: &dyn Fn(usize) -> String) -> Vec<Objection> {
        let Self { r_hat, slowest, sample_size, scarcest, stein, divergences, steps, .. } = *self;
        let (shape, threshold) = (self.heaviness, RULE.spread);
        let found = [
            (!(r_hat <= RULE.r_hat)).then(|| Objection::Mixing { name: name(slowest), r_hat }),
            (!(sample_size >= RULE.fewest)).then(|| Objection::Slow { name: name(scarcest), sample_size }),
            (!(stein <= 1.0)).then_some(Objection::Stein { excess: stein }),
            (!(shape < threshold)).then(|| Objection::Spread { name: name(self.heaviest), shape, threshold }),
            self.diverges().then_some(Objection::Divergences { steps: divergences, of: steps }),
        ];
        found.into_iter().flatten().collect()
    }

    /// True if the draws can be an answer.
    pub(crate) fn suffices(&self) -> bool {
        self.r_hat <= RULE.r_hat && self.sample_size >= RULE.fewest && self.stein <= 1.0 && !self.diverges()
    }

    /// True if too many steps diverged.
    pub(crate) fn diverges(&self) -> bool {
        self.diverges_among(self.steps)
    }

    /// True if the divergent steps were too many among so many.
    pub(crate) fn diverges_among(&self, steps: u64) -> bool {
        let most = if self.is_conditional { RULE.divergent.1 } else { RULE.divergent.0 };
        self.divergences as f64 > most * steps as f64
    }
}

/// Values of a coordinate, chain by chain.
pub(crate) fn split(all: &Mat<f64>, chains: usize, i: usize) -> Vec<Vec<f64>> {
    let length = all.ncols() / chains;
    (0..chains).map(|j| (j * length..(j + 1) * length).map(|c| all[(i, c)]).collect()).collect()
}
