//! Conformance of planar and radial flows, inverse, start, and faulty layers that must fail.

use faer::Mat;
use mcsa_core::{Error, Family, Parametric, Pushforward, Seed, Stream, batch, batch_mut, one};
use mcsa_families::conformance::{self as laws, Case};
use mcsa_families::{
    Bijection, Composed, Drawn, FullRank, Invertible, Link, MeanField, Planar, PlanarFlow, RadialFlow, suite,
};

fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

/// Case at some distance from the start, so that no layer is the identity.
fn moved<F: Pushforward>(q: F, mut params: Vec<f64>, size: f64) -> Case<F> {
    let mut stream = Seed::new(5).stream(0, 0);
    params.iter_mut().for_each(|param| *param += size * stream.normal());
    Case::new(q, params).with_draws(1 << 15)
}

fn begin<L: Bijection>(q: &Composed<L>) -> Vec<f64> {
    let dim = q.dim();
    let (mean, scales): (Vec<f64>, Vec<f64>) =
        (0..dim).map(|i| (0.3 * i as f64 - 0.2, 0.7 + 0.2 * i as f64)).unzip();
    q.start(&mean, &scales, &mut Seed::new(2).stream(0, 0)).unwrap()
}

fn planar() -> Vec<Case<PlanarFlow>> {
    let case = |(dim, layers)| {
        let q = PlanarFlow::new(dim, layers).unwrap();
        let params = begin(&q);
        moved(q, params, 0.4)
    };
    [(1, 1), (1, 3), (2, 0), (2, 2), (3, 4), (7, 2)].map(case).into()
}

