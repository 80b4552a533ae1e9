//! Formulas written once for every number type: the densities and the gradients by hand are found again.

use faer::Mat;
use mcsa_core::{Gradient, LogDensity, Seed};
use mcsa_models::{
    Bounded, EightSchools, GenericDensity, GenericTerms, LogisticRegression, Parameters, ProbitRegression,
    Real, StockVolatility, StudentNoise, StudentRegression,
};
use mcsa_testing::model::Case;
use mcsa_testing::model_suite;

use crate::{features, labels, meter, responses};

/// Log density and gradient of two models at random points; the largest difference, relative to the largest number.
fn difference<P: Gradient>(by_hand: &P, parameters: Parameters, density: impl GenericDensity) -> f64 {
    let generic = Bounded::new(parameters, density).expect("a model");
    assert_eq!(by_hand.dim(), generic.dim());
    let d = by_hand.dim();
    let evaluate = |target: &dyn Fn(&mut [f64]) -> f64| {
        let mut numbers = vec![0.0; d + 1];
        numbers[d] = target(&mut numbers[..d]);
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

fn rows(x: &Mat<f64>) -> Vec<Vec<f64>> {
    x.row_iter().map(|row| row.iter().copied().collect()).collect()
}

/// Regression with normal weights of this scale and a log likelihood per row from the linear predictor.
struct Binary {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    scale: f64,
    is_probit: bool,
}

impl GenericDensity for Binary {
    fn log_density<R: Real>(&self, w: &[R]) -> R {
        let prior: R = w.iter().map(|w| w.log_normal(0.0, self.scale)).sum();
        let term = |(x, y): (&Vec<f64>, &f64)| {
            let margin = R::dot(x, w) * (2.0 * y - 1.0);
            if self.is_probit { margin.log_ndtr() } else { margin.log_sigmoid() }
        };
        prior + self.x.iter().zip(&self.y).map(term).sum::<R>()
    }
}

#[test]
fn regressions_have_the_gradient_by_hand() {
    for (n, d) in [(45, 5), (60, 12)] {
        let (x, y) = (features(n, d), labels(n));
        let of = |scale, is_probit| Binary { x: rows(&x), y: y.clone(), scale, is_probit };
        let real = || Parameters::new().real("w", d);
        let logistic = LogisticRegression::new(x.as_ref(), &y, 2.0).expect("good data");
        assert!(difference(&logistic, real(), of(2.0, false)) < 1e-12);
        let probit = ProbitRegression::new(x.as_ref(), &y, 1.0).expect("good data");
        assert!(difference(&probit, real(), of(1.0, true)) < 1e-12);
        // Counterexample: another prior.
        assert!(difference(&logistic, real(), of(2.01, false)) > 1e-6);
    }
}

fn log_half_cauchy<R: Real>(sigma: R, scale: f64) -> R {
    let white = sigma / scale;
    -(white * white).ln_1p() + (2.0 / (std::f64::consts::PI * scale)).ln()
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
    let parameters = || Parameters::new().real("mu", 1).positive("tau").real("theta", 8);
    let of = |is_centred| Schools { is_centred };
    assert!(difference(&EightSchools::centred(), parameters(), of(true)) < 1e-12);
    assert!(difference(&EightSchools::non_centred(), parameters(), of(false)) < 1e-12);
    // Counterexample: without the log-Jacobian of tau.
    let free = Parameters::new().real("mu", 1).real("tau", 1).real("theta", 8);
    assert!(difference(&EightSchools::centred(), free, of(true)) > 1e-3);
}

struct Volatility(Vec<f64>);

impl GenericDensity for Volatility {
    fn log_density<R: Real>(&self, theta: &[R]) -> R {
        let (phi, sigma, mu, e) = (theta[0], theta[1], theta[2], &theta[3..]);
        let log_cauchy = -(mu * mu / 100.0).ln_1p() - (10.0 * std::f64::consts::PI).ln();
        let mut log_p = log_half_cauchy(sigma, 5.0) + log_cauchy - std::f64::consts::LN_2;
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
        assert!(difference(&by_hand, parameters, Volatility(responses(length))) < 1e-12);
    }
}

struct Robust(Vec<Vec<f64>>, Vec<f64>);

impl GenericDensity for Robust {
    fn log_density<R: Real>(&self, z: &[R]) -> R {
        let (w, noise) = z.split_at(z.len() - 2);
        let (scale, nu) = (noise[0].exp(), noise[1].exp() + 2.0);
        let prior = w.iter().map(|w| w.log_normal(0.0, 1.5)).sum::<R>();
        let of_noise: R = noise.iter().map(|u| u.log_normal(0.0, 1.0)).sum();
        let peak = ((nu + 1.0) * 0.5).ln_gamma()
            - (nu * 0.5).ln_gamma()
            - (nu * std::f64::consts::PI).ln() * 0.5
            - noise[0];
        let term = |(x, &y): (&Vec<f64>, &f64)| {
            let white = (-R::dot(x, w) + y) / scale;
            (white * white / nu).ln_1p() * (nu + 1.0) * -0.5
        };
        let terms: R = self.0.iter().zip(&self.1).map(term).sum();
        prior + of_noise + peak * self.1.len() as f64 + terms
    }
}

#[test]
fn robust_regression_has_the_gradient_by_hand() {
    let (x, y) = (features(45, 9), responses(45));
    let by_hand = StudentRegression::new(x.as_ref(), &y, StudentNoise::Latent, 1.5).expect("good data");
    assert!(difference(&by_hand, Parameters::new().real("z", 11), Robust(rows(&x), y)) < 1e-12);
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
