//! Does a kernel leave a continuous target invariant?

use mcsa::{Cloud, Columns, Error, Guide, Kernel, Seed};

use crate::draws::{Draws, Walk};
use crate::exact::ExactDraws;
use crate::p_value::{place, sorted, two_sample, uniform_counts, zero_mean};
use crate::sequential::{Sequential, Smallest};
use crate::statistic::Statistics;
use crate::{Evidence, Report, Spread, Verdict};

/// The least draws for which the bound on the two-sample distance is proved.
const LEAST_DRAWS: usize = 458;

/// Tests of invariance on a target that can be drawn from exactly.
///
/// * `one step`: exact draws, pushed through the kernel, have the law of other exact draws (Gandy and Scott
///   2020, Alg. 1), by the two-sample distance of distribution functions.
/// * `paired`: the same draws before and after differ by zero on average, in their ranks and in the squares
///   of these; stronger, for what does not move cancels. The p-value is a normal approximation.
/// * `rank`: a reversible chain runs forwards and backwards from an exact draw at a random position of its path,
///   and the rank of that draw among the path is uniform (Gandy and Scott 2020, Alg. 2); ties are broken by chance.
/// * `moves`: some chain moved at all.
///
/// Looked at are the coordinates, their squares, log p, log q, the log weight and a random projection. The
/// level is the false-alarm probability of all tests together: a third for each of the first three, each run
/// by [`Sequential`] and split over the statistics by Bonferroni. Seeds are fixed, so a verdict does not change
/// between runs.
///
/// ```
/// use mcsa_kernels::Imh;
/// use mcsa_theory::{exact::Gaussian, judge};
/// let report = judge(1e-4).of(&Imh::default(), &Gaussian::standard(2));
/// assert!(report.holds(), "{report}");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Invariance {
    /// The false-alarm probability of the whole report.
    pub level: f64,
    /// Where chance comes from.
    pub seed: Seed,
    /// Replicates in the first stage, at least 458.
    pub draws: usize,
    /// Transitions between before and after; more than one, to see what a state remembers wrongly.
    pub steps: usize,
    /// Transitions in a path of the rank test.
    pub path: usize,
    /// Chains in lock step; one of them is looked at in each replicate.
    pub chains: usize,
    /// Whether the kernel claims to be reversible; otherwise there is no rank test.
    pub reversible: bool,
}

/// A test of invariance with this false-alarm probability: [`Invariance::at`].
pub fn judge(level: f64) -> Invariance {
    Invariance::at(level)
}

impl Invariance {
    /// 2,000 replicates of 3 steps, paths of 8, one chain, reversible.
    pub fn at(level: f64) -> Self {
        let seed = Seed::new(1).named("invariance");
        Self { level, seed, draws: 2_000, steps: 3, path: 8, chains: 1, reversible: true }
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

    /// Another number of replicates.
    #[must_use]
    pub fn draws(mut self, draws: usize) -> Self {
        self.draws = draws;
        self
    }

    /// Another number of transitions between before and after.
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

    /// Judges a kernel. If it proposes from a guide it meets two, in turn: wide normals around the target.
    pub fn of<P: ExactDraws + ?Sized, K: Kernel<P>>(&self, kernel: &K, target: &P) -> Report {
        let mut near = Spread::around(target, self.seed.named("near"), 1.3);
        let mut wide = Spread::around(target, self.seed.named("wide"), 1.7);
        for (mean, scale) in wide.mean.iter_mut().zip(&near.scale) {
            *mean += 0.3 * scale;
        }
        self.of_guided(kernel, target, &mut [&mut near, &mut wide])
    }

    /// Judges a kernel under guides of the caller's, which take turns from step to step.
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
        if !(self.draws >= LEAST_DRAWS && self.steps > 0 && self.path > 0) {
            let error = Error::invalid("a test of invariance needs 458 draws, a step, and a path of a step");
            return Report::new(title, vec![Verdict::refused("invariance", error)]);
        }
        let mut statistics = Statistics::new(target, &mut self.seed.named("projection").stream(0, 0));
        let sequential = Sequential::at(self.level / if ranks { 3.0 } else { 2.0 });
        let mut moved = 0;
        let mut push = |seed: Seed, draws: usize| {
            let mut walk = Walk::new(kernel, target, guides, self.chains)?;
            Draws::new(&mut walk, &mut statistics, seed, draws, self.steps)
        };
        let one_step = sequential.run("one step", self.draws, |stage, draws| {
            let found = push(self.seed.named("one step").child(stage.into()), draws)?;
            moved += found.moved;
            Ok(Smallest::of(found.fresh.iter().zip(&found.after).enumerate().map(named(two_sample))))
        });
        let paired = sequential.run("paired", self.draws, |stage, draws| {
            let found = push(self.seed.named("paired").child(stage.into()), draws)?;
            Ok(differences(&found))
        });
        let moves = match &one_step.evidence {
            Evidence::Refused(error) => Verdict::refused("moves", error.clone()),
            _ => Verdict::exact("moves", f64::from(u8::from(moved == 0)), 0.0, ""),
        };
        let mut verdicts = vec![moves, one_step, paired];
        if ranks {
            verdicts.push(sequential.run("rank", self.draws, |stage, draws| {
                let seed = self.seed.named("rank").child(stage.into());
                let mut forwards = Walk::new(kernel, target, guides, self.chains)?;
                let counts = self.ranks(&mut forwards, reversal, &mut statistics, seed, draws)?;
                Ok(Smallest::of(counts.iter().enumerate().map(|(k, c)| (uniform_counts(c), k.to_string()))))
            }));
        }
        for verdict in &mut verdicts {
            if let Ok(k) = verdict.place.parse() {
                verdict.place = statistics.name(k);
            }
        }
        Report::new(title, verdicts)
    }

