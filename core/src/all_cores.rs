//! Batches of a target on all cores.

use faer::{MatMut, MatRef};

use crate::{ExactDraws, Gradient, LogDensity, Named, batch_mut, borrow};

/// Target whose batches are evaluated by the present thread pool of rayon, each thread with a part of the columns.
///
/// A column of a batch has the bits that it has alone (a law of `mcsa-testing`), so no result depends on the number of threads. A sleeping
/// thread takes time to wake, so that a batch of some 0.1 milliseconds may gain nothing: `docs/anchors.md` has measurements.
///
/// ```
/// use mcsa_core::{AllCores, LogDensity, batch, from_fn};
/// let target = AllCores(from_fn(1, |z| -0.5 * z[0] * z[0]));
/// let mut log_p = [0.0; 3];
/// target.log_densities(batch(&[0.0, 1.0, 2.0], 1, 3), &mut log_p, &mut []);
/// assert_eq!(log_p, [0.0, -0.5, -2.0]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct AllCores<T>(pub T);

/// Most times that a batch is halved.
const HALVINGS: u32 = 6;

impl<T: LogDensity> AllCores<T> {
    /// Halvings that give each thread a part; none if the target shares its rows.
    fn halvings(&self) -> u32 {
        let threads = if self.0.shares_rows() { 1 } else { rayon::current_num_threads() };
        threads.next_power_of_two().ilog2().min(HALVINGS)
    }

    /// Halvings that give each thread a part, or fewer if the memory does not serve them: it may have been made in a smaller pool.
    fn halvings_within(&self, columns: usize, lent: usize) -> u32 {
        (1..=self.halvings()).rev().find(|count| self.memory(columns, *count) <= lent).unwrap_or(0)
    }

    /// Length of the memory of a batch that is halved some times, or less often.
    fn memory(&self, columns: usize, halvings: u32) -> usize {
        let whole = self.0.work_len(columns);
        if halvings == 0 || columns < 2 {
            return whole;
        }
        let half = |columns| self.memory(columns, halvings - 1);
        whole.max(half(columns / 2) + half(columns.div_ceil(2)))
    }

    /// Calls `whole` with each part of a batch and of its values, gradients and memory. Without gradients, theirs have no row.
    fn share(
        &self,
        whole: &(impl Fn(MatRef<'_, f64>, &mut [f64], MatMut<'_, f64>, &mut [f64]) + Sync),
        z: MatRef<'_, f64>,
        out: &mut [f64],
        gradients: MatMut<'_, f64>,
        mut work: &mut [f64],
        halvings: u32,
    ) {
        let (columns, middle) = (z.ncols(), z.ncols() / 2);
        if halvings == 0 || columns < 2 {
            return whole(z, out, gradients, work);
        }
        let (first, second) = z.split_at_col(middle);
        let (of_first, of_second) = out.split_at_mut(middle);
        let (slopes_of_first, slopes_of_second) = gradients.split_at_col_mut(middle);
        let lent = borrow(&mut work, self.memory(middle, halvings - 1));
        rayon::join(
            || self.share(whole, first, of_first, slopes_of_first, lent, halvings - 1),
            || self.share(whole, second, of_second, slopes_of_second, work, halvings - 1),
        );
    }
}

impl<T: LogDensity> LogDensity for AllCores<T> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn work_len(&self, columns: usize) -> usize {
        self.memory(columns, self.halvings())
    }

    fn shares_rows(&self) -> bool {
        self.0.shares_rows()
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.0.log_density(z, work)
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        assert_eq!(z.ncols(), out.len(), "a density per column");
        let halvings = self.halvings_within(z.ncols(), work.len());
        let whole = |z: MatRef<'_, f64>, out: &mut [f64], _: MatMut<'_, f64>, work: &mut [f64]| {
            self.0.log_densities(z, out, work);
        };
        self.share(&whole, z, out, batch_mut(&mut [], 0, z.ncols()), work, halvings);
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        self.0.constrain(z, out);
    }

    fn prior(&self) -> Option<&dyn ExactDraws> {
        self.0.prior()
    }
}

