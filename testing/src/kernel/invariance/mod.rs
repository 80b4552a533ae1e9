//! Statistical tests of invariance on continuous targets.

mod paths;
mod statistics;

use mcsa_core::{Error, ExactDraws, Kernel, Proposal, Seed};

use super::largest;
use super::trial::{cells, compare};
use crate::{Check, Measured, Power, Report, Spread, Trial};
use paths::{Paths, Plan, Walk};
use statistics::{Scores, Sequential, Smallest, Statistics, two_sample, uniform_counts};

/// Tests of invariance of a kernel on a target with exact draws.
///
/// Chains advance together from independent exact draws for `steps` transitions. The proposals alternate between steps, so
/// that errors accumulate and a state that depends on an older proposal is detected. At every step each chain must still be an exact
/// draw, independent of the others.
///
/// * `moves`: at least one chain moves.
/// * `two samples`: the ends of paths have the distribution of other exact draws (Gandy and Scott 2020, Alg. 1), by the two-sample
///   distance of distribution functions.
/// * `means`: normal scores, and their squares, have equal means along paths and over exact draws, with the start of each path
///   as a control variate; and the first step changes neither mean. Student's test of the means of groups.
/// * `rank`: a reversible chain runs forwards and backwards from an exact draw at some position of its path, and the rank of that
///   draw within the path is uniform (Gandy and Scott 2020, Alg. 2); ties are broken at random.
/// * `independent chains`: normal scores of the first moves, and of the ends, of two chains are uncorrelated.
/// * `labels`: chains and streams in the opposite order make the same moves.
///
/// The statistics are the coordinates, log p, log q, the log weight and a random projection. The `level` is the false-alarm
/// probability of the whole report: the statistical laws have equal shares of it, each is run in up to three stages
/// (Gandy and Scott 2020, Alg. 3) and corrected for its number of tests by Bonferroni. Seeds are fixed, so a check does not change between runs.
///
/// A law that holds states its [`Power`](crate::Power). For `means` the error is a deviation of the kernel's stationary
/// distribution: of the mean of a coordinate's normal score, in standard deviations, or of its scale, where 1 % is a standard
/// deviation of 1.01. Paths move only a part of the way to the stationary distribution. This part is estimated from the
/// correlation of paths with their start, `1 - cov(start, path) / var(start)`, which is exact where relaxation is geometric. Four
/// times the draws halve the detectable error.
///
/// ```
/// use mcsa_kernels::Imh;
/// use mcsa_models::Gaussian;
/// let report = mcsa_testing::judge(1e-4).of(&Imh::default(), &Gaussian::standard(2));
/// assert!(report.holds(), "{report}");
/// assert!(report.on("means").unwrap().power.as_ref().unwrap().size < 0.02, "{report}");
/// ```
///
/// The auxiliary variables of a kernel are drawn from their stationary distribution by [`Kernel::start`](mcsa_core::Kernel::start).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Invariance {
    /// False-alarm probability of the whole report.
    pub level: f64,
    /// Seed of all random numbers.
    pub seed: Seed,
    /// Number of paths in the first stage, at least 458.
    pub draws: usize,
    /// Number of transitions of a path.
    pub steps: usize,
    /// Number of transitions in a path of the rank test.
    pub path: usize,
    /// Number of chains that advance together, at most `draws`.
    pub chains: usize,
    /// True if the kernel is claimed to be reversible; otherwise there is no rank test, unless a time reversal is given.
    pub reversible: bool,
    /// True if chains may depend on each other, as in an ensemble whose proposals use the other chains. Then one chain of each
    /// group counts as a draw, and neither the independence nor the labels of chains are tested.
    pub interacting: bool,
}

/// Tests of invariance with this false-alarm probability, of a reversible kernel with independent chains. There are 32,768 paths
/// of 32 steps, 16 chains together, and paths of 8 steps in the rank test.
///
/// For example, a random walk on a standard normal in three dimensions has errors of 1 % in all scales if its acceptance ratio
/// has the power 0.98. At level 1e-4 this is detected with probability 0.9: the shift of log p is 6.6 standard errors, and 4.7
/// are needed. The tests cost about a million transitions and 700,000 evaluations of the statistics. A suite of several reports
/// divides its level by their number.
pub fn judge(level: f64) -> Invariance {
    Invariance {
        level,
        seed: Seed::new(1).named("invariance"),
        draws: 32_768,
        steps: 32,
        path: 8,
        chains: 16,
        reversible: true,
        interacting: false,
    }
}

