//! Evidence by a bridge between chains and a Gaussian.

use faer::Mat;
use mcsa_core::{LogDensity, Seed};
use mcsa_diagnostics::effective_sample_size;

use crate::posterior::Evidence;
use crate::posterior::climb::moments::of_points;
use crate::posterior::climb::shape::DENSE;

/// Largest change of the log evidence at which the iteration ends, and most iterations.
const CLOSE: f64 = 1e-8;
const ITERATIONS: usize = 1_000;

/// Fewest draws of q, most for each draw of the chains, and an error that is small enough.
const FEWEST: usize = 100;
const MOST: usize = 4;
const ENOUGH: f64 = 0.05;

/// Log evidence by the optimal bridge (Meng & Wong 1996) between q, a Gaussian with the moments of one half of the chains, and the other
/// half:
///
/// ```text
/// Z = mean over q of p / (s p + t Z q)  /  mean over chains of q / (s p + t Z q),      s + t = 1 in proportion to effective draws
/// ```
/// Either half gives q once, and the mean of the two log evidences is the estimate. Draws of q double while theirs is the larger part of an
/// error that is not small; they are at most `most` of either, but a hundred at least. The error is infinite where the iteration does not
/// converge; `None` if a Gaussian has no factor. `points` and `log_p` are those of the chains, chain after chain.
pub(crate) fn bridge(
    target: &dyn LogDensity,
    points: &Mat<f64>,
    log_p: &[f64],
    chains: usize,
    most: usize,
    seed: Seed,
) -> Option<Evidence> {
    let one = |learnt_from| {
        bridge_from(
            learnt_from,
            target,
            points,
            log_p,
            chains,
            most,
            seed.named("bridge").child(learnt_from as u64),
        )
    };
    let (a, b) = (one(0)?, one(1)?);
    let middle = |a: f64, b: f64| 0.5 * (a + b);
    Some(Evidence {
        log: middle(a.log, b.log),
        error: 0.5 * a.error.hypot(b.error),
        lower: middle(a.lower, b.lower),
        upper: middle(a.upper, b.upper),
    })
}

