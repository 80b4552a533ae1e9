//! Families of annealed paths: conformance, bits of the base without steps, both sweeps at once, dead step sizes.

use faer::Mat;
use mcsa_annealed::dais::{Annealed, Mass, Shape, Slope};
use mcsa_core::{Family, Parametric, Pushforward, Seed, batch, batch_mut};
use mcsa_families::{FullRank, Link, MeanField};
use mcsa_testing::family::{Case, check_pushforward, push_allocates_nothing};

use crate::dais::Quadratic;

/// Without steps draws and `log q` have the bits of the families, and gradients those of their bound.
/// The chain at lambda has the paths that are pushed; that of the other law of the momentum has not.
#[test]
fn the_chain_at_lambda_has_the_paths_that_are_pushed() {
    for Case { family, params, .. } in families() {
        let (rows, chain) = (family.noise_dim(), family.chain(&params).unwrap());
        let mut noise = vec![0.0; rows];
        family.sample_noise_into(&mut [Seed::new(8).stream(0, 0)], batch_mut(&mut noise, rows, 1));
        let (mut z, mut log_q) = (Mat::zeros(2, 1), [0.0]);
        let mut work = vec![0.0; family.work_len(1)];
        family.push(&params, batch(&noise, rows, 1), z.as_mut(), &mut log_q, &mut work);
        let psi = &params[params.len() - 2..];
        let path = chain.path(&family.surrogate, psi, &noise);
        assert!((path.log_q - log_q[0]).abs() < 1e-12);
        assert!((0..2).all(|i| (path.end()[i] - z[(i, 0)]).abs() < 1e-12));
        let law = if family.law == Mass::Variance { Mass::Deviation } else { Mass::Variance };
        let other = family.steps > 0 && {
            let other = Annealed { law, ..family.clone() }.chain(&params).unwrap();
            (other.path(&family.surrogate, psi, &noise).log_q - log_q[0]).abs() > 1e-6
        };
        assert_eq!(other, family.steps > 0);
        let covariance = chain.base.covariance();
        let by_link = (params[2].exp()).powi(2);
        assert!((covariance[(0, 0)] - by_link).abs() < 1e-12 && chain.base.mean() == &params[..2]);
        assert!(family.chain(&params[1..]).is_err());
    }
}

#[test]
fn no_step_is_the_family_bit_for_bit() {
    fn draws<F: Family>(family: &F, params: &[f64]) -> (Mat<f64>, Vec<f64>) {
        let (mut z, mut log_q) = (Mat::zeros(2, 7), vec![0.0; 7]);
        let mut lane = [Seed::new(4).stream(0, 1)];
        family.sample_into(params, &mut lane, z.as_mut(), &mut log_q, &mut vec![0.0; family.work_len(7)]);
        (z, log_q)
    }
    let mean_field = MeanField::new(2).with_link(Link::Exp);
    let full_rank = FullRank::new(2).with_link(Link::Exp);
    let of_mean_field = mean_field.at(&[0.4, -0.3], &[0.6, 1.7]).unwrap();
    let factor = faer::mat![[0.6, 0.0], [0.2, 0.5]];
    let of_full_rank = full_rank.at(&[0.4, -0.3], factor.as_ref()).unwrap();
    for (shape, base, (points, log_q)) in [
        (Shape::Diagonal, &of_mean_field, draws(&mean_field, &of_mean_field)),
        (Shape::Lower, &of_full_rank, draws(&full_rank, &of_full_rank)),
    ] {
        let family = Annealed::new(Quadratic::posterior(), shape, 0);
        let params = family.at(base, 0.1, &[0.2, -0.6]).unwrap();
        let (mut noise, mut z, mut found) = (vec![0.0; 14], Mat::zeros(2, 7), vec![0.0; 7]);
        family.sample_noise_into(&mut [Seed::new(4).stream(0, 1)], batch_mut(&mut noise, 2, 7));
        let mut work = vec![0.0; family.work_len(7)];
        family.push(&params, batch(&noise, 2, 7), z.as_mut(), &mut found, &mut work);
        assert_eq!((z, found), (points, log_q), "{shape:?}");
    }
}

