//! Tests of invariance on continuous targets.

mod bench;
mod chains;
mod paths;
mod ranks;

use mcsa::{Guide, Kernel, Seed};

use crate::exact::ExactDraws;
use crate::{Report, Sequential, Spread, Verdict};
use bench::Bench;

/// Stages and growth of the sequential tests. Of all schemes that see an error with probability 0.9 at level 1e-4, with as many
/// tests as three dimensions have, this one needs the fewest draws for right kernels on average: 0.44 times those of the
/// seven stages and fourfold growth of the source.
const STAGES: (u32, usize) = (3, 2);

/// Tests of invariance on a target that can be drawn from exactly.
///
/// Chains in lock step start from independent exact draws and walk for `steps` transitions under guides that take turns, so
/// that errors accumulate and what a state remembers wrongly comes to light. At every step each chain must still be an exact
/// draw, independent of the others.
///
/// * `moves`: some chain moved.
/// * `two samples`: the ends of paths have the law of other exact draws (Gandy and Scott 2020, Alg. 1), by the two-sample
///   distance of distribution functions.
/// * `means`: normal scores, and their squares, have the same mean along paths as over exact draws, the start of each path
///   being a control variate; and the first step changes neither. Student's test of the means of groups.
/// * `rank`: a reversible chain runs forwards and backwards from an exact draw somewhere on its path, and the rank of that draw
///   among the path is uniform (Gandy and Scott 2020, Alg. 2); ties are broken by chance.
/// * `independent chains`: normal scores of the first moves, and of the ends, of two chains are not correlated.
/// * `labels`: chains and streams in the opposite order make the same moves.
///
/// Looked at are the coordinates, log p, log q, the log weight and a random projection. The `level` is the false-alarm
/// probability of the whole report: the statistical laws have equal shares of it, each run by [`Sequential`] in three stages
/// and split over its tests by Bonferroni. Seeds are fixed, so a verdict does not change between runs.
///
/// A law that holds states its [`Power`](crate::Power). For `means` the error is one of the kernel's own stationary law, in
/// the mean of a coordinate's normal score, in standard deviations, or in its scale: 1 % is a standard deviation of 1.01. How
/// much of it paths show is read off the part of the start that they still remember, `1 - cov(start, path) / var(start)`,
/// which is exact where relaxation is geometric. Four times the draws halve the error that is seen; [`seeing`](Self::seeing)
/// chooses the draws by it.
///
/// ```
/// use mcsa_kernels::Imh;
/// use mcsa_theory::{exact::Gaussian, judge};
/// let report = judge(1e-4).of(&Imh::default(), &Gaussian::standard(2));
/// assert!(report.holds(), "{report}");
/// assert!(report.on("means").unwrap().power.unwrap().error < 0.02, "{report}");
/// ```
///
/// A kernel with auxiliary variables starts them in their stationary law: [`Kernel::start`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Invariance {
    /// The false-alarm probability of the whole report.
    pub level: f64,
    /// Where chance comes from.
    pub seed: Seed,
    /// Paths in the first stage, at least 458.
    pub draws: usize,
    /// Transitions of a path.
    pub steps: usize,
    /// Transitions in a path of the rank test.
    pub path: usize,
    /// Chains in lock step, at most so many as there are draws.
    pub chains: usize,
    /// Whether the kernel claims to be reversible; otherwise there is no rank test.
    pub reversible: bool,
    /// Whether chains may depend on each other; then one chain of each group counts as a draw, and neither their independence
    /// nor their labels are tested.
    pub interacting: bool,
    /// The error of `means` that must be seen with probability 0.9, in place of a number of draws.
    pub seeing: Option<f64>,
}

/// A test of invariance with this false-alarm probability: [`Invariance::at`].
pub fn judge(level: f64) -> Invariance {
    Invariance::at(level)
}

impl Invariance {
    /// 32,768 paths of 32 steps, 16 chains in lock step, paths of 8 in the rank test, reversible, independent chains.
    ///
    /// By this number an error of 1 % in all scales of a standard normal in three dimensions, which is what a random walk has
    /// whose acceptance ratio is taken to the power 0.98, is seen with probability 0.9 at level 1e-4: the shift of log p is
    /// then 6.6 standard errors, and 4.7 are needed. It costs about a million transitions and 700,000 looks.
    pub fn at(level: f64) -> Self {
        let seed = Seed::new(1).named("invariance");
        let (reversible, interacting) = (true, false);
        Self {
            level,
            seed,
            draws: 32_768,
            steps: 32,
            path: 8,
            chains: 16,
            reversible,
            interacting,
            seeing: None,
        }
    }

