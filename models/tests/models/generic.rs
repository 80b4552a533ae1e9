//! Formulas written once for every number type: the densities and the gradients by hand are found again.
//!
//! Every model with a gradient is here. `FactorAnalysis` has none in z; `factor_analysis.rs` compares its gradient in theta with
//! differences.

use std::f64::consts::{LN_2, PI};

use faer::{Mat, MatRef, mat};
use mcsa_core::{Gradient, LogDensity, Seed, Subsampled};
use mcsa_models::{
    Banana, Bounded, EightSchools, Funnel, Gaussian, GaussianProcessClassification, GenericDensity,
    GenericTerms, HierarchicalLogistic, LinearRegression, LocalRobustRegression, LogisticRegression, Mixture,
    NeuralRegression, Parameters, PoissonRegression, ProbitRegression, Radon, Real, RobustGaussianProcess,
    ScalePrior, SkewNormal, StockVolatility, Student, StudentNoise, StudentRegression, Tempered, Transform,
    WeightedRows,
};
use mcsa_testing::model::Case;
use mcsa_testing::model_suite;

use crate::{counts, features, labels, meter, responses};

/// Log density and gradient of two models at random points; the largest difference, relative to the largest number.
fn difference<P: Gradient>(by_hand: &P, parameters: Parameters, density: impl GenericDensity) -> f64 {
    let generic = Bounded::new(parameters, density).expect("a model");
    assert_eq!(by_hand.dim(), generic.dim());
    let d = by_hand.dim();
    let evaluate = |target: &dyn Fn(&mut [f64]) -> f64| {
        let mut numbers = vec![0.0; d + 1];
        numbers[d] = target(&mut numbers[..d]);
        assert!(numbers.iter().all(|x| x.is_finite()), "{numbers:?}");
        numbers
    };
    let mut stream = Seed::new(5).stream(0, 0);
    let mut largest: f64 = 0.0;
    for _ in 0..5 {
        let z: Vec<f64> = (0..d).map(|_| 0.7 * stream.normal()).collect();
        let expected = evaluate(&|g| by_hand.gradient_into(&z, g, &mut vec![0.0; by_hand.work_len(1)]));
        let found = evaluate(&|g| generic.gradient_into(&z, g, &mut vec![0.0; generic.work_len(1)]));
        let size = expected.iter().fold(1.0, |size: f64, x| size.max(x.abs()));
        let off = expected.iter().zip(&found).fold(0.0, |off: f64, (x, y)| off.max((x - y).abs()));
        largest = largest.max(off / size);
    }
    largest
}

/// The density whose slope in one parameter is too large by this much, at the same value.
struct Tilted<'a, M>(&'a M, usize, f64);

impl<M: GenericDensity> GenericDensity for Tilted<'_, M> {
    fn log_density<R: Real>(&self, theta: &[R]) -> R {
        self.0.log_density(theta) + R::function(0.0, [(theta[self.1], self.2)])
    }
}

/// The formula has the density and the gradient by hand. A gradient with one slope off by a millionth must be found different.
fn agrees<P: Gradient>(by_hand: &P, parameters: &Parameters, density: &impl GenericDensity) {
    let off = |k, slope| difference(by_hand, parameters.clone(), Tilted(density, k, slope));
    assert!(off(0, 0.0) < 1e-12, "{:e}", off(0, 0.0));
    (0..parameters.len()).for_each(|k| assert!(off(k, 1e-6) > 1e-11, "parameter {k}: {:e}", off(k, 1e-6)));
}

/// The prior, and some rows with weights.
struct Weighted<'a, M>(&'a M, &'a [usize], &'a [f64]);

impl<M: GenericTerms> GenericDensity for Weighted<'_, M> {
    fn log_density<R: Real>(&self, theta: &[R]) -> R {
        let terms =
            self.1.iter().zip(self.2).map(|(&row, &weight)| self.0.log_likelihood(row, theta) * weight);
        self.0.log_prior(theta) + terms.sum::<R>()
    }
}

