//! The laws of invariance, tested on one kernel.

use mcsa_core::{Error, Kernel, Proposal, Seed};

use super::paths::{Paths, Plan};
use super::{Invariance, chains, ranks};
use crate::kernel::draws::Walk;
use crate::kernel::p_value::{two_sample, uniform_counts};
use crate::kernel::power::{self, PROBABILITY};
use crate::kernel::statistic::{Scores, Statistics};
use crate::{Check, Measured, Power, Sequential, Smallest};
use mcsa_core::ExactDraws;

/// Least number of draws for which the bound on the two-sample distance is proved.
const LEAST_DRAWS: usize = 458;
/// Largest number of draws that [`Invariance::seeing`] chooses.
const MOST_DRAWS: usize = 1 << 19;
/// Largest number of starts in the rank test.
const RANKED: usize = 4_096;
/// Number of exact draws that define the normal scores.
const REFERENCES: usize = 1_024;
/// Tolerance of the law on labels: rounding, in a batch of another order.
const ROUNDING: f64 = 1e-6;

/// A kernel under test, with the data shared by all laws.
pub(crate) struct Bench<'a, 'g, P: ?Sized, K> {
    config: Invariance,
    draws: usize,
    walk: Walk<'a, 'g, P, K>,
    statistics: Statistics,
    scores: Scores,
    names: Vec<String>,
    sequential: Sequential,
    /// The paths of each stage, used by several laws.
    stages: Vec<Paths>,
}

