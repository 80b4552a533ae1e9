//! Bound of families with samples only: the direction is its gradient, and without the log-determinant it is not.

use faer::{MatMut, MatRef, mat};
use mcsa_core::{
    Columns, ColumnsMut, Counted, Error, Estimator, Gradient, LogDensity, Parametric, Pushforward, Seed,
    Stream, from_fn,
};
use mcsa_estimators::{Ascent, Elbo, FlowElbo};
use mcsa_families::{Drawn, FullRank, MeanField};
use mcsa_models::Gaussian;
use mcsa_optim::Adam;

const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_7;

/// The map `z = m + e^s (eps + e^c eps^3)` with params `[m, s, c]`, drawn at a given noise if there is one.
struct Cubic {
    noise: Option<f64>,
    log_determinant: bool,
}

const HONEST: Cubic = Cubic { noise: None, log_determinant: true };

impl Cubic {
    fn point(params: &[f64], eps: f64) -> f64 {
        params[0] + params[1].exp() * (eps + params[2].exp() * eps.powi(3))
    }

    fn log_slope(params: &[f64], eps: f64) -> f64 {
        params[1] + (3.0 * params[2].exp() * eps * eps).ln_1p()
    }
}

impl Parametric for Cubic {
    fn dim(&self) -> usize {
        1
    }
    fn num_params(&self) -> usize {
        3
    }
}

impl Pushforward for Cubic {
    fn sample_noise_into(&self, lanes: &mut [Stream], mut noise: MatMut<'_, f64>) {
        for j in 0..noise.ncols() {
            noise.column_mut(j)[0] = self.noise.unwrap_or_else(|| lanes[0].normal());
        }
    }
    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        _: &mut [f64],
    ) {
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let eps = noise.column(j)[0];
            z.column_mut(j)[0] = Self::point(params, eps);
            *log_q = -0.5 * eps * eps - LN_SQRT_2PI;
            if self.log_determinant {
                *log_q -= Self::log_slope(params, eps);
            }
        }
    }
    fn add_push_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
    ) {
        let (scale, c) = (params[1].exp(), params[2].exp());
        for (j, &weight) in weights.iter().enumerate() {
            let (eps, cotangent) = (noise.column(j)[0], cotangents.column(j)[0]);
            gradient[0] += cotangent;
            gradient[1] += cotangent * scale * (eps + c * eps.powi(3));
            gradient[2] += cotangent * scale * c * eps.powi(3);
            if self.log_determinant {
                let curved = 3.0 * c * eps * eps;
                gradient[1] -= weight;
                gradient[2] -= weight * curved / (1.0 + curved);
            }
        }
    }
}

/// `log p(z) = -log cosh(z - 1)`, and NaN to the right of an edge.
fn sech(edge: f64) -> impl Gradient {
    from_fn(1, move |z| if z[0] > edge { f64::NAN } else { -(z[0] - 1.0).cosh().ln() })
        .with_gradient(|z, gradient| gradient[0] = -(z[0] - 1.0).tanh())
}

fn direction<P: Gradient, F: Pushforward>(
    elbo: &FlowElbo,
    (target, family): (&P, &F),
    params: &[f64],
) -> (Vec<f64>, mcsa_estimators::ElboInfo) {
    let mut work = vec![f64::NAN; elbo.work_len(target, family)];
    let mut direction = vec![f64::NAN; params.len()];
    let mut lanes = Seed::new(1).streams(1, 1);
    let info = elbo
        .ascent_direction(target, family, params, &mut (), &mut lanes, &mut direction, &mut work)
        .unwrap();
    (direction, info)
}

/// Nodes and weights for a standard normal: the trapezoidal rule, whose error here is below rounding.
fn nodes() -> impl Iterator<Item = (f64, f64)> {
    const STEP: f64 = 1.0 / 32.0;
    (-320..=320).map(|k| {
        let eps = f64::from(k) * STEP;
        (eps, STEP * (-0.5 * eps * eps - LN_SQRT_2PI).exp())
    })
}

