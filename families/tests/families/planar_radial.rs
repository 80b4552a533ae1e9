//! Conformance of planar and radial flows, inverse, start, and faulty flows that must fail.

use faer::{Mat, MatRef};
use mcsa_core::{ColumnsMut, Family, Parametric, Pushforward, Seed, batch_mut, one};
use mcsa_families::conformance::{self as laws, Case, Map};
use mcsa_families::{Base, Drawn, Fixed, Flow, FullRank, Gauss, Layer, Learned, Link, suite};

use crate::altered::{Alteration, Altered, meter};
use crate::flow_checks::{begin, is_decided_far_away, is_finite_far_away, is_the_gaussian};

/// Case at some distance from the start, so that no layer is the identity.
fn moved<F: Parametric>(q: F, mut params: Vec<f64>, size: f64) -> Case<F> {
    let mut stream = Seed::new(5).stream(0, 0);
    params.iter_mut().for_each(|param| *param += size * stream.normal());
    Case::new(q, params).with_draws(1 << 15)
}

fn case<B: Base>(q: Flow<B>) -> Case<Flow<B>> {
    let params = begin(&q);
    moved(q, params, 0.4)
}

fn planar() -> Vec<Case<Flow>> {
    let shapes = [(1, 1), (1, 3), (2, 0), (2, 2), (3, 4), (7, 2)];
    shapes.map(|(dim, layers)| case(Flow::planar(dim, Gauss, layers).unwrap())).into()
}

/// Radial flows, none in two dimensions, where the laws are integrals and the kink at a centre is not a knot of a coordinate. In
/// one dimension it is a knot.
fn radial() -> Vec<Case<Flow>> {
    let case = |(dim, layers)| case(Flow::radial(dim, Gauss, layers).unwrap());
    let mut cases: Vec<_> = [(3, 1), (3, 4), (7, 2)].map(case).into();
    let line = case((1, 1));
    cases.push(
        line.with_knots(|_, params, _, _| vec![params[3] + Link::Softplus.scale(params[4]) * params[0]]),
    );
    cases
}

fn on_a_t() -> [Case<Flow<Fixed>>; 2] {
    let base = Fixed::new(4.0).unwrap();
    [case(Flow::planar(2, base, 2).unwrap()).with_map(Map::SinhSinh), case(Flow::radial(3, base, 2).unwrap())]
}

fn on_a_learned_t() -> [Case<Flow<Learned>>; 1] {
    [case(Flow::planar(1, Learned::above(2.0).unwrap(), 2).unwrap()).with_map(Map::SinhSinh)]
}

fn drawn() -> [Case<Drawn<FullRank>>; 2] {
    [1, 3].map(|dim| {
        let q = Drawn(FullRank::new(dim));
        let params = vec![0.2; q.num_params()];
        moved(q, params, 0.3)
    })
}

suite!(planar_family, planar(), meter);
suite!(planar_pushforward, planar(), meter, pushforward);
suite!(radial_family, radial(), meter);
suite!(radial_pushforward, radial(), meter, pushforward);
suite!(family_on_a_t, on_a_t(), meter);
suite!(pushforward_on_a_t, on_a_t(), meter, pushforward);
suite!(family_on_a_learned_t, on_a_learned_t(), meter);
suite!(drawn_pushforward, drawn(), meter, pushforward);

#[test]
fn what_is_pushed_knows_its_density() {
    planar().iter().for_each(|case| assert_eq!(laws::push_knows_its_density(case), Ok(())));
    radial().iter().for_each(|case| assert_eq!(laws::push_knows_its_density(case), Ok(())));
}

#[test]
fn a_fit_begins_at_the_gaussian() {
    for q in [Flow::planar(3, Gauss, 5).unwrap(), Flow::radial(3, Gauss, 5).unwrap()] {
        is_the_gaussian(&q, &begin(&q));
    }
}

/// The inverse of the image of a point under a layer alone is the point, near the origin and a million scales away.
#[test]
fn the_inverse_is_the_inverse() {
    fn check(layer: &Layer, dim: usize, params: &[f64]) {
        let q = Flow::new(dim, Gauss, vec![layer.clone()]).unwrap();
        let params = &params[..q.num_params()];
        let mut stream = Seed::new(3).stream(0, 0);
        for scale in [1e-3, 1.0, 30.0, 1e6] {
            let x: Vec<f64> = (0..dim).map(|_| scale * stream.normal()).collect();
            let (mut y, mut back) = (vec![f64::NAN; dim], vec![f64::NAN; dim]);
            let mut work = vec![f64::NAN; q.work_len(1)];
            let (mut there, mut here) = ([0.0], [0.0]);
            q.transport(params, one(&x), batch_mut(&mut y, dim, 1), &mut there, &mut work);
            q.invert(params, one(&y), batch_mut(&mut back, dim, 1), &mut here, &mut work);
            assert!((there[0] - here[0]).abs() < 1e-12, "{scale}: {there:?} {here:?}");
            for (x, back) in x.iter().zip(&back) {
                assert!((x - back).abs() < 1e-13 * (1.0 + scale), "{scale}: {x} {back}");
            }
        }
    }
    for case in planar().iter().chain(&radial()).filter(|case| case.family.layers().len() > 1) {
        check(&case.family.layers()[0], case.family.dim(), &case.params);
    }
    // A layer that is almost flat at its plane, and one that stretches strongly: `w . u` of -20 and of 50.
    for along in [-20.0, 50.0] {
        check(&Layer::Planar, 2, &[1.0, 0.0, along, 0.3, 0.1]);
    }
}

