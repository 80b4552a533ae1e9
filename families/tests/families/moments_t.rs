//! Running moments of the Student t families: formula, exact inclusive optimum, ascent.

use faer::linalg::solvers::DenseSolveCore;
use faer::{Mat, MatRef, mat};
use mcsa_core::numeric::quadrature::integrate;
use mcsa_core::{Columns, Parametric};
use mcsa_families::{Dof, FullRank, GaussianFamily, Learned, Link, MomentMatched, MultivariateT, StudentT};

use crate::moments::{Atomic, WEIGHTS, climb, drift, gap, points, stays_in_the_family, step, stepped};

const LOCATION: [f64; 2] = [0.7, 0.3];

fn factor(dim: usize) -> Mat<f64> {
    let whole = mat![[0.5, 0.0], [0.4, 0.8]];
    whole.submatrix(0, 0, dim, dim).to_owned()
}

fn learned(dim: usize, dof: f64) -> (MultivariateT<Learned>, Vec<f64>) {
    let family = MultivariateT::learned(dim, 2.0).unwrap();
    let params = family.at(&LOCATION[..dim], factor(dim).as_ref(), dof).unwrap();
    (family, params)
}

/// `E_q[f]` for functions of `B = nu / (nu + r^2)`, which is Beta(nu/2, d/2), on the logit scale.
fn beta_mean(nu: f64, dim: usize, f: impl Fn(f64) -> f64) -> f64 {
    let log_density = |x: f64| -0.5 * nu * (-x).exp().ln_1p() - 0.5 * dim as f64 * x.exp().ln_1p();
    let [total, sum] = [&|_: f64| 1.0, &f as &dyn Fn(f64) -> f64].map(|f| {
        integrate(-300.0, 300.0, 1e-14, |x| log_density(x).exp() * f(1.0 / (1.0 + (-x).exp()))).value
    });
    sum / total
}

/// Location, scale matrix and degrees of freedom after a step, from sums of outer products and numerical expectations under q.
fn formula(
    (m, scale, nu): (&[f64], &Mat<f64>, f64),
    gain: f64,
    z: MatRef<'_, f64>,
    (lowest, learns): (f64, bool),
) -> (Vec<f64>, Mat<f64>, f64) {
    let dim = m.len();
    let n = dim as f64;
    let inverse = scale.partial_piv_lu().inverse();
    let square = |x: &[f64]| {
        (0..dim).map(|i| (0..dim).map(|k| x[i] * inverse[(i, k)] * x[k]).sum::<f64>()).sum::<f64>()
    };
    let mut zeroth = 1.0 - gain;
    let mut first: Vec<f64> = m.iter().map(|m| (1.0 - gain) * m).collect();
    let mut second = Mat::from_fn(dim, dim, |i, k| (1.0 - gain) * (scale[(i, k)] + m[i] * m[k]));
    // The score of nu is (log u - u)/2 less its mean, that of the log scale nu (1 - u)/2.
    let (of_nu, of_scale) = (|u: f64| 0.5 * (u.ln() - u), |u: f64| 0.5 * nu * (1.0 - u));
    let at = |b: f64| b * (nu + n) / nu;
    let mean = beta_mean(nu, dim, |b| of_nu(at(b)));
    let variance = beta_mean(nu, dim, |b| (of_nu(at(b)) - mean).powi(2));
    let scale_variance = beta_mean(nu, dim, |b| of_scale(at(b)).powi(2));
    let slope = beta_mean(nu, dim, |b| (of_nu(at(b)) - mean) * of_scale(at(b))) / scale_variance;
    let information = variance - slope * slope * scale_variance;
    let mut score = 0.0;
    for (j, weight) in WEIGHTS.iter().enumerate() {
        let z = z.column(j);
        let away: Vec<f64> = z.iter().zip(m).map(|(z, m)| z - m).collect();
        let u = (nu + n) / (nu + square(&away));
        zeroth += gain * weight * u;
        for i in 0..dim {
            first[i] += gain * weight * u * z[i];
            for k in 0..dim {
                second[(i, k)] += gain * weight * u * z[i] * z[k];
            }
        }
        score += weight * (of_nu(u) - mean - slope * of_scale(u));
    }
    let step = gain * (nu + n) / (nu + n + 2.0) * score / information;
    let bounded = (1.0 / nu - step / (nu * nu)).clamp(0.5 / nu, 2.0 / nu);
    let dof = if learns { (1.0 / bounded).clamp(1.05 * lowest, 200.0) } else { nu };
    let stretch = (dof * (nu + n) / (nu * (dof + n))).powf(2.0 / n);
    let location: Vec<f64> = first.iter().map(|first| first / zeroth).collect();
    let matrix = |i: usize, k: usize| stretch * (second[(i, k)] / zeroth - location[i] * location[k]);
    (location.clone(), Mat::from_fn(dim, dim, matrix), dof)
}

