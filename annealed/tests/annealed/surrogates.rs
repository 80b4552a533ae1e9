//! Surrogate posteriors against differences, dual numbers and the targets that they replace, with deliberate mistakes.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use faer::Mat;
use mcsa_annealed::surrogate::{
    LogisticSurrogate, MinibatchSurrogate, NeuralSurrogate, QuadraticSurrogate, SubsetSurrogate,
};
use mcsa_annealed::{Along, InducingCoordinates, PathPoint, Sizes, SparseSurrogate, Surrogate};
use mcsa_core::{LogDensity, Minibatch, Seed, Separable};
use mcsa_models::{Bounded, GenericTerms, LogisticRegression, Parameters, Real};
use num_dual::{DualNum, HyperDual64};

use crate::sparse_gp::Fixture;

pub(super) fn normals(count: usize, lane: u64) -> Vec<f64> {
    let mut out = vec![0.0; count];
    Seed::new(11).stream(lane, 0).normals_into(&mut out);
    out
}

pub(super) fn matrix(rows: usize, columns: usize, lane: u64) -> Mat<f64> {
    let numbers = normals(rows * columns, lane);
    Mat::from_fn(rows, columns, |n, k| numbers[n * columns + k])
}

pub(super) fn labels(rows: usize) -> Vec<f64> {
    (0..rows).map(|n| f64::from(u8::from(n * 5 % 3 == 0))).collect()
}

/// Lent memory of a surrogate, filled with NaN before each use.
pub(super) struct Lent<'a> {
    surrogate: &'a dyn Surrogate,
    memory: Vec<f64>,
    tape: Vec<f64>,
    work: Vec<f64>,
}

impl<'a> Lent<'a> {
    pub(super) fn new(surrogate: &'a dyn Surrogate) -> Self {
        Self { surrogate, memory: vec![], tape: vec![], work: vec![] }
    }

    pub(super) fn gradient(&mut self, psi: &[f64], noise: &[f64], z: &[f64]) -> Vec<f64> {
        let s = self.surrogate;
        self.memory = vec![f64::NAN; s.sizes().memory];
        self.tape = vec![f64::NAN; s.sizes().tape];
        self.work = vec![f64::NAN; s.sizes().work];
        let mut gradient = vec![f64::NAN; z.len()];
        s.prepare(psi, noise, &mut self.memory);
        let at = PathPoint { psi, memory: &self.memory, z };
        s.gradient_into(at, &mut gradient, &mut self.tape, &mut self.work);
        gradient
    }

    /// Product and derivative of psi at the point of the last gradient, both added to 1.
    fn second(&mut self, psi: &[f64], z: &[f64], u: &[f64], scale: f64) -> (Vec<f64>, Vec<f64>) {
        self.work.fill(f64::NAN);
        let (mut product, mut bar) = (vec![1.0; z.len()], vec![1.0; psi.len()]);
        let at = PathPoint { psi, memory: &self.memory, z };
        let along = Along { at, tape: &self.tape, u, scale };
        self.surrogate.add_second(along, &mut product, &mut bar, &mut self.work);
        (product, bar)
    }
}