/// The target has the gradient of its formula, and so have some of its rows with weights.
fn rows_agree<P: Gradient + Subsampled>(by_hand: &P, parameters: &Parameters, terms: &impl GenericTerms) {
    agrees(by_hand, parameters, terms);
    let (rows, weights) = ([7, 0, 3, 3], [1.5, 0.2, 4.0, 1.0]);
    let weighted = WeightedRows::new(by_hand, rows.to_vec(), weights.to_vec()).expect("positive weights");
    agrees(&weighted, parameters, &Weighted(terms, &rows, &weights));
}

fn rows(x: MatRef<'_, f64>) -> Vec<Vec<f64>> {
    x.row_iter().map(|row| row.iter().copied().collect()).collect()
}

/// The rows with a 1 behind each.
fn rows_and_one(x: MatRef<'_, f64>) -> Vec<Vec<f64>> {
    rows(x).into_iter().map(|row| [row, vec![1.0]].concat()).collect()
}

fn normals<R: Real>(z: &[R], mean: impl Into<R> + Copy, scale: impl Into<R> + Copy) -> R {
    z.iter().map(|z| z.log_normal(mean, scale)).sum()
}

/// Student t log density in `d` dimensions, of the squared standardised distance.
fn log_student<R: Real>(square: R, nu: R, d: f64) -> R {
    let (half, power) = (nu * 0.5, (nu + d) * 0.5);
    power.ln_gamma() - half.ln_gamma() - (nu * PI).ln() * (0.5 * d) - power * (square / nu).ln_1p()
}

/// Log density of a Gamma distribution with this shape and rate.
fn log_gamma<R: Real>(x: R, shape: f64, rate: f64) -> R {
    x.ln() * (shape - 1.0) - x * rate + shape * rate.ln() - R::from(shape).ln_gamma()
}

/// Law of a response given its linear predictor.
enum Law {
    Logistic,
    Probit,
    Poisson,
    Normal(f64),
    Student(StudentNoise),
    /// Student t errors with 4 degrees of freedom, from a precision of each datum; the precisions follow the log scale.
    Local,
}

/// Regression with normal weights of this scale; parameters of the noise follow the weights.
struct Regression {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    scale: f64,
    law: Law,
}

impl GenericTerms for Regression {
    fn num_data(&self) -> usize {
        self.y.len()
    }

    fn log_prior<R: Real>(&self, theta: &[R]) -> R {
        let (w, noise) = theta.split_at(self.x[0].len());
        let (noise, precisions) = noise.split_at(if let Law::Local = self.law { 1 } else { noise.len() });
        let locals: R = precisions.iter().map(|&tau| log_gamma(tau, 2.0, 2.0)).sum();
        normals(w, 0.0, self.scale) + normals(noise, 0.0, 1.0) + locals
    }

    fn log_likelihood<R: Real>(&self, datum: usize, theta: &[R]) -> R {
        let (x, y) = (&self.x[datum], self.y[datum]);
        let (w, noise) = theta.split_at(x.len());
        let t = R::dot(x, w);
        match self.law {
            Law::Logistic => (t * (2.0 * y - 1.0)).log_sigmoid(),
            Law::Probit => (t * (2.0 * y - 1.0)).log_ndtr(),
            Law::Poisson => t * y - t.exp() - R::from(y + 1.0).ln_gamma(),
            Law::Normal(scale) => t.log_normal(y, scale),
            Law::Student(law) => {
                let (scale, nu) = match law {
                    StudentNoise::Known { scale, freedom } => (scale.into(), freedom.into()),
                    StudentNoise::Latent => (noise[0].exp(), noise[1].exp() + 2.0),
                };
                log_student(((t - y) / scale).powi(2), nu, 1.0) - scale.ln()
            }
            Law::Local => t.log_normal(y, noise[0].exp() / noise[1 + datum].sqrt()),
        }
    }
}