fn off(found: &[f64], frame: FullRank, dof: f64, expected: &(Vec<f64>, Mat<f64>, f64)) -> f64 {
    let normal = frame.moments(&found[..frame.num_params()]).unwrap();
    let covariance = normal.covariance();
    let matrix = (0..frame.dim).flat_map(|i| (0..frame.dim).map(move |k| (i, k)));
    let off = matrix.map(|(i, k)| (covariance[(i, k)] - expected.1[(i, k)]).abs()).fold(0.0, f64::max);
    off.max(gap(normal.mean(), &expected.0)).max((dof - expected.2).abs() / dof)
}

/// Departure of a step from the formula.
fn departure<D: Dof>(family: &MultivariateT<D>, params: &[f64], gain: f64) -> f64 {
    let (dim, scale) = (family.dim, factor(family.dim) * factor(family.dim).transpose());
    let before = (&LOCATION[..dim], &scale, family.dof_at(params));
    let expected = formula(before, gain, points(dim).as_ref(), (2.0, D::NUM_PARAMS == 1));
    let found = stepped(family, params, gain);
    off(&found, FullRank::new(dim).with_link(family.link), family.dof_at(&found), &expected)
}

#[test]
fn the_step_is_that_of_the_formula() {
    for (dim, nu) in [(1, 2.5), (1, 8.0), (2, 2.5), (2, 8.0), (2, 40.0)] {
        for gain in [1e-6, 0.01, 0.3, 0.9] {
            let (family, params) = learned(dim, nu);
            let off = departure(&family, &params, gain);
            assert!(off < 1e-9, "learned, {dim} {nu} {gain}: {off}");
            let family = MultivariateT::fixed(dim, nu).unwrap().with_link(Link::Exp);
            let params = family.at(&LOCATION[..dim], factor(dim).as_ref()).unwrap();
            let off = departure(&family, &params, gain);
            assert!(off < 1e-12, "fixed, {dim} {nu} {gain}: {off}");
        }
    }
}

/// Twins: the weights u omitted, and the degrees of freedom not moved.
#[test]
fn forgotten_weights_and_fixed_degrees_are_seen() {
    let (z, dim, nu, gain) = (points(2), 2, 8.0, 0.3);
    let scale = factor(dim) * factor(dim).transpose();
    let (family, params) = learned(dim, nu);
    let expected = formula((&LOCATION, &scale, nu), gain, z.as_ref(), (2.0, true));
    let (found, frame) = (stepped(&family, &params, gain), FullRank::new(dim));
    assert!(off(&found, frame, nu, &expected) > 0.05, "degrees not moved");
    let gaussian = stepped(&frame, &params[..frame.num_params()], gain);
    assert!(off(&gaussian, frame, family.dof_at(&found), &expected) > 0.05, "weights omitted");
}

/// The t on the line of both families, and coordinates that are moved apart from each other.
#[test]
fn coordinates_are_moved_as_the_t_on_the_line() {
    for (dof, gain) in [(3.0, 0.2), (9.0, 0.7)] {
        let (one, other) = (MultivariateT::learned(1, 2.0).unwrap(), StudentT::learned(1, 2.0).unwrap());
        let params = one.at(&[0.7], mat![[0.5]].as_ref(), dof).unwrap();
        let (a, b) = (stepped(&one, &params, gain), stepped(&other, &params, gain));
        assert!(gap(&a, &b) < 1e-13, "{a:?} {b:?}");
        let (pair, line) = (StudentT::fixed(2, dof).unwrap(), StudentT::fixed(1, dof).unwrap());
        let (z, both) = (points(2), stepped(&pair, &pair.at(&LOCATION, &[0.5, 2.0]).unwrap(), gain));
        for (i, scale) in [0.5, 2.0].into_iter().enumerate() {
            let params = line.at(&[LOCATION[i]], &[scale]).unwrap();
            let alone = step(&line, &params, gain, z.subrows(i, 1), &WEIGHTS).unwrap();
            assert_eq!(alone, [both[i], both[2 + i]]);
        }
    }
}

fn starts(dim: usize) -> Vec<Vec<f64>> {
    let family = MultivariateT::learned(dim, 1.0).unwrap();
    let wide = Mat::from_fn(dim, dim, |i, k| if i == k { 5.0 } else { 0.0 });
    let narrow = Mat::from_fn(dim, dim, |i, k| if i == k { 0.3 } else { 0.0 });
    [(0.0, &wide, 8.0), (2.0, &narrow, 3.0), (-3.0, &narrow, 150.0), (1.0, &wide, 1.1)]
        .map(|(m, factor, dof)| family.at(&vec![m; dim], factor.as_ref(), dof).unwrap())
        .into()
}

