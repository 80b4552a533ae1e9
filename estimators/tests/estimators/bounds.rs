//! Evidence bounds: the direction is the gradient of the averaged objective, of families with a closed entropy and of those with samples
//! only.

use faer::mat;
use mcsa_core::{
    Counted, Error, Estimator, Gradient, LogDensity, Reparameterised, Seed, batch, batch_mut, from_fn,
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

/// `log p(z) = -log cosh(z - 1)`, and NaN to the right of an edge.
fn sech(edge: f64) -> impl Gradient {
    from_fn(1, move |z| if z[0] > edge { f64::NAN } else { -(z[0] - 1.0).cosh().ln() })
        .with_gradient(|z, gradient| gradient[0] = -(z[0] - 1.0).tanh())
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

const LAMBDA: [f64; 2] = [0.3, -0.4];

/// Draws beyond the edge are counted and contribute nothing: the sum over the others is still divided by the number of all draws.
#[test]
fn draws_without_a_density_contribute_nothing() {
    let (edged, whole, family) = (sech(0.2), sech(f64::INFINITY), Drawn(MeanField::new(1)));
    let n = 8;
    let (found, info) = direction(&FlowElbo::new(n), (&edged, &family), &LAMBDA);
    let (mut lanes, mut twins) = (Seed::new(1).streams(1, 1), Seed::new(1).streams(1, 1));
    let (mut expected, mut evidence, mut beyond) = ([0.0; 2], 0.0, 0);
    for _ in 0..n {
        let (one, info) = crate::step(&FlowElbo::new(1), (&whole, &family), &LAMBDA, &mut (), &mut lanes);
        if LAMBDA[0] + family.0.link.scale(LAMBDA[1]) * twins[0].normal() > 0.2 {
            beyond += 1;
            continue;
        }
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
        elbo.init(&Gaussian::standard(dim), &Drawn(MeanField::new(1)), params, &mut [])
    }
    assert!(init(&FlowElbo { mirrored: true, ..FlowElbo::new(2) }, 1, &LAMBDA).is_ok());
    for refused in [
        init(&FlowElbo::new(0), 1, &LAMBDA),
        init(&FlowElbo { mirrored: true, ..FlowElbo::new(3) }, 1, &LAMBDA),
        init(&FlowElbo::new(1), 2, &LAMBDA),
        init(&FlowElbo::new(1), 1, &LAMBDA[..1]),
        init(&FlowElbo::new(1), 1, &[f64::NAN; 2]),
    ] {
        assert!(refused.is_err());
    }
    let parse = |text| serde_json::from_str::<FlowElbo>(text);
    assert_eq!(parse(r#"{"samples": 3}"#).unwrap(), FlowElbo::new(3));
    assert!(parse(r#"{"samples": 3, "sample": 1}"#).is_err());
}

#[test]
fn a_step_costs_a_draw_a_gradient_and_a_pullback_each() {
    let (target, family) = (Counted::new(Gaussian::standard(1)), Counted::new(Drawn(MeanField::new(1))));
    direction(&FlowElbo::new(6), (&target, &family), &LAMBDA);
    let (p, q) = (target.counts(), family.counts());
    assert_eq!((p.log_density, p.gradient), (0, 6));
    assert_eq!((q.sample, q.score, q.log_prob, q.slope), (6, 6, 0, 0));
}