    /// For each statistic, how often the exact draw had each rank in its path.
    fn ranks<P: ExactDraws + ?Sized, K: Kernel<P>, R: Kernel<P>>(
        &self,
        walk: &mut Walk<'_, '_, P, K>,
        reversal: &R,
        statistics: &mut Statistics,
        seed: Seed,
        draws: usize,
    ) -> Result<Vec<Vec<u64>>, Error> {
        let mut counts = vec![vec![0; self.path + 1]; statistics.count()];
        let mut rows = vec![Vec::with_capacity(self.path + 1); statistics.count()];
        let (middle, ahead, back) = (seed.child(0), seed.child(1), seed.child(2));
        let equal = vec![0.0; self.path + 1];
        for replicate in 0..draws {
            rows.iter_mut().for_each(Vec::clear);
            let chain = replicate % walk.chains;
            let start = walk.start(middle, replicate);
            walk.look(statistics, start.as_ref().column(chain), &mut rows);
            let mut chance = middle.stream(replicate as u64, 1);
            let position = chance.choose(&equal).expect("a path has positions");
            let mut state = walk.kernel.init(walk.target, start.clone())?;
            for slot in position..self.path {
                walk.step(&mut state, ahead, replicate, slot);
                walk.look(statistics, state.chains().positions.as_ref().column(chain), &mut rows);
            }
            let mut backwards = Walk::new(reversal, walk.target, walk.guides, walk.chains)?;
            let mut state = reversal.init(backwards.target, start)?;
            for slot in (0..position).rev() {
                backwards.step(&mut state, back, replicate, slot);
                backwards.look(statistics, state.chains().positions.as_ref().column(chain), &mut rows);
            }
            for (counts, row) in counts.iter_mut().zip(&rows) {
                let below = row.iter().filter(|x| x.total_cmp(&row[0]).is_lt()).count();
                let ties = row.iter().filter(|x| x.total_cmp(&row[0]).is_eq()).count();
                counts[below + chance.choose(&equal[..ties]).expect("a value ties with itself")] += 1;
            }
        }
        Ok(counts)
    }
}

/// The name of a type without the paths of its parts.
fn short(name: &str) -> String {
    let parts = name.split_inclusive(['<', '>', ',', ' ', '&']);
    parts.map(|part| part.rsplit("::").next().unwrap_or(part)).collect()
}

type Rows<'a> = (usize, (&'a Vec<f64>, &'a Vec<f64>));

/// The place is the number of the statistic, its name being looked up once at the end.
fn named<'a>(test: impl Fn(&[f64], &[f64]) -> f64) -> impl FnMut(Rows<'a>) -> (f64, String) {
    move |(k, (a, b))| (test(a, b), k.to_string())
}

/// Mean differences of ranks in the fresh draws, and of their squares around the middle.
fn differences(found: &Draws) -> Smallest {
    let each = found.fresh.iter().zip(found.before.iter().zip(&found.after)).enumerate();
    Smallest::of(each.flat_map(|(k, (fresh, (before, after)))| {
        let reference = sorted(fresh);
        let ranks =
            |values: &[f64]| -> Vec<f64> { values.iter().map(|x| place(&reference, *x) - 0.5).collect() };
        let (before, after) = (ranks(before), ranks(after));
        let difference = |f: fn(f64) -> f64| -> f64 {
            let values: Vec<f64> = before.iter().zip(&after).map(|(b, a)| f(*a) - f(*b)).collect();
            zero_mean(&values)
        };
        [(difference(|u| u), k.to_string()), (difference(|u| u * u), k.to_string())]
    }))
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