fn close(name: &str, found: f64, expected: f64, tolerance: f64) -> Result<(), String> {
    if (found - expected).abs() <= tolerance * expected.abs().max(1.0) {
        return Ok(());
    }
    Err(format!("{name}: {found} against {expected}"))
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `x + h v`.
fn moved(x: &[f64], v: &[f64], h: f64) -> Vec<f64> {
    x.iter().zip(v).map(|(x, v)| x + h * v).collect()
}

fn unit(len: usize, at: usize) -> Vec<f64> {
    (0..len).map(|i| f64::from(u8::from(i == at))).collect()
}

/// Gradient against central differences of a log density; second derivatives against those of the gradient, in z and in psi.
fn check(
    surrogate: &dyn Surrogate,
    psi: &[f64],
    log_density: &dyn Fn(&[f64], &[f64]) -> f64,
) -> Result<(), String> {
    let (d, noise) = (surrogate.sizes().dim, normals(surrogate.sizes().noise, 40));
    assert_eq!(psi.len(), surrogate.sizes().params);
    let (mut lent, h, scale) = (Lent::new(surrogate), 1e-5, 0.7);
    for draw in 0..3 {
        let (z, u) = (normals(d, 50 + draw), normals(d, 60 + draw));
        let gradient = lent.gradient(psi, &noise, &z);
        let (product, bar) = lent.second(psi, &z, &u, scale);
        for (k, &gradient) in gradient.iter().enumerate() {
            let value = |h: f64| log_density(psi, &moved(&z, &unit(d, k), h));
            close("gradient", gradient, (value(h) - value(-h)) / (2.0 * h), 1e-6)?;
        }
        let mut slope = |psi: &[f64], z: &[f64]| lent.gradient(psi, &noise, z);
        let (above, below) = (slope(psi, &moved(&z, &u, h)), slope(psi, &moved(&z, &u, -h)));
        for k in 0..d {
            close("product", product[k], 1.0 + scale * (above[k] - below[k]) / (2.0 * h), 1e-6)?;
        }
        for (j, &bar) in bar.iter().enumerate() {
            let along = unit(psi.len(), j);
            let (above, below) = (slope(&moved(psi, &along, h), &z), slope(&moved(psi, &along, -h), &z));
            let expected = 1.0 + scale * (dot(&u, &above) - dot(&u, &below)) / (2.0 * h);
            close("parameters", bar, expected, 1e-6)?;
        }
    }
    Ok(())
}

/// A surrogate with a fault: it keeps a share of each derivative for its parameters or of its curvature, or kicks twice at one call
/// along a path.
pub(super) struct Faulty<S> {
    pub(super) surrogate: S,
    kept: fn(usize) -> f64,
    kept_curvature: f64,
    twice_at: usize,
    calls: AtomicUsize,
}

impl<S> Faulty<S> {
    pub(super) fn new(surrogate: S, kept: fn(usize) -> f64, twice_at: usize) -> Self {
        Self { surrogate, kept, kept_curvature: 1.0, twice_at, calls: AtomicUsize::new(0) }
    }
}

impl<S: Surrogate> Surrogate for Faulty<S> {
    fn sizes(&self) -> Sizes {
        self.surrogate.sizes()
    }
    fn prepare(&self, psi: &[f64], noise: &[f64], memory: &mut [f64]) {
        self.calls.store(0, Relaxed);
        self.surrogate.prepare(psi, noise, memory);
    }
    fn gradient_into(&self, at: PathPoint<'_>, gradient: &mut [f64], tape: &mut [f64], work: &mut [f64]) {
        self.surrogate.gradient_into(at, gradient, tape, work);
        if self.calls.fetch_add(1, Relaxed) + 1 == self.twice_at {
            gradient.iter_mut().for_each(|g| *g *= 2.0);
        }
    }
    fn add_second(&self, along: Along<'_>, product: &mut [f64], psi_bar: &mut [f64], work: &mut [f64]) {
        let (before, start) = (psi_bar.to_vec(), product.to_vec());
        self.surrogate.add_second(along, product, psi_bar, work);
        for (product, start) in product.iter_mut().zip(start) {
            *product = start + self.kept_curvature * (*product - start);
        }
        for (k, (bar, before)) in psi_bar.iter_mut().zip(before).enumerate() {
            *bar = before + (self.kept)(k) * (*bar - before);
        }
    }
}

/// Formula of a logistic surrogate, for dual numbers too.
#[derive(Clone)]
struct Plain {
    x: Mat<f64>,
    labels: Option<Vec<f64>>,
    fixed: Option<(Vec<f64>, Vec<f64>)>,
    learned: bool,
    prior_scale: f64,
}

impl Plain {
    fn num_weights(&self) -> usize {
        match (&self.fixed, &self.labels) {
            (Some(_), _) => 0,
            (None, Some(_)) => self.x.nrows(),
            (None, None) => 2 * self.x.nrows(),
        }
    }

    /// w+ and w- of point n.
    fn weights<D: DualNum<Primitive = f64> + Copy>(&self, psi: &[D], n: usize) -> (D, D) {
        match (&self.fixed, &self.labels) {
            (Some((plus, minus)), _) => (D::from(plus[n]), D::from(minus[n])),
            (None, Some(labels)) if labels[n] == 1.0 => (psi[n].exp(), D::from(0.0)),
            (None, Some(_)) => (D::from(0.0), psi[n].exp()),
            (None, None) => (psi[n].exp(), psi[self.x.nrows() + n].exp()),
        }
    }

    fn covariate<D: DualNum<Primitive = f64> + Copy>(&self, psi: &[D], n: usize, k: usize) -> D {
        if self.learned { psi[self.num_weights() + k * self.x.nrows() + n] } else { D::from(self.x[(n, k)]) }
    }

    fn log_density<D: DualNum<Primitive = f64> + Copy>(&self, psi: &[D], z: &[D]) -> D {
        let prior = z.iter().fold(D::from(0.0), |sum, &z| sum - z * z * (0.5 / self.prior_scale.powi(2)));
        (0..self.x.nrows()).fold(prior, |sum, n| {
            let t = (0..z.len()).fold(D::from(0.0), |t, k| t + self.covariate(psi, n, k) * z[k]);
            let (plus, minus) = self.weights(psi, n);
            sum - plus * (-t).exp().ln_1p() - minus * t.exp().ln_1p()
        })
    }
}

/// Each form of the logistic surrogate, and its formula.
fn logistic_forms(points: usize, d: usize) -> Vec<(LogisticSurrogate, Plain)> {
    let (x, labels, prior_scale) = (matrix(points, d, 1), labels(points), 1.3);
    let plus: Vec<f64> = normals(points, 2).iter().map(|x| (x + 0.5).exp()).collect();
    let minus: Vec<f64> = normals(points, 3).iter().map(|x| (0.7 * x).exp()).collect();
    let rows = || LogisticSurrogate::from_rows(x.as_ref(), &labels, &plus, prior_scale).unwrap();
    let both = || LogisticSurrogate::from_points(x.as_ref(), &plus, &minus, prior_scale).unwrap();
    let plain = Plain { x: x.clone(), labels: None, fixed: None, learned: false, prior_scale };
    let labelled = Plain { labels: Some(labels.clone()), ..plain.clone() };
    let of = |label: f64| plus.iter().zip(&labels).map(move |(w, &y)| if y == label { *w } else { 0.0 });
    let fixed = Plain { fixed: Some((of(1.0).collect(), of(0.0).collect())), ..labelled.clone() };
    vec![
        (rows(), labelled.clone()),
        (rows().with_fixed_weights(), fixed),
        (rows().with_learned_points(), Plain { learned: true, ..labelled }),
        (both(), plain.clone()),
        (both().with_fixed_weights(), Plain { fixed: Some((plus.clone(), minus.clone())), ..plain.clone() }),
        (both().with_learned_points(), Plain { learned: true, ..plain }),
    ]
}

/// Derivatives against those of the formula in hyper-dual numbers, exact to rounding.
fn agrees_with_duals(surrogate: &dyn Surrogate, plain: &Plain, psi: &[f64]) -> Result<(), String> {
    let pair = |x: &[f64], first: &[f64], second: &[f64]| -> Vec<HyperDual64> {
        (0..x.len()).map(|i| HyperDual64::new(x[i], first[i], second[i], 0.0)).collect()
    };
    let d = surrogate.sizes().dim;
    let (z, u) = (normals(d, 7), normals(d, 8));
    let (still, rest) = (vec![0.0; psi.len()], vec![0.0; d]);
    let mut lent = Lent::new(surrogate);
    let gradient = lent.gradient(psi, &[], &z);
    let (product, bar) = lent.second(psi, &z, &u, 0.7);
    for k in 0..d {
        let value = plain.log_density(&pair(psi, &still, &still), &pair(&z, &u, &unit(d, k)));
        close("gradient", gradient[k], value.eps2, 1e-12)?;
        close("product", product[k], 1.0 + 0.7 * value.eps1eps2, 1e-12)?;
    }
    for (j, &bar) in bar.iter().enumerate() {
        let along = unit(psi.len(), j);
        let value = plain.log_density(&pair(psi, &still, &along), &pair(&z, &u, &rest));
        close("parameters", bar, 1.0 + 0.7 * value.eps1eps2, 1e-12)?;
    }
    Ok(())
}

#[test]
fn logistic_surrogates_have_their_derivatives() {
    for (points, d) in [(1, 1), (16, 3), (21, 4)] {
        for (surrogate, plain) in logistic_forms(points, d) {
            let psi = surrogate.initial();
            assert_eq!(agrees_with_duals(&surrogate, &plain, &psi), Ok(()), "{}", surrogate.config());
            let faulty = |kept| Faulty::new(surrogate.clone(), kept, 0);
            let error = |faulty| agrees_with_duals(&faulty, &plain, &psi).unwrap_err();
            // Without the first derivative, with all of them a thousandth too small, and with half of the curvature.
            if !psi.is_empty() {
                assert!(error(faulty(|k| f64::from(u8::from(k > 0)))).starts_with("parameters"));
                assert!(error(faulty(|_| 0.999)).starts_with("parameters"));
            }
            let bent = Faulty { kept_curvature: 0.5, ..faulty(|_| 1.0) };
            assert!(error(bent).starts_with("product"));
            assert!(
                agrees_with_duals(&surrogate, &Plain { prior_scale: 1.4, ..plain.clone() }, &psi).is_err()
            );
        }
    }
}

fn regression(data: usize) -> LogisticRegression {
    LogisticRegression::new(matrix(data, 3, 1).as_ref(), &labels(data), 1.3).unwrap()
}

/// The regression of [`regression`], written once for every number type.
struct Terms(Mat<f64>, Vec<f64>);

impl GenericTerms for Terms {
    fn num_data(&self) -> usize {
        self.1.len()
    }
    fn log_prior<R: Real>(&self, w: &[R]) -> R {
        w.iter().map(|w| w.log_normal(0.0, 1.3)).sum()
    }
    fn log_likelihood<R: Real>(&self, datum: usize, w: &[R]) -> R {
        let row: Vec<f64> = self.0.row(datum).iter().copied().collect();
        (R::dot(&row, w) * (2.0 * self.1[datum] - 1.0)).log_sigmoid()
    }
}

/// Against the formula of the same rows; second derivatives of a model without any are differences of its gradient.
#[test]
fn subset_surrogates_have_their_derivatives() {
    let (x, y) = (matrix(30, 3, 1), labels(30));
    let by_hand = regression(30);
    let generic = Bounded::new(Parameters::new().real("w", 3), Terms(x.clone(), y.clone())).unwrap();
    let mut stream = Seed::new(4).stream(0, 0);
    let surrogate = SubsetSurrogate::random(&by_hand, 8, &mut stream).unwrap();
    let by_terms = SubsetSurrogate::random(&generic, 8, &mut Seed::new(4).stream(0, 0)).unwrap();
    let rows = surrogate.rows();
    assert_eq!(rows, by_terms.rows());
    let plain = |shift: usize| Plain {
        x: Mat::from_fn(8, 3, |n, k| x[(rows[n], k)]),
        labels: Some(rows.iter().map(|&n| y[(n + shift) % 30]).collect()),
        fixed: None,
        learned: false,
        prior_scale: 1.3,
    };
    let psi: Vec<f64> = surrogate.initial().iter().zip(normals(8, 2)).map(|(a, b)| a + 0.5 * b).collect();
    assert_eq!(agrees_with_duals(&surrogate, &plain(0), &psi), Ok(()));
    assert!(agrees_with_duals(&surrogate, &plain(1), &psi).is_err());
    let formula = |psi: &[f64], z: &[f64]| plain(0).log_density(psi, z);
    assert_eq!(check(&by_terms, &psi, &formula), Ok(()));
    for count in [0, 31] {
        assert!(SubsetSurrogate::random(&by_hand, count, &mut stream).is_err());
    }
}

/// Likelihoods of a datum x, y with three coefficients, or with a mean, a log scale and the effects of three groups.
#[derive(Clone, Copy, PartialEq)]
enum Likelihood {
    Probit,
    Linear,
    StudentT,
    Hierarchical,
}

struct AnyTerms(Likelihood, Mat<f64>, Vec<f64>);

impl GenericTerms for AnyTerms {
    fn num_data(&self) -> usize {
        self.2.len()
    }
    fn log_prior<R: Real>(&self, w: &[R]) -> R {
        match self.0 {
            Likelihood::Hierarchical => {
                let effects = w[2..].iter().map(|effect| effect.log_normal(w[0], w[1].exp()));
                w[0].log_normal(0.0, 2.0) + w[1].log_normal(0.0, 1.0) + effects.sum::<R>()
            }
            _ => w.iter().map(|w| w.log_normal(0.0, 1.3)).sum(),
        }
    }
    fn log_likelihood<R: Real>(&self, datum: usize, w: &[R]) -> R {
        let (row, y): (Vec<f64>, f64) = (self.1.row(datum).iter().copied().collect(), self.2[datum]);
        let t = || R::dot(&row, w);
        match self.0 {
            Likelihood::Probit => (((t() * (2.0 * y - 1.0)) * 0.5_f64.sqrt()).erf() * 0.5 + 0.5).ln(),
            Likelihood::Linear => t().log_normal(y, 0.7),
            Likelihood::StudentT => ((t() - y).powi(2) / 4.0).ln_1p() * -2.5,
            Likelihood::Hierarchical => w[2 + datum % 3].log_normal(y, 0.7),
        }
    }
}

/// A subset with learned weights serves any likelihood that is a product over data. Counterexample: the formula of other rows.
#[test]
fn subset_surrogates_serve_any_factorised_likelihood() {
    use Likelihood::{Hierarchical, Linear, Probit, StudentT};
    for likelihood in [Probit, Linear, StudentT, Hierarchical] {
        let terms = || AnyTerms(likelihood, matrix(30, 3, 1), labels(30));
        let dim = if likelihood == Hierarchical { 5 } else { 3 };
        let target = Bounded::new(Parameters::new().real("w", dim), terms()).unwrap();
        let surrogate = SubsetSurrogate::random(&target, 8, &mut Seed::new(4).stream(0, 0)).unwrap();
        let psi: Vec<f64> = surrogate.initial().iter().zip(normals(8, 2)).map(|(a, b)| a + 0.5 * b).collect();
        let (terms, rows) = (terms(), surrogate.rows());
        let formula = |shift: usize| {
            let (terms, rows) = (&terms, &rows);
            move |psi: &[f64], z: &[f64]| {
                let one = |(psi, &n): (&f64, &usize)| psi.exp() * terms.log_likelihood((n + shift) % 30, z);
                terms.log_prior(z) + psi.iter().zip(rows.iter()).map(one).sum::<f64>()
            }
        };
        assert_eq!(check(&surrogate, &psi, &formula(0)), Ok(()));
        assert!(check(&surrogate, &psi, &formula(1)).is_err());
    }
}

#[test]
fn minibatch_surrogates_have_the_derivatives_of_their_minibatch() {
    let target = regression(30);
    let surrogate = MinibatchSurrogate::new(&target, 8).unwrap();
    let mut memory = vec![f64::NAN; surrogate.sizes().memory];
    surrogate.prepare(&[], &normals(1, 40), &mut memory);
    let rows = surrogate.rows(&memory);
    let minibatch = Minibatch::new(&target, rows).unwrap();
    let formula = |_: &[f64], z: &[f64]| minibatch.log_density(z, &mut vec![0.0; minibatch.work_len(1)]);
    assert_eq!(check(&surrogate, &[], &formula), Ok(()));
    let first: Vec<usize> = (0..8).collect();
    let other = Minibatch::new(&target, &first).unwrap();
    let formula = |_: &[f64], z: &[f64]| other.log_density(z, &mut vec![0.0; other.work_len(1)]);
    assert!(check(&surrogate, &[], &formula).is_err());
}

/// Rows depend on the noise alone, are distinct, and each is drawn with frequency B / N: within 5 standard errors at this fixed seed
/// (false alarm below 2e-5 over 30 rows).
#[test]
fn minibatches_are_uniform_subsets_of_the_rows() {
    let target = regression(30);
    let surrogate = MinibatchSurrogate::new(&target, 8).unwrap();
    let (mut memory, mut hits, paths) = (vec![0.0; surrogate.sizes().memory], [0.0_f64; 30], 4000);
    let mut previous = Vec::new();
    for noise in normals(paths, 9) {
        surrogate.prepare(&[], &[noise], &mut memory);
        let mut rows = surrogate.rows(&memory).to_vec();
        surrogate.prepare(&[], &[noise], &mut memory);
        assert_eq!(surrogate.rows(&memory), rows);
        assert_ne!(rows, previous);
        previous.clone_from(&rows);
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), 8);
        rows.iter().for_each(|&row| hits[row] += 1.0);
    }
    let (mean, n) = (8.0 / 30.0, paths as f64);
    let error = (n * mean * (1.0 - mean)).sqrt();
    assert!(hits.iter().all(|hits| (hits - n * mean).abs() < 5.0 * error), "{hits:?}");
}

