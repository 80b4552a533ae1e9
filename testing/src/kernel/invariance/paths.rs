//! Groups of chains that advance together from exact draws, and what is measured along their paths.

use faer::{Mat, MatRef};
use mcsa_core::{ChainState, Columns, Error, ExactDraws, Kernel, Proposal, Seed, Stream};

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::super::largest;
use super::statistics::{Scores, Statistics, zero_mean};

/// A kernel with its target, proposals and lent memory.
///
/// Between positions `t` and `t + 1` of a path the proposal is `proposals[t mod proposals]`, in both directions of the path. The proposal
/// thus changes between steps, as it does when lambda is learned.
pub(crate) struct Walk<'a, 'g, P: ?Sized, K> {
    pub(crate) kernel: &'a K,
    pub(crate) target: &'a P,
    pub(crate) proposals: &'a mut [&'g mut dyn Proposal],
    pub(crate) chains: usize,
    work: Vec<f64>,
}

impl<'a, 'g, P: ExactDraws + ?Sized, K: Kernel<P>> Walk<'a, 'g, P, K> {
    pub(crate) fn new(
        kernel: &'a K,
        target: &'a P,
        proposals: &'a mut [&'g mut dyn Proposal],
        chains: usize,
    ) -> Result<Self, Error> {
        if proposals.is_empty() || chains == 0 {
            return Err(Error::invalid("a test of invariance needs a proposal and a chain"));
        }
        let work = vec![f64::NAN; kernel.work_len(target, chains)];
        Ok(Self { kernel, target, proposals, chains, work })
    }

    /// Independent exact draws, one per chain.
    pub(crate) fn draw(&self, seed: Seed) -> Mat<f64> {
        let mut positions = Mat::zeros(self.target.dim(), self.chains);
        let mut stream = seed.stream(0, 0);
        (0..self.chains).for_each(|j| self.target.draw_into(&mut stream, positions.col_as_slice_mut(j)));
        positions
    }

    /// Calls `see(slot, positions, target, proposal)` after one transition with the proposal of each slot, from this start. The random
    /// numbers of the start and of the steps are those of two seeds; the proposal seen is the first.
    pub(crate) fn run(
        &mut self,
        start: Mat<f64>,
        [of_start, of_steps]: [Seed; 2],
        slots: impl Iterator<Item = usize>,
        mut see: impl FnMut(usize, MatRef<'_, f64>, &P, &mut dyn Proposal),
    ) -> Result<(), Error> {
        let mut state = self.kernel.start(self.target, start, &mut of_start.streams(self.chains, 0))?;
        let mut lanes = of_steps.streams(self.chains, 0);
        for slot in slots {
            Stream::go_to_step(&mut lanes, slot as u64 + 1);
            let proposal = &mut *self.proposals[slot % self.proposals.len()];
            self.kernel.step(self.target, proposal, &mut state, &mut lanes, &mut self.work);
            see(slot, state.chains().positions.as_ref(), self.target, &mut *self.proposals[0]);
        }
        Ok(())
    }
}

/// Number of evaluations of the statistics per path: more cost time, and add little where neighbours are dependent.
const LOOKS: usize = 8;

/// Number of paths, and steps at which their statistics are evaluated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Number of groups of chains that advance together.
    pub(crate) groups: usize,
    /// Number of transitions of a path.
    pub(crate) steps: usize,
    /// True if each chain of a group counts as a draw; otherwise one chain per group does, in turn.
    pub(crate) every_chain: bool,
}

impl Plan {
    /// Number of transitions between two evaluations; the last one is at the end.
    fn stride(&self) -> usize {
        self.steps.div_ceil(LOOKS)
    }

    fn is_look(&self, step: usize) -> bool {
        (self.steps - step).is_multiple_of(self.stride())
    }

    fn looks(&self) -> usize {
        self.steps.div_ceil(self.stride())
    }
}

/// Statistics along the paths of one stage.
pub(crate) struct Paths {
    /// Statistics of independent exact draws, one row per statistic.
    pub(crate) fresh: Vec<Vec<f64>>,
    /// Statistics at the ends of paths, one row per statistic.
    pub(crate) after: Vec<Vec<f64>>,
    /// First increment of every chain: one row per coordinate, and one of squared lengths.
    pub(crate) increments: Vec<Vec<f64>>,
    /// Number of chains whose end differs from their start.
    pub(crate) moved: usize,
    /// Sums for the tests: per statistic one for its score, then one for the square of its score.
    pub(crate) responses: Vec<Response>,
    groups: f64,
    fresh_draws: f64,
}

