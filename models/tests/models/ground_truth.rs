//! Conformance suite on the targets with ground truth.

use faer::{Mat, mat};
use mcsa_core::numeric::scalar::erfc;
use mcsa_core::{ExactDraws, Seed};
use mcsa_models::{Banana, Funnel, Gaussian, GroundTruth, LinearRegression, Mixture, SkewNormal, Student};
use mcsa_testing::model::{Case, Map, Truth};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::{features, meter, responses};

fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

fn correlated() -> Gaussian {
    let covariance = mat![[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.5]];
    Gaussian::new(vec![1.0, -2.0, 0.5], covariance.as_ref()).expect("known")
}

/// Marginals of a Gaussian.
fn gaussian_uniforms(target: &Gaussian, z: &[f64], u: &mut [f64]) {
    for (i, (u, z)) in u.iter_mut().zip(z).enumerate() {
        *u = normal_cdf((z - target.mean()[i]) / target.variance(i).sqrt());
    }
}

fn gaussians() -> Vec<Case<Gaussian>> {
    let mut stream = Seed::new(5).stream(0, 0);
    let around = |target: Gaussian, spread: f64| {
        let mean = target.mean().to_vec();
        Case::new(target).with_centre(mean).with_spread(spread).with_uniforms(gaussian_uniforms)
    };
    let mut cases = vec![around(correlated(), 1.0)];
    cases.extend([0, 1, 2, 9].map(|dim| around(Gaussian::standard(dim), 1.0)));
    cases.push(around(Gaussian::diagonal(vec![1.0, -1.0], vec![0.5, 2.0]).expect("known"), 1.0));
    for dim in [1, 2, 5, 10, 33] {
        cases.push(around(Gaussian::random_wishart(dim, dim as f64 + 4.0, &mut stream).expect("known"), 0.5));
    }
    cases.push(around(Gaussian::random_diagonal(50, &mut stream).expect("known"), 1.0));
    cases
}

mcsa_testing::model_suite!(gaussian, gaussians().into_iter().map(crate::known), meter, gradient curvature draws truth);

/// `P(U <= u)` by Simpson's rule on the density of the standard skew-normal, from twelve scales to the left.
fn skew_normal_uniforms(target: &SkewNormal, z: &[f64], u: &mut [f64]) {
    use mcsa_core::LogDensity;
    let start = target.mean().expect("known")[0] - 12.0 * target.covariance().expect("known")[(0, 0)].sqrt();
    let n = 96;
    let h = (z[0] - start) / f64::from(n);
    let term = |k: i32| {
        let weight = if k == 0 || k == n { 1.0 } else { f64::from(2 + 2 * (k % 2)) };
        weight * target.log_density(&[start + h * f64::from(k)], &mut []).exp()
    };
    u[0] = (h / 3.0 * (0..=n).map(term).sum::<f64>()).clamp(0.0, 1.0);
}

fn skew_normals() -> Vec<Case<SkewNormal>> {
    let at = |location, scale, slant| SkewNormal::new(location, scale, slant).expect("known");
    let targets = [SkewNormal::msc(), at(-1.0, 0.5, -3.0), at(0.0, 1.0, 0.0)];
    targets
        .map(|target| {
            let mean = target.mean().expect("known");
            Case::new(target).with_centre(mean).with_uniforms(skew_normal_uniforms)
        })
        .into()
}

mcsa_testing::model_suite!(skew_normal, skew_normals().into_iter().map(crate::known), meter, gradient draws truth);

fn banana() -> [Case<Banana>; 2] {
    [(1.5, 0.4), (0.7, -1.0)].map(|(width, bend)| {
        Case::new(Banana::new(width, bend).expect("known")).with_uniforms(|target, z, u| {
            u[0] = normal_cdf(z[0] / target.covariance().expect("known")[(0, 0)].sqrt());
            u[1] = normal_cdf(z[1] - target.ridge(z[0]));
        })
    })
}

mcsa_testing::model_suite!(banana_laws, banana().into_iter().map(crate::known), meter, gradient draws truth);

fn funnel() -> [Case<Funnel>; 4] {
    [(1, 3.0), (2, 1.0), (3, 0.7), (10, 3.0)].map(|(dim, scale)| {
        Case::new(Funnel::new(dim, scale).expect("known")).with_uniforms(|target, z, u| {
            u[0] = normal_cdf(z[0] / target.covariance().expect("known")[(0, 0)].sqrt());
            for i in 1..z.len() {
                u[i] = normal_cdf(z[i] * (-0.5 * z[0]).exp());
            }
        })
    })
}

mcsa_testing::model_suite!(funnel_laws, funnel().into_iter().map(crate::known), meter, gradient draws truth);