#[test]
fn the_inclusive_optimum_stays_and_steps_climb_to_it() {
    for dim in [1, 2] {
        let p = Atomic::skew_t(dim);
        let family = MultivariateT::learned(dim, 1.0).unwrap();
        let optimum = p.optimum(&family, &starts(dim)[0]);
        let dof = family.dof_at(&optimum);
        assert!(dof > 2.0 && dof < 10.0, "{dof}");
        let moved = drift(&p, &family, &optimum);
        assert!(moved < 1e-6, "{dim}: {moved}");
        for start in starts(dim) {
            let (end, fall) = climb(&p, &family, &start, 300);
            assert!(gap(&end, &optimum) < 1e-6, "{dim}: {end:?} {optimum:?}");
            assert!(fall < 1e-13, "{dim} {start:?}: {fall}");
        }
        // Fixed degrees of freedom, where ascent is a theorem; and the twin: degrees of freedom that are not learned do not suffice.
        let fixed = MultivariateT::fixed(dim, 30.0).unwrap();
        let at = |params: &[f64]| params[..params.len() - 1].to_vec();
        let best = p.optimum(&fixed, &at(&starts(dim)[0]));
        assert!(drift(&p, &fixed, &best) < 1e-6);
        for start in starts(dim) {
            let (end, fall) = climb(&p, &fixed, &at(&start), 300);
            assert!(gap(&end, &best) < 1e-6 && fall < 1e-13, "{dim}: {fall}");
        }
        assert!(p.value(&family, &optimum) > p.value(&fixed, &best) + 0.01);
        // Twin: the moments of a Gaussian are not those of the t.
        let frame = FullRank::new(dim);
        let gaussian = p.step(&frame, &best, 1.0);
        assert!(gap(&gaussian, &best) > 0.1);
    }
}

#[test]
fn independent_coordinates_climb_too() {
    let p = Atomic::skew_t(2);
    let family = StudentT::learned(2, 1.0).unwrap();
    let start = family.at(&[1.0, -1.0], &[3.0, 0.4], 20.0).unwrap();
    let optimum = p.optimum(&family, &start);
    assert!(drift(&p, &family, &optimum) < 1e-6);
    let (end, fall) = climb(&p, &family, &start, 300);
    assert!(gap(&end, &optimum) < 1e-6 && fall < 1e-13, "{end:?} {optimum:?} {fall}");
}

/// Gaussian atoms: the degrees of freedom go to the end of their range, and no farther.
#[test]
fn degrees_of_freedom_stay_in_their_range() {
    let points = Mat::from_fn(1, 81, |_, j| 0.1 * (j as f64 - 40.0));
    let weights: Vec<f64> = (0..81).map(|j| (-0.5 * points[(0, j)] * points[(0, j)]).exp()).collect();
    let p = Atomic::new(points, &weights);
    let family = MultivariateT::learned(1, 2.0).unwrap();
    let (end, _) = climb(&p, &family, &family.at(&[0.5], mat![[2.0]].as_ref(), 4.0).unwrap(), 200);
    assert!((family.dof_at(&end) - 200.0).abs() < 1e-9);
    let spiky = Atomic::new(mat![[-1e6, -0.1, 0.0, 0.1, 1e3]], &[1.0, 10.0, 10.0, 10.0, 1.0]);
    let (end, _) = climb(&spiky, &family, &end, 200);
    assert!((family.dof_at(&end) - 2.1).abs() < 1e-9);
    assert_eq!(Learned::above(2.0).unwrap().range(), [2.1, 200.0]);
    assert_eq!(Learned::above(200.0).unwrap().range(), [210.0, 420.0]);
    let outside = family.at(&[0.5], mat![[2.0]].as_ref(), 1e6).unwrap();
    assert!((family.dof_at(&p.step(&family, &outside, 1e-9)) - 200.0).abs() < 0.1);
}

#[test]
fn moments_outside_a_t_family_are_errors() {
    let (family, params) = learned(2, 5.0);
    stays_in_the_family(&family, &params);
    stays_in_the_family(&MultivariateT::fixed(2, 1.0).unwrap(), &params[..5]);
    let product = StudentT::learned(2, 2.0).unwrap();
    stays_in_the_family(&product, &product.at(&LOCATION, &[1.0, 2.0], 5.0).unwrap());
    fn nothing_moves<F: MomentMatched>(family: &F, params: Vec<f64>) {
        let (empty, weights) = (Mat::zeros(0, 3), [0.2, 0.3, 0.5]);
        assert_eq!(step(family, &params, 0.5, empty.as_ref(), &weights), Some(params));
    }
    let empty = StudentT::learned(0, 2.0).unwrap();
    let params = empty.at(&[], &[], 5.0).unwrap();
    nothing_moves(&empty, params.clone());
    nothing_moves(&MultivariateT::learned(0, 2.0).unwrap(), params);
}