    /// 2,048 paths of 8 steps: some twenty times cheaper, for kernels whose law is proved elsewhere, by enumeration.
    #[must_use]
    pub fn quick(self) -> Self {
        Self { draws: 2_048, steps: 8, ..self }
    }

    /// An equal share of the level, for a suite of so many reports.
    #[must_use]
    pub fn share(mut self, reports: usize) -> Self {
        self.level /= reports as f64;
        self
    }

    /// Another seed.
    #[must_use]
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = seed;
        self
    }

    /// Another number of paths.
    #[must_use]
    pub fn draws(mut self, draws: usize) -> Self {
        self.draws = draws;
        self
    }

    /// As many paths as it takes to see this error of `means` with probability 0.9, 0.01 being one percent: a pilot of 1,024
    /// paths says how noisy the kernel is. If 524,288 do not suffice there are no more, and the power of the verdict says so.
    #[must_use]
    pub fn seeing(mut self, error: f64) -> Self {
        self.seeing = Some(error);
        self
    }

    /// Another number of transitions of a path.
    #[must_use]
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    /// Another number of chains in lock step.
    #[must_use]
    pub fn chains(mut self, chains: usize) -> Self {
        self.chains = chains;
        self
    }

    /// For a kernel that is invariant but not reversible.
    #[must_use]
    pub fn not_reversible(mut self) -> Self {
        self.reversible = false;
        self
    }

    /// For a kernel whose chains may depend on each other: an ensemble that proposes from the other chains, or a choice made for
    /// all chains at once.
    #[must_use]
    pub fn interacting(mut self) -> Self {
        self.interacting = true;
        self
    }

    /// Judges a kernel. If it proposes from a guide it meets two, in turn: wide normals around the target.
    pub fn of<P: ExactDraws + ?Sized, K: Kernel<P>>(&self, kernel: &K, target: &P) -> Report {
        let mut near = Spread::around(target, self.seed.named("near"), 1.3);
        let mut wide = Spread::around(target, self.seed.named("wide"), 1.7);
        for (mean, scale) in wide.mean.iter_mut().zip(&near.scale) {
            *mean += 0.3 * scale;
        }
        self.of_guided(kernel, target, &mut [&mut near, &mut wide])
    }

    /// Judges a kernel under guides of the caller's, which take turns from step to step. Guides must take batches of
    /// [`Kernel::columns`] of all chains in lock step.
    pub fn of_guided<P: ExactDraws + ?Sized, K: Kernel<P>>(
        &self,
        kernel: &K,
        target: &P,
        guides: &mut [&mut dyn Guide],
    ) -> Report {
        self.of_pair(kernel, kernel, target, guides, self.reversible)
    }

    /// Judges a kernel that is not reversible beside its time reversal, with which paths are walked backwards:
    /// `p(z) K(z, y) = p(y) R(y, z)`.
    pub fn of_reversal<P: ExactDraws + ?Sized, K: Kernel<P>, R: Kernel<P>>(
        &self,
        kernel: &K,
        reversal: &R,
        target: &P,
        guides: &mut [&mut dyn Guide],
    ) -> Report {
        self.of_pair(kernel, reversal, target, guides, true)
    }

    fn of_pair<P: ExactDraws + ?Sized, K: Kernel<P>, R: Kernel<P>>(
        &self,
        kernel: &K,
        reversal: &R,
        target: &P,
        guides: &mut [&mut dyn Guide],
        ranks: bool,
    ) -> Report {
        let title = format!("{} on {}", short(std::any::type_name::<K>()), short(std::any::type_name::<P>()));
        let separate = self.chains > 1 && !self.interacting;
        let laws = 2 + usize::from(ranks) + usize::from(separate);
        let (stages, growth) = STAGES;
        let sequential = Sequential { level: self.level / laws as f64, stages, growth };
        let mut bench = match Bench::new(*self, kernel, target, guides, sequential) {
            Ok(bench) => bench,
            Err(error) => return Report::new(title, vec![Verdict::refused("invariance", error)]),
        };
        let mut verdicts = bench.along_paths();
        if ranks {
            verdicts.push(bench.ranks(reversal));
        }
        if separate {
            verdicts.extend([bench.independence(), bench.labels()]);
        }
        Report::new(title, verdicts)
    }
}

/// The name of a type without the paths of its parts.
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