#[test]
fn far_away_everything_is_finite() {
    for case in planar().iter().chain(&radial()) {
        is_finite_far_away(&case.family, &case.params);
        is_decided_far_away(&case.family, &case.params);
    }
}

#[test]
fn what_is_no_bijection_is_refused() {
    assert!(Flow::planar(0, Gauss, 1).is_err() && Flow::radial(0, Gauss, 1).is_err());
    let q = Flow::planar(2, Gauss, 1).unwrap();
    let good = begin(&q);
    assert!(q.start_at(&[0.0; 2], &[1.0, 0.0], &mut Seed::new(2).stream(0, 0)).is_err());
    for (range, value) in [(0..2, 0.0), (0..4, 1e200), (0..1, -800.0), (8..9, -800.0)] {
        let mut bad = good.clone();
        bad[2] = 1.0;
        bad[range].fill(value);
        assert!(q.check(&bad).is_err(), "{bad:?}");
    }
    let q = Flow::radial(2, Gauss, 1).unwrap();
    let mut bad = begin(&q);
    bad[3] = -800.0;
    assert_eq!(
        q.check(&bad).unwrap_err().to_string().split(':').next(),
        Some("layer 0 of a flow"),
        "the message says where"
    );
}

/// Faults of a planar flow: a wrong log-determinant of its draws, or a shifted inverse.
#[derive(Debug, Clone)]
struct Fault {
    /// Factor of the log-determinant.
    log_det: f64,
    /// Number that is added to the inverse.
    shift: f64,
}

impl Alteration<Flow> for Fault {
    fn pushed(&self, flow: &Flow, params: &[f64], noise: MatRef<'_, f64>, log_q: &mut [f64]) {
        let (mut z, mut log_det) = (Mat::zeros(2, noise.ncols()), vec![0.0; log_q.len()]);
        flow.transport(params, noise, z.as_mut(), &mut log_det, &mut vec![0.0; flow.work_len(noise.ncols())]);
        log_q.iter_mut().zip(log_det).for_each(|(log_q, own)| *log_q += (1.0 - self.log_det) * own);
    }
    fn densities(&self, flow: &Flow, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64]) {
        let mut eps = Mat::zeros(2, z.ncols());
        flow.invert(params, z, eps.as_mut(), log_q, &mut vec![0.0; flow.work_len(z.ncols())]);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let square: f64 = eps.as_mut().column_mut(j).iter().map(|eps| (eps + self.shift).powi(2)).sum();
            *log_q = -0.5 * square - (2.0 * std::f64::consts::PI).ln() - *log_q;
        }
    }
}

#[test]
fn faults_are_caught() {
    let case = |log_det, shift| {
        let family = Flow::planar(2, Gauss, 1).unwrap();
        let params = begin(&family);
        moved(Altered { family, by: Fault { log_det, shift } }, params, 0.4)
    };
    let honest = case(1.0, 0.0);
    assert_eq!(laws::check_pushforward(&honest), Ok(()));
    assert_eq!(laws::push_knows_its_density(&honest), Ok(()));
    assert_eq!(laws::check(&honest), Ok(()));
    let forgetful = case(0.99, 0.0);
    assert!(laws::push_follows_the_density(&forgetful).is_err());
    assert!(laws::push_gradient_is_gradient(&forgetful).is_err());
    assert!(laws::push_knows_its_density(&forgetful).is_err());
    let shifted = case(1.0, 1e-7);
    assert!(laws::push_knows_its_density(&shifted).is_err());
    assert!(laws::score_is_gradient(&shifted).is_err());
}

/// The log density of `Drawn` is that of its family: one column against `log_prob`.
#[test]
fn a_drawn_family_is_the_family() {
    let (q, params) = (FullRank::new(2), [0.1, 0.2, -0.3, 0.4, 0.6]);
    let eps = Mat::from_fn(2, 1, |i, _| 0.3 - i as f64);
    let (mut z, mut log_q) = ([f64::NAN; 2], [f64::NAN]);
    let drawn = Drawn(q);
    let mut work = vec![f64::NAN; drawn.work_len(1)];
    drawn.push(&params, eps.as_ref(), batch_mut(&mut z, 2, 1), &mut log_q, &mut work);
    let mut expected = [0.0];
    q.log_probs(&params, one(&z), &mut expected, &mut work);
    assert_eq!(log_q[0].to_bits(), expected[0].to_bits());
}
