//! Answers used again: as the start of another fit, and as the prior of further data.

use mcsa::core::{ExactDraws, LogDensity};
use mcsa::estimators::Draws;
use mcsa::faer::Mat;
use mcsa::families::{self, MultivariateT};
use mcsa::models::{Funnel, Gaussian, GroundTruth, LinearRegression, Mixture};
use mcsa::posterior::{Approximation, FitResult, Options, Posterior, Shape, mixture_of_moments};
use mcsa::prelude::*;

use crate::both;

/// Features of the first rows of forty: a constant, a line and a parabola.
fn features(count: usize) -> Mat<f64> {
    Mat::from_fn(count, 3, |i, k| (i as f64 / 20.0 - 1.0).powi(k as i32))
}

fn responses(count: usize) -> Vec<f64> {
    (0..count).map(|i| i as f64 / 40.0 + (1.7 * i as f64).sin()).collect()
}

fn regression(count: usize) -> LinearRegression {
    LinearRegression::new(features(count).as_ref(), &responses(count), 0.7, 2.0).expect("a model")
}

/// Means and standard deviations agree within `most` standard deviations.
fn agree(fitted: &FitResult, exact: &Gaussian, most: f64) -> bool {
    fitted.parameters.iter().enumerate().all(|(i, found)| {
        let (mean, sd) = (exact.mean()[i], exact.variance(i).sqrt());
        (found.mean - mean).abs() < most * sd && (found.sd - sd).abs() < most * sd
    })
}

/// 4,000 draws have means within 0.016 and standard deviations within 0.011 of the exact ones: five of these.
const MOST: f64 = 0.08;

#[test]
fn a_fit_begins_at_the_answer_of_another() {
    let (before, after) = (regression(32), regression(36));
    let options = Options::seeded(1);
    for (earlier, cold) in both(&before, &options).iter().zip(both(&after, &options)) {
        let warm_options = options.clone().start_from(earlier);
        let warm = match earlier.verdict.has_gradient {
            true => mcsa::fit(&after, &warm_options),
            false => mcsa::fit_density(&after, &warm_options),
        };
        let warm = warm.expect("a result");
        assert!(earlier.verdict.is_yes() && cold.verdict.is_yes() && warm.verdict.is_yes(), "{warm}");
        let exact = after.posterior().expect("a Gaussian");
        assert!(agree(&warm, &exact, MOST) && agree(&cold, &exact, MOST), "{warm}");
        // Twin: the earlier answer is another.
        assert!(!agree(earlier, &exact, MOST), "{earlier}");
        let [cold, warm] = [&cold, &warm].map(|fitted| fitted.evaluations.total());
        assert!(warm < cold, "{warm} {cold}");
    }
}

/// Data that come a few at a time: each fit begins at the answer before. By the density alone this saves 2 % of the evaluations; with a
/// gradient it costs 1 % more.
#[test]
fn many_related_fits_may_begin_at_each_other() {
    let options = Options::seeded(1);
    let mut spent = [[0; 2]; 2];
    let mut before: Option<[FitResult; 2]> = None;
    for count in [24, 28, 32, 36, 40] {
        let model = regression(count);
        let begun = match &before {
            None => both(&model, &options),
            Some([with, without]) => [
                mcsa::fit(&model, &options.clone().start_from(with)).expect("a result"),
                mcsa::fit_density(&model, &options.clone().start_from(without)).expect("a result"),
            ],
        };
        let exact = model.posterior().expect("a Gaussian");
        for (k, (alone, fitted)) in both(&model, &options).iter().zip(&begun).enumerate() {
            assert!(fitted.verdict.is_yes() && agree(fitted, &exact, MOST), "{count}: {fitted}");
            spent[k][0] += alone.evaluations.total();
            spent[k][1] += fitted.evaluations.total();
        }
        before = Some(begun);
    }
    let [[cold, warm], [cold_density, warm_density]] = spent;
    assert!(warm < cold + 4_000 && warm_density < cold_density, "{spent:?}");
}

#[test]
fn a_start_that_is_far_off_changes_little() {
    let near = Gaussian::diagonal(vec![0.0; 3], vec![1.0; 3]).expect("a Gaussian");
    let far = Gaussian::diagonal(vec![40.0, 0.0, 0.0], vec![1.0, 1.0, 0.1]).expect("a Gaussian");
    let options = Options::seeded(1);
    let earlier = mcsa::fit(&near, &options).expect("a result");
    for (cold, warm) in both(&far, &options).iter().zip(both(&far, &options.clone().start_from(&earlier))) {
        assert!(warm.verdict.is_yes() && agree(&warm, &far, MOST), "{warm}");
        // The draws that showed it, and no more.
        assert_eq!(warm.evaluations.total(), cold.evaluations.total() + 1_000);
        assert_eq!(warm.parameters, cold.parameters);
    }
}