const LAMBDA: [f64; 3] = [0.3, -0.4, -1.5];

/// The bound at lambda, by quadrature.
fn bound(target: &impl Gradient, params: &[f64]) -> f64 {
    let term = |eps: f64| {
        let log_q = -0.5 * eps * eps - LN_SQRT_2PI - Cubic::log_slope(params, eps);
        target.log_density(&[Cubic::point(params, eps)], &mut []) - log_q
    };
    nodes().map(|(eps, weight)| weight * term(eps)).sum()
}

/// Distance between the estimator's mean, by quadrature, and the gradient of the bound, by differences.
fn distance_from_gradient(log_determinant: bool) -> f64 {
    let target = sech(f64::INFINITY);
    let mut mean = [0.0; 3];
    for (eps, weight) in nodes() {
        let family = Cubic { noise: Some(eps), log_determinant };
        let (direction, _) = direction(&FlowElbo::new(1), (&target, &family), &LAMBDA);
        mean.iter_mut().zip(direction).for_each(|(mean, g)| *mean += weight * g);
    }
    let mut worst = 0.0_f64;
    for k in 0..3 {
        let at = |h: f64| {
            let mut moved = LAMBDA;
            moved[k] += h;
            bound(&target, &moved)
        };
        // Fourth-order central difference: an error of order h^4.
        let slope = (8.0 * (at(1e-3) - at(-1e-3)) - (at(2e-3) - at(-2e-3))) / 12e-3;
        worst = worst.max((mean[k] - slope).abs());
    }
    worst
}

#[test]
fn the_mean_direction_is_the_gradient_of_the_bound() {
    assert!(distance_from_gradient(true) < 1e-9, "{:e}", distance_from_gradient(true));
    assert!(distance_from_gradient(false) > 0.1, "without the log-determinant");
}

/// The log density of an affine map has an equal total derivative at every draw, that of its entropy.
#[test]
fn on_affine_maps_it_is_the_closed_bound() {
    fn check<F: mcsa_core::Reparameterised + Copy>(family: F, params: &[f64]) {
        let target = Gaussian::new(vec![0.5, -1.0], mat![[1.5, 0.4], [0.4, 0.7]].as_ref()).unwrap();
        for (closed, flow) in
            [(Elbo::closed(4), FlowElbo::new(4)), (Elbo::closed(4).mirrored(), FlowElbo::new(4).mirrored())]
        {
            let (found, _) = direction(&flow, (&target, &Drawn(family)), params);
            let mut work = vec![0.0; closed.work_len(&target, &family)];
            let mut expected = vec![f64::NAN; params.len()];
            let mut lanes = Seed::new(1).streams(1, 1);
            closed
                .ascent_direction(&target, &family, params, &mut (), &mut lanes, &mut expected, &mut work)
                .unwrap();
            for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert!((found - expected).abs() < 1e-13, "param {k}: {found} against {expected}");
            }
        }
    }
    check(MeanField::new(2), &[0.1, 0.2, -0.3, 0.4]);
    check(FullRank::new(2), &[0.1, 0.2, -0.3, 0.4, 0.6]);
}

/// Draws beyond the edge are counted and contribute nothing: the sum over the others is still divided by the number of all draws.
#[test]
fn draws_without_a_density_contribute_nothing() {
    let (edged, whole) = (sech(0.2), sech(f64::INFINITY));
    let n = 8;
    let (found, info) = direction(&FlowElbo::new(n), (&edged, &HONEST), &LAMBDA);
    let mut lanes = Seed::new(1).streams(1, 1);
    let (mut expected, mut evidence, mut beyond) = ([0.0; 3], 0.0, 0);
    for _ in 0..n {
        let eps = lanes[0].normal();
        let family = Cubic { noise: Some(eps), log_determinant: true };
        if Cubic::point(&LAMBDA, eps) > 0.2 {
            beyond += 1;
            continue;
        }
        let (one, info) = direction(&FlowElbo::new(1), (&whole, &family), &LAMBDA);
        expected.iter_mut().zip(one).for_each(|(sum, g)| *sum += g / n as f64);
        evidence += info.evidence;
    }
    assert!(beyond > 0 && beyond < n as u64);
    assert_eq!(info.non_finite, beyond);
    assert!((info.evidence - evidence / (n as u64 - beyond) as f64).abs() < 1e-14);
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14), "{found:?}, {expected:?}");
}