/// Sums over groups, where `x` is the group's mean score at the start, `y` along its paths, `d` the change in the first step; and
/// sums over independent draws.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Response {
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
    d: f64,
    dd: f64,
    fresh: f64,
    fresh_squares: f64,
}

impl Response {
    fn add(&mut self, x: f64, y: f64, d: f64) {
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
        self.d += d;
        self.dd += d * d;
    }

    fn add_fresh(&mut self, value: f64) {
        self.fresh += value;
        self.fresh_squares += value * value;
    }

    /// Test that the mean along paths is that of the target. The start of each path is a control variate:
    ///
    /// ```text
    /// mean(y) - b mean(x) - (1 - b) mean(fresh),   b of least variance
    /// ```
    ///
    /// If the kernel's stationary distribution has the mean `mu + delta`, paths have moved by about `delta (1 - r)` towards it,
    /// where `r = cov(x, y) / var(x)` is the remaining correlation with the start (linear response).
    ///
    /// Returns the p-value; the standard error, converted to the deviation `delta` that would shift the paths by it; and mean(fresh).
    fn path(&self, groups: f64, fresh_draws: f64) -> [f64; 3] {
        let (x, y) = (self.x / groups, self.y / groups);
        let covariance = |sum: f64, a: f64, b: f64| (sum - groups * a * b) / (groups - 1.0);
        let (xx, xy, yy) = (covariance(self.xx, x, x), covariance(self.xy, x, y), covariance(self.yy, y, y));
        let fresh = self.fresh / fresh_draws;
        let variance = (self.fresh_squares / fresh_draws - fresh * fresh).max(0.0);
        let reference = variance / fresh_draws;
        let weight = (xy / groups + reference) / (xx / groups + reference);
        let weight = if weight.is_finite() { weight } else { 0.0 };
        let error = y - weight * x - (1.0 - weight) * fresh;
        let noise = (yy - 2.0 * weight * xy + weight * weight * xx).max(0.0) / groups
            + (1.0 - weight) * (1.0 - weight) * reference;
        let p_value = two_sided(error, noise.sqrt(), groups - 1.0);
        [p_value, noise.sqrt() / (1.0 - xy / xx).max(0.0), fresh]
    }

    /// Test that the first step changes no mean.
    fn first(&self, groups: f64) -> f64 {
        let d = self.d / groups;
        let variance = ((self.dd / groups - d * d) / (groups - 1.0)).max(0.0);
        two_sided(d, variance.sqrt(), groups - 1.0)
    }
}

/// p-value of Student's two-sided test for scores of order one; differences that are only rounding count as zero.
fn two_sided(mean: f64, standard_error: f64, freedom: f64) -> f64 {
    if standard_error < 1e-12 {
        return if mean.abs() < 1e-10 { 1.0 } else { 0.0 };
    }
    let student = StudentsT::new(0.0, 1.0, freedom).expect("two groups or more");
    2.0 * student.sf(mean.abs() / standard_error)
}

impl Paths {
    pub(crate) fn new<P: ExactDraws + ?Sized, K: Kernel<P>>(
        walk: &mut Walk<'_, '_, P, K>,
        statistics: &mut Statistics,
        scores: &Scores,
        seed: Seed,
        plan: Plan,
    ) -> Result<Self, Error> {
        let (dim, count, chains) = (statistics.dim(), statistics.count(), walk.chains);
        let empty = |rows: usize| vec![Vec::with_capacity(plan.groups * chains); rows];
        let mut found = Self {
            fresh: empty(count),
            after: empty(count),
            increments: empty(dim + 1),
            moved: 0,
            responses: vec![Response::default(); 2 * count],
            groups: plan.groups as f64,
            fresh_draws: (plan.groups * chains * plan.looks()) as f64,
        };
        let mut values = vec![0.0; count * chains];
        let mut sums = [vec![0.0; 2 * count], vec![0.0; 2 * count], vec![0.0; 2 * count]];
        for group in 0..plan.groups {
            let seed = seed.child(group as u64);
            let before = walk.draw(seed.child(0));
            sums.iter_mut().for_each(|sums| sums.fill(0.0));
            let [start, first, path] = &mut sums;
            statistics.look(walk.target, &mut *walk.proposals[0], before.as_ref(), &mut values);
            add_scores(scores, &values, chains, start);
            let seeds = [seed.child(1); 2];
            walk.run(before.clone(), seeds, 0..plan.steps, |slot, positions, target, proposal| {
                let step = slot + 1;
                if step == 1 || plan.is_look(step) {
                    statistics.look(target, proposal, positions, &mut values);
                }
                if step == 1 {
                    add_scores(scores, &values, chains, first);
                    found.add_increments(before.as_ref(), positions);
                }
                if plan.is_look(step) {
                    add_scores(scores, &values, chains, path);
                }
                if step == plan.steps {
                    let moves = |&j: &usize| positions.column(j) != before.as_ref().column(j);
                    found.moved += (0..chains).filter(moves).count();
                }
            })?;
            keep(&values, chains, plan, group, &mut found.after);
            let (each, looks) = (1.0 / chains as f64, 1.0 / plan.looks() as f64);
            for (k, response) in found.responses.iter_mut().enumerate() {
                response.add(start[k] * each, path[k] * each * looks, (first[k] - start[k]) * each);
            }
        }
        for batch in 0..plan.groups * plan.looks() {
            let fresh = walk.draw(seed.child((plan.groups + batch) as u64));
            statistics.look(walk.target, &mut *walk.proposals[0], fresh.as_ref(), &mut values);
            for k in 0..count {
                for value in &values[k * chains..(k + 1) * chains] {
                    let score = scores.score(k, *value);
                    found.responses[k].add_fresh(score);
                    found.responses[count + k].add_fresh(score * score);
                }
            }
            if batch < plan.groups {
                keep(&values, chains, plan, batch, &mut found.fresh);
            }
        }
        Ok(found)
    }

