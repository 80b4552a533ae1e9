//! Metrics of composed kernels: exact totals, maxima and means over the parts of a step.

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{
    ChainState, Ensemble, Error, Kernel, LogDensity, Metric, Proposal, Record, Seed, Stream, from_fn,
};
use mcsa_kernels::{Cycle, Imh, Mixture, Repeat};
use serde::{Deserialize, Serialize};

/// A kernel that never moves and has known metrics: in its `k`-th step, counted from 1, every metric is `k` times `scale`.
#[derive(Clone)]
struct Known {
    scale: f64,
}

#[derive(Clone, Serialize, Deserialize)]
struct KnownState {
    chains: Ensemble,
    steps: u32,
}

impl ChainState for KnownState {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }
    fn chains_mut(&mut self) -> &mut Ensemble {
        &mut self.chains
    }
}

#[derive(Default)]
struct KnownInfo(f64);

impl Record for KnownInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        sink(Metric::ACCEPTANCE, self.0);
        sink(Metric::NON_FINITE, self.0);
        sink(Metric::LOG_WEIGHT_TOP, self.0);
        sink(Metric::LOG_WEIGHT_MEAN, self.0.ln());
    }
}

impl<P: LogDensity + ?Sized> Kernel<P> for Known {
    type State = KnownState;
    type Info = KnownInfo;
    fn columns(&self, chains: usize) -> usize {
        chains
    }
    fn work_len(&self, _: &P, _: usize) -> usize {
        0
    }
    fn init(&self, target: &P, positions: Mat<f64>) -> Result<KnownState, Error> {
        Ok(KnownState { chains: Ensemble::new(target, positions)?, steps: 0 })
    }
    fn step(
        &self,
        _: &P,
        _: &mut dyn Proposal,
        state: &mut KnownState,
        _: &mut [Stream],
        _: &mut [f64],
    ) -> KnownInfo {
        state.steps += 1;
        KnownInfo(self.scale * f64::from(state.steps))
    }
}

struct Flat;

impl LogDensity for Flat {
    fn dim(&self) -> usize {
        1
    }
    fn log_density(&self, _: &[f64], _: &mut [f64]) -> f64 {
        0.0
    }
}

impl Proposal for Flat {
    fn dim(&self) -> usize {
        1
    }
    fn log_probs(&mut self, _: MatRef<'_, f64>, log_q: &mut [f64]) {
        log_q.fill(0.0);
    }
    fn sample_into(&mut self, _: &mut [Stream], _: MatMut<'_, f64>, log_q: &mut [f64]) {
        log_q.fill(0.0);
    }
}

/// Metrics of each of `steps` steps: acceptance, faults, largest weight, mean weight.
fn told<K: Kernel<Flat>>(kernel: &K, steps: u64) -> Vec<[f64; 4]> {
    let mut state = kernel.init(&Flat, Mat::zeros(1, 1)).unwrap();
    let mut work = vec![0.0; kernel.work_len(&Flat, 1)];
    let step = |step| {
        let mut lanes = Seed::new(1).streams(1, step);
        let info = kernel.step(&Flat, &mut Flat, &mut state, &mut lanes, &mut work);
        let mut row = [f64::NAN; 4];
        info.record(&mut |metric, value| {
            let all =
                [Metric::ACCEPTANCE, Metric::NON_FINITE, Metric::LOG_WEIGHT_TOP, Metric::LOG_WEIGHT_MEAN];
            let k = all.iter().position(|known| known.is(metric)).unwrap();
            row[k] = if k == 3 { value.exp() } else { value };
        });
        row
    };
    (1..=steps).map(step).collect()
}

fn assert_near(found: &[[f64; 4]], expected: &[[f64; 4]]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found[1..3], expected[1..3], "totals and largest values are exact");
        let near = |k: usize| (found[k] - expected[k]).abs() <= 1e-14 * expected[k].abs();
        assert!(near(0) && near(3), "{found:?}, {expected:?}");
    }
}

#[test]
fn three_times_a_kernel_has_three_times_its_faults() {
    let thrice = Repeat { kernel: Known { scale: 1.0 }, times: 3 };
    // Parts 1, 2, 3, then 4, 5, 6.
    assert_near(&told(&thrice, 2), &[[2.0, 6.0, 3.0, 2.0], [5.0, 15.0, 6.0, 5.0]]);
    // The twin: with means in place of all reductions the faults were 2 and the largest weight 2.
    assert_ne!(told(&thrice, 1)[0][1..3], [2.0, 2.0]);
}

#[test]
fn a_cycle_tells_of_both_parts() {
    let cycle = Cycle { first: Known { scale: 1.0 }, second: Known { scale: 8.0 } };
    assert_near(&told(&cycle, 2), &[[4.5, 9.0, 8.0, 4.5], [9.0, 18.0, 16.0, 9.0]]);
}

#[test]
fn a_mixture_tells_of_the_part_that_moved() {
    let mixture = Mixture::new(0.5, Known { scale: 1.0 }, Known { scale: 1_000.0 }).unwrap();
    let mut made = [0.0; 2];
    for row in told(&mixture, 50) {
        let second = usize::from(row[1] >= 1_000.0);
        made[second] += 1.0;
        let value = made[second] * [1.0, 1_000.0][second];
        assert_near(&[row], &[[value; 4]]);
    }
    assert!(made[0] > 10.0 && made[1] > 10.0, "{made:?}");
}

/// Every transition counts once at any depth of nesting: two of the first kernel and one of the second, and all of that twice.
#[test]
fn nested_compositions_are_flat_ones() {
    let twice = Repeat { kernel: Known { scale: 1.0 }, times: 2 };
    let cycle = Cycle { first: twice, second: Known { scale: 100.0 } };
    let parts = [1.0, 2.0, 100.0, 3.0, 4.0, 200.0];
    let (total, mean) = (310.0, 310.0 / 6.0);
    assert_eq!(parts.iter().sum::<f64>(), total);
    assert_near(&told(&Repeat { kernel: cycle, times: 2 }, 1), &[[mean, total, 200.0, mean]]);
}

/// `Imh` with sweeps and `Imh` repeated record the same number of faults if every proposal is one.
#[test]
fn sweeps_and_repetitions_count_the_same_faults() {
    fn faults<P: LogDensity, K: Kernel<P>>(target: &P, kernel: &K) -> f64 {
        let mut state = kernel.init(target, Mat::zeros(1, 4)).unwrap();
        let (mut lanes, mut faults) = (Seed::new(1).streams(4, 1), 0.0);
        let mut work = vec![0.0; kernel.work_len(target, 4)];
        let info = kernel.step(target, &mut Flat, &mut state, &mut lanes, &mut work);
        info.record(&mut |metric, value| faults += if metric.is(Metric::NON_FINITE) { value } else { 0.0 });
        faults
    }
    let broken = from_fn(1, |_| f64::NAN);
    assert_eq!(faults(&broken, &Imh { sweeps: 3, ..Imh::default() }), 12.0);
    assert_eq!(faults(&broken, &Repeat { kernel: Imh::default(), times: 3 }), 12.0);
}