#[test]
fn what_does_not_fit_is_refused() {
    fn init(elbo: &FlowElbo, dim: usize, params: &[f64]) -> Result<(), Error> {
        elbo.init(&Gaussian::standard(dim), &HONEST, params, &mut [])
    }
    assert!(init(&FlowElbo::new(2).mirrored(), 1, &LAMBDA).is_ok());
    for refused in [
        init(&FlowElbo::new(0), 1, &LAMBDA),
        init(&FlowElbo::new(3).mirrored(), 1, &LAMBDA),
        init(&FlowElbo::new(1), 2, &LAMBDA),
        init(&FlowElbo::new(1), 1, &LAMBDA[..2]),
        init(&FlowElbo::new(1), 1, &[f64::NAN; 3]),
    ] {
        assert!(refused.is_err());
    }
    let parse = |text| serde_json::from_str::<FlowElbo>(text);
    assert_eq!(parse(r#"{"samples": 3}"#).unwrap(), FlowElbo::new(3));
    assert!(parse(r#"{"samples": 3, "sample": 1}"#).is_err());
}

#[test]
fn a_step_costs_a_draw_a_gradient_and_a_pullback_each() {
    let (target, family) = (Counted::new(Gaussian::standard(1)), Counted::new(HONEST));
    direction(&FlowElbo::new(6), (&target, &family), &LAMBDA);
    let (p, q) = (target.counts(), family.counts());
    assert_eq!((p.log_density, p.gradient), (0, 6));
    assert_eq!((q.sample, q.score, q.log_prob, q.slope), (6, 6, 0, 0));
}

/// Divergence from `N(2, 0.5^2)` after a fit to it, by quadrature, with the fitted mean and scale.
fn fitted(family: &Cubic) -> [f64; 3] {
    let target = Gaussian::diagonal(vec![2.0], vec![0.5]).unwrap();
    let estimator = FlowElbo::new(16).mirrored();
    let optimizer = Adam::new(0.02).unwrap();
    let ascent = Ascent { target: &target, family, estimator, optimizer, seed: Seed::new(1) };
    let mut fit = ascent.start(vec![0.0, 0.5, -1.0]).unwrap();
    ascent.run(&mut fit, 4000).unwrap();
    let params = fit.params();
    let [mut divergence, mut mean, mut square] = [0.0; 3];
    for (eps, weight) in nodes() {
        let z = Cubic::point(params, eps);
        let log_q = -0.5 * eps * eps - LN_SQRT_2PI - Cubic::log_slope(params, eps);
        divergence += weight * (log_q - target.log_density(&[z], &mut [0.0; 8]));
        mean += weight * z;
        square += weight * z * z;
    }
    [divergence, mean, (square - mean * mean).sqrt()]
}

/// The optimum is the target itself; without the log-determinant the scale collapses.
#[test]
fn a_fit_finds_a_gaussian() {
    let [divergence, mean, scale] = fitted(&HONEST);
    assert!((0.0..0.01).contains(&divergence), "{divergence}");
    assert!((mean - 2.0).abs() < 0.02 && (scale - 0.5).abs() < 0.02, "{mean}, {scale}");
    let [divergence, _, scale] = fitted(&Cubic { noise: None, log_determinant: false });
    assert!(divergence > 1.0 && scale < 0.1, "{divergence}, {scale}");
}
