//! Units of parameters, and the shift of their mean by noise (bend).

use mcsa_core::{Address, Family, Seed, Stream, batch, batch_mut};

use crate::iterates::Iterates;
use crate::sight::Limits;

/// Number of draws of q from which units are estimated, and of those in a batch. The unit of a log scale then has an error
/// of 6 %; the largest error of many parameters is overestimated by the factor by which the smallest of their units is
/// underestimated.
const DRAWS: usize = 1_024;
const BATCH: usize = 256;

/// Units and bends per parameter, with memory to estimate them.
pub(crate) struct Units {
    lane: [Stream; 1],
    pub(crate) average: Vec<f64>,
    pub(crate) units: Vec<f64>,
    /// Shift of the iterates' mean by their noise, in each parameter's own coordinate.
    pub(crate) bends: Vec<f64>,
    pub(crate) limits: Limits,
    noise: Vec<f64>,
    moved: Vec<f64>,
    points: Vec<f64>,
    log_q: Vec<f64>,
    score: Vec<f64>,
    work: Vec<f64>,
}

impl Units {
    pub(crate) fn new<F: Family + ?Sized>(family: &F, num_params: usize, seed: Seed) -> Self {
        let zeros = || vec![0.0; family.num_params()];
        Self {
            lane: [seed.named("units").stream(0, 0)],
            average: vec![0.0; num_params],
            units: vec![1.0; num_params],
            bends: vec![0.0; num_params],
            limits: Limits::of(num_params),
            noise: zeros(),
            moved: zeros(),
            points: vec![0.0; family.dim() * BATCH],
            log_q: vec![0.0; BATCH],
            score: zeros(),
            work: vec![0.0; family.work_len(BATCH)],
        }
    }

    /// Estimates units and bends at the average of the last half of the run, from draws of q at stream addresses of their own.
    ///
    /// ```text
    /// unit_j = E_q[score_j^2]^(-1/2)
    /// bend_j = unit_j^2 |E_q[(score_j(lambda + delta) + score_j(lambda - delta)) / 2 - score_j(lambda)]|
    /// ```
    /// Here `delta` has the standard deviations of the iterates and random signs: the mean score of iterates about the
    /// optimum differs from that at their mean by the second-order term, and one step of Fisher scoring converts it to a
    /// shift. Parameters learned beside lambda keep unit 1 and bend 0.
    pub(crate) fn estimate<F: Family + ?Sized>(&mut self, family: &F, iterates: &Iterates, step: u64) {
        let recent = iterates.recent();
        iterates.average_into(recent, &mut self.average);
        let (dim, count) = (family.dim(), family.num_params());
        let params = &self.average[..count];
        if recent == 0 || family.check(params).is_err() {
            return;
        }
        for (j, noise) in self.noise.iter_mut().enumerate() {
            *noise = iterates.variance(j, recent).sqrt();
        }
        self.lane[0].go_to(Address::of(0, step));
        let (units, bends) = (&mut self.units[..count], &mut self.bends[..count]);
        units.fill(0.0);
        bends.fill(0.0);
        for _ in 0..DRAWS / BATCH {
            let points = batch_mut(&mut self.points, dim, BATCH);
            family.sample_into(params, &mut self.lane, points, &mut self.log_q, &mut self.work);
            let points = batch(&self.points, dim, BATCH);
            for j in 0..BATCH {
                let z = points.subcols(j, 1);
                self.score.fill(0.0);
                family.add_scores(params, z, &[1.0], &mut self.score, &mut self.work);
                for ((unit, bend), score) in units.iter_mut().zip(&mut *bends).zip(&self.score) {
                    *unit += score * score;
                    *bend -= score;
                }
                let lane = &mut self.lane[0];
                for noise in self.noise.iter_mut() {
                    *noise = if lane.uniform() < 0.5 { *noise } else { -*noise };
                }
                for side in [1.0, -1.0] {
                    let near = params.iter().zip(&self.noise).map(|(param, noise)| param + side * noise);
                    self.moved.iter_mut().zip(near).for_each(|(moved, near)| *moved = near);
                    // A lambda that is invalid for the family contributes no bend.
                    let place = if family.check(&self.moved).is_ok() { &self.moved[..] } else { params };
                    family.add_scores(place, z, &[0.5], bends, &mut self.work);
                }
            }
        }
        for (unit, bend) in units.iter_mut().zip(bends) {
            let square = DRAWS as f64 / *unit;
            *unit = square.sqrt();
            *bend = square * bend.abs() / DRAWS as f64;
        }
    }

    /// Sets every unit to 1: errors are in each parameter's own coordinate.
    pub(crate) fn forget_units(&mut self) {
        self.units.fill(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_families::FullRank;

    /// By hand: noise of variance v in every entry of the factor below its diagonal, about the unit matrix in d dimensions,
    /// shifts the mean score of each diagonal entry by `(d - 1) v`, whose Fisher information is 2: by `(d - 1) v / sqrt(2)`
    /// in units. A mean is not shifted. The twin: without noise there is no shift.
    #[test]
    fn noise_of_a_factor_bends_its_diagonal() {
        let dim = 10;
        let family = FullRank { dim, link: mcsa_families::Link::Exp };
        let factor = faer::Mat::from_fn(dim, dim, |i, j| if i == j { 1.0 } else { 0.0 });
        let optimum = family.at(&vec![0.0; dim], factor.as_ref()).unwrap();
        let (mut diagonal, mut at) = (Vec::new(), dim);
        for k in 0..dim {
            diagonal.push(at);
            at += dim - k;
        }
        let bends = |deviation: f64| {
            let (mut iterates, mut stream) = (Iterates::new(optimum.len()), Seed::new(1).stream(0, 0));
            for _ in 0..32 * 16 {
                let noise = |j: usize| if j < dim || diagonal.contains(&j) { 0.0 } else { deviation };
                let params: Vec<f64> =
                    optimum.iter().enumerate().map(|(j, p)| p + noise(j) * stream.normal()).collect();
                iterates.note(&params, None);
            }
            let mut units = Units::new(&family, optimum.len(), Seed::new(2));
            units.estimate(&family, &iterates, 1);
            let bend = |j: &usize| units.bends[*j] / units.units[*j];
            let mean = diagonal.iter().map(bend).sum::<f64>() / dim as f64;
            (mean, (0..dim).map(|j| bend(&j)).fold(0.0, f64::max))
        };
        let expected = 9.0 * 0.01 / 2.0_f64.sqrt();
        let (found, of_means) = bends(0.1);
        assert!((found / expected - 1.0).abs() < 0.15 && of_means < 0.3 * expected, "{found} {of_means}");
        assert_eq!(bends(0.0), (0.0, 0.0));
    }
}