impl<'a, 'g, P: ExactDraws + ?Sized, K: Kernel<P>> Bench<'a, 'g, P, K> {
    pub(crate) fn new(
        config: Invariance,
        kernel: &'a K,
        target: &'a P,
        proposals: &'a mut [&'g mut dyn Proposal],
        sequential: Sequential,
    ) -> Result<Self, Error> {
        if !(config.draws >= LEAST_DRAWS && config.steps > 0 && config.path > 0) {
            return Err(Error::invalid("a test of invariance needs 458 draws, a step, and a path of a step"));
        }
        if config.seeing.is_some_and(|error| !(error > 0.0)) {
            return Err(Error::invalid("the error that a test of invariance must see is positive"));
        }
        let chains = config.chains.min(config.draws);
        let walk = Walk::new(kernel, target, proposals, chains)?;
        let stream = &mut config.seed.named("projection").stream(0, 0);
        let mut statistics = Statistics::new(target, stream, chains);
        let count = statistics.count();
        let mut references = vec![Vec::with_capacity(REFERENCES); count];
        let mut values = vec![0.0; count * chains];
        for batch in 0..REFERENCES.div_ceil(chains) as u64 {
            let draws = walk.draw(config.seed.named("references").child(batch));
            statistics.look(target, &mut *walk.proposals[0], draws.as_ref(), &mut values);
            for (row, values) in references.iter_mut().zip(values.chunks_exact(chains)) {
                row.extend_from_slice(values);
            }
        }
        let names = (0..count).map(|k| statistics.name(k)).collect();
        let scores = Scores::of(references);
        let mut bench =
            Self { config, draws: config.draws, walk, statistics, scores, names, sequential, stages: vec![] };
        if let Some(error) = config.seeing {
            let pilot = bench.paths(config.seed.named("pilot"), 1_024)?;
            let seen = bench.error_seen(&pilot, bench.groups(1_024));
            let draws = bench.groups(1_024) as f64 * chains as f64 * (seen / error).powi(2);
            // A cast of an infinite or too large number is the largest integer.
            bench.draws = (draws.ceil() as usize).clamp(LEAST_DRAWS, MOST_DRAWS);
        }
        Ok(bench)
    }

    /// Number of groups of chains for this number of draws.
    fn groups(&self, draws: usize) -> usize {
        let groups = draws.div_ceil(self.walk.chains).max(2);
        if self.config.interacting { groups.max(LEAST_DRAWS) } else { groups }
    }

    /// Number of independent draws in this number of groups.
    fn counted(&self, groups: usize) -> usize {
        if self.config.interacting { groups } else { groups * self.walk.chains }
    }

    fn paths(&mut self, seed: Seed, draws: usize) -> Result<Paths, Error> {
        let every_chain = !self.config.interacting;
        let plan = Plan { groups: self.groups(draws), steps: self.config.steps, every_chain };
        Paths::new(&mut self.walk, &mut self.statistics, &self.scores, seed, plan)
    }

    /// Ensures that the paths of a stage exist; every law begins with the first stage.
    fn reach(&mut self, stage: u32, draws: usize) -> Result<usize, Error> {
        let stage = stage as usize;
        if stage == self.stages.len() {
            let seed = self.config.seed.named("paths").child(stage as u64);
            let paths = self.paths(seed, draws)?;
            self.stages.push(paths);
        }
        Ok(stage)
    }

    /// Detectable error of `means` with this number of groups, if their spread is that of `paths`.
    fn error_seen(&self, paths: &Paths, groups: usize) -> f64 {
        let tests = 4 * self.names.len();
        let errors = power::of_mean(self.sequential, tests, (groups - 1) as f64);
        errors * paths.standard_error(self.statistics.dim())
    }

    pub(crate) fn along_paths(&mut self) -> Vec<Check> {
        let (sequential, draws) = (self.sequential, self.draws);
        let mut two = sequential.run("two samples", draws, |stage, draws| {
            let stage = self.reach(stage, draws)?;
            let found = &self.stages[stage];
            let each = found.fresh.iter().zip(&found.after).zip(&self.names);
            Ok(Smallest::of(each.map(|((fresh, after), name)| (two_sample(fresh, after), name.clone()))))
        });
        let means = sequential.run("means", draws, |stage, draws| {
            let stage = self.reach(stage, draws)?;
            Ok(Smallest::of(self.stages[stage].p_values(&self.names)))
        });
        let Some(first) = self.stages.first() else { return vec![two, means] };
        let still = f64::from(u8::from(first.moved == 0));
        let counted = self.counted(self.groups(draws)) as f64;
        two.power = powerful(
            power::of_distance(sequential, self.names.len(), counted),
            "the distribution function of a coordinate after the path",
        );
        let power = powerful(
            self.error_seen(first, self.groups(draws)),
            "the stationary mean, in standard deviations, or scale of a coordinate",
        );
        vec![Check::exact("moves", still, 0.0, ""), two, Check { power, ..means }]
    }

    pub(crate) fn ranks<R: Kernel<P>>(&mut self, reversal: &R) -> Check {
        let (config, every_chain) = (self.config, !self.config.interacting);
        let draws = self.draws.min(RANKED);
        let sequential = self.sequential;
        let mut check = sequential.run("rank", draws, |stage, draws| {
            let seed = config.seed.named("rank").child(stage.into());
            let plan = (config.path, self.groups(draws), every_chain);
            let counts = ranks::counts(&mut self.walk, reversal, &mut self.statistics, seed, plan)?;
            Ok(Smallest::of(
                counts.iter().zip(&self.names).map(|(c, name)| (uniform_counts(c), name.clone())),
            ))
        });
        if !matches!(check.measured, Measured::Refused(_)) {
            let counted = self.counted(self.groups(draws)) as f64;
            let error = power::of_counts(self.sequential, self.names.len(), config.path + 1, counted);
            check.power = powerful(error, "the frequencies of ranks of a coordinate, root mean square,");
        }
        check
    }

    pub(crate) fn independence(&mut self) -> Check {
        let (draws, chains) = (self.draws, self.walk.chains);
        let seed = self.config.seed.named("pairs");
        let sequential = self.sequential;
        let mut check = sequential.run("independent chains", draws, |stage, draws| {
            let stage = self.reach(stage, draws)?;
            let seed = seed.child(stage as u64);
            Ok(Smallest::of(chains::p_values(&self.stages[stage], &self.names, chains, seed)))
        });
        if !matches!(check.measured, Measured::Refused(_)) {
            let pairs = self.groups(draws) * (chains / 2);
            let tests = self.names.len() + self.statistics.dim() + 1;
            let error = power::of_correlation(self.sequential, tests, pairs as f64);
            check.power = powerful(error, "the correlation of two chains, which should be 0,");
        }
        check
    }

    pub(crate) fn labels(&mut self) -> Check {
        match chains::mislabelled(&mut self.walk, self.config.seed.named("labels")) {
            Ok(error) => Check::exact("labels", error, ROUNDING, ""),
            Err(error) => Check::refused("labels", error),
        }
    }
}

fn powerful(error: f64, of: &'static str) -> Option<Power> {
    Some(Power { probability: PROBABILITY, ..Power::new(of, error, "") })
}
