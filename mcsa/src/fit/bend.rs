//! Start of a mixture for a posterior that one Student t does not fit.

use faer::Mat;
use mcsa_core::{AffineMap, Error, MomentMatched, Parametric, Seed};
use mcsa_optim::deterministic::Gaussian;

use super::Shape;
use super::moments::covariance;

/// Iterations of EM on the weighted draws.
const ITERATIONS: usize = 10;
/// Degrees of freedom of a component at the start.
const FREEDOM: f64 = 8.0;

/// Parameters of a mixture of `components` Student t, from points of p with equal weights: centres apart from each other, as in
/// k-means++ (Arthur & Vassilvitskii 2007), then EM.
pub(crate) fn mixture_start(points: &Mat<f64>, components: usize, seed: Seed) -> Result<Vec<f64>, Error> {
    let (dim, count) = (points.nrows(), points.ncols());
    let mut stream = seed.named("mixture").stream(0, 0);
    let (mean, covariance) = covariance(points.as_ref(), &vec![1.0 / count as f64; count]);
    let factor = Gaussian { mean: mean.clone(), covariance: covariance.clone() }.factor()?;
    let map = AffineMap::new(mean, factor)?;
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
    let narrow = Mat::from_fn(dim, dim, |i, j| shrink * covariance[(i, j)]);
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