#[test]
fn regressions_have_the_gradient_by_hand() {
    for (n, d) in [(45, 5), (60, 12)] {
        let (x, y, counts, reals) = (features(n, d), labels(n), counts(n), responses(n));
        let of = |y: &[f64], scale, law| Regression { x: rows(x.as_ref()), y: y.to_vec(), scale, law };
        let (x, w, z) = (x.as_ref(), Parameters::new().real("w", d), Parameters::new().real("z", d + 2));
        let logistic = LogisticRegression::new(x, &y, 2.0).expect("good data");
        rows_agree(&logistic, &w, &of(&y, 2.0, Law::Logistic));
        // Counterexample: another prior.
        assert!(difference(&logistic, w.clone(), of(&y, 2.01, Law::Logistic)) > 1e-6);
        let probit = ProbitRegression::new(x, &y, 1.0).expect("good data");
        rows_agree(&probit, &w, &of(&y, 1.0, Law::Probit));
        let poisson = PoissonRegression::new(x, &counts, 0.5).expect("good data");
        rows_agree(&poisson, &w, &of(&counts, 0.5, Law::Poisson));
        let linear = LinearRegression::new(x, &reals, 0.7, 1.5).expect("good data");
        rows_agree(&linear, &w, &of(&reals, 1.5, Law::Normal(0.7)));
        let known = StudentNoise::Known { scale: 0.7, freedom: 3.5 };
        for (noise, parameters) in [(known, &w), (StudentNoise::Latent, &z)] {
            let student = StudentRegression::new(x, &reals, noise, 1.5).expect("good data");
            rows_agree(&student, parameters, &of(&reals, 1.5, Law::Student(noise)));
        }
        let local = LocalRobustRegression::new(x, &reals, 4.0, 1.5).expect("good data");
        let parameters = w.real("log_s", 1).each("tau", Transform::Positive, n);
        agrees(&local, &parameters, &of(&reals, 1.5, Law::Local));
    }
}

/// Logistic regression whose weights and intercept have unknown scales; the scale of the regression is not read.
struct Hierarchical(Regression, ScalePrior);

impl GenericTerms for Hierarchical {
    fn num_data(&self) -> usize {
        self.0.num_data()
    }

    fn log_prior<R: Real>(&self, theta: &[R]) -> R {
        let (scales, weights) = theta.split_at(2);
        let (beta, alpha) = weights.split_at(weights.len() - 1);
        let of_scale = |&s: &R| match self.1 {
            ScalePrior::HalfNormal => s.log_normal(0.0, 1.0) + LN_2,
            ScalePrior::InverseGamma => s.ln() * -2.0 - s.recip(),
        };
        let prior: R = scales.iter().map(of_scale).sum();
        prior + normals(beta, 0.0, scales[0]) + normals(alpha, 0.0, scales[1])
    }

    fn log_likelihood<R: Real>(&self, datum: usize, theta: &[R]) -> R {
        self.0.log_likelihood(datum, &theta[2..])
    }
}

#[test]
fn hierarchical_regression_has_the_gradient_by_hand() {
    let (x, y) = (features(45, 5), labels(45));
    let parameters = Parameters::new().positive("tau").positive("sigma").real("beta", 5).real("alpha", 1);
    for scales in [ScalePrior::HalfNormal, ScalePrior::InverseGamma] {
        let by_hand = HierarchicalLogistic::new(x.as_ref(), &y, scales).expect("good data");
        let (x, y, law) = (rows_and_one(x.as_ref()), y.clone(), Law::Logistic);
        let regression = Regression { x, y, scale: f64::NAN, law };
        rows_agree(&by_hand, &parameters, &Hierarchical(regression, scales));
    }
}

/// Normal density from the lower triangle of its covariance, as a product of conditional densities.
fn log_gaussian<R: Real>(z: &[R], covariance: impl Fn(usize, usize) -> R) -> R {
    let dot = |a: &[R], b: &[R]| a.iter().zip(b).map(|(&a, &b)| a * b).sum::<R>();
    // Rows of the Cholesky factor, and the whitened point.
    let (mut factor, mut white, mut log_p) = (Vec::<Vec<R>>::new(), Vec::new(), R::from(0.0));
    for (i, z) in z.iter().enumerate() {
        let mut row = Vec::new();
        for (j, other) in factor.iter().enumerate() {
            row.push((covariance(i, j) - dot(&row, other)) / other[j]);
        }
        let (mean, scale) = (dot(&row, &white), (covariance(i, i) - dot(&row, &row)).sqrt());
        log_p += z.log_normal(mean, scale);
        white.push((*z - mean) / scale);
        row.push(scale);
        factor.push(row);
    }
    log_p
}