fn mixtures() -> Vec<Case<Mixture>> {
    let three = vec![
        correlated(),
        Gaussian::standard(3),
        Gaussian::diagonal(vec![2.0, 2.0, -1.0], vec![0.5, 1.5, 1.0]).expect("known"),
    ];
    let targets = [
        Mixture::modes(1, 6.0, 0.3).expect("known"),
        Mixture::modes(2, 4.0, 0.3).expect("known"),
        Mixture::new(&[1.0, 2.0, 0.5], three).expect("known"),
        Mixture::modes(7, 20.0, 0.5).expect("known"),
        Mixture::moons(4, 0.3).expect("known"),
        Mixture::scattered(5, 4.0, 1.0_f64.exp().ln_1p(), &mut Seed::new(9).stream(0, 0)).expect("known"),
    ];
    let case = |target| {
        Case::new(target).with_uniforms(|target: &Mixture, z, u| {
            let mut part = vec![0.0; z.len()];
            u.fill(0.0);
            for (k, component) in target.components().iter().enumerate() {
                gaussian_uniforms(component, z, &mut part);
                u.iter_mut().zip(&part).for_each(|(u, part)| *u += target.weight(k) * part);
            }
        })
    };
    targets.map(case).into()
}

mcsa_testing::model_suite!(mixture, mixtures().into_iter().map(crate::known), meter, gradient draws truth);

fn students() -> Vec<Case<Student>> {
    let case = |location: Vec<f64>, scale: Vec<f64>, freedom: f64| {
        let target = Student::new(location.clone(), scale, freedom).expect("known");
        Case { map: Map::SinhSinh, ..Case::new(target).with_centre(location) }
    };
    vec![
        case(vec![0.5], vec![2.0], 1.0),
        case(vec![0.5], vec![2.0], 5.0).with_uniforms(|target, z, u| {
            u[0] = StudentsT::new(0.5, 2.0, target.freedom()).expect("known").cdf(z[0]);
        }),
        case(vec![0.0, 1.0], vec![1.0, 0.5], 6.0),
        case(vec![0.0; 12], vec![1.5; 12], 2.5),
    ]
}

mcsa_testing::model_suite!(student, students().into_iter().map(crate::known), meter, gradient truth);

/// Marginals of a multivariate t are t with the same degrees of freedom.
fn student_draws() -> [Case<Student>; 2] {
    [1.0, 4.5].map(|freedom| {
        let target = Student::new(vec![0.5, -1.0], vec![2.0, 0.1], freedom).expect("known");
        Case::new(target).with_uniforms(|target, z, u| {
            u[0] = StudentsT::new(0.5, 2.0, target.freedom()).expect("known").cdf(z[0]);
            u[1] = StudentsT::new(-1.0, 0.1, target.freedom()).expect("known").cdf(z[1]);
        })
    })
}

mcsa_testing::model_suite!(student_drawn, student_draws(), meter, draws);

/// Posteriors of linear regressions: evidence, moments and draws.
fn linear() -> [Case<LinearRegression>; 2] {
    [(9, 3), (30, 2)].map(|(n, d)| {
        let target = LinearRegression::new(features(n, d).as_ref(), &responses(n), 0.7, 1.5).expect("known");
        let posterior = target.posterior().expect("known");
        let truth = Truth {
            log_normaliser: target.log_evidence(),
            mean: Some(posterior.mean().to_vec()),
            covariance: Some(posterior.covariance()),
        };
        let case = Case::new(target).with_centre(posterior.mean().to_vec()).with_spread(0.2);
        Case { truth: Some(truth), ..case }.with_uniforms(|target, z, u| {
            gaussian_uniforms(&target.posterior().expect("known"), z, u);
        })
    })
}

mcsa_testing::model_suite!(linear_regression, linear(), meter, draws truth);

/// `E[sum log S_ii - log det S] / 2` of Wishart matrices: 6.79, 5.33 and 4.38 nats in 100 dimensions with 400, 500 and
/// 600 degrees of freedom. The mean of 8 draws, within 0.2: more than 6 of its standard errors, some 0.03.
#[test]
fn the_mean_field_floor_of_wishart_matrices() {
    for (freedom, expected) in [(400.0, 6.79), (500.0, 5.33), (600.0, 4.38)] {
        let floor = |lane| {
            let mut stream = Seed::new(2).stream(lane, 0);
            Gaussian::random_wishart(100, freedom, &mut stream).expect("known").mean_field_floor()
        };
        let mean = (0..8).map(floor).sum::<f64>() / 8.0;
        assert!((mean - expected).abs() < 0.2, "{freedom}: {mean}");
    }
}

/// The covariance of correlated draws, entry by entry, within 6 standard errors: false alarm below 2e-8.
#[test]
fn gaussian_draws_have_their_covariance() {
    let (target, n) = (correlated(), 20_000);
    let (covariance, mut stream) = (target.covariance(), Seed::new(3).stream(0, 0));
    let (mut sum, mut z) = (Mat::<f64>::zeros(3, 3), [0.0; 3]);
    for _ in 0..n {
        target.draw_into(&mut stream, &mut z);
        for i in 0..3 {
            (0..3).for_each(|j| sum[(i, j)] += (z[i] - target.mean()[i]) * (z[j] - target.mean()[j]));
        }
    }
    for i in 0..3 {
        for j in 0..3 {
            let c = covariance[(i, j)];
            let error = ((c * c + covariance[(i, i)] * covariance[(j, j)]) / f64::from(n)).sqrt();
            assert!((sum[(i, j)] / f64::from(n) - c).abs() < 6.0 * error, "{i} {j}");
        }
    }
}