/// The bridge from the Gaussian of the half of the chains with the number `learnt_from`, 0 or 1, to the other half.
fn bridge_from(
    learnt_from: usize,
    target: &dyn LogDensity,
    points: &Mat<f64>,
    log_p: &[f64],
    chains: usize,
    most: usize,
    seed: Seed,
) -> Option<Evidence> {
    let (dim, length) = (points.nrows(), points.ncols() / chains);
    let half = length / 2;
    // Draws of a half, chain after chain.
    let place = |c: usize, which: usize| c / half * length + which * (length - half) + c % half;
    let learnt = Mat::from_fn(dim, chains * half, |i, c| points[(i, place(c, learnt_from))]);
    let mut gaussian = of_points(learnt.as_ref());
    if dim > DENSE || 2 * dim > chains * half {
        let covariance = &gaussian.covariance;
        gaussian.covariance = Mat::from_fn(dim, dim, |i, j| if i == j { covariance[(i, i)] } else { 0.0 });
    }
    let map = gaussian.map().ok()?;
    let constant = 0.5 * dim as f64 * std::f64::consts::TAU.ln() + map.log_volume();
    let mut work = vec![0.0; target.work_len(1)];
    let (mut y, mut z) = (vec![0.0; dim], vec![0.0; dim]);
    let log_q = |y: &[f64]| -0.5 * y.iter().map(|y| y * y).sum::<f64>() - constant;
    let of_chains: Vec<f64> = (0..chains * half)
        .map(|c| {
            let c = place(c, 1 - learnt_from);
            map.inverse_into(points.col_as_slice(c), &mut y);
            log_p[c] - log_q(&y)
        })
        .collect();
    let n = effective_sample_size(&of_chains.chunks_exact(half).collect::<Vec<_>>());
    // In units of the middle ratio, so that no exponential overflows.
    let mut sorted = of_chains.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let unit = sorted[sorted.len() / 2];
    let (mut of_q, mut stream, mut log_z) = (Vec::new(), seed.stream(0, 0), 0.0_f64);
    loop {
        let wanted = (2 * of_q.len()).max((chains * half).min(most).max(FEWEST));
        of_q.extend((of_q.len()..wanted).map(|_| {
            stream.normals_into(&mut y);
            map.forward_into(&y, &mut z);
            let value = target.log_density(&z, &mut work) - log_q(&y);
            if value.is_nan() { f64::NEG_INFINITY } else { value }
        }));
        let m = of_q.len() as f64;
        let (s, t) = (n / (n + m), m / (n + m));
        // p / (s p + t Z q) and q / (s p + t Z q), without dividing an infinity by another.
        let above = |ratio: f64, z: f64| (s + t * z * (unit - ratio).exp()).recip();
        let below = |ratio: f64, z: f64| (s * (ratio - unit).exp() + t * z).recip();
        let mut is_close = false;
        for _ in 0..ITERATIONS {
            let z = log_z.exp();
            let over = of_q.iter().map(|ratio| above(*ratio, z)).sum::<f64>() / m;
            let under = of_chains.iter().map(|ratio| below(*ratio, z)).sum::<f64>() / of_chains.len() as f64;
            let next = (over / under).ln();
            is_close = (next - log_z).abs() < CLOSE;
            log_z = next;
            if is_close {
                break;
            }
        }
        let z = log_z.exp();
        let relative = |values: &[f64]| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            values.iter().map(|x| (x / mean - 1.0).powi(2)).sum::<f64>() / values.len() as f64
        };
        let over: Vec<f64> = of_q.iter().map(|ratio| above(*ratio, z)).collect();
        let under: Vec<f64> = of_chains.iter().map(|ratio| below(*ratio, z)).collect();
        let size = effective_sample_size(&under.chunks_exact(half).collect::<Vec<_>>());
        let (of_over, of_under) = (relative(&over) / m, relative(&under) / size);
        let error = if is_close { (of_over + of_under).sqrt() } else { f64::INFINITY };
        if error > ENOUGH && of_over > of_under && 2 * of_q.len() <= most.min(MOST * of_chains.len()) {
            continue;
        }
        return Some(Evidence {
            log: log_z + unit,
            error,
            lower: of_q.iter().sum::<f64>() / m,
            upper: of_chains.iter().sum::<f64>() / of_chains.len() as f64,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use mcsa_core::{ExactDraws, from_fn};
    use mcsa_models::Funnel;

    use super::*;

    /// `Z = 2 pi (0.5 * 3)` times `e^5`. The errors of 40 estimates have mean square 1 by their own standard errors: below 0.5 or above 1.8
    /// with probability 0.002.
    #[test]
    fn the_evidence_of_a_gaussian_is_its_integral_within_its_error() {
        let scales = [0.5, 3.0];
        let target =
            from_fn(2, |z| 5.0 - 0.5 * z.iter().zip(scales).map(|(z, s)| (z / s).powi(2)).sum::<f64>());
        let truth = 5.0 + (std::f64::consts::TAU * 1.5).ln();
        let estimate = |seed: u64, shift: f64| {
            let mut stream = Seed::new(seed).stream(0, 0);
            let points = Mat::from_fn(2, 8 * 100, |i, _| scales[i] * stream.normal());
            let at = |c: usize| target.log_density(points.col_as_slice(c), &mut []) + shift;
            let log_p: Vec<f64> = (0..8 * 100).map(at).collect();
            bridge(&target, &points, &log_p, 8, usize::MAX, Seed::new(seed)).expect("a factor")
        };
        let errors = |shift: f64| {
            let square = |seed: u64| {
                let found = estimate(seed, shift);
                ((found.log - truth) / found.error).powi(2)
            };
            (0..40).map(square).sum::<f64>() / 40.0
        };
        assert!((0.5..1.8).contains(&errors(0.0)), "{}", errors(0.0));
        assert!(estimate(1, 0.0).error < 0.05);
        // Counterexample: densities of the chains that are those of another constant.
        assert!(errors(0.2) > 4.0, "{}", errors(0.2));
    }

    /// Of 400 draws of either half as many draws of q are made where the limit allows, and a hundred where it does not.
    #[test]
    fn a_limit_bounds_the_draws_of_q() {
        for (most, each) in [(usize::MAX, 400), (250, 250), (0, 100)] {
            let made = AtomicUsize::new(0);
            let target = from_fn(1, |z| {
                made.fetch_add(1, Relaxed);
                -0.5 * z[0] * z[0]
            });
            let mut stream = Seed::new(3).stream(0, 0);
            let points = Mat::from_fn(1, 800, |_, _| stream.normal());
            let log_p: Vec<f64> = (0..800).map(|c| -0.5 * points[(0, c)].powi(2)).collect();
            let found = bridge(&target, &points, &log_p, 8, most, Seed::new(1)).expect("a factor");
            assert_eq!(made.into_inner(), 2 * each, "{most}");
            assert!((found.log - 0.5 * std::f64::consts::TAU.ln()).abs() < 0.05, "{found:?}");
        }
    }

    /// A Gaussian with the moments of a funnel hardly meets it, and `Z = 1` lies within the error all the same.
    #[test]
    fn where_no_gaussian_is_near_the_error_is_large() {
        let funnel = Funnel::new(40, 3.0).expect("a funnel");
        let (mut points, mut stream) = (Mat::zeros(40, 4_000), Seed::new(1).stream(0, 0));
        (0..4_000).for_each(|c| funnel.draw_into(&mut stream, points.col_as_slice_mut(c)));
        let log_p: Vec<f64> =
            (0..4_000).map(|c| funnel.log_density(points.col_as_slice(c), &mut [])).collect();
        let found = bridge(&funnel, &points, &log_p, 8, usize::MAX, Seed::new(1)).expect("a factor");
        assert!(found.error > 2.0 * ENOUGH && found.log.abs() < 3.0 * found.error, "{found:?}");
        // The bounds alone do not decide.
        assert!(found.lower < -10.0 && found.upper > 10.0, "{found:?}");
    }
}