impl<T: Gradient> Gradient for AllCores<T> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        self.0.gradient_into(z, gradient, work)
    }

    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        gradients: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        assert_eq!(z.ncols(), out.len(), "a density per column");
        assert_eq!(z.ncols(), gradients.ncols(), "a gradient per column");
        let halvings = self.halvings_within(z.ncols(), work.len());
        let whole = |z: MatRef<'_, f64>, out: &mut [f64], gradients: MatMut<'_, f64>, work: &mut [f64]| {
            self.0.gradients_into(z, out, gradients, work);
        };
        self.share(&whole, z, out, gradients, work, halvings);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::Columns;

    /// `-sum_i (i + 1) z_i^2 / 2` with memory of two numbers per column and four more, and the widths of the batches.
    struct Noted(Mutex<Vec<usize>>);

    impl LogDensity for Noted {
        fn dim(&self) -> usize {
            3
        }
        fn work_len(&self, columns: usize) -> usize {
            4 + 2 * columns
        }
        fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
            z.iter().zip(1..).map(|(z, i)| -0.5 * f64::from(i) * z * z).sum()
        }
        fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
            self.0.lock().expect("a list").push(z.ncols());
            work[..4 + 2 * z.ncols()].fill(f64::NAN);
            (0..z.ncols()).for_each(|j| out[j] = self.log_density(z.column(j), &mut []));
        }
    }

    impl Gradient for Noted {
        fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
            gradient.iter_mut().zip(z).zip(1..).for_each(|((g, z), i)| *g = -f64::from(i) * z);
            self.log_density(z, work)
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits_and_shares_the_columns() {
        for columns in [0, 1, 2, 3, 10, 17, 100] {
            let z = faer::Mat::from_fn(3, columns, |i, j| 0.1 * (i + 7 * j) as f64);
            let target = AllCores(Noted(Mutex::default()));
            let mut work = vec![0.0; 4 + 2 * columns];
            let (mut log_p, mut slopes) = (vec![0.0; columns], faer::Mat::zeros(3, columns));
            target.0.log_densities(z.as_ref(), &mut log_p, &mut work);
            target.0.gradients_into(z.as_ref(), &mut log_p.clone(), slopes.as_mut(), &mut work);
            for threads in [1, 2, 5, 64, 100] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                target.0.0.lock().expect("a list").clear();
                let (mut found, mut values) = (vec![f64::NAN; columns], vec![f64::NAN; columns]);
                let mut gradients = faer::Mat::full(3, columns, f64::NAN);
                // Memory of one part gives one part.
                pool.install(|| target.log_densities(z.as_ref(), &mut found, &mut work[..4 + 2 * columns]));
                assert_eq!(std::mem::take(&mut *target.0.0.lock().expect("a list")), [columns]);
                found.fill(f64::NAN);
                work.resize(pool.install(|| target.work_len(columns)), 0.0);
                pool.install(|| target.log_densities(z.as_ref(), &mut found, &mut work));
                let parts = std::mem::take(&mut *target.0.0.lock().expect("a list"));
                pool.install(|| {
                    target.gradients_into(z.as_ref(), &mut values, gradients.as_mut(), &mut work)
                });
                assert_eq!((&found, &values), (&log_p, &log_p), "{columns} columns, {threads} threads");
                assert_eq!(gradients, slopes);
                assert_eq!(parts.iter().sum::<usize>(), columns);
                let expected = threads.next_power_of_two().min(64).min(columns.max(1));
                assert!(parts.len() >= expected.min(threads) && parts.len() <= 64, "{parts:?}");
                // No part is more than one column larger than another.
                assert!(
                    parts.iter().max() <= parts.iter().min().map(|least| least + 1).as_ref(),
                    "{parts:?}"
                );
            }
        }
    }
}