#[test]
fn all_modes_of_a_start_are_known() {
    let modes = |share| Mixture::modes(2, 12.0, share).expect("two modes");
    let options = Options::seeded(1);
    let earlier = mcsa::fit(&modes(0.3), &options).expect("a result");
    let cold = mcsa::fit(&modes(0.4), &options).expect("a result");
    let warm = mcsa::fit(&modes(0.4), &options.clone().start_from(&earlier)).expect("a result");
    assert!(warm.verdict.is_yes() && warm.evaluations.total() < cold.evaluations.total(), "{warm}");
    let mean = GroundTruth::mean(&modes(0.4)).expect("a mean")[0];
    assert!((warm.parameters[0].mean - mean).abs() < 5.0 * warm.parameters[0].error, "{warm}");
    // A start that holds one mode of two does not hide the other.
    let one = mcsa::fit(&Gaussian::diagonal(vec![-6.0, 0.0], vec![1.0; 2]).expect("one mode"), &options);
    let blind = options.start_from(&one.expect("a result"));
    for warm in both(&modes(0.4), &blind) {
        assert!((warm.parameters[0].mean - mean).abs() < 5.0 * warm.parameters[0].error, "{warm}");
        assert!(warm.verdict.is_yes(), "{warm}");
    }
}

#[test]
fn a_start_of_another_dimension_is_an_error() {
    let earlier = mcsa::fit(&Gaussian::standard(2), &Options::seeded(1)).expect("a result");
    let said =
        mcsa::fit(&Gaussian::standard(3), &Options::seeded(1).start_from(&earlier)).expect_err("an error");
    assert!(said.to_string().contains("start from an earlier fit"), "{said}");
}

/// The posterior of the first data as a prior of the second is the posterior of both.
#[test]
fn a_posterior_is_the_prior_of_further_data() {
    let (x, y) = (features(20), responses(20));
    let rows = |from: usize, to: usize| (x.get(from..to, ..).to_owned(), y[from..to].to_vec());
    let model = |from: usize, to: usize| {
        let (x, y) = rows(from, to);
        LinearRegression::new(x.as_ref(), &y, 0.7, 2.0).expect("a model")
    };
    let first = mcsa::fit(&model(0, 12), &Options::seeded(1)).expect("a result");
    let prior = first.as_prior().expect("a prior");
    let (x, y) = rows(12, 20);
    let fitted = |x: Mat<f64>, y: Vec<f64>| {
        let error = move |z: &[f64], i: usize| y[i] - (0..3).map(|k| x[(i, k)] * z[k]).sum::<f64>();
        let likelihood = from_fn(3, move |z| (0..8).map(|i| -0.5 * (error(z, i) / 0.7).powi(2)).sum::<f64>());
        let posterior = Posterior::new(prior.clone(), likelihood).expect("a posterior");
        mcsa::fit_density(&posterior, &Options::seeded(2)).expect("a result")
    };
    let both = fitted(x.clone(), y);
    let exact = model(0, 20).posterior().expect("a Gaussian");
    // Two fits have an error.
    assert!(both.verdict.is_yes() && agree(&both, &exact, 2.0 * MOST), "{both}");
    // Twins: the second data alone, and other second data.
    assert!(!agree(&both, &model(12, 20).posterior().expect("a Gaussian"), 2.0 * MOST));
    assert!(!agree(&fitted(x, vec![1.0; 8]), &exact, 2.0 * MOST));
    // The gradient is that of the density.
    let mut work = vec![0.0; prior.work_len(1)];
    let (mut gradient, z) = (vec![0.0; 3], [0.1, 0.4, -0.2]);
    prior.gradient_into(&z, &mut gradient, &mut work);
    let slope = |i: usize| {
        let mut at = |h: f64| {
            prior.log_density(
                &std::array::from_fn::<f64, 3, _>(|k| z[k] + if k == i { h } else { 0.0 }),
                &mut work,
            )
        };
        (at(1e-5) - at(-1e-5)) / 2e-5
    };
    let slopes: Vec<f64> = [0, 1, 2].map(slope).to_vec();
    assert!(gradient.iter().zip(&slopes).all(|(a, b)| (a - b).abs() < 1e-4 * b.abs().max(1.0)));
}