const CENTRE: [f64; 3] = [0.5, -1.0, 2.0];
const SCALES: [f64; 3] = [1.5, 0.7, 2.0];

fn covariance() -> Mat<f64> {
    mat![[2.0, 0.3, -0.4], [0.3, 0.7, 0.2], [-0.4, 0.2, 4.0]]
}

/// Distributions in closed form, with the numbers of the test.
enum Closed {
    Diagonal,
    Full,
    Mixture,
    Banana,
    TemperedBanana,
    Funnel,
    SkewNormal,
    Student,
}

impl GenericDensity for Closed {
    fn log_density<R: Real>(&self, z: &[R]) -> R {
        let pairs = || z.iter().zip(CENTRE).map(|(&z, centre)| z - centre).zip(SCALES);
        match self {
            Self::Diagonal => pairs().map(|(z, scale)| z.log_normal(0.0, scale)).sum(),
            Self::Full => {
                let (around, covariance): (Vec<R>, _) = (pairs().map(|(z, _)| z).collect(), covariance());
                log_gaussian(&around, |i, j| covariance[(i, j)].into())
            }
            Self::Mixture => R::log_sum_exp(&[
                Self::Diagonal.log_density(z) + 0.3_f64.ln(),
                Self::Full.log_density(z) + 0.7_f64.ln(),
            ]),
            Self::Banana => z[0].log_normal(0.0, 1.5) + z[1].log_normal((z[0] * z[0] - 2.25) * 0.4, 1.0),
            Self::TemperedBanana => Self::Banana.log_density(z) * 0.3,
            Self::Funnel => z[0].log_normal(0.0, 3.0) + normals(&z[1..], 0.0, (z[0] * 0.5).exp()),
            Self::SkewNormal => z[0].log_normal(0.5, 2.0) + ((z[0] - 0.5) * 2.5).log_ndtr() + LN_2,
            Self::Student => {
                let square: R = pairs().map(|(z, scale)| (z / scale).powi(2)).sum();
                log_student(square, 3.0.into(), 3.0) - SCALES.iter().map(|s| s.ln()).sum::<f64>()
            }
        }
    }
}

#[test]
fn closed_forms_have_the_gradient_by_hand() {
    let z = |d| Parameters::new().real("z", d);
    let diagonal = Gaussian::diagonal(CENTRE.into(), SCALES.into()).expect("positive scales");
    let full = Gaussian::new(CENTRE.into(), covariance().as_ref()).expect("a covariance");
    agrees(&diagonal, &z(3), &Closed::Diagonal);
    agrees(&full, &z(3), &Closed::Full);
    agrees(&Mixture::new(&[0.6, 1.4], vec![diagonal, full]).expect("weights"), &z(3), &Closed::Mixture);
    let banana = Banana::new(1.5, 0.4).expect("finite");
    agrees(&banana, &z(2), &Closed::Banana);
    agrees(&Tempered::new(&banana, 0.3).expect("a power"), &z(2), &Closed::TemperedBanana);
    agrees(&Funnel::new(6, 3.0).expect("a scale"), &z(6), &Closed::Funnel);
    agrees(&SkewNormal::msc(), &z(1), &Closed::SkewNormal);
    let student = Student::new(CENTRE.into(), SCALES.into(), 3.0).expect("positive scales");
    agrees(&student, &z(3), &Closed::Student);
}

fn log_half_cauchy<R: Real>(sigma: R, scale: f64) -> R {
    let white = sigma / scale;
    -(white * white).ln_1p() + (2.0 / (PI * scale)).ln()
}

struct Schools {
    is_centred: bool,
}

