//! Tasks on a gradient side by side: in threads, or with the points of all tasks in one batch.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};

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
        let (dim, desks) = (self.gradient.dim(), count.min(TOGETHER));
        let (requests, queue) = mpsc::channel();
        let (replies, inboxes): (Vec<_>, Vec<_>) = (0..desks).map(|_| mpsc::channel()).unzip();
        let mut found: Vec<(usize, T)> = std::thread::scope(|scope| {
            let task = &task;
            let begin = |(number, inbox)| {
                let desk = Desk { dim, number, requests: requests.clone(), inbox: Mutex::new(inbox) };
                scope.spawn(move || {
                    (number..count).step_by(desks).map(|j| (j, task(j, &desk))).collect::<Vec<_>>()
                })
            };
            let all: Vec<_> = inboxes.into_iter().enumerate().map(begin).collect();
            serve(self.gradient, queue, replies);
            all.into_iter()
                .flat_map(|desk| desk.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        found.sort_unstable_by_key(|(j, _)| *j);
        found.into_iter().map(|(_, result)| result).collect()
    }
}

/// A desk with the point whose gradient it waits for; without one at its end.
type Request = (usize, Option<Vec<f64>>);
/// Log density and gradient.
type Reply = (f64, Vec<f64>);

/// Evaluates batches until all tasks are at their end. A batch is evaluated when every task that is not at its end waits, so that batches
/// do not depend on the speed of threads.
fn serve(gradient: &dyn Gradient, queue: Receiver<Request>, replies: Vec<Sender<Reply>>) {
    let (mut work, mut desks) = (vec![0.0; gradient.work_len(TOGETHER)], replies.len());
    loop {
        let mut waiting = Vec::new();
        while waiting.len() < desks {
            match queue.recv() {
                Ok((desk, Some(point))) => waiting.push((desk, point)),
                _ => desks -= 1,
            }
        }
        if waiting.is_empty() {
            return;
        }
        waiting.sort_unstable_by_key(|(desk, _)| *desk);
        let z = Mat::from_fn(gradient.dim(), waiting.len(), |i, c| waiting[c].1[i]);
        let (mut log_p, mut gradients) = (vec![0.0; waiting.len()], Mat::zeros(z.nrows(), z.ncols()));
        gradient.gradients_into(z.as_ref(), &mut log_p, gradients.as_mut(), &mut work);
        for (c, (desk, _)) in waiting.iter().enumerate() {
            // A desk that waits is there.
            let _ = replies[*desk].send((log_p[c], gradients.col_as_slice(c).to_vec()));
        }
    }
}

/// The gradient as a task sees it: a call sends one point and waits for its value.
struct Desk {
    dim: usize,
    number: usize,
    requests: Sender<Request>,
    inbox: Mutex<Receiver<Reply>>,
}

impl LogDensity for Desk {
    fn dim(&self) -> usize {
        self.dim
    }

    fn work_len(&self, _columns: usize) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        let gradient = borrow(&mut work, z.len());
        self.gradient_into(z, gradient, work)
    }
}

impl Gradient for Desk {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _work: &mut [f64]) -> f64 {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = self.requests.send((self.number, Some(z.to_vec())));
        // There is no reply where a panic ended the batches.
        let reply = sent.ok().and_then(|()| inbox.recv().ok());
        let (log_p, slopes) = reply.unwrap_or_else(|| (f64::NAN, vec![f64::NAN; z.len()]));
        gradient.copy_from_slice(&slopes);
        log_p
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.requests.send((self.number, None));
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