    fn add_increments(&mut self, before: MatRef<'_, f64>, after: MatRef<'_, f64>) {
        let dim = before.nrows();
        for j in 0..before.ncols() {
            let mut length = 0.0;
            for i in 0..dim {
                let increment = after[(i, j)] - before[(i, j)];
                self.increments[i].push(increment);
                length += increment * increment;
            }
            self.increments[dim].push(length);
        }
    }

    /// p-values of every mean, along paths and after the first step, with their names.
    pub(crate) fn p_values<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = (f64, String)> + 'a {
        self.responses.iter().enumerate().flat_map(move |(k, response)| {
            let moment = if k < names.len() { "mean" } else { "scale" };
            let name = format!("{moment} of {}", names[k % names.len()]);
            let [path, ..] = response.path(self.groups, self.fresh_draws);
            [(path, name.clone()), (response.first(self.groups), format!("{name} after a step"))]
        })
    }

    /// Largest standard error among the means and scales of the first `dim` statistics, in standard deviations: the deviation of
    /// the kernel's stationary distribution that would shift the paths by one standard error.
    pub(crate) fn standard_error(&self, dim: usize) -> f64 {
        let count = self.responses.len() / 2;
        let errors = (0..dim).flat_map(|k| {
            let [_, mean, _] = self.responses[k].path(self.groups, self.fresh_draws);
            // A scale that is wrong by a factor 1 + e changes the mean square by 2 e.
            let [_, scale, square] = self.responses[count + k].path(self.groups, self.fresh_draws);
            [mean / square.sqrt(), scale / (2.0 * square)]
        });
        largest(errors)
    }
}

fn add_scores(scores: &Scores, values: &[f64], chains: usize, sums: &mut [f64]) {
    let count = sums.len() / 2;
    for (k, row) in values.chunks_exact(chains).enumerate() {
        for value in row {
            let score = scores.score(k, *value);
            sums[k] += score;
            sums[count + k] += score * score;
        }
    }
}

/// Appends the statistics of every chain, or of the one that counts as a draw.
fn keep(values: &[f64], chains: usize, plan: Plan, group: usize, rows: &mut [Vec<f64>]) {
    for (row, values) in rows.iter_mut().zip(values.chunks_exact(chains)) {
        if plan.every_chain {
            row.extend_from_slice(values);
        } else {
            row.push(values[group % chains]);
        }
    }
}