#[test]
fn quadratic_surrogates_have_their_derivatives() {
    let (a, mean) = (normals(3, 1), normals(3, 2));
    let surrogate = QuadraticSurrogate::new(&a, matrix(3, 3, 3).as_ref(), mean.clone(), 0.8).unwrap();
    let formula = |psi: &[f64], z: &[f64]| {
        let prior: f64 = z.iter().zip(&mean).map(|(z, m)| -0.5 * ((z - m) / 0.8).powi(2)).sum();
        let form: f64 = (0..9).map(|at| psi[3 + at] * z[at % 3] * z[at / 3]).sum();
        prior + dot(&psi[..3], z) - 0.5 * form
    };
    assert_eq!(check(&surrogate, &surrogate.initial(), &formula), Ok(()));
}

/// Network with few units; at points where no pre-activation is 0, where the second derivative jumps.
#[test]
fn neural_surrogates_have_their_derivatives() {
    let surrogate = NeuralSurrogate::new(3, 0.8).unwrap().with_units(7).unwrap();
    let mut psi = surrogate.initial(&mut Seed::new(2).stream(0, 0));
    psi.iter_mut().zip(normals(105, 4)).for_each(|(psi, normal)| *psi += 0.2 * normal);
    let elu = |a: f64| if a > 0.0 { a } else { a.exp_m1() };
    let formula = |psi: &[f64], z: &[f64]| {
        let layer = |from: usize, x: &[f64]| -> Vec<f64> {
            let width = x.len();
            (0..7).map(|i| elu(dot(&psi[from + i * width..], x) + psi[from + 7 * width + i])).collect()
        };
        let hidden = layer(28, &layer(0, z));
        dot(&psi[84..], &hidden) - 0.5 * dot(z, z) / 0.64
    };
    assert_eq!(check(&surrogate, &psi, &formula), Ok(()));
    let without_prior = |psi: &[f64], z: &[f64]| formula(psi, z) + 0.5 * dot(z, z) / 0.64;
    assert!(check(&surrogate, &psi, &without_prior).unwrap_err().starts_with("gradient"));
}

