//! Test statistics of a point, and their normal scores.

use faer::MatRef;
use mcsa_core::{Columns, LogDensity, Proposal, Stream};
use statrs::distribution::{ContinuousCDF, Normal};

/// Statistics of a batch of points: coordinates, log p, log q, the log weight, and one random projection.
pub(crate) struct Statistics {
    direction: Vec<f64>,
    log_q: Vec<f64>,
    work: Vec<f64>,
}

impl Statistics {
    /// Statistics with memory for batches of `columns` points.
    pub(crate) fn new<P: LogDensity + ?Sized>(target: &P, stream: &mut Stream, columns: usize) -> Self {
        let mut direction = vec![0.0; target.dim()];
        stream.normals_into(&mut direction);
        Self { direction, log_q: vec![0.0; columns], work: vec![0.0; target.work_len(columns)] }
    }

    pub(crate) fn dim(&self) -> usize {
        self.direction.len()
    }

    pub(crate) fn count(&self) -> usize {
        self.direction.len() + 4
    }

    pub(crate) fn name(&self, k: usize) -> String {
        let dim = self.direction.len();
        if k < dim { format!("z[{k}]") } else { ["log p", "log q", "log w", "projection"][k - dim].into() }
    }

    /// Writes the statistics of each column of `z`, statistic by statistic.
    pub(crate) fn look<P: LogDensity + ?Sized>(
        &mut self,
        target: &P,
        proposal: &mut dyn Proposal,
        z: MatRef<'_, f64>,
        out: &mut [f64],
    ) {
        let (dim, columns) = (z.nrows(), z.ncols());
        let (coordinates, rest) = out.split_at_mut(dim * columns);
        for j in 0..columns {
            z.column(j).iter().enumerate().for_each(|(i, x)| coordinates[i * columns + j] = *x);
        }
        let (log_p, rest) = rest.split_at_mut(columns);
        let (log_q, rest) = rest.split_at_mut(columns);
        let (log_w, projection) = rest.split_at_mut(columns);
        target.log_densities(z, log_p, &mut self.work);
        proposal.log_probs(z, &mut self.log_q[..columns]);
        log_q.copy_from_slice(&self.log_q[..columns]);
        for j in 0..columns {
            log_w[j] = log_p[j] - log_q[j];
            projection[j] = z.column(j).iter().zip(&self.direction).map(|(x, d)| x * d).sum();
        }
    }
}

/// Normal scores (van der Waerden): the standard normal quantile of a value's rank among reference values, ties counting half.
///
/// ```text
/// h(x) = Phi^-1((below(x) + upto(x) + 1) / (2 n + 2)),  standard normal if x has the distribution of the n references
/// ```
///
/// The score has all moments also for heavy tails, and a shift or scaling of it is an error in units of a
/// standard deviation.
pub(crate) struct Scores {
    references: Vec<Vec<f64>>,
    quantiles: Vec<f64>,
}

impl Scores {
    /// Scores from one row of reference values per statistic, all of one length.
    pub(crate) fn of(mut references: Vec<Vec<f64>>) -> Self {
        references.iter_mut().for_each(|row| row.sort_by(f64::total_cmp));
        let n = references.first().map_or(0, Vec::len);
        let normal = Normal::standard();
        let quantile = |k: usize| normal.inverse_cdf((k + 1) as f64 / (2 * n + 2) as f64);
        Self { references, quantiles: (0..=2 * n).map(quantile).collect() }
    }

    /// The score of `x` as a value of statistic `k`.
    pub(crate) fn score(&self, k: usize, x: f64) -> f64 {
        let row = &self.references[k];
        let below = row.partition_point(|r| r.total_cmp(&x).is_lt());
        let tied = row.get(below).is_some_and(|r| r.total_cmp(&x).is_eq());
        let upto = if tied { row.partition_point(|r| r.total_cmp(&x).is_le()) } else { below };
        self.quantiles[below + upto]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_quantiles_of_places() {
        let scores = Scores::of(vec![vec![3.0, 1.0, 2.0, 2.0]]);
        assert!(scores.score(0, 2.0).abs() < 1e-12);
        assert!((scores.score(0, 0.0) - Normal::standard().inverse_cdf(0.1)).abs() < 1e-12);
        assert!((scores.score(0, 2.5) - Normal::standard().inverse_cdf(0.7)).abs() < 1e-12);
    }
}
