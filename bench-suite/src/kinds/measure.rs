//! Rows of a fit: metrics of its target, or by reference draws.

use mcsa_core::{Error, Family, Seed};
use mcsa_estimators::Draws;
use mcsa_families::GaussianFamily;
use serde::{Deserialize, Serialize, Serializer};

use super::ascend::{Log, Seen};
use super::average::Average;
use super::spent::Spent;
use crate::catalog::{Evaluator, Posterior, Reference};
use crate::metric::Vector;
use crate::store::Row;
use crate::task::Fit;

/// Draws from q for a row by reference draws.
const DRAWS: usize = 2_000;
/// Draws from q stored at the end of a fit in two dimensions, for figures.
const SEEN: usize = 400;

/// Records of a fit, and their measurement.
pub(super) struct Recorder<'s> {
    pub(super) fit: &'s Fit,
    pub(super) seed: Seed,
    pub(super) measured: Measured<'s>,
    pub(super) records: Records,
}

/// Records of a fit.
#[derive(Serialize, Deserialize)]
pub(super) struct Records {
    pub(super) rows: Vec<Row>,
    /// Average of the last iterates, if they are averaged.
    pub(super) average: Option<Average>,
    /// Parameters at the end of the warm fit, once it has ended.
    pub(super) warm: Option<Warmed>,
    /// Log densities of the draws for the health of the fit, as far as they are evaluated.
    #[serde(with = "mcsa_core::bits::vector")]
    pub(super) judged: Vec<f64>,
}

/// Parameters of a warm fit.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Warmed(#[serde(with = "mcsa_core::bits::vector")] pub(super) Vec<f64>);

/// Evaluators of rows.
pub(super) enum Measured<'s> {
    /// Evaluator of fits of the target, and the Gaussian family.
    Target(&'s dyn Evaluator, &'s dyn GaussianFamily),
    /// Reference draws of the target.
    Reference(Reference, &'s dyn Posterior, &'s dyn Family),
}

impl Serialize for Recorder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.records.serialize(serializer)
    }
}

impl Log for Recorder<'_> {
    fn iterate(&mut self, step: u64, params: &[f64]) -> Result<(), Error> {
        match (&mut self.records.average, &self.measured) {
            (Some(average), Measured::Target(_, family)) if step + self.fit.averaged > self.fit.steps => {
                average.add(*family, params)
            }
            _ => Ok(()),
        }
    }

    fn is_empty(&self) -> bool {
        self.records.rows.is_empty()
    }

    fn record(&mut self, seen: Seen<'_>, spent: &Spent) -> Result<(), Error> {
        let mut row = match &self.measured {
            Measured::Target(evaluator, family) => self.by_target(*evaluator, *family, &seen)?,
            Measured::Reference(reference, target, family) => {
                self.by_reference(reference, *target, *family, &seen)?
            }
        };
        row.values.extend(seen.variance.map(|variance| ("variance", variance)));
        for name in ["p_evaluations", "p_gradients"] {
            row.values.insert(name, spent.counts.get(name).copied().unwrap_or(0) as f64);
        }
        row.values.insert("seconds", spent.seconds);
        self.records.rows.push(row);
        Ok(())
    }
}

impl Recorder<'_> {
    fn by_target(
        &self,
        evaluator: &dyn Evaluator,
        family: &dyn GaussianFamily,
        seen: &Seen<'_>,
    ) -> Result<Row, Error> {
        let (step, is_last) = (seen.step, seen.step == self.fit.steps);
        let mut row = Row::new(step, seen.kernel.iter().copied());
        let average = self.records.average.as_ref().filter(|_| is_last);
        let averaged = average.map(|average| average.params(family)).transpose()?;
        if let Some(average) = average {
            row.vectors.extend(average.vectors());
        }
        let params = averaged.as_deref().unwrap_or(seen.params);
        row.values.extend(evaluator.measure(family, params, self.seed.named("measure").stream(0, step))?);
        if is_last {
            row.vectors.extend(evaluator.vectors(family, params));
        }
        Ok(row)
    }

    /// A row by reference draws.
    ///
    /// ```text
    /// kl = E_p[log p - log q] - log Z,   by draws of p;   w = p / (q Z) at draws of q and of p
    /// ```
    fn by_reference(
        &self,
        reference: &Reference,
        target: &dyn Posterior,
        family: &dyn Family,
        seen: &Seen<'_>,
    ) -> Result<Row, Error> {
        let lane = self.seed.named("measure").stream(0, seen.step);
        let draws = Draws::of(target, family, seen.params, lane, DRAWS)?;
        let Reference { points: truth, log_p, log_normaliser, .. } = reference;
        let mut log_q = vec![0.0; truth.ncols()];
        family.log_probs(
            seen.params,
            truth.as_ref(),
            &mut log_q,
            &mut vec![0.0; family.work_len(truth.ncols())],
        );
        let ratios: Vec<f64> = log_p.iter().zip(&log_q).map(|(p, q)| p - q - log_normaliser).collect();
        let (divergence, error) = reference.mean(&ratios);
        let drawn = draws.log_ratios().into_iter().map(|w| w - log_normaliser);
        let top = drawn.chain(ratios).fold(f64::NEG_INFINITY, f64::max);
        let values = [
            ("kl", divergence),
            ("kl_error", error),
            ("k_hat", draws.shape),
            ("sample_share", draws.sample_size / DRAWS as f64),
            ("log_weight_bound", top),
            ("acceptance", seen.acceptance.unwrap_or(f64::NAN)),
        ];
        let mut row = Row::new(seen.step, values);
        if let (Some(share), Some(of_truth)) = (reference.share(&draws.points), reference.share(truth)) {
            row.values.extend([("share", share), ("share_of_target", of_truth)]);
        }
        if seen.step == self.fit.steps && family.dim() == 2 {
            let coordinate = |i: usize| (0..SEEN).map(|j| draws.points[(i, j)]).collect();
            row.vectors.extend([(Vector::DrawsX, coordinate(0)), (Vector::DrawsY, coordinate(1))]);
        }
        Ok(row)
    }
}