/// Histogram of the rank of the exact draw in its path, for each statistic (Gandy and Scott 2020, Alg. 2).
///
/// Unlike the paper, positions are not drawn: they alternate between groups, so that every position has an equal number of
/// draws. Counts then vary less than those of independent uniform ranks, and the chi-square test is conservative.
pub(crate) fn counts<P: ExactDraws + ?Sized, K: Kernel<P>, R: Kernel<P>>(
    walk: &mut Walk<'_, '_, P, K>,
    reversal: &R,
    statistics: &mut Statistics,
    seed: Seed,
    (path, groups, every_chain): (usize, usize, bool),
) -> Result<Vec<Vec<u64>>, Error> {
    let (count, chains) = (statistics.count(), walk.chains);
    let mut counts = vec![vec![0; path + 1]; count];
    let mut rows = vec![vec![0.0; count * chains]; path + 1];
    for group in 0..groups.next_multiple_of(path + 1) {
        let seed = seed.child(group as u64);
        // Both directions start from one state: auxiliary variables are drawn from equal streams.
        let (ahead, back, position) = (seed.child(1), seed.child(2), group % (path + 1));
        let start = walk.draw(seed.child(0));
        statistics.look(walk.target, &mut *walk.proposals[0], start.as_ref(), &mut rows[0]);
        let mut seen = 1;
        let mut see = |_, positions: MatRef<'_, f64>, target: &P, proposal: &mut dyn Proposal| {
            statistics.look(target, proposal, positions, &mut rows[seen]);
            seen += 1;
        };
        walk.run(start.clone(), [ahead; 2], position..path, &mut see)?;
        let mut backwards = Walk::new(reversal, walk.target, walk.proposals, chains)?;
        backwards.run(start, [ahead, back], (0..position).rev(), see)?;
        let mut chance = seed.child(3).stream(0, 0);
        for (k, counts) in counts.iter_mut().enumerate() {
            for j in (0..chains).filter(|&j| every_chain || j == group / (path + 1) % chains) {
                let here = rows[0][k * chains + j];
                let each = || rows.iter().map(|row| row[k * chains + j].total_cmp(&here));
                let below = each().filter(|order| order.is_lt()).count();
                let ties = each().filter(|order| order.is_eq()).count();
                // Ties are broken at random: a chain that stays ties with itself.
                counts[below + chance.index(ties).expect("a value ties with itself")] += 1;
            }
        }
    }
    Ok(counts)
}

/// Number of reference values for the scores of increments.
const REFERENCES: usize = 1_024;

/// p-values for zero correlation between the two chains of a pair, in the scores of their first increments, of the squared
/// length of these, and of every statistic at the end of the path. Pairs are a random matching within each group.
pub(crate) fn p_values(
    paths: &Paths,
    names: &[String],
    chains: usize,
    seed: Seed,
) -> impl Iterator<Item = (f64, String)> {
    let dim = paths.increments.len() - 1;
    let draws = paths.increments[dim].len();
    let mut pairs = Vec::with_capacity(draws / 2);
    let (mut chance, mut order) = (seed.stream(0, 0), (0..chains).collect::<Vec<_>>());
    for first in (0..draws).step_by(chains) {
        for left in (1..chains).rev() {
            order.swap(left, chance.index(left + 1).expect("one is left"));
        }
        pairs.extend(order.chunks_exact(2).map(|pair| (first + pair[0], first + pair[1])));
    }
    let first = (0..=dim).map(move |i| match i {
        i if i < dim => format!("first move of {}", names[i]),
        _ => "length of the first move".into(),
    });
    let end = names.iter().map(|name| format!("{name} at the end"));
    let names: Vec<String> = first.chain(end).collect();
    let rows = paths.increments.iter().chain(&paths.after).map(move |row| correlation(row, &pairs));
    rows.collect::<Vec<_>>().into_iter().zip(names)
}

fn correlation(row: &[f64], pairs: &[(usize, usize)]) -> f64 {
    let stride = row.len().div_ceil(REFERENCES);
    let scores = Scores::of(vec![row.iter().step_by(stride).copied().collect()]);
    let scored: Vec<f64> = row.iter().map(|x| scores.score(0, *x)).collect();
    let mean = scored.iter().sum::<f64>() / scored.len() as f64;
    let products: Vec<f64> = pairs.iter().map(|&(a, b)| (scored[a] - mean) * (scored[b] - mean)).collect();
    zero_mean(&products)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_look_is_at_the_end() {
        for steps in 1..40 {
            let plan = Plan { groups: 1, steps, every_chain: true };
            let looks = (1..=steps).filter(|&step| plan.is_look(step)).count();
            assert!(looks == plan.looks() && looks <= LOOKS && plan.is_look(steps), "{steps}");
        }
    }

    /// Paths that never move are no evidence, and a difference without noise has p-value 0.
    #[test]
    fn standing_still_is_no_evidence() {
        let mut still = Response::default();
        for k in 0..10 {
            let x = f64::from(k % 3);
            still.add(x, x, 0.0);
            still.add_fresh(x);
        }
        let [p_value, standard_error, _] = still.path(10.0, 10.0);
        assert!(p_value > 0.99 && !(standard_error <= 1.0), "{p_value} {standard_error}");
        assert_eq!(still.first(10.0), 1.0);
        assert_eq!((two_sided(0.0, 0.0, 9.0), two_sided(1.0, 0.0, 9.0)), (1.0, 0.0));
    }
}