/// More than the rows that are averaged at once, one of them twice.
const ROWS: [usize; 18] = [19, 4, 0, 7, 4, 12, 1, 2, 3, 5, 6, 8, 9, 10, 11, 13, 14, 15];

/// `log N(u; 0, K) + sum_n weight_n log p(y_n | u)` from the process.
fn density(surrogate: &SparseSurrogate, psi: &[f64], weight: &dyn Fn(usize) -> f64, z: &[f64]) -> f64 {
    let (process, theta) = (surrogate.process(), surrogate.theta(psi));
    let mut memory = vec![0.0; process.memory_len(ROWS.len())];
    process.prepare_into(theta, &ROWS, &mut memory).unwrap();
    let posterior = process.posterior(theta, &ROWS, &memory);
    let prior = posterior.log_prior(z, &mut [0.0; 3]);
    prior + (0..ROWS.len()).map(|n| weight(n) * posterior.log_likelihood_at(&[n], z, &mut [])).sum::<f64>()
}

#[test]
fn sparse_surrogates_have_their_derivatives() {
    for robust in [false, true] {
        for coordinates in [InducingCoordinates::Plain, InducingCoordinates::Whitened] {
            let Fixture { process, theta, .. } = Fixture::new(robust, coordinates, (20, 2, 3));
            let learned = SparseSurrogate::new(process.clone(), ROWS.into()).unwrap();
            let mut psi = learned.initial(&theta);
            psi[theta.len()..]
                .iter_mut()
                .zip(normals(ROWS.len(), 5))
                .for_each(|(psi, normal)| *psi += 0.3 * normal);
            let first = theta.len();
            let formula = |psi: &[f64], z: &[f64]| density(&learned, psi, &|n| psi[first + n].exp(), z);
            assert_eq!(check(&learned, &psi, &formula), Ok(()));
            let raw = |psi: &[f64], z: &[f64]| density(&learned, psi, &|n| psi[first + n], z);
            assert!(check(&learned, &psi, &raw).unwrap_err().starts_with("gradient"));
            let fixed = SparseSurrogate::new(process, ROWS.into()).unwrap().with_fixed_weights();
            let formula = |psi: &[f64], z: &[f64]| density(&fixed, psi, &|_| 20.0 / 18.0, z);
            assert_eq!(check(&fixed, &fixed.initial(&theta), &formula), Ok(()));
        }
    }
}