/// Reports have the names of the prior if it has any, else those of the likelihood.
#[test]
fn a_posterior_has_the_names_of_its_parts() {
    /// A normal prior with a name.
    struct Level;
    impl LogDensity for Level {
        fn dim(&self) -> usize {
            1
        }
        fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
            -0.5 * z[0] * z[0]
        }
        fn constrain(&self, z: &[f64], out: &mut Named) {
            out.push("level", z[0]);
        }
    }
    impl ExactDraws for Level {
        fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
            z[0] = stream.normal();
        }
    }
    fn names(posterior: impl LogDensity) -> Vec<String> {
        let mut named = Named::default();
        posterior.constrain(&[0.5], &mut named);
        named.names().to_vec()
    }
    let posterior = |likelihood| Posterior::new(Gaussian::standard(1), likelihood).expect("a posterior");
    assert_eq!(names(posterior(Gaussian::standard(1))), ["z[0]"]);
    assert_eq!(names(Posterior::new(Gaussian::standard(1), Level).expect("a posterior")), ["level"]);
    assert_eq!(names(Posterior::new(Level, Gaussian::standard(1)).expect("a posterior")), ["level"]);
}

/// q has its modes with equal weights, and p with 0.9 and 0.1. The weight of the second has a standard error of 0.005 among 4,000 draws.
#[test]
fn modes_have_their_shares_in_a_prior() {
    let target = Mixture::modes(1, 12.0, 0.1).expect("two modes");
    let component = MultivariateT::learned(1, 2.0).expect("a Student t");
    let wide = Mat::<f64>::identity(1, 1);
    let part = |x: f64| component.at(&[x], wide.as_ref(), 8.0).expect("parameters");
    let family = families::Mixture::new(component, 2).expect("a mixture");
    let params = family.at(&[0.5, 0.5], &[part(-6.0), part(6.0)]).expect("parameters");
    let draws = Draws::of(&target, &family, &params, Seed::new(1).stream(0, 0), 4_000).expect("draws");
    let q = Approximation { shape: Shape::Mixture { components: 2 }, params };
    let prior = mixture_of_moments(&draws, Some(&q)).expect("a prior");
    for (k, mean, weight) in [(0, -6.0, 0.9), (1, 6.0, 0.1)] {
        let (found, component) = (prior.weight(k), &prior.components()[k]);
        assert!((found - weight).abs() < 0.025, "{found}");
        assert!((component.mean()[0] - mean).abs() < 0.15, "{component:?}");
        assert!((component.variance(0).sqrt() - 1.0).abs() < 0.1, "{component:?}");
    }
    // Twin: without q there is one Gaussian over both modes.
    let one = mixture_of_moments(&draws, None).expect("a prior");
    assert!(one.components().len() == 1 && one.components()[0].variance(0) > 10.0);
    let mut stream = Seed::new(1).stream(1, 0);
    let mut drawn = [0.0];
    let right = (0..4_000).filter(|_| {
        prior.draw_into(&mut stream, &mut drawn);
        drawn[0] > 0.0
    });
    assert!((right.count() as f64 / 4_000.0 - 0.1).abs() < 0.05);
}

#[test]
fn chains_give_no_start_and_a_no_gives_no_prior() {
    let funnel = Funnel::new(5, 3.0).expect("a funnel");
    let fit = |evaluations| {
        mcsa::fit(&funnel, &Options { evaluations: Some(evaluations), ..Options::seeded(1) })
            .expect("a result")
    };
    let chains = fit(400_000);
    assert!(chains.verdict.is_yes() && chains.sampled.is_some(), "{chains}");
    assert_eq!(Options::seeded(1).start_from(&chains), Options::seeded(1));
    // A Gaussian with the moments of the draws; the error of the mean has autocorrelation.
    let prior = chains.as_prior().expect("a prior");
    assert_eq!(prior.components().len(), 1);
    assert!((prior.components()[0].mean()[0] - chains.parameters[0].mean).abs() < 1e-9);
    assert!((prior.components()[0].variance(0).sqrt() - chains.parameters[0].sd).abs() < 1e-9);
    let cut = fit(200);
    assert!(cut.as_prior().expect_err("a no").to_string().contains("the verdict is no"));
    assert!(Options::seeded(1).start_from(&cut).earlier.is_some());
}
