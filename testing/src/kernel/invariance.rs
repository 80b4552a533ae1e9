//! Statistical tests of invariance on continuous targets.

mod bench;
mod chains;
mod paths;
mod ranks;
mod report;

use mcsa_core::Seed;

/// Tests of invariance of a kernel on a target with exact draws.
///
/// Chains advance together from independent exact draws for `steps` transitions. The proposals alternate between steps, so
/// that errors accumulate and a state that remembers an older proposal is detected. At every step each chain must still be an exact
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
/// probability of the whole report: the statistical laws have equal shares of it, each is run by [`Sequential`](crate::Sequential) in three stages
/// and corrected for its number of tests by Bonferroni. Seeds are fixed, so a check does not change between runs.
///
/// A law that holds states its [`Power`](crate::Power). For `means` the error is a deviation of the kernel's stationary
/// distribution, in the mean of a coordinate's normal score, in standard deviations, or in its scale: 1 % is a standard deviation
/// of 1.01. The part of this deviation that paths show is estimated from the correlation with their start, `1 - cov(start, path) /
/// var(start)`, which is exact where relaxation is geometric. Four times the draws halve the detectable error;
/// [`seeing`](Self::seeing) chooses the draws from the error.
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
    /// True if the kernel is claimed to be reversible; otherwise there is no rank test.
    pub reversible: bool,
    /// True if chains may depend on each other; then one chain of each group counts as a draw, and neither the chains' independence
    /// nor their labels are tested.
    pub interacting: bool,
    /// Error of `means` to be detected with probability 0.9; it determines the number of draws.
    pub seeing: Option<f64>,
}

/// Tests of invariance with this false-alarm probability: [`Invariance::at`].
pub fn judge(level: f64) -> Invariance {
    Invariance::at(level)
}

impl Invariance {
    /// Defaults: 32,768 paths of 32 steps, 16 chains together, paths of 8 in the rank test, a reversible kernel, independent
    /// chains.
    ///
    /// With these numbers an error of 1 % in all scales of a standard normal in three dimensions, which is that of a random walk
    /// with its acceptance ratio to the power 0.98, is detected with probability 0.9 at level 1e-4: the shift of log p is
    /// then 6.6 standard errors, and 4.7 are needed. It costs about a million transitions and 700,000 evaluations of the
    /// statistics.
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

    /// Sets 2,048 paths of 8 steps: some twenty times cheaper, for kernels whose invariance is proved elsewhere, by enumeration.
    #[must_use]
    pub fn quick(self) -> Self {
        Self { draws: 2_048, steps: 8, ..self }
    }

    /// Divides the level by the number of reports in a suite.
    #[must_use]
    pub fn share(mut self, reports: usize) -> Self {
        self.level /= reports as f64;
        self
    }

    /// Sets the seed.
    #[must_use]
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the number of paths.
    #[must_use]
    pub fn draws(mut self, draws: usize) -> Self {
        self.draws = draws;
        self
    }

    /// Sets the number of paths such that this error of `means` is detected with probability 0.9, 0.01 being one percent: a pilot
    /// run of 1,024 paths estimates the noise. The number is at most 524,288; if it does not suffice, the power of the check
    /// shows it.
    #[must_use]
    pub fn seeing(mut self, error: f64) -> Self {
        self.seeing = Some(error);
        self
    }

    /// Sets the number of transitions of a path.
    #[must_use]
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    /// Sets the number of chains that advance together.
    #[must_use]
    pub fn chains(mut self, chains: usize) -> Self {
        self.chains = chains;
        self
    }

    /// Declares that the kernel is invariant but not reversible.
    #[must_use]
    pub fn not_reversible(mut self) -> Self {
        self.reversible = false;
        self
    }

    /// Declares that the chains may depend on each other: an ensemble that proposes from the other chains, or one random choice for
    /// all chains.
    #[must_use]
    pub fn interacting(mut self) -> Self {
        self.interacting = true;
        self
    }
}