impl Invariance {
    /// Sets 2,048 paths of 8 steps: some twenty times cheaper, for kernels whose invariance is proved elsewhere, by enumeration.
    #[must_use]
    pub fn quick(self) -> Self {
        Self { draws: 2_048, steps: 8, ..self }
    }

    /// Declares that the kernel is invariant but not reversible.
    #[must_use]
    pub fn not_reversible(self) -> Self {
        Self { reversible: false, ..self }
    }
}

/// Least number of draws for which the bound on the two-sample distance is proved.
const LEAST_DRAWS: usize = 458;
/// Largest number of starts in the rank test.
const RANKED: usize = 4_096;
/// Number of exact draws that define the normal scores.
const REFERENCES: usize = 1_024;

/// A kernel under test, with the data shared by all laws.
pub(crate) struct Bench<'a, 'g, P: ?Sized, K> {
    config: Invariance,
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
        Ok(Self { config, walk, statistics, scores, names, sequential, stages: vec![] })
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

    /// Ensures that the paths of a stage exist; every law begins with the first stage.
    fn reach(&mut self, stage: u32, draws: usize) -> Result<usize, Error> {
        let stage = stage as usize;
        if stage == self.stages.len() {
            let seed = self.config.seed.named("paths").child(stage as u64);
            let every_chain = !self.config.interacting;
            let plan = Plan { groups: self.groups(draws), steps: self.config.steps, every_chain };
            self.stages.push(Paths::new(&mut self.walk, &mut self.statistics, &self.scores, seed, plan)?);
        }
        Ok(stage)
    }

