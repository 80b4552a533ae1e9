//! Chains as the answer: No-U-turn chains whose metric is learnt from their draws and gradients, then frozen.

use std::fmt;

use faer::Mat;
use mcsa_core::{Error, Gradient, Seed, bits, counted};
use mcsa_diagnostics::r_hat;
use mcsa_families::{Probes, choose_drivers, fit_conditional, probe};
use serde::{Deserialize, Serialize};

use super::metric::Metric;
use super::mixing::{Mixing, split};
use super::round::{Block, Round, Walk, gradients};
use crate::posterior::density::side_by_side::Shared;

/// Chains on their way to draws of equal weight.
///
/// ```text
/// scales        each chain tunes a step size of its own; after each round a scale per parameter is learnt; some rounds more while chains arrive
/// dense         chains whose R-hat in a round is small, that take many gradients a step, or that have no drivers, learn a dense metric, in up to
///               400 dimensions
/// conditional   where a part of the posterior is too narrow for one metric, some parameters, the drivers, set location and scale of the others
/// frozen        coordinates and step sizes stay: the chains are exact for p, and their draws count
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sampler {
    #[serde(with = "bits::matrix")]
    positions: Mat<f64>,
    metric: Metric,
    /// Logarithms of the step sizes of the chains.
    #[serde(with = "bits::vector")]
    steps: Vec<f64>,
    round: usize,
    phase: Phase,
    /// Largest R-hat of each round so far but for those whose draws count.
    #[serde(with = "bits::vector")]
    r_hats: Vec<f64>,
    /// How often better coordinates were looked for in place of more draws that count.
    frozen: usize,
    /// The draws that were given up last: the chains end with them if a limit leaves fewer.
    given_up: Option<Before>,
    /// True if chains were seen to stay apart, and what they had before the first conditional coordinates.
    were_apart: bool,
    way_back: Option<Before>,
    /// Looks for drivers of the conditional coordinates.
    probes: Vec<Probes>,
    /// Draws of the last round before the frozen ones.
    last: Option<Block>,
    /// Frozen blocks.
    blocks: Vec<Block>,
}

/// Chains before they took other coordinates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Before {
    #[serde(with = "bits::matrix")]
    positions: Mat<f64>,
    metric: Metric,
    #[serde(with = "bits::vector")]
    steps: Vec<f64>,
    blocks: Vec<Block>,
}

/// What the next round is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    /// To find the posterior, with scales as metric.
    Scales,
    /// To learn a dense metric, which was learnt so many times.
    Dense(usize),
    /// To learn conditional coordinates, which were learnt so many times.
    Conditional(usize),
    /// To tune the step sizes with the final coordinates.
    Tune,
    /// Draws that count.
    Frozen,
    /// Nothing: the draws suffice, or more of them would not help.
    Ended,
}

/// Number of chains.
pub(crate) const CHAINS: usize = 8;
/// Lengths of the rounds with scales, at most.
const ROUNDS: [usize; 10] = [10, 10, 10, 15, 15, 20, 20, 30, 40, 60];
/// Length of a round from which on chains can agree.
const LEAST_AGREED: usize = 30;
/// Largest R-hat of a round of chains that agree.
const AGREED: f64 = 1.1;
/// Largest dimension of a dense metric, and largest R-hat after which wider chains tune their steps: of so many parameters some are a little
/// above the other limit.
const WIDEST: usize = 400;
const NEARLY: f64 = 1.2;
/// Gradients of a step, on average, from which on scales are a poor metric, and the largest R-hat of a round that then learns a dense one: on a
/// Gaussian it is exact whatever the draws, if they span the space.
const STIFF: u64 = 200;
const SOFT: f64 = 1.5;
/// The first round after which chains may be seen to stay apart, the least R-hat of such chains, and the least ratio to R-hat two rounds before.
const APART: (usize, f64, f64) = (7, 1.3, 0.8);
/// Lengths of the round that learns a dense metric, with at least three draws per dimension, and of the last.
const DENSE_ROUND: usize = 60;
const TUNE: usize = 50;
/// Lengths of the rounds that learn conditional coordinates, and most draws of which they learn.
const CONDITIONAL: [usize; 4] = [30, 40, 60, 60];
const LEARNT: usize = 1_000;
/// Acceptance at which the step sizes aim, with one metric and in conditional coordinates.
const ACCEPTANCE: (f64, f64) = (0.8, 0.9);
/// Depths of trees, in the first rounds, in those that learn conditional coordinates, of which some are poor, and otherwise.
const SHALLOW: [usize; 7] = [5, 5, 5, 6, 6, 7, 7];
const LEARNING: usize = 6;
const DEPTH: usize = 10;
/// Rounds in which a chain may come from far away with small steps, and the step size, as a share of the middle chain's, of one that hardly moves.
const EARLY: usize = 5;
const HARDLY: f64 = 0.1;
/// Fall of the log density from the highest chain, per dimension, of one that has not arrived: for p to have mass there, it would be wider
/// by `e^30` along every axis.
const FALL: f64 = 30.0;
/// Fall of the log density from that of a mode, per dimension, of a start that is far away.
pub(crate) const FAR: f64 = 100.0;
/// Most rounds with scales that follow while a chain arrives late, and the rise of its log density within a round, per dimension.
const MORE: usize = 4;
const RISE: f64 = 5.0;
/// Step size in the first round.
const FIRST_STEP: f64 = 0.2;
/// Most times that draws which count are given up for better coordinates.
const MOST_FROZEN: usize = 3;
/// Draws of a block, as a share of those that are wanted.
const BLOCK: usize = 4;
/// Steps of a chain in the shortest block, of what a limit leaves.
const SHORTEST: usize = 10;
/// Numbers of blocks at which the diagnostics decide: few, so that the first R-hat below its limit is not waited for. At the first they can
/// only end the draws. A limit may end them before.
const LOOKS: [usize; 5] = [1, 4, 6, 9, 16];