impl GenericDensity for Schools {
    fn log_density<R: Real>(&self, theta: &[R]) -> R {
        let (mu, tau) = (theta[0], theta[1]);
        let data = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
            .into_iter()
            .zip([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]);
        let term = |((effect, error), &x): ((f64, f64), &R)| {
            let (prior, school) = match self.is_centred {
                true => (x.log_normal(mu, tau), x),
                false => (x.log_normal(0.0, 1.0), mu + tau * x),
            };
            prior + school.log_normal(effect, error)
        };
        mu.log_normal(0.0, 5.0) + log_half_cauchy(tau, 5.0) + data.zip(&theta[2..]).map(term).sum::<R>()
    }
}

#[test]
fn eight_schools_have_the_gradient_by_hand() {
    let parameters = Parameters::new().real("mu", 1).positive("tau").real("theta", 8);
    let of = |is_centred| Schools { is_centred };
    agrees(&EightSchools::centred(), &parameters, &of(true));
    agrees(&EightSchools::non_centred(), &parameters, &of(false));
}

struct Volatility(Vec<f64>);

impl GenericDensity for Volatility {
    fn log_density<R: Real>(&self, theta: &[R]) -> R {
        let (phi, sigma, mu, e) = (theta[0], theta[1], theta[2], &theta[3..]);
        let log_cauchy = -(mu * mu / 100.0).ln_1p() - (10.0 * PI).ln();
        let mut log_p = log_half_cauchy(sigma, 5.0) + log_cauchy - LN_2;
        let mut h = R::from(0.0);
        for (t, (y, &e)) in self.0.iter().zip(e).enumerate() {
            let scale = if t == 0 { sigma / (-(phi * phi) + 1.0).sqrt() } else { sigma };
            h = phi * h + scale * e;
            log_p += e.log_normal(0.0, 1.0) + R::from(*y).log_normal(0.0, ((mu + h) * 0.5).exp());
        }
        log_p
    }
}

#[test]
fn stochastic_volatility_has_the_gradient_by_hand() {
    for length in [3, 30] {
        let by_hand = StockVolatility::new(responses(length)).expect("good data");
        let parameters =
            Parameters::new().interval("phi", -1.0, 1.0).positive("sigma").real("mu", 1).real("e", length);
        agrees(&by_hand, &parameters, &Volatility(responses(length)));
    }
}

/// Rectified hidden units; each row ends with a 1.
struct Network(Vec<Vec<f64>>, Vec<f64>, usize);

impl GenericDensity for Network {
    fn log_density<R: Real>(&self, theta: &[R]) -> R {
        let (precisions, weights) = theta.split_at(2);
        let (first, second) = weights.split_at(self.2 * self.0[0].len());
        let prior: R = precisions.iter().map(|&precision| log_gamma(precision, 6.0, 6.0)).sum();
        let [of_weights, noise] = [0, 1].map(|k: usize| precisions[k].sqrt().recip());
        let term = |(x, &y): (&Vec<f64>, &f64)| {
            let unit = |w: &[R]| (R::dot(x, w) / (x.len() as f64).sqrt()).max(0.0.into());
            let hidden: R = first.chunks(x.len()).zip(second).map(|(w, &v)| unit(w) * v).sum();
            ((hidden + second[self.2]) / (second.len() as f64).sqrt()).log_normal(y, noise)
        };
        prior + normals(weights, 0.0, of_weights) + self.0.iter().zip(&self.1).map(term).sum::<R>()
    }
}

#[test]
fn networks_have_the_gradient_by_hand() {
    for (n, d, hidden) in [(20, 3, 5), (9, 2, 11)] {
        let (x, y) = (features(n, d), responses(n));
        let by_hand = NeuralRegression::new(x.as_ref(), &y, hidden).expect("good data");
        let parameters = Parameters::new().positive("lambda").positive("gamma");
        let parameters = parameters.real("W1", hidden * (d + 1)).real("W2", hidden + 1);
        agrees(&by_hand, &parameters, &Network(rows_and_one(x.as_ref()), y, hidden));
    }
}

/// County, floor and radon level of each house.
struct Houses(Vec<usize>, Vec<f64>, Vec<f64>);