/// A part of the derivative in an inducing point is lost, which the differences find.
#[test]
fn a_lost_derivative_of_theta_is_found() {
    let Fixture { process, theta, .. } = Fixture::new(false, InducingCoordinates::Plain, (20, 2, 3));
    let surrogate = SparseSurrogate::new(process, ROWS.into()).unwrap().with_fixed_weights();
    let formula = |psi: &[f64], z: &[f64]| density(&surrogate, psi, &|_| 20.0 / 18.0, z);
    let lost = Faulty::new(surrogate.clone(), |k| if k == 5 { 0.999 } else { 1.0 }, 0);
    assert!(check(&lost, &theta, &formula).unwrap_err().starts_with("parameters"));
}

#[test]
fn sparse_surrogates_state_what_they_are() {
    let Fixture { process, theta, .. } = Fixture::new(true, InducingCoordinates::Plain, (20, 2, 3));
    let surrogate = SparseSurrogate::new(process.clone(), ROWS.into()).unwrap();
    let other = SparseSurrogate::new(process.clone(), vec![16; ROWS.len()]).unwrap();
    assert_ne!(surrogate.config(), other.config());
    assert_ne!(surrogate.config(), surrogate.clone().with_fixed_weights().config());
    assert_eq!(surrogate.sizes().params, process.num_thetas() + ROWS.len());
    let (mut memory, mut gradient) = (vec![0.0; surrogate.sizes().memory], [0.0; 3]);
    let mut psi = surrogate.initial(&theta);
    psi[0] = f64::NAN;
    surrogate.prepare(&psi, &[], &mut memory);
    let mut work = vec![0.0; surrogate.sizes().work];
    let at = PathPoint { psi: &psi, memory: &memory, z: &[0.1; 3] };
    surrogate.gradient_into(at, &mut gradient, &mut [], &mut work);
    assert!(gradient.iter().all(|g| g.is_nan()));
    assert!(SparseSurrogate::new(process.clone(), vec![]).is_err());
    assert!(SparseSurrogate::new(process, vec![20]).is_err());
}