    pub(crate) fn along_paths(&mut self) -> Vec<Check> {
        let (sequential, draws) = (self.sequential, self.config.draws);
        let two = sequential.run("two samples", draws, |stage, draws| {
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
        let distance = statistics::of_distance(sequential, self.names.len(), counted);
        let freedom = (self.groups(draws) - 1) as f64;
        let mean = statistics::of_mean(sequential, 4 * self.names.len(), freedom);
        let mean = mean * first.standard_error(self.statistics.dim());
        vec![
            Check::exact("moves", still, 0.0, ""),
            powerful(two, distance, "the distribution function of a coordinate after the path"),
            powerful(means, mean, "the stationary mean, in standard deviations, or scale of a coordinate"),
        ]
    }

    pub(crate) fn ranks<R: Kernel<P>>(&mut self, reversal: &R) -> Check {
        let (config, every_chain) = (self.config, !self.config.interacting);
        let draws = config.draws.min(RANKED);
        let sequential = self.sequential;
        let check = sequential.run("rank", draws, |stage, draws| {
            let seed = config.seed.named("rank").child(stage.into());
            let plan = (config.path, self.groups(draws), every_chain);
            let counts = paths::counts(&mut self.walk, reversal, &mut self.statistics, seed, plan)?;
            Ok(Smallest::of(
                counts.iter().zip(&self.names).map(|(c, name)| (uniform_counts(c), name.clone())),
            ))
        });
        let counted = self.counted(self.groups(draws)) as f64;
        let error = statistics::of_counts(self.sequential, self.names.len(), config.path + 1, counted);
        powerful(check, error, "the frequencies of ranks of a coordinate, root mean square,")
    }

    pub(crate) fn independence(&mut self) -> Check {
        let (draws, chains) = (self.config.draws, self.walk.chains);
        let seed = self.config.seed.named("pairs");
        let sequential = self.sequential;
        let check = sequential.run("independent chains", draws, |stage, draws| {
            let stage = self.reach(stage, draws)?;
            let seed = seed.child(stage as u64);
            Ok(Smallest::of(paths::p_values(&self.stages[stage], &self.names, chains, seed)))
        });
        let pairs = self.groups(draws) * (chains / 2);
        let tests = self.names.len() + self.statistics.dim() + 1;
        let error = statistics::of_mean(self.sequential, tests, pairs as f64) / (pairs as f64).sqrt();
        powerful(check, error, "the correlation of two chains, which should be 0,")
    }

    pub(crate) fn labels(&mut self) -> Check {
        let Walk { kernel, target, chains, .. } = self.walk;
        let trial = Trial { kernel, target, seed: self.config.seed.named("labels"), chains, steps: 10 };
        let starts = self.walk.draw(trial.seed.child(0));
        // In a batch of another order only rounding differs.
        compare("labels", 1e-6, || {
            let [plain, turned] = trial.relabelled(&mut *self.walk.proposals[0], starts)?;
            let errors = cells(&plain, &turned).map(|(_, a, b)| (a - b).abs() / (1.0 + a.abs()));
            Ok((largest(errors), String::new()))
        })
    }
}

/// The check with the power of its test against this error, if the test was made.
fn powerful(check: Check, error: f64, of: &'static str) -> Check {
    match check.measured {
        Measured::Refused(_) => check,
        _ => Check { power: Some(Power::new(of, error, "")), ..check },
    }
}

/// Stages and growth of the sequential tests. Among all schemes that detect an error with probability 0.9 at level 1e-4, with the
/// number of tests in three dimensions, this one needs the fewest draws on average for correct kernels: 0.44 times those of the
/// seven stages and fourfold growth in Gandy and Scott (2020).
const STAGES: (u32, usize) = (3, 2);

impl Invariance {
    /// Tests a kernel. A kernel that proposes from q meets two proposal distributions alternately: wide normals around the target.
    pub fn of<P: ExactDraws + ?Sized, K: Kernel<P>>(&self, kernel: &K, target: &P) -> Report {
        let mut near = Spread::around(target, self.seed.named("near"), 1.3);
        let mut wide = Spread::around(target, self.seed.named("wide"), 1.7);
        for (mean, scale) in wide.mean.iter_mut().zip(&near.scale) {
            *mean += 0.3 * scale;
        }
        self.of_guided(kernel, target, &mut [&mut near, &mut wide])
    }

    /// Tests a kernel with the caller's proposals, which alternate from step to step. Each proposal must accept batches of
    /// [`Kernel::columns`] columns for all chains together.
    pub fn of_guided<P: ExactDraws + ?Sized, K: Kernel<P>>(
        &self,
        kernel: &K,
        target: &P,
        proposals: &mut [&mut dyn Proposal],
    ) -> Report {
        self.of_pair(kernel, kernel, target, proposals, self.reversible)
    }

    /// Tests a kernel that is not reversible together with its time reversal, with which paths run backwards:
    /// `p(z) K(z, y) = p(y) R(y, z)`.
    pub fn of_reversal<P: ExactDraws + ?Sized, K: Kernel<P>, R: Kernel<P>>(
        &self,
        kernel: &K,
        reversal: &R,
        target: &P,
        proposals: &mut [&mut dyn Proposal],
    ) -> Report {
        self.of_pair(kernel, reversal, target, proposals, true)
    }

    fn of_pair<P: ExactDraws + ?Sized, K: Kernel<P>, R: Kernel<P>>(
        &self,
        kernel: &K,
        reversal: &R,
        target: &P,
        proposals: &mut [&mut dyn Proposal],
        ranks: bool,
    ) -> Report {
        let title = format!("{} on {}", short(std::any::type_name::<K>()), short(std::any::type_name::<P>()));
        let separate = self.chains > 1 && !self.interacting;
        let laws = 2 + usize::from(ranks) + usize::from(separate);
        let (stages, growth) = STAGES;
        let sequential = Sequential { level: self.level / laws as f64, stages, growth };
        let mut bench = match Bench::new(*self, kernel, target, proposals, sequential) {
            Ok(bench) => bench,
            Err(error) => return Report::new(title, vec![Check::refused("invariance", error)]),
        };
        let mut checks = bench.along_paths();
        if ranks {
            checks.push(bench.ranks(reversal));
        }
        if separate {
            checks.extend([bench.independence(), bench.labels()]);
        }
        Report::new(title, checks)
    }
}

/// Type name without module paths.
fn short(name: &str) -> String {
    let parts = name.split_inclusive(['<', '>', ',', ' ', '&']);
    parts.map(|part| part.rsplit("::").next().unwrap_or(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        assert_eq!(short("a::b::Cycle<a::imh::Imh, a::Cis>"), "Cycle<Imh, Cis>");
        assert_eq!(short("Mine"), "Mine");
    }
}