impl GenericDensity for Houses {
    fn log_density<R: Real>(&self, theta: &[R]) -> R {
        let (sigma, mu, effects) = (&theta[..3], &theta[3..5], &theta[5..]);
        let (a, b) = effects.split_at(effects.len() / 2);
        let scales: R = sigma.iter().map(|&s| s * -0.02 + 0.02_f64.ln()).sum();
        let counties = normals(a, mu[0], sigma[0]) + normals(b, mu[1], sigma[1]);
        let house = |((&c, &x), &y): ((&usize, &f64), &f64)| (a[c] + b[c] * x).log_normal(y, sigma[2]);
        let houses: R = self.0.iter().zip(&self.1).zip(&self.2).map(house).sum();
        scales + normals(mu, 0.0, 1.0) + counties + houses
    }
}

#[test]
fn radon_has_the_gradient_by_hand() {
    // Some counties have no house, some have one floor.
    let (counties, x): (Vec<usize>, Vec<f64>) = (0..40).map(|i| (i * i % 9, f64::from(i % 4 == 0))).unzip();
    let by_hand = Radon::new(10, counties.clone(), x.clone(), responses(40)).expect("good data");
    let parameters = Parameters::new().each("sigma", Transform::Positive, 3).real("mu", 2);
    agrees(&by_hand, &parameters.real("a", 10).real("b", 10), &Houses(counties, x, responses(40)));
}

/// A Gaussian process with Student t noise, or with labels.
struct Process {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    is_robust: bool,
}

impl Process {
    /// Log density of the field, from the logarithms of amplitude, nugget and lengths.
    fn field<R: Real>(&self, amplitude: R, nugget: R, lengths: &[R], f: &[R]) -> R {
        let [amplitude, nugget] = [amplitude, nugget].map(|u| (u * 2.0).exp());
        log_gaussian(f, |i, j| {
            if i == j {
                return amplitude + nugget + 1e-6;
            }
            let apart = self.x[i].iter().zip(&self.x[j]).map(|(x, y)| x - y).zip(lengths);
            let s = (apart.map(|(x, &l)| ((-l).exp() * x).powi(2)).sum::<R>() * 5.0).sqrt();
            amplitude * (s * s / 3.0 + s + 1.0) * (-s).exp()
        })
    }
}

impl GenericDensity for Process {
    fn log_density<R: Real>(&self, theta: &[R]) -> R {
        let (scales, f) = theta.split_at(theta.len() - self.y.len());
        let data = f.iter().zip(&self.y);
        if self.is_robust {
            let (&[eps_y, eps_f, amplitude, nu], lengths) = scales.split_first_chunk().expect("four scales");
            let prior = normals(&[eps_y, eps_f, amplitude], 0.0, 4.0) + normals(lengths, 0.0, 0.2);
            let term = |(&f, &y): (&R, &f64)| log_student(((f - y) / eps_y.exp()).powi(2), nu, 1.0) - eps_y;
            prior
                + log_gamma(nu, 4.0, 0.1)
                + self.field(amplitude, eps_f, lengths, f)
                + data.map(term).sum::<R>()
        } else {
            let field = self.field(scales[0], scales[1], &scales[2..], f);
            let labels: R = data.map(|(&f, y)| (f * (2.0 * y - 1.0)).log_sigmoid()).sum();
            normals(scales, 0.0, 1.0) + field + labels
        }
    }
}

#[test]
fn gaussian_processes_have_the_gradient_by_hand() {
    for (n, d) in [(5, 1), (40, 3)] {
        let (x, y, labels) = (features(n, d), responses(n), labels(n));
        let of = |y: &[f64], is_robust| Process { x: rows(x.as_ref()), y: y.to_vec(), is_robust };
        let by_hand = GaussianProcessClassification::new(x.as_ref(), &labels).expect("good data");
        agrees(&by_hand, &Parameters::new().real("z", 2 + d + n), &of(&labels, false));
        let by_hand = RobustGaussianProcess::new(x.as_ref(), &y).expect("good data");
        let parameters = Parameters::new().real("u", 3).positive("nu").real("l", d).real("f", n);
        agrees(&by_hand, &parameters, &of(&y, true));
    }
}