/// Radial flows, none in two dimensions, where the laws are integrals and the kink at a centre is not a knot of a coordinate. In
/// one dimension it is a knot.
fn radial() -> Vec<Case<RadialFlow>> {
    let case = |(dim, layers)| {
        let q = RadialFlow::new(dim, layers).unwrap();
        let params = begin(&q);
        moved(q, params, 0.4)
    };
    let mut cases: Vec<_> = [(3, 1), (3, 4), (7, 2)].map(case).into();
    let line = case((1, 1));
    cases.push(
        line.with_knots(|_, params, _, _| vec![params[0] + Link::Softplus.scale(params[1]) * params[2]]),
    );
    cases
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
suite!(drawn_pushforward, drawn(), meter, pushforward);

#[test]
fn what_is_pushed_knows_its_density() {
    planar().iter().for_each(|case| assert_eq!(laws::push_knows_its_density(case), Ok(())));
    radial().iter().for_each(|case| assert_eq!(laws::push_knows_its_density(case), Ok(())));
}

#[test]
fn a_fit_begins_at_the_gaussian() {
    fn check<L: Invertible>(q: &Composed<L>) {
        let params = begin(q);
        let gaussian = MeanField::new(q.dim());
        let own = &params[..gaussian.num_params()];
        let mut stream = Seed::new(3).stream(0, 0);
        for _ in 0..20 {
            let z: Vec<f64> = (0..gaussian.dim).map(|_| 3.0 * stream.normal()).collect();
            let log_q = q.log_prob(&params, &z, &mut vec![f64::NAN; q.work_len(1)]);
            let expected = gaussian.log_prob(own, &z, &mut vec![0.0; gaussian.work_len(1)]);
            assert!((log_q - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{log_q} {expected}");
        }
    }
    check(&PlanarFlow::new(3, 5).unwrap());
    check(&RadialFlow::new(3, 5).unwrap());
}

/// The inverse of pushed points is their noise, near the origin and a million scales away.
#[test]
fn the_inverse_is_the_inverse() {
    fn check<L: Invertible>(q: &Composed<L>, params: &[f64]) {
        let (layer, dim) = (&q.layers()[0], q.dim());
        let own = &params[2 * dim..2 * dim + layer.num_params()];
        let mut stream = Seed::new(3).stream(0, 0);
        for scale in [1e-3, 1.0, 30.0, 1e6] {
            let x: Vec<f64> = (0..dim).map(|_| scale * stream.normal()).collect();
            let (mut y, mut back) = (vec![f64::NAN; dim], vec![f64::NAN; dim]);
            let mut work = vec![f64::NAN; layer.work_len(1)];
            let (mut there, mut here) = ([0.0], [0.0]);
            layer.forward(own, &x, &mut y, &mut there, &mut work);
            layer.inverse(own, &y, &mut back, &mut here, &mut work);
            assert!((there[0] + here[0]).abs() < 1e-12, "{scale}: {there:?} {here:?}");
            for (x, back) in x.iter().zip(&back) {
                assert!((x - back).abs() < 1e-13 * (1.0 + scale), "{scale}: {x} {back}");
            }
        }
    }
    planar().iter().filter(|case| !case.family.layers().is_empty()).for_each(|c| check(&c.family, &c.params));
    radial().iter().for_each(|case| check(&case.family, &case.params));
    // A layer that is almost flat at its plane, and one that stretches strongly: `w . u` of -20 and of 50.
    for along in [-20.0, 50.0] {
        let q = PlanarFlow::new(2, 1).unwrap();
        check(&q, &[0.0, 0.0, 0.5, 0.5, 1.0, 0.0, along, 0.3, 0.1]);
    }
}

#[test]
fn far_away_everything_is_finite() {
    fn check<L: Invertible>(case: &Case<Composed<L>>) {
        let (q, dim) = (&case.family, case.family.dim());
        let far: Vec<f64> = (0..2 * dim).map(|k| if k % 2 == 0 { 1e6 } else { -1e6 }).collect();
        let far = batch(&far, dim, 2);
        let mut work = vec![f64::NAN; q.work_len(2)];
        let (mut z, mut log_q) = (vec![f64::NAN; 2 * dim], [f64::NAN; 2]);
        let mut gradient = vec![0.0; case.params.len()];
        q.push(&case.params, far, batch_mut(&mut z, dim, 2), &mut log_q, &mut work);
        assert!(z.iter().chain(&log_q).all(|x| x.is_finite()));
        q.add_push_gradients(&case.params, far, far, &[1.0; 2], &mut gradient, &mut work);
        q.log_probs(&case.params, far, &mut log_q, &mut work);
        q.add_scores(&case.params, far, &[1.0; 2], &mut gradient, &mut work);
        assert!(log_q.iter().chain(&gradient).all(|x| x.is_finite()));
    }
    planar().iter().for_each(check);
    radial().iter().for_each(check);
}

#[test]
fn what_is_no_bijection_is_refused() {
    assert!(PlanarFlow::new(0, 1).is_err() && RadialFlow::new(0, 1).is_err());
    assert!(Composed::of(2, vec![Planar { dim: 3 }]).is_err());
    let q = PlanarFlow::new(2, 1).unwrap();
    let good = begin(&q);
    assert!(q.start(&[0.0; 2], &[1.0, 0.0], &mut Seed::new(2).stream(0, 0)).is_err());
    for (range, value) in [(4..6, 0.0), (4..8, 1e200), (4..5, -800.0), (3..4, -800.0)] {
        let mut bad = good.clone();
        bad[6] = 1.0;
        bad[range].fill(value);
        assert!(q.check(&bad).is_err(), "{bad:?}");
    }
    let q = RadialFlow::new(2, 1).unwrap();
    let mut bad = begin(&q);
    bad[7] = -800.0;
    assert_eq!(
        q.check(&bad).unwrap_err().to_string().split(':').next(),
        Some("layer 0"),
        "the message says where"
    );
}

/// A planar layer with a fault: a wrong log-determinant or a shifted inverse.
#[derive(Debug, Clone, Copy)]
struct Twin {
    layer: Planar,
    /// Factor of the log-determinant.
    log_det: f64,
    /// Number that is added to the inverse.
    shift: f64,
}

impl Bijection for Twin {
    fn dim(&self) -> usize {
        self.layer.dim
    }
    fn num_params(&self) -> usize {
        self.layer.num_params()
    }
    fn work_len(&self, columns: usize) -> usize {
        self.layer.work_len(columns)
    }
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        self.layer.check(params)
    }
    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) {
        self.layer.start(stream, params);
    }
    fn forward(&self, params: &[f64], x: &[f64], y: &mut [f64], log_det: &mut [f64], work: &mut [f64]) {
        let mut own = vec![0.0; log_det.len()];
        self.layer.forward(params, x, y, &mut own, work);
        log_det.iter_mut().zip(own).for_each(|(sum, own)| *sum += self.log_det * own);
    }
    fn pull(
        &self,
        params: &[f64],
        x: &[f64],
        y: &[f64],
        weights: &[f64],
        cotangents: &mut [f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.layer.pull(params, x, y, weights, cotangents, gradient, work);
    }
}

impl Invertible for Twin {
    fn inverse(&self, params: &[f64], y: &[f64], x: &mut [f64], log_det: &mut [f64], work: &mut [f64]) {
        self.layer.inverse(params, y, x, log_det, work);
        x.iter_mut().for_each(|x| *x += self.shift);
    }
    fn pull_inverse(
        &self,
        params: &[f64],
        y: &[f64],
        x: &[f64],
        weights: &[f64],
        cotangents: &mut [f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.layer.pull_inverse(params, y, x, weights, cotangents, gradient, work);
    }
}

#[test]
fn faults_are_caught() {
    let case = |log_det, shift| {
        let q = Composed::of(2, vec![Twin { layer: Planar { dim: 2 }, log_det, shift }]).unwrap();
        let params = begin(&q);
        moved(q, params, 0.4)
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
