//! Metrics of composed kernels: exact totals, maxima and means over the parts of a step.

use faer::Mat;
use mcsa_core::{
    ChainState, Ensemble, Error, Kernel, LogDensity, Metric, Proposal, Record, Seed, Stream, from_fn,
};
use mcsa_kernels::{Cycle, Imh, Mixture, NoProposal, Repeat};
use serde::{Deserialize, Serialize};

use crate::laws::{Run, start};

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

fn flat() -> impl LogDensity {
    from_fn(1, |_| 0.0)
}

/// Metrics of each of `steps` steps: acceptance, faults, largest weight, mean weight.
macro_rules! told {
    ($kernel:expr, $steps:expr) => {{
        let (kernel, target) = ($kernel, flat());
        let mut state = kernel.init(&target, Mat::zeros(1, 1)).unwrap();
        let step = |step| {
            let mut lanes = Seed::new(1).streams(1, step);
            let info = kernel.step(&target, &mut NoProposal { dim: 1 }, &mut state, &mut lanes, &mut []);
            let mut row = [f64::NAN; 4];
            info.record(&mut |metric, value| {
                let all =
                    [Metric::ACCEPTANCE, Metric::NON_FINITE, Metric::LOG_WEIGHT_TOP, Metric::LOG_WEIGHT_MEAN];
                let k = all.iter().position(|known| known.is(metric)).unwrap();
                row[k] = if k == 3 { value.exp() } else { value };
            });
            row
        };
        (1..=$steps).map(step).collect::<Vec<_>>()
    }};
}

fn assert_near(found: &[[f64; 4]], expected: &[[f64; 4]]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found[1..3], expected[1..3], "totals and largest values are exact");
        let near = |k: usize| (found[k] - expected[k]).abs() <= 1e-14 * expected[k].abs();
        assert!(near(0) && near(3), "{found:?}, {expected:?}");
    }
}

/// Every transition counts once at any depth of nesting.
#[test]
fn a_composition_has_the_metrics_of_all_its_parts() {
    let known = |scale| Known { scale };
    // Parts 1, 2, 3, then 4, 5, 6.
    let thrice = told!(Repeat { kernel: known(1.0), times: 3 }, 2);
    assert_near(&thrice, &[[2.0, 6.0, 3.0, 2.0], [5.0, 15.0, 6.0, 5.0]]);
    // The twin: with means in place of all reductions the faults were 2 and the largest weight 2.
    assert_ne!(thrice[0][1..3], [2.0, 2.0]);
    let cycle = told!(Cycle { first: known(1.0), second: known(8.0) }, 2);
    assert_near(&cycle, &[[4.5, 9.0, 8.0, 4.5], [9.0, 18.0, 16.0, 9.0]]);
    // Parts 1, 2, 100, 3, 4, 200.
    let nested = Cycle { first: Repeat { kernel: known(1.0), times: 2 }, second: known(100.0) };
    let (total, mean) = (310.0, 310.0 / 6.0);
    assert_near(&told!(Repeat { kernel: nested, times: 2 }, 1), &[[mean, total, 200.0, mean]]);
}

#[test]
fn a_mixture_tells_of_the_part_that_moved() {
    let mixture = Mixture::new(0.5, Known { scale: 1.0 }, Known { scale: 1_000.0 }).unwrap();
    let mut made = [0.0; 2];
    for row in told!(mixture, 50) {
        let second = usize::from(row[1] >= 1_000.0);
        made[second] += 1.0;
        let value = made[second] * [1.0, 1_000.0][second];
        assert_near(&[row], &[[value; 4]]);
    }
    assert!(made[0] > 10.0 && made[1] > 10.0, "{made:?}");
}

/// `Imh` with sweeps and `Imh` repeated record the same number of faults if every proposal is one.
#[test]
fn sweeps_and_repetitions_count_the_same_faults() {
    let broken = from_fn(2, |_| f64::NAN);
    let (sweeps, repeated) =
        (Imh { sweeps: 3, ..Imh::default() }, Repeat { kernel: Imh::default(), times: 3 });
    let mut first = Run::new(&sweeps, &broken, start(4));
    let mut second = Run::new(&repeated, &broken, start(4));
    first.steps(0..1);
    second.steps(0..1);
    assert_eq!([first.total("non_finite"), second.total("non_finite")], [12.0; 2]);
}
