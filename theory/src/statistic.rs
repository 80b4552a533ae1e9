//! What is looked at in a draw.

use mcsa::{Guide, LogDensity, Stream, one};

/// Coordinates, their squares, log p, log q, the log weight, and one random projection.
pub(crate) struct Statistics {
    direction: Vec<f64>,
    work: Vec<f64>,
}

impl Statistics {
    pub(crate) fn new<P: LogDensity + ?Sized>(target: &P, stream: &mut Stream) -> Self {
        let mut direction = vec![0.0; target.dim()];
        stream.normals_into(&mut direction);
        Self { direction, work: vec![0.0; target.work_len(1)] }
    }

    pub(crate) fn count(&self) -> usize {
        2 * self.direction.len() + 4
    }

    pub(crate) fn name(&self, k: usize) -> String {
        let dim = self.direction.len();
        match k {
            k if k < dim => format!("z[{k}]"),
            k if k < 2 * dim => format!("z[{}]^2", k - dim),
            k => ["log p", "log q", "log w", "projection"][k - 2 * dim].into(),
        }
    }

    /// Appends the statistics of `z` to `rows`, a row per statistic.
    pub(crate) fn push<P: LogDensity + ?Sized>(
        &mut self,
        target: &P,
        guide: &mut dyn Guide,
        z: &[f64],
        rows: &mut [Vec<f64>],
    ) {
        let log_p = target.log_density(z, &mut self.work);
        let mut log_q = [0.0];
        guide.log_probs(one(z), &mut log_q);
        let projection = z.iter().zip(&self.direction).map(|(x, d)| x * d).sum();
        let squares = z.iter().map(|x| x * x);
        let rest = [log_p, log_q[0], log_p - log_q[0], projection];
        for (row, value) in rows.iter_mut().zip(z.iter().copied().chain(squares).chain(rest)) {
            row.push(value);
        }
    }
}
