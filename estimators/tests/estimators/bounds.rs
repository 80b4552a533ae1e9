//! Evidence bounds: the direction is the gradient of the averaged objective, of families with a closed entropy and of those with samples
//! only.

use faer::{MatMut, MatRef, mat};
use mcsa_core::{
    Columns, ColumnsMut, Counted, Error, Estimator, Gradient, LogDensity, Parametric, Pushforward,
    Reparameterised, Seed, Stream, batch, batch_mut, from_fn,
};
use mcsa_estimators::{Elbo, ElboInfo, FlowElbo};
use mcsa_families::{Drawn, FullRank, MeanField};
use mcsa_models::Gaussian;

/// Direction and metrics of a first step.
fn direction<P, F, E>(elbo: &E, place: (&P, &F), params: &[f64]) -> (Vec<f64>, ElboInfo)
where
    E: Estimator<P, F, State = (), Info = ElboInfo>,
{
    crate::step(elbo, place, params, &mut (), &mut Seed::new(1).streams(1, 1))
}

/// A correlated Gaussian in two dimensions.
fn correlated() -> Gaussian {
    Gaussian::new(vec![0.5, -1.0], mat![[1.5, 0.4], [0.4, 0.7]].as_ref()).unwrap()
}

/// Derivative with respect to parameter `k`, by a fourth-order central difference.
fn slope(params: &[f64], k: usize, f: impl Fn(&[f64]) -> f64) -> f64 {
    let at = |h: f64| {
        let mut moved = params.to_vec();
        moved[k] += h;
        f(&moved)
    };
    (8.0 * (at(1e-3) - at(-1e-3)) - (at(2e-3) - at(-2e-3))) / 12e-3
}

/// `1/N sum log p(z_i) + entropy`, or `1/N sum log p(z_i) - log q_held(z_i)`, at three points `z_i = t(lambda, eps_i)` for the noise of
/// a stream.
fn objective<F: Reparameterised>(family: &F, params: &[f64], held: Option<&[f64]>) -> f64 {
    let (target, dim, n) = (correlated(), family.dim(), 3);
    let (mut noise, mut points) = (vec![0.0; family.noise_dim() * n], vec![0.0; dim * n]);
    let mut work = vec![0.0; family.work_len(n).max(target.work_len(n))];
    let (mut log_p, mut log_q) = (vec![0.0; n], vec![0.0; n]);
    family.sample_noise_into(&mut Seed::new(1).streams(1, 1), batch_mut(&mut noise, family.noise_dim(), n));
    let noise = batch(&noise, family.noise_dim(), n);
    family.transport(params, noise, batch_mut(&mut points, dim, n), &mut work);
    target.log_densities(batch(&points, dim, n), &mut log_p, &mut work);
    match held {
        Some(held) => family.log_probs(held, batch(&points, dim, n), &mut log_q, &mut work),
        None => log_q.fill(-family.entropy(params, &mut work)),
    }
    log_p.iter().zip(&log_q).map(|(p, q)| p - q).sum::<f64>() / n as f64
}

/// The direction is the gradient of the objective; the path derivative holds lambda in the density.
#[test]
fn the_direction_is_the_gradient() {
    fn check<F: Reparameterised>(family: &F, params: &[f64]) {
        let target = correlated();
        let (closed, info) = direction(&Elbo::closed(3), (&target, family), params);
        let (path, _) = direction(&Elbo::path(3), (&target, family), params);
        assert!((info.evidence - objective(family, params, None)).abs() < 1e-12);
        for k in 0..params.len() {
            let of_closed = slope(params, k, |moved| objective(family, moved, None));
            let of_path = slope(params, k, |moved| objective(family, moved, Some(params)));
            assert!((closed[k] - of_closed).abs() < 1e-8, "closed, param {k}: {} {of_closed}", closed[k]);
            assert!((path[k] - of_path).abs() < 1e-8, "path, param {k}: {} {of_path}", path[k]);
            assert!((1.01 * closed[k] - of_closed).abs() > 1e-8, "an error of one per cent would show");
            assert!((closed[k] - of_path).abs() > 1e-3, "the closed entropy is another estimator");
        }
    }
    check(&MeanField::new(2), &[0.1, 0.2, -0.3, 0.4]);
    check(&FullRank::new(2), &[0.1, 0.2, -0.3, 0.4, 0.6]);
}

/// For a Gaussian target the direction in the mean is linear in the noise: mirrored pairs have no noise there.
#[test]
fn mirrored_noise_cancels_what_is_odd() {
    let target = Gaussian::diagonal(vec![0.5, -1.0], vec![1.5, 0.7]).unwrap();
    let (family, params) = (MeanField::new(2), [0.1, 0.2, -0.3, 0.4]);
    let exact: Vec<f64> = (0..2).map(|i| ([0.5, -1.0][i] - params[i]) / target.variance(i)).collect();
    let mirrored = direction(&Elbo { mirrored: true, ..Elbo::closed(2) }, (&target, &family), &params).0;
    let plain = direction(&Elbo::closed(2), (&target, &family), &params).0;
    for i in 0..2 {
        assert!((mirrored[i] - exact[i]).abs() < 1e-12, "{} for {}", mirrored[i], exact[i]);
        assert!((plain[i] - exact[i]).abs() > 1e-3);
    }
    let mut none = [];
    assert!((Elbo { mirrored: true, ..Elbo::closed(3) }).init(&target, &family, &params, &mut none).is_err());
}

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
    let error = |k: usize| (mean[k] - slope(&LAMBDA, k, |moved| bound(&target, moved))).abs();
    (0..3).map(error).fold(0.0, f64::max)
}

#[test]
fn the_mean_direction_is_the_gradient_of_the_bound() {
    assert!(distance_from_gradient(true) < 1e-9, "{:e}", distance_from_gradient(true));
    assert!(distance_from_gradient(false) > 0.1, "without the log-determinant");
}

/// The log density of an affine map has an equal total derivative at every draw, that of its entropy.
#[test]
fn on_affine_maps_it_is_the_closed_bound() {
    fn check<F: Reparameterised + Copy>(family: F, params: &[f64]) {
        let target = correlated();
        for (closed, flow) in [
            (Elbo::closed(4), FlowElbo::new(4)),
            (Elbo { mirrored: true, ..Elbo::closed(4) }, FlowElbo { mirrored: true, ..FlowElbo::new(4) }),
        ] {
            let (found, _) = direction(&flow, (&target, &Drawn(family)), params);
            let (expected, _) = direction(&closed, (&target, &family), params);
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
    assert!(init(&FlowElbo { mirrored: true, ..FlowElbo::new(2) }, 1, &LAMBDA).is_ok());
    for refused in [
        init(&FlowElbo::new(0), 1, &LAMBDA),
        init(&FlowElbo { mirrored: true, ..FlowElbo::new(3) }, 1, &LAMBDA),
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