/// Families over both bases, both laws of the momentum and both parametrisations of kappa, with a lambda away from its start.
fn families() -> Vec<Case<Annealed<Quadratic>>> {
    let mut cases = Vec::new();
    for (shape, base) in [(Shape::Diagonal, 4), (Shape::Lower, 5)] {
        for (law, slope, steps) in [
            (Mass::Variance, Slope::Plain, 3),
            (Mass::Deviation, Slope::Scaled, 2),
            (Mass::Variance, Slope::Scaled, 0),
        ] {
            let family =
                Annealed { law, slope, longest: 0.6, ..Annealed::new(Quadratic::surrogate(), shape, steps) };
            let mut params = family.at(&vec![0.1; base], 0.2, &[0.2, -0.6]).unwrap();
            for (k, param) in params.iter_mut().enumerate() {
                *param += 0.1 * (k as f64 * 1.7).sin();
            }
            cases.push(Case::new(family, params));
        }
    }
    cases
}

#[test]
fn annealed_families_conform() {
    for case in families() {
        check_pushforward(&case).unwrap_or_else(|failure| panic!("{}: {failure}", case.family.config()));
    }
}

#[test]
fn annealed_paths_allocate_nothing() {
    for case in families() {
        push_allocates_nothing(&case, &mut |call| allocation_counter::measure(call).count_total).unwrap();
    }
}

/// Both sweeps in one call give the bits of two calls, and a refused pull leaves the gradient alone.
#[test]
fn both_sweeps_at_once_have_the_same_bits() {
    for Case { family, params, .. } in families() {
        let (rows, n) = (family.noise_dim(), 5);
        let mut noise = vec![0.0; rows * n];
        family.sample_noise_into(&mut [Seed::new(8).stream(0, 1)], batch_mut(&mut noise, rows, n));
        let eps = batch(&noise, rows, n);
        let mut work = vec![f64::NAN; family.work_len(n)];
        let cotangents = Mat::from_fn(2, n, |i, j| 0.3 * i as f64 - 0.2 * j as f64);
        let weights = [-1.0, 0.5, 0.0, 2.0, -0.3];
        let (mut z, mut log_q, mut apart) = (Mat::zeros(2, n), vec![0.0; n], vec![0.1; params.len()]);
        family.push(&params, eps, z.as_mut(), &mut log_q, &mut work);
        family.add_push_gradients(&params, eps, cotangents.as_ref(), &weights, &mut apart, &mut work);
        for goes_on in [true, false] {
            let (mut points, mut mixed, mut slopes) = (Mat::zeros(2, n), vec![0.0; n], Mat::zeros(2, n));
            let mut together = vec![0.1; params.len()];
            let mut pull = |_: faer::MatRef<'_, f64>, log_q: &mut [f64], mut out: faer::MatMut<'_, f64>| {
                log_q.copy_from_slice(&weights);
                out.copy_from(&cotangents);
                goes_on
            };
            let (z_out, cots) = (points.as_mut(), slopes.as_mut());
            family.push_and_add_gradients(
                &params,
                eps,
                z_out,
                &mut mixed,
                cots,
                &mut pull,
                &mut together,
                &mut work,
            );
            assert_eq!(points, z);
            assert_eq!(together, if goes_on { apart.clone() } else { vec![0.1; params.len()] });
        }
    }
}

#[test]
fn dead_step_sizes_are_counted() {
    let family = Annealed::new(Quadratic::surrogate(), Shape::Diagonal, 4);
    let mut params = family.at(&[0.0; 4], 0.01, &[0.0; 2]).unwrap();
    let mut work = vec![0.0; family.work_len(1)];
    assert_eq!(
        (family.step_sizes(&params, &mut work).zero, family.step_sizes(&params, &mut work).steps),
        (0, 4)
    );
    params[5] = -1.0;
    let sizes = family.step_sizes(&params, &mut work);
    assert!(sizes.is_still() && sizes.to_string().ends_with("the path stands still"), "{sizes}");
    params[5] = 1.0;
    assert_eq!(family.step_sizes(&params, &mut work).longest, 4);
}