impl Sampler {
    /// Chains that begin at the columns of `starts`.
    pub(crate) fn new(starts: Mat<f64>, target: &dyn Gradient) -> Self {
        let metric = Metric::of_gradients(&gradients(target, &starts));
        let steps = vec![FIRST_STEP.ln(); starts.ncols()];
        Self::with(starts, metric, steps)
    }

    /// Chains at these positions, with logarithms of their step sizes.
    fn with(positions: Mat<f64>, metric: Metric, steps: Vec<f64>) -> Self {
        Self {
            positions,
            metric,
            steps,
            round: 0,
            phase: Phase::Scales,
            r_hats: Vec::new(),
            frozen: 0,
            given_up: None,
            were_apart: false,
            way_back: None,
            probes: Vec::new(),
            last: None,
            blocks: Vec::new(),
        }
    }

    /// True if nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// True if the draws of the next round count.
    pub(crate) fn is_frozen(&self) -> bool {
        self.phase == Phase::Frozen
    }

    /// True if draws that count were made.
    pub(crate) fn has_draws(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// The draws that count, or those of the last round.
    pub(crate) fn latest(&self) -> Option<Mat<f64>> {
        if self.has_draws() {
            Some(self.points())
        } else {
            self.last.as_ref().map(|last| last.points.clone())
        }
    }

    /// Ends the chains with the draws that they have, or with those given up if these are more.
    pub(crate) fn end(&mut self) {
        self.phase = Phase::Ended;
        if let Some(before) = self.given_up.take_if(|before| before.blocks.len() > self.blocks.len()) {
            self.go_back(before);
        }
    }

    /// What the chains have now, and its blocks, which are taken.
    fn take_before(&mut self) -> Before {
        Before {
            positions: self.positions.clone(),
            metric: self.metric.clone(),
            steps: self.steps.clone(),
            blocks: std::mem::take(&mut self.blocks),
        }
    }

    fn go_back(&mut self, Before { positions, metric, steps, blocks }: Before) {
        (self.positions, self.metric, self.steps, self.blocks) = (positions, metric, steps, blocks);
    }

    /// Largest R-hat of the last round.
    fn agreement(&self) -> f64 {
        self.r_hats.last().copied().unwrap_or(f64::INFINITY)
    }

    /// The next round, and the number of its steps, 0 if a limit ended it: where `goes_on` becomes false, the chains end. Draws that count are so
    /// few that they fit into the budget, with `most` steps of a chain.
    ///
    /// # Errors
    /// If coordinates degenerate.
    pub(crate) fn advance(
        &mut self,
        target: Shared<'_>,
        wanted: usize,
        most: usize,
        seed: Seed,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<usize, Error> {
        let chains = self.positions.ncols();
        let length = match self.phase {
            Phase::Scales => ROUNDS[self.round.min(ROUNDS.len() - 1)],
            Phase::Dense(_) => DENSE_ROUND.max(3 * self.positions.nrows() / chains),
            Phase::Conditional(times) => CONDITIONAL[times],
            Phase::Tune => TUNE,
            Phase::Frozen => wanted.div_ceil(BLOCK * chains).min(most.max(SHORTEST)),
            Phase::Ended => return Ok(0),
        };
        let seed = seed.named("sampler").child(self.round as u64);
        let Some(block) = self.run(target, length, seed, goes_on)? else {
            self.end();
            return Ok(0);
        };
        self.round += 1;
        if self.phase == Phase::Frozen {
            self.blocks.push(block);
            self.look(target.gradient);
        } else {
            self.learn(target.gradient, block);
        }
        Ok(length * chains)
    }

    /// Steps of all chains, side by side; `None` if a limit ended them.
    fn run(
        &mut self,
        target: Shared<'_>,
        length: usize,
        seed: Seed,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Block>, Error> {
        let is_conditional = matches!(self.metric, Metric::Conditional(_));
        let round = Round {
            metric: &self.metric,
            length,
            depth: match self.phase {
                Phase::Conditional(_) => LEARNING,
                _ => SHALLOW.get(self.round).copied().unwrap_or(DEPTH),
            },
            acceptance: if is_conditional { ACCEPTANCE.1 } else { ACCEPTANCE.0 },
            is_first: self.round == 0,
            is_frozen: self.phase == Phase::Frozen,
            seed,
        };
        let walk = |j: usize, gradient: &dyn Gradient| {
            round.walk(gradient, j, self.positions.col_as_slice(j), self.steps[j], goes_on)
        };
        let walks = target.each(self.positions.ncols(), walk);
        let walks = walks.into_iter().collect::<Result<Option<Vec<Walk>>, _>>()?;
        // A limit within the last steps ends no walk.
        let Some(walks) = walks.filter(|_| goes_on()) else { return Ok(None) };
        let block = Block::of(&walks);
        for (j, walk) in walks.iter().enumerate() {
            self.positions.col_mut(j).copy_from(block.points.col((j + 1) * length - 1));
            self.steps[j] = walk.step;
        }
        if self.phase != Phase::Frozen {
            self.move_stuck(&walks);
        }
        Ok(Some(block))
    }

    /// A chain that has not moved, or in later rounds hardly moves or has not arrived, goes on from the place of the chain with the middle step
    /// size of those that have.
    fn move_stuck(&mut self, walks: &[Walk]) {
        let last = |walk: &Walk| walk.block.log_p.last().copied().unwrap_or(f64::NEG_INFINITY);
        let moving = walks.iter().filter(|walk| walk.has_moved);
        let far = moving.map(last).fold(f64::NEG_INFINITY, f64::max) - FALL * self.positions.nrows() as f64;
        let mut arrived: Vec<usize> =
            (0..walks.len()).filter(|&j| walks[j].has_moved && last(&walks[j]) >= far).collect();
        arrived.sort_by(|&a, &b| self.steps[a].total_cmp(&self.steps[b]));
        let Some(&middle) = arrived.get(arrived.len() / 2) else { return };
        let (place, step) = (self.positions.col(middle).to_owned(), self.steps[middle]);
        for (j, walk) in walks.iter().enumerate() {
            let is_slow = self.steps[j] < step + HARDLY.ln() || last(walk) < far;
            if !walk.has_moved || is_slow && self.round >= EARLY {
                self.positions.col_mut(j).copy_from(&place);
                self.steps[j] = step;
            }
        }
    }

    /// Coordinates from a round, and what follows.
    fn learn(&mut self, target: &dyn Gradient, block: Block) {
        let (dim, chains) = self.positions.shape();
        let length = block.log_p.len() / chains;
        let r_hats = (0..dim).map(|i| r_hat(&split(&block.points, chains, i)));
        let agreement = r_hats.fold(1.0, |a, b| if b <= a || a.is_nan() { a } else { b });
        self.r_hats.push(agreement);
        self.phase = match self.phase {
            Phase::Scales => {
                // The second half of a round; its first half is the way to where it is.
                let half = |all: &Mat<f64>| {
                    let kept = length - length / 2;
                    Mat::from_fn(dim, chains * kept, |i, c| {
                        all[(i, c / kept * length + length / 2 + c % kept)]
                    })
                };
                let is_late = self.is_late(&block);
                let is_stiff = block.leapfrogs >= STIFF * block.log_p.len() as u64;
                let may_be_dense = agreement <= SOFT && !is_late && dim <= WIDEST;
                if is_stiff
                    && may_be_dense
                    && let Some(dense) = self.metric.dense(block.white.as_ref(), block.slopes.as_ref())
                {
                    self.metric = dense;
                    self.take_white();
                    self.last = Some(block);
                    self.phase = Phase::Dense(0);
                    return;
                }
                self.metric = self.metric.clone().rescaled(
                    half(&block.white).as_ref(),
                    half(&block.slopes).as_ref(),
                    chains,
                );
                self.last = Some(block);
                match agreement <= AGREED && length >= LEAST_AGREED {
                    true if dim <= WIDEST => Phase::Dense(0),
                    true => Phase::Tune,
                    false if self.round < ROUNDS.len() && !self.stays_apart(is_late) => Phase::Scales,
                    false if self.round < ROUNDS.len() => {
                        let before = self.take_before();
                        self.were_apart = true;
                        let phase = self.condition(target, 0, Phase::Scales);
                        self.way_back = (phase != Phase::Scales).then_some(before);
                        phase
                    }
                    false if self.round < ROUNDS.len() + MORE && is_late => Phase::Scales,
                    false => {
                        let otherwise = match () {
                            () if dim <= WIDEST => Phase::Dense(0),
                            () if agreement <= NEARLY => Phase::Tune,
                            () => Phase::Ended,
                        };
                        self.condition(target, 0, otherwise)
                    }
                }
            }
            Phase::Dense(times) => {
                if let Some(dense) = self.metric.dense(block.white.as_ref(), block.slopes.as_ref()) {
                    self.metric = dense;
                }
                self.last = Some(block);
                match times {
                    0 => Phase::Dense(1),
                    _ if agreement <= AGREED => Phase::Tune,
                    _ => self.condition(target, 0, Phase::Tune),
                }
            }
            Phase::Conditional(times) => {
                self.last = Some(block);
                let is_better = matches!(self.r_hats[..], [.., before, _] if agreement < before);
                match self.way_back.take() {
                    Some(before) if !is_better => {
                        self.go_back(before);
                        Phase::Scales
                    }
                    _ if times + 1 < CONDITIONAL.len() => self.condition(target, times + 1, Phase::Ended),
                    _ => match self.condition(target, times, Phase::Ended) {
                        Phase::Conditional(_) => Phase::Tune,
                        phase => phase,
                    },
                }
            }
            Phase::Tune => Phase::Frozen,
            phase => phase,
        };
        if self.phase == Phase::Frozen {
            // One step size for all: that of the middle chain.
            let mut sorted = self.steps.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            self.steps.fill(sorted[chains / 2]);
        }
    }

    /// True if chains that have arrived disagree, no less than two rounds before: scales do not bring them together.
    fn stays_apart(&self, is_late: bool) -> bool {
        let [.., before, _, agreement] = self.r_hats[..] else { return false };
        let has_arrived = !is_late && !self.were_apart && self.round >= APART.0;
        has_arrived && agreement > APART.1 && agreement > APART.2 * before
    }

    /// True if a chain came from far below in a round, or was put at the place of another after it: R-hat is that of the way.
    fn is_late(&self, block: &Block) -> bool {
        let (dim, chains) = self.positions.shape();
        let length = block.log_p.len() / chains;
        (0..chains).any(|j| {
            let (first, last) = (j * length, (j + 1) * length - 1);
            let rise = block.log_p[last] - block.log_p[first];
            rise > RISE * dim as f64 || self.positions.col(j) != block.points.col(last)
        })
    }

    /// First step sizes in coordinates in which p is about standard normal.
    fn take_white(&mut self) {
        let dim = self.positions.nrows() as f64;
        self.steps.fill((0.5 * dim.powf(-0.25)).ln());
    }

    /// Conditional coordinates from the last draws, and the phase that follows: `otherwise` if they cannot be fitted and there are none yet.
    fn condition(&mut self, target: &dyn Gradient, times: usize, otherwise: Phase) -> Phase {
        let chains = self.positions.ncols();
        let Some(last) = &self.last else { return otherwise };
        let length = last.log_p.len() / chains;
        let step = (chains * length).div_ceil(LEARNT);
        let places: Vec<usize> = (0..chains * length).step_by(step.max(1)).collect();
        let draws = Mat::from_fn(last.points.nrows(), places.len(), |i, c| last.points[(i, places[c])]);
        let chain: Vec<usize> = places.iter().map(|c| c / length).collect();
        let fitted = probe(target, draws.as_ref()).and_then(|probes| {
            self.probes.push(probes);
            let drivers = choose_drivers(&self.probes);
            if drivers.is_empty() {
                return Err(Error::invalid("no driver was found"));
            }
            fit_conditional(draws.as_ref(), gradients(target, &draws).as_ref(), &chain, &drivers)
        });
        match fitted {
            Ok(fitted) => {
                if times == 0 {
                    self.take_white();
                }
                self.metric = Metric::Conditional(fitted.map);
                Phase::Conditional(times)
            }
            // The next round keeps the coordinates.
            Err(_) if matches!(self.metric, Metric::Conditional(_)) => Phase::Conditional(times),
            Err(_) => otherwise,
        }
    }

    /// Ends the chains if their draws suffice; begins conditional coordinates if more of them would not help.
    fn look(&mut self, target: &dyn Gradient) {
        let made = self.blocks.len();
        if !LOOKS.contains(&made) {
            return;
        }
        let (mixing, is_last) = (self.mixing(), made == LOOKS[LOOKS.len() - 1]);
        if made > LOOKS[0] && mixing.suffices() {
            self.phase = Phase::Ended;
        } else if is_last || mixing.r_hat > AGREED || mixing.diverges() {
            self.phase = Phase::Ended;
            if self.frozen < MOST_FROZEN {
                self.frozen += 1;
                let is_new = !matches!(self.metric, Metric::Conditional(_));
                self.last = self.blocks.last().cloned();
                let times = if is_new { 0 } else { CONDITIONAL.len() - 1 };
                let before = self.take_before();
                self.phase = self.condition(target, times, Phase::Ended);
                if self.phase != Phase::Ended {
                    self.given_up = Some(before);
                    return;
                }
                self.blocks = before.blocks;
            }
            let all = mixing.steps * LOOKS[LOOKS.len() - 1] as u64 / made as u64;
            if !is_last && mixing.r_hat <= AGREED && !mixing.diverges_among(all) {
                // The divergent steps may be few enough among more draws.
                self.phase = Phase::Frozen;
            }
        }
    }

    /// The end of one further chain with the frozen metric and step size; `None` if a limit ended it.
    pub(crate) fn probe(
        &self,
        target: Shared<'_>,
        start: Mat<f64>,
        length: usize,
        seed: Seed,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Mat<f64>>, Error> {
        let one = Self::with(start, self.metric.clone(), self.steps[..1].to_vec());
        let mut one = Self { round: self.round, phase: Phase::Frozen, ..one };
        Ok(one.run(target, length, seed, goes_on)?.map(|_| one.positions))
    }

    /// Parameters that set location and scale of the others, in conditional coordinates.
    pub(crate) fn drivers(&self) -> Option<&[usize]> {
        match &self.metric {
            Metric::Conditional(map) => Some(map.drivers()),
            _ => None,
        }
    }

    /// Diagnostics of the draws that count.
    pub(crate) fn mixing(&self) -> Mixing {
        let chains = self.positions.ncols();
        Mixing::of(
            chains,
            [self.points(), self.joined(|block| &block.white), self.joined(|block| &block.slopes)],
            self.drivers(),
            self.blocks.iter().map(|block| block.divergences).sum(),
        )
    }

    /// Columns of all blocks, chain after chain.
    fn joined(&self, of: impl Fn(&Block) -> &Mat<f64>) -> Mat<f64> {
        let (dim, chains) = self.positions.shape();
        let lengths: Vec<usize> = self.blocks.iter().map(|block| block.log_p.len() / chains).collect();
        let mut all = Mat::zeros(dim, chains * lengths.iter().sum::<usize>());
        let mut place = 0;
        for j in 0..chains {
            for (block, length) in self.blocks.iter().zip(&lengths) {
                all.subcols_mut(place, *length).copy_from(of(block).subcols(j * length, *length));
                place += length;
            }
        }
        all
    }

    /// All draws in the coordinates of the target, chain after chain.
    pub(crate) fn points(&self) -> Mat<f64> {
        self.joined(|block| &block.points)
    }

    /// Log densities of all draws, chain after chain.
    pub(crate) fn log_p(&self) -> Vec<f64> {
        let chains = self.positions.ncols();
        let part = |block: &Block, j: usize| {
            block.log_p.chunks(block.log_p.len() / chains).nth(j).unwrap_or_default().to_vec()
        };
        (0..chains).flat_map(|j| self.blocks.iter().flat_map(move |block| part(block, j))).collect()
    }
}

impl fmt::Display for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", counted(self.round, "round"))?;
        match self.blocks.len() {
            0 if self.agreement().is_infinite() => Ok(()),
            0 => write!(f, ", R-hat {:.2}", self.agreement()),
            blocks => write!(f, ", draws in {}", counted(blocks, "block")),
        }
    }
}

#[cfg(test)]
mod tests {
    use mcsa_core::{ExactDraws, Transport};
    use mcsa_models::{Funnel, Gaussian};

    use super::*;
    use crate::posterior::Target;

    #[test]
    fn coordinates_stay_where_no_better_ones_can_be_fitted() {
        let funnel = Funnel::new(4, 3.0).expect("a funnel");
        let (mut points, mut stream) = (Mat::zeros(4, 240), Seed::new(1).stream(0, 0));
        (0..240).for_each(|j| funnel.draw_into(&mut stream, points.col_as_slice_mut(j)));
        let block = |points: Mat<f64>| Block {
            slopes: gradients(&funnel, &points),
            white: points.clone(),
            points,
            log_p: vec![0.0; 240],
            divergences: 0,
            leapfrogs: 0,
        };
        let stuck = Mat::from_fn(4, 240, |i, j| if i == 1 { 0.5 } else { points[(i, j)] });
        let starts = Mat::from_fn(4, CHAINS, |i, j| points[(i, j)]);
        let mut sampler = Sampler { last: Some(block(stuck.clone())), ..Sampler::new(starts, &funnel) };
        assert_eq!(sampler.condition(&funnel, 0, Phase::Ended), Phase::Ended);
        sampler.last = Some(block(points));
        assert_eq!(sampler.condition(&funnel, 0, Phase::Ended), Phase::Conditional(0));
        let fitted = sampler.metric.clone();
        sampler.last = Some(block(stuck));
        assert_eq!(sampler.condition(&funnel, 1, Phase::Ended), Phase::Conditional(1));
        assert_eq!(sampler.metric, fitted);
    }

    /// Chains that still disagree after the last round with scales learn conditional coordinates, or a dense metric where there are no drivers.
    #[test]
    fn chains_that_disagree_learn_conditional_coordinates_or_a_dense_metric() {
        let (gaussian, funnel) = (Gaussian::standard(4), Funnel::new(4, 3.0).expect("a funnel"));
        let mut stream = Seed::new(3).stream(0, 0);
        let length = ROUNDS[ROUNDS.len() - 1];
        // The first chain is apart in its first coordinate.
        let mut points = Mat::from_fn(4, CHAINS * length, |_, _| stream.normal());
        (0..length).for_each(|c| points[(0, c)] += 3.0);
        let block = |target: &dyn Gradient| Block {
            slopes: gradients(target, &points),
            white: points.clone(),
            points: points.clone(),
            log_p: vec![0.0; CHAINS * length],
            divergences: 0,
            leapfrogs: 0,
        };
        let cases: [(&dyn Gradient, &[Phase]); 2] = [
            (&gaussian, &[Phase::Scales, Phase::Dense(0), Phase::Dense(1), Phase::Tune]),
            (&funnel, &[Phase::Scales, Phase::Conditional(0), Phase::Conditional(1)]),
        ];
        for (target, phases) in cases {
            let ends = Mat::from_fn(4, CHAINS, |i, j| points[(i, (j + 1) * length - 1)]);
            let mut sampler = Sampler::new(ends, target);
            sampler.round = ROUNDS.len() - 1;
            for phase in phases {
                sampler.learn(target, block(target));
                sampler.round += 1;
                assert!(sampler.agreement() > AGREED);
                assert_eq!(sampler.phase, *phase);
            }
        }
    }

    /// Chains that have arrived and stay apart learn conditional coordinates before the last round with scales; where these do not bring them together,
    /// they go back.
    #[test]
    fn chains_that_stay_apart_try_conditional_coordinates_sooner() {
        let (gaussian, funnel) = (Gaussian::standard(4), Funnel::new(4, 3.0).expect("a funnel"));
        let mut stream = Seed::new(3).stream(0, 0);
        let length = ROUNDS[APART.0 - 1];
        let together = Mat::from_fn(4, CHAINS * length, |_, _| stream.normal());
        // The first chain is apart in its first coordinate.
        let mut points = together.clone();
        (0..length).for_each(|c| points[(0, c)] += 6.0);
        let block = |target: &dyn Gradient, points: &Mat<f64>, rise: f64| {
            let mut log_p = vec![0.0; CHAINS * length];
            log_p[length - 1] = rise;
            let (points, white, slopes) = (points.clone(), points.clone(), gradients(target, points));
            Block { points, white, slopes, log_p, divergences: 0, leapfrogs: 0 }
        };
        let ends = Mat::from_fn(4, CHAINS, |i, j| points[(i, (j + 1) * length - 1)]);
        let cases: [(&dyn Gradient, usize, f64, f64, Phase); 5] = [
            (&funnel, APART.0, 1.5, 0.0, Phase::Conditional(0)),
            // Without drivers, in an earlier round, on the way together, and while a chain arrives.
            (&gaussian, APART.0, 1.5, 0.0, Phase::Scales),
            (&funnel, APART.0 - 1, 1.5, 0.0, Phase::Scales),
            (&funnel, APART.0, 20.0, 0.0, Phase::Scales),
            (&funnel, APART.0, 1.5, 4.0 * RISE + 1.0, Phase::Scales),
        ];
        for (target, round, before, rise, phase) in cases {
            let mut sampler = Sampler { round, ..Sampler::new(ends.clone(), target) };
            sampler.r_hats = vec![before, 2.0];
            sampler.learn(target, block(target, &points, rise));
            assert_eq!(sampler.phase, phase, "round {round}, R-hat {} after {before}", sampler.agreement());
            if phase == Phase::Scales {
                continue;
            }
            for (points, phase) in [(&together, Phase::Conditional(1)), (&points, Phase::Scales)] {
                let mut sampler = sampler.clone();
                sampler.positions = Mat::zeros(4, CHAINS);
                let mut next = block(target, points, 0.0);
                // Farther apart than before.
                (0..length).for_each(|c| next.points[(0, c)] *= 2.0);
                sampler.learn(target, if phase == Phase::Scales { next } else { block(target, points, 0.0) });
                assert_eq!(sampler.phase, phase);
                assert_eq!(sampler.positions == ends, phase == Phase::Scales);
                assert_eq!(matches!(sampler.metric, Metric::Scales(_)), phase == Phase::Scales);
                // A second time they are not taken before the last round.
                let mut again = Sampler { r_hats: vec![2.0; 2], phase: Phase::Scales, ..sampler };
                again.learn(target, block(target, &together, 0.0));
                assert!(again.phase != Phase::Conditional(0));
            }
        }
    }

    /// A round more follows while a chain arrives, or was put elsewhere, a few times; the way down is no arrival.
    #[test]
    fn chains_that_arrive_late_have_further_rounds_with_scales() {
        let gaussian = Gaussian::standard(4);
        let mut stream = Seed::new(3).stream(0, 0);
        let length = ROUNDS[ROUNDS.len() - 1];
        let mut points = Mat::from_fn(4, CHAINS * length, |_, _| stream.normal());
        (0..length).for_each(|c| points[(0, c)] += 3.0);
        let ends = Mat::from_fn(4, CHAINS, |i, j| points[(i, (j + 1) * length - 1)]);
        let moved = Mat::from_fn(4, CHAINS, |i, j| ends[(i, if j == 5 { 2 } else { j })]);
        for (rise, positions, before, is_late) in [
            (RISE * 4.0 + 1.0, &ends, 0, true),
            (RISE * 4.0 - 1.0, &ends, 0, false),
            (-100.0, &ends, 0, false),
            (0.0, &moved, 0, true),
            (0.0, &moved, MORE, false),
        ] {
            let mut sampler = Sampler::new(positions.clone(), &gaussian);
            sampler.round = ROUNDS.len() + before;
            let (slopes, white) = (gradients(&gaussian, &points), points.clone());
            let mut log_p = vec![0.0; CHAINS * length];
            log_p[4 * length - 1] = rise;
            let block = Block { points: points.clone(), white, slopes, log_p, divergences: 0, leapfrogs: 0 };
            sampler.learn(&gaussian, block);
            assert_eq!(sampler.phase == Phase::Scales, is_late, "{rise} {before}");
        }
    }

    /// A normal with standard deviations 1.41 along the diagonal and 0.042 across: scales cannot show it, and steps take many gradients.
    #[test]
    fn chains_that_take_many_gradients_a_step_learn_a_dense_metric() {
        let covariance = faer::mat![[1.0009, 0.9991], [0.9991, 1.0009]];
        let gaussian = Gaussian::new(vec![0.0; 2], covariance.as_ref()).expect("a normal");
        let length = ROUNDS[6];
        for (leapfrogs, apart, phase) in [
            (STIFF, 0.0, Phase::Dense(0)),
            (STIFF - 1, 0.0, Phase::Scales),
            // Chains that are elsewhere: R-hat is above its limit.
            (STIFF, 10.0, Phase::Scales),
        ] {
            let mut stream = Seed::new(5).stream(0, 0);
            let mut points = Mat::zeros(2, CHAINS * length);
            for c in 0..CHAINS * length {
                let (along, across) = (stream.normal(), 0.03 * stream.normal());
                let centre = if c < 4 * length { apart } else { 0.0 };
                (points[(0, c)], points[(1, c)]) = (centre + along + across, centre + along - across);
            }
            let ends = Mat::from_fn(2, CHAINS, |i, j| points[(i, (j + 1) * length - 1)]);
            let mut sampler = Sampler::new(ends, &gaussian);
            sampler.metric = Metric::Scales(vec![1.0; 2]);
            sampler.round = 7;
            let (slopes, log_p) = (gradients(&gaussian, &points), vec![0.0; CHAINS * length]);
            let leapfrogs = leapfrogs * log_p.len() as u64;
            let white = points.clone();
            sampler.learn(&gaussian, Block { points, white, slopes, log_p, divergences: 0, leapfrogs });
            assert_eq!(sampler.phase, phase, "R-hat {}", sampler.agreement());
            if phase == Phase::Scales {
                continue;
            }
            // Variances along and across, of the metric.
            let mut image = [[0.0; 2]; 2];
            for (k, image) in image.iter_mut().enumerate() {
                let unit = [f64::from(k == 0), f64::from(k == 1)];
                sampler.metric.image_into(&unit, image, &mut vec![0.0; sampler.metric.work_len()]);
            }
            for (sign, expected) in [(1.0, 2.0), (-1.0, 0.0018)] {
                let variance = image.iter().map(|z| 0.5 * (z[0] + sign * z[1]).powi(2)).sum::<f64>();
                assert!((variance / expected - 1.0).abs() < 0.02, "{variance}");
            }
        }
    }

    /// A moving chain that ends 40 per dimension below the highest goes on from the place of another; one that ends 20 below stays.
    #[test]
    fn a_chain_far_below_the_others_leaves_its_place() {
        let gaussian = Gaussian::standard(2);
        for (fall, leaves) in [(40.0, true), (20.0, false)] {
            let places = Mat::from_fn(2, CHAINS, |_, j| j as f64);
            let mut sampler = Sampler { round: EARLY, ..Sampler::new(places, &gaussian) };
            let walk = |j: usize| Walk {
                block: Block {
                    points: Mat::zeros(2, 1),
                    white: Mat::zeros(2, 1),
                    slopes: Mat::zeros(2, 1),
                    log_p: vec![if j == 3 { -2.0 * fall } else { 0.0 }],
                    divergences: 0,
                    leapfrogs: 0,
                },
                step: FIRST_STEP.ln(),
                has_moved: true,
            };
            sampler.move_stuck(&(0..CHAINS).map(walk).collect::<Vec<_>>());
            assert_eq!(sampler.positions[(0, 3)] != 3.0, leaves, "{fall}");
        }
    }

    /// In more than 400 dimensions there is no dense metric: chains go on if they nearly agree.
    #[test]
    fn wide_chains_that_nearly_agree_tune_their_steps() {
        let dim = WIDEST + 1;
        let gaussian = Gaussian::standard(dim);
        let length = ROUNDS[ROUNDS.len() - 1];
        for (apart, phase) in [(2.0, Phase::Tune), (5.0, Phase::Ended)] {
            let mut stream = Seed::new(3).stream(0, 0);
            let mut points = Mat::from_fn(dim, CHAINS * length, |_, _| stream.normal());
            (0..length).for_each(|c| points[(0, c)] += apart);
            let ends = Mat::from_fn(dim, CHAINS, |i, j| points[(i, (j + 1) * length - 1)]);
            let mut sampler = Sampler::new(ends, &gaussian);
            sampler.round = ROUNDS.len();
            let (slopes, log_p) = (gradients(&gaussian, &points), vec![0.0; CHAINS * length]);
            sampler.learn(
                &gaussian,
                Block { slopes, white: points.clone(), points, log_p, divergences: 0, leapfrogs: 0 },
            );
            assert!(sampler.agreement() > AGREED);
            assert_eq!(sampler.phase, phase, "R-hat {}", sampler.agreement());
        }
    }

    /// A chain with tiny steps, and one that begins at a distance of 1e4.
    #[test]
    fn a_chain_that_hardly_moves_or_is_far_away_goes_on_from_the_place_of_another() {
        let gaussian = Gaussian::standard(3);
        let target = Target::with_gradient(&gaussian);
        for (distance, step) in [(1.0, 1e-9_f64), (1e4, FIRST_STEP)] {
            for (round, is_early) in [(EARLY - 1, true), (EARLY, false)] {
                let starts =
                    Mat::from_fn(3, CHAINS, |i, j| if j == 2 { distance } else { 0.1 * (i + j) as f64 });
                let mut sampler = Sampler { round, ..Sampler::new(starts, &gaussian) };
                sampler.steps[2] = step.ln();
                target.gate().open(1_000_000, 0);
                sampler.run(target.shared(&gaussian), 2, Seed::new(4), &|| true).expect("a round");
                let is_with = |j: usize| j != 2 && sampler.positions.col(j) == sampler.positions.col(2);
                assert_eq!((0..CHAINS).any(is_with), !is_early);
            }
        }
    }

    /// Draws that are given up for conditional coordinates come back where a limit leaves fewer in these, with their own coordinates.
    #[test]
    fn draws_are_given_up_for_others_alone() {
        let funnel = Funnel::new(4, 3.0).expect("a funnel");
        let target = Target::with_gradient(&funnel);
        let (mut points, mut stream) = (Mat::zeros(4, 1_000), Seed::new(1).stream(0, 0));
        (0..1_000).for_each(|j| funnel.draw_into(&mut stream, points.col_as_slice_mut(j)));
        let slopes = gradients(&funnel, &points);
        let block = Block {
            white: points.clone(),
            log_p: vec![0.0; 1_000],
            divergences: 100,
            leapfrogs: 0,
            points,
            slopes,
        };
        let starts = Mat::from_fn(4, CHAINS, |i, j| block.points[(i, j)]);
        for made in [0, 1, 2] {
            let mut sampler =
                Sampler { blocks: vec![block.clone()], ..Sampler::new(starts.clone(), &funnel) };
            sampler.phase = Phase::Frozen;
            let metric = sampler.metric.clone();
            sampler.look(&funnel);
            assert_eq!((sampler.phase, sampler.blocks.len()), (Phase::Conditional(0), 0));
            sampler.blocks = vec![block.clone(); made];
            sampler.advance(target.shared(&funnel), 4_000, 100, Seed::new(1), &|| false).expect("an end");
            assert!(sampler.is_over());
            assert_eq!(sampler.blocks.len(), made.max(1));
            assert_eq!(sampler.metric == metric, made == 0);
        }
    }

    /// No coordinate of a Gaussian is a driver: one divergent step of the first thousand may be one of sixteen thousand, ten are too many.
    #[test]
    fn few_divergent_steps_at_the_first_look_do_not_end_the_draws() {
        let gaussian = Gaussian::standard(3);
        let mut stream = Seed::new(2).stream(0, 0);
        let points = Mat::from_fn(3, 1000, |_, _| stream.normal());
        let slopes = Mat::from_fn(3, 1000, |i, j| -points[(i, j)]);
        let starts = Mat::from_fn(3, CHAINS, |_, _| 0.0);
        for (divergences, phase) in [(0, Phase::Frozen), (1, Phase::Frozen), (10, Phase::Ended)] {
            let [points, white, slopes] = [&points, &points, &slopes].map(Clone::clone);
            let block = Block { points, white, slopes, log_p: vec![0.0; 1000], divergences, leapfrogs: 0 };
            let mut sampler = Sampler { blocks: vec![block], ..Sampler::new(starts.clone(), &gaussian) };
            sampler.phase = Phase::Frozen;
            sampler.look(&gaussian);
            assert_eq!((sampler.phase, sampler.blocks.len()), (phase, 1), "{divergences} divergent steps");
        }
    }
}
