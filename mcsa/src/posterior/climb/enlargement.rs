//! Refinements of a mixture and a dense family, where the family before does not suffice.

use faer::Mat;
use mcsa_core::{Error, Parametric, Seed};
use mcsa_families::MomentMatched;
use mcsa_optim::deterministic::Gaussian;

use super::moments::of_points;
use super::refinement::Refinement;
use super::shape::FREEDOM;
use crate::posterior::{FitState, Shape, Stage, Target};

/// Points at which a mixture begins.
const POINTS: usize = 400;

impl FitState {
    /// A climb of a larger family: a dense one, or a mixture that begins at draws. The climbs end if too few of these differ.
    pub(crate) fn enlarge(&mut self, larger: Shape, target: &Target<'_>) -> Result<(), Error> {
        let Shape::Mixture { components } = larger else { return self.densify(target.dim()) };
        let draws = self.draws(target)?;
        let points = draws.resampled(POINTS, &mut self.seed().named("bend").stream(0, components as u64))?;
        // They serve again if the larger mixture is no better.
        self.drawn.draws = Some(draws);
        if !self.enlarge_at(&points, components)? {
            self.stage = Stage::Verdict;
        }
        Ok(())
    }

    /// A climb of a mixture that begins at points of p; false if too few of them differ for a covariance.
    pub(crate) fn enlarge_at(&mut self, points: &Mat<f64>, components: usize) -> Result<bool, Error> {
        let number = self.climbs.last().map_or(0, |climb| climb.number) + 1;
        let params = match mixture_start(points, components, self.seed().child(number)) {
            Err(Error::NotPositiveDefinite { .. }) => return Ok(false),
            params => params?,
        };
        self.climbs.push(Refinement::new(number, Shape::Mixture { components }, params));
        self.stage = Stage::Climb;
        Ok(true)
    }

    /// A climb of a Student t that begins at the best mode.
    fn densify(&mut self, dim: usize) -> Result<(), Error> {
        let weights = self.ascents.weights();
        let best = self.ascents.modes.iter().zip(weights).max_by(|a, b| a.1.total_cmp(&b.1));
        let (mode, _) = best.ok_or_else(|| Error::invalid("no climb was begun"))?;
        let start = Shape::student_t(dim)?.at(&mode.point, mode.factor()?.as_ref(), FREEDOM)?;
        let number = self.current()?.number + 1;
        self.climbs.push(Refinement::new(number, Shape::StudentT, start));
        self.stage = Stage::Climb;
        Ok(())
    }
}

/// Iterations of EM on the weighted draws.
const ITERATIONS: usize = 10;

/// Parameters of a mixture of `components` Student t, from points of p with equal weights: centres apart from each other, as in
/// k-means++ (Arthur & Vassilvitskii 2007), then EM.
pub(crate) fn mixture_start(points: &Mat<f64>, components: usize, seed: Seed) -> Result<Vec<f64>, Error> {
    let (dim, count) = (points.nrows(), points.ncols());
    let mut stream = seed.named("mixture").stream(0, 0);
    let all = of_points(points.as_ref());
    let map = all.map()?;
    let white = map.inverse(points.as_ref());
    let distance = |a: usize, b: usize| -> f64 {
        white.col(a).iter().zip(white.col(b).iter()).map(|(a, b)| (a - b).powi(2)).sum()
    };
    let mut centres = vec![stream.index(count).unwrap_or(0)];
    while centres.len() < components {
        let nearest = |j: usize| centres.iter().map(|&c| distance(j, c)).fold(f64::INFINITY, f64::min);
        let log_weights: Vec<f64> = (0..count).map(|j| nearest(j).ln()).collect();
        // No point is apart from the centres if all points are one.
        centres.push(stream.choose(&log_weights).unwrap_or(0));
    }
    let (t, family) = (Shape::student_t(dim)?, Shape::mixture(dim, components)?);
    let shrink = (components as f64).powf(-2.0 / dim as f64).max(0.25);
    let narrow = Mat::from_fn(dim, dim, |i, j| shrink * all.covariance[(i, j)]);
    let factor = Gaussian { mean: vec![0.0; dim], covariance: narrow }.factor()?;
    let part = |&c: &usize| t.at(points.col_as_slice(c), factor.as_ref(), FREEDOM);
    let parts = centres.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    let mut params = family.at(&vec![1.0; components], &parts)?;
    let weights = vec![1.0 / count as f64; count];
    let (mut matched, mut work) = (params.clone(), vec![0.0; family.work_len(count)]);
    for _ in 0..ITERATIONS {
        // A little of the start stays, so that no component collapses on a few points.
        if family.match_moments(&params, 0.9, points.as_ref(), &weights, &mut matched, &mut work) {
            std::mem::swap(&mut params, &mut matched);
        }
    }
    family.check(&params)?;
    Ok(params)
}
