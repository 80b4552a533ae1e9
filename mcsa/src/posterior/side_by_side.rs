//! Tasks on a gradient side by side: in threads, or with the points of all tasks in one batch.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use faer::Mat;
use mcsa_core::{Gradient, LogDensity, borrow};
use rayon::prelude::*;

use super::limits::Gate;

/// A gradient, and how independent tasks share it. The results have the same bits for any number of threads.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) gradient: &'a dyn Gradient,
    pub(super) gate: &'a Gate,
    /// True if a call costs much more than a point, as those of a callable of another language do.
    pub(super) in_batches: bool,
}

/// Most tasks whose points make a batch.
const TOGETHER: usize = 16;

impl Shared<'_> {
    /// The results of the tasks `0..count`, in their order.
    pub(super) fn each<T: Send>(
        self,
        count: usize,
        task: impl Fn(usize, &dyn Gradient) -> T + Sync,
    ) -> Vec<T> {
        if !self.in_batches {
            let all = || (0..count).into_par_iter().map(|j| task(j, self.gradient)).collect();
            return self.gate.in_threads(all);
        }
        let desks = count.min(TOGETHER);
        let hall = Hall::new(self.gradient.dim(), desks);
        let mut found: Vec<(usize, T)> = std::thread::scope(|scope| {
            let (hall, task) = (&hall, &task);
            let begin = |desk| {
                scope.spawn(move || {
                    let desk = Desk { hall, desk };
                    (desk.desk..count).step_by(desks).map(|j| (j, task(j, &desk))).collect::<Vec<_>>()
                })
            };
            let all: Vec<_> = (0..desks).map(begin).collect();
            hall.serve(self.gradient);
            all.into_iter()
                .flat_map(|desk| desk.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        found.sort_unstable_by_key(|(j, _)| *j);
        found.into_iter().map(|(_, result)| result).collect()
    }
}

/// Place where tasks lay down a point and wait for its gradient. The batch is evaluated when every task that is not at its end waits, so
/// that batches do not depend on the speed of threads.
struct Hall {
    points: Mutex<Points>,
    /// A task waits, or is at its end.
    came: Condvar,
    /// A batch was evaluated.
    served: Condvar,
}

struct Points {
    z: Mat<f64>,
    log_p: Vec<f64>,
    gradients: Mat<f64>,
    waits: Vec<bool>,
    /// Tasks that are not at their end.
    desks: usize,
}

impl Hall {
    fn new(dim: usize, desks: usize) -> Self {
        let [z, gradients] = [(); 2].map(|()| Mat::zeros(dim, desks));
        let points = Points { z, log_p: vec![0.0; desks], gradients, waits: vec![false; desks], desks };
        Self { points: Mutex::new(points), came: Condvar::new(), served: Condvar::new() }
    }

    fn points(&self) -> MutexGuard<'_, Points> {
        self.points.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Evaluates batches until all tasks are at their end.
    fn serve(&self, gradient: &dyn Gradient) {
        let mut work = vec![0.0; gradient.work_len(TOGETHER)];
        let mut points = self.points();
        loop {
            let waiting: Vec<usize> = (0..points.waits.len()).filter(|&desk| points.waits[desk]).collect();
            if waiting.len() < points.desks {
                points = self.came.wait(points).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if waiting.is_empty() {
                return;
            }
            let z = Mat::from_fn(points.z.nrows(), waiting.len(), |i, c| points.z[(i, waiting[c])]);
            let (mut log_p, mut gradients) = (vec![0.0; waiting.len()], Mat::zeros(z.nrows(), z.ncols()));
            gradient.gradients_into(z.as_ref(), &mut log_p, gradients.as_mut(), &mut work);
            for (c, &desk) in waiting.iter().enumerate() {
                points.log_p[desk] = log_p[c];
                points.gradients.col_mut(desk).copy_from(gradients.col(c));
                points.waits[desk] = false;
            }
            self.served.notify_all();
        }
    }
}

/// The gradient as a task sees it.
struct Desk<'a> {
    hall: &'a Hall,
    desk: usize,
}

impl LogDensity for Desk<'_> {
    fn dim(&self) -> usize {
        self.hall.points().z.nrows()
    }

    fn work_len(&self, _columns: usize) -> usize {
        self.dim()
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        let gradient = borrow(&mut work, z.len());
        self.gradient_into(z, gradient, work)
    }
}

impl Gradient for Desk<'_> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _work: &mut [f64]) -> f64 {
        let (desk, mut points) = (self.desk, self.hall.points());
        points.z.col_as_slice_mut(desk).copy_from_slice(z);
        points.waits[desk] = true;
        self.hall.came.notify_one();
        while points.waits[desk] {
            points = self.hall.served.wait(points).unwrap_or_else(PoisonError::into_inner);
        }
        gradient.copy_from_slice(points.gradients.col_as_slice(desk));
        points.log_p[desk]
    }
}

impl Drop for Desk<'_> {
    fn drop(&mut self) {
        self.hall.points().desks -= 1;
        self.hall.came.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::{MatMut, MatRef};

    /// `-z^2 / 2`, with the sizes of the batches.
    struct Logged(Mutex<Vec<usize>>);

    impl LogDensity for Logged {
        fn dim(&self) -> usize {
            1
        }
        fn log_density(&self, z: &[f64], _work: &mut [f64]) -> f64 {
            -0.5 * z[0] * z[0]
        }
    }

    impl Gradient for Logged {
        fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
            gradient[0] = -z[0];
            self.log_density(z, work)
        }
        fn gradients_into(
            &self,
            z: MatRef<'_, f64>,
            out: &mut [f64],
            mut gradients: MatMut<'_, f64>,
            _work: &mut [f64],
        ) {
            self.0.lock().expect("a log").push(z.ncols());
            for j in 0..z.ncols() {
                (gradients[(0, j)], out[j]) = (-z[(0, j)], -0.5 * z[(0, j)] * z[(0, j)]);
            }
        }
    }

    /// Task j takes `j % 3 + 1` gradients; the sums of log densities are those of one task after the other.
    #[test]
    fn tasks_share_batches_and_have_their_own_results() {
        let logged = Logged(Mutex::default());
        let task = |j: usize, target: &dyn Gradient| {
            let (mut gradient, mut work) = ([0.0], vec![0.0; target.work_len(1)]);
            let value = |k: usize| target.gradient_into(&[(j + k) as f64], &mut gradient, &mut work);
            (0..j % 3 + 1).map(value).sum::<f64>()
        };
        let expected: Vec<f64> = (0..40).map(|j| task(j, &logged)).collect();
        for in_batches in [false, true] {
            let shared = Shared { gradient: &logged, gate: &Gate::default(), in_batches };
            assert_eq!(shared.each(40, task), expected);
        }
        let mut sizes = std::mem::take(&mut *logged.0.lock().expect("a log"));
        assert_eq!(sizes.iter().sum::<usize>(), (0..40).map(|j| j % 3 + 1).sum::<usize>());
        assert_eq!(sizes[0], TOGETHER);
        // The sizes depend on the tasks alone.
        let first = std::mem::take(&mut sizes);
        Shared { gradient: &logged, gate: &Gate::default(), in_batches: true }.each(40, task);
        assert_eq!(*logged.0.lock().expect("a log"), first);
    }
}
