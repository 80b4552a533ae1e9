//! Independent sequential Monte Carlo in every step, without a retained path.

use crate::{PathGuide, StateSpace};
use faer::Mat;
use mcsa_core::{Error, Metric, Record, Stream};
use serde::{Deserialize, Serialize};

use super::{PathKernel, Paths, Smc, Untwisted};

/// Draws all paths anew in every step by sequential Monte Carlo without a retained path: the baseline of the MSC paper
/// (MSC, section 4.3). As there, twists shape proposals but not weights.
///
/// Does not leave the posterior invariant: with few particles the distribution of a path is neither that of the proposal nor
/// the posterior, and an average over paths is biased however long it is. If all weights vanish the path stays, and is
/// counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreshPaths {
    /// The sequential Monte Carlo method that draws the paths.
    pub smc: Smc,
}

/// Metrics of one step of [`FreshPaths`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FreshPathsInfo {
    /// Estimate of the log evidence, averaged over the paths that were drawn.
    pub log_evidence: f64,
    /// Number of paths that stayed because all weights vanished.
    pub vanished: u64,
}

impl Record for FreshPathsInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        sink(Metric::mean("log_evidence"), self.log_evidence);
        sink(Metric::VANISHED, self.vanished as f64);
    }
}

impl PathKernel for FreshPaths {
    type Info = FreshPathsInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn work_len<P: StateSpace + ?Sized>(&self, target: &P) -> usize {
        self.smc.path_work_len(target)
    }

    fn init<P: StateSpace + ?Sized>(&self, target: &P, positions: Mat<f64>) -> Result<Paths, Error> {
        Paths::new(target, positions).map_err(|error| error.within("FreshPaths"))
    }

    fn step<P, G>(
        &self,
        target: &P,
        proposal: &mut G,
        paths: &mut Paths,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> FreshPathsInfo
    where
        P: StateSpace + ?Sized,
        G: PathGuide + ?Sized,
    {
        assert_eq!(lanes.len(), paths.positions.ncols(), "a lane per path");
        let mut proposal = Untwisted { model: target, proposal };
        let (mut sum, mut vanished) = (0.0, 0);
        for (j, lane) in lanes.iter_mut().enumerate() {
            let path = paths.positions.col_as_slice_mut(j);
            let log_evidence = self.smc.draw_path_into(target, &mut proposal, lane, path, work);
            match log_evidence {
                f64::NEG_INFINITY => vanished += 1,
                log_evidence => sum += log_evidence,
            }
        }
        let drawn = lanes.len() as u64 - vanished;
        FreshPathsInfo { log_evidence: sum / drawn as f64, vanished }
    }
}
