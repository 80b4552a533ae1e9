//! Tasks on a gradient in one thread, with the points of all tasks in one batch.

use corosensei::stack::DefaultStack;
use corosensei::{CoroutineResult, ScopedCoroutine, ScopedCoroutineRef, Yielder};
use faer::Mat;
use mcsa_core::{Gradient, LogDensity, borrow};
use send_wrapper::SendWrapper;

/// Most tasks whose points make a batch.
const TOGETHER: usize = 16;

/// The results of the tasks `0..count`, in their order. Each of some desks does tasks one after the other, on a stack of its own, which is left
/// where a task needs a gradient. Batches depend on the tasks alone.
pub(crate) fn each<T>(
    gradient: &dyn Gradient,
    count: usize,
    task: &impl Fn(usize, &dyn Gradient) -> T,
) -> Vec<T> {
    let (dim, desks) = (gradient.dim(), count.min(TOGETHER));
    let begin = |number| {
        ScopedCoroutine::new(move |yielder: &Yielder<Reply, Request>, _| {
            let desk = Desk { dim, yielder: SendWrapper::new(yielder) };
            (number..count).step_by(desks).map(|j| (j, task(j, &desk))).collect()
        })
    };
    let mut found = serve_all(gradient, (0..desks).map(begin).collect(), Vec::new());
    found.sort_unstable_by_key(|(j, _)| *j);
    found.into_iter().map(|(_, result)| result).collect()
}

/// The point whose gradient a desk waits for.
type Request = Vec<f64>;
/// Log density and gradient.
type Reply = (f64, Vec<f64>);

type Stacked<'a, T> = ScopedCoroutine<'a, Reply, Request, Vec<(usize, T)>>;
type Running<'a, T> = ScopedCoroutineRef<'a, Reply, Request, Vec<(usize, T)>, DefaultStack>;

/// Opens the scopes of all desks, one within the other, and serves them.
fn serve_all<'a, T>(
    gradient: &dyn Gradient,
    mut closed: Vec<Stacked<'a, T>>,
    open: Vec<Running<'_, T>>,
) -> Vec<(usize, T)> {
    match closed.pop() {
        Some(desk) => {
            desk.scope(|desk| serve_all(gradient, closed, [desk].into_iter().chain(open).collect()))
        }
        None => serve(gradient, open),
    }
}

/// Evaluates batches until all tasks are at their end: a batch has the points of all desks that are not.
fn serve<T>(gradient: &dyn Gradient, desks: Vec<Running<'_, T>>) -> Vec<(usize, T)> {
    let (mut work, mut found) = (vec![0.0; gradient.work_len(desks.len())], Vec::new());
    let mut ready: Vec<_> = desks.into_iter().map(|desk| (desk, Reply::default())).collect();
    while !ready.is_empty() {
        let (mut waiting, mut points) = (Vec::new(), Vec::new());
        for (mut desk, reply) in ready {
            match desk.resume(reply) {
                CoroutineResult::Yield(point) => {
                    waiting.push(desk);
                    points.push(point);
                }
                CoroutineResult::Return(results) => found.extend(results),
            }
        }
        let z = Mat::from_fn(gradient.dim(), points.len(), |i, c| points[c][i]);
        let (mut log_p, mut gradients) = (vec![0.0; points.len()], Mat::zeros(z.nrows(), z.ncols()));
        if !points.is_empty() {
            gradient.gradients_into(z.as_ref(), &mut log_p, gradients.as_mut(), &mut work);
        }
        let reply = |(c, desk)| (desk, (log_p[c], gradients.col_as_slice(c).to_vec()));
        ready = waiting.into_iter().enumerate().map(reply).collect();
    }
    found
}

/// The gradient as a task sees it: a call leaves the stack of the task with a point, and comes back with its value.
struct Desk<'a> {
    dim: usize,
    yielder: SendWrapper<&'a Yielder<Reply, Request>>,
}

impl LogDensity for Desk<'_> {
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

impl Gradient for Desk<'_> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _work: &mut [f64]) -> f64 {
        let (log_p, slopes) = self.yielder.suspend(z.to_vec());
        gradient.copy_from_slice(&slopes);
        log_p
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::posterior::density::gate::Gate;
    use crate::posterior::density::side_by_side::Shared;
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
        each(&logged, 40, &task);
        assert_eq!(*logged.0.lock().expect("a log"), first);
    }
}