/// Counts in groups, a declaration of every kind.
struct Poisson(usize);

impl GenericTerms for Poisson {
    fn num_data(&self) -> usize {
        self.0
    }

    fn log_prior<R: Real>(&self, theta: &[R]) -> R {
        let (tau, p, rest) = (theta[0], theta[1], &theta[2..]);
        let (groups, rest) = rest.split_at(self.0);
        let prior = -tau + p.ln() + groups.iter().map(|a| a.log_normal(p, tau)).sum::<R>();
        // A Dirichlet distribution, a standard normal and a uniform one.
        let (w, c) = (&rest[..3], &rest[3..5]);
        prior + w.iter().map(|w| w.ln()).sum::<R>() + c.iter().map(|c| c.log_normal(0.0, 1.0)).sum::<R>()
    }

    fn log_likelihood<R: Real>(&self, group: usize, theta: &[R]) -> R {
        let a = theta[2 + group];
        a * group as f64 - a.exp()
    }
}

fn declared(groups: usize) -> Parameters {
    let free = Parameters::new().positive("tau").unit("p").real("a", groups);
    free.simplex("w", 3).ordered("c", 2).correlation("R", if groups < 3 { 1 } else { 3 })
}

fn poissons() -> Vec<Case<Bounded<Poisson>>> {
    // 1000 spreads away, a scale is e^-100: beyond e^-230 the derivative in the scale itself overflows.
    let case = |groups| {
        Case::new(Bounded::new(declared(groups), Poisson(groups)).expect("a model")).with_spread(0.1)
    };
    vec![case(1), case(9)]
}

/// A density of the parameters and a function of them differ by the log-Jacobian alone.
#[test]
fn a_likelihood_has_no_jacobian() {
    let parameters = declared(3);
    let z: Vec<f64> = (0..parameters.dim()).map(|i| (1.0 + i as f64).sin()).collect();
    let mut slopes = vec![0.0; z.len()];
    let log_jacobian = parameters.constrain_into(&z, &mut vec![0.0; parameters.len()]);
    parameters.pull_back_into(&z, &vec![0.0; parameters.len()], &mut slopes);
    let density = Bounded::new(parameters.clone(), Poisson(3)).expect("a model");
    let likelihood = Bounded::likelihood(parameters, Poisson(3)).expect("a model");
    let [(p, of_density), (l, of_likelihood)] = [&density, &likelihood].map(|target| {
        let mut gradient = vec![0.0; z.len()];
        (target.gradient_into(&z, &mut gradient, &mut vec![0.0; target.work_len(1)]), gradient)
    });
    assert!((p - l - log_jacobian).abs() < 1e-12 && log_jacobian.abs() > 1.0);
    for (i, slope) in slopes.into_iter().enumerate() {
        assert!((of_density[i] - of_likelihood[i] - slope).abs() < 1e-12, "coordinate {i}");
    }
}

model_suite!(bounded_poisson, poissons(), meter, gradient curvature separable subsampled);

/// A density that is NaN everywhere.
struct Nowhere;

impl GenericDensity for Nowhere {
    fn log_density<R: Real>(&self, theta: &[R]) -> R {
        theta[0] * f64::NAN
    }
}

/// NaN is a matter of range where a bounded parameter is far out, and of the density where a real number is far from 0.
#[test]
fn a_real_number_may_be_far_from_zero() {
    let target = Bounded::new(Parameters::new().positive("s").real("m", 1), Nowhere).expect("a target");
    let at = |z: [f64; 2]| {
        (target.log_density(&z, &mut [0.0; 4]), target.gradient_into(&z, &mut [0.0; 2], &mut [0.0; 4]))
    };
    for z in [[0.0, 0.0], [0.0, 800.0], [-50.0, -1e90]] {
        assert!(at(z).0.is_nan() && at(z).1.is_nan(), "{z:?}");
    }
    for z in [[800.0, 0.0], [-800.0, 800.0], [0.0, 1e110], [0.0, f64::INFINITY]] {
        assert_eq!(at(z), (f64::NEG_INFINITY, f64::NEG_INFINITY), "{z:?}");
    }
}
