//! Tests of evaluation counters: counts are exact, and counting changes no value.

use faer::{Mat, mat};
use mcsa_core::{
    Counted, Counts, Curvature, Family, Gradient, LogDensity, Parametric, Part, Seed, Separable, Subsampled,
    from_fn,
};
use mcsa_families::MeanField;
use mcsa_models::LogisticRegression;

fn model() -> LogisticRegression {
    LogisticRegression::new(mat![[1.0, 0.5], [-0.3, 2.0]].as_ref(), &[1.0, 0.0], 1.5).unwrap()
}

#[test]
fn targets_are_counted_by_the_point() {
    let (mut target, z) = (Counted::new(model()), mat![[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]]);
    let (mut out, mut gradients, mut work) = ([0.0; 3], Mat::zeros(2, 3), vec![0.0; target.work_len(3)]);
    target.log_density(&[1.0, 2.0], &mut work);
    target.log_densities(z.as_ref(), &mut out, &mut work);
    let alone: Vec<f64> = (0..3).map(|j| model().log_density(z.col_as_slice(j), &mut work)).collect();
    assert_eq!(out, alone[..]);
    target.gradient_into(&[1.0, 2.0], &mut [0.0; 2], &mut work);
    target.gradients_into(z.as_ref(), &mut out, gradients.as_mut(), &mut work);
    target.hessian_vector_into(&[0.0; 2], &[1.0; 2], &mut [0.0; 2], &mut work);
    let expected = Counts { log_density: 4, gradient: 4, hessian_vector: 1, ..Counts::default() };
    assert_eq!(target.counts(), expected);
    target.reset();
    assert_eq!(target.counts(), Counts::default());
}

#[test]
fn families_are_counted_by_the_point() {
    let family = Counted::new(MeanField::new(1));
    let params = family.inner().at(&[1.0], &[0.5]).unwrap();
    let (mut z, mut log_q, mut gradient) = (Mat::zeros(1, 4), [0.0; 4], [0.0; 2]);
    let (mut again, mut work) = ([0.0; 4], vec![0.0; family.work_len(4)]);
    family.sample_into(&params, &mut Seed::new(1).streams(4, 0), z.as_mut(), &mut log_q, &mut work);
    family.log_probs(&params, z.as_ref(), &mut again, &mut work);
    family.log_prob(&params, &[0.5], &mut work);
    family.add_scores(&params, z.as_ref(), &[0.25; 4], &mut gradient, &mut work);
    family.add_score(&params, &[0.5], 1.0, &mut gradient, &mut work);
    assert_eq!(family.counts(), Counts { log_prob: 5, sample: 4, score: 5, ..Counts::default() });
}

/// Likelihood terms count by the row: two values, then a gradient and a product with the Hessian of three rows each.
#[test]
fn terms_are_counted_by_the_row() {
    let (target, z) = (Counted::new(model()), [0.3, -0.2]);
    let expected = model().log_likelihood_at(&[0, 1], &z, &mut []);
    assert_eq!(target.log_likelihood_at(&[0, 1], &z, &mut []), expected);
    let part = Part { rows: &[0, 1, 1], scale: 1.0 };
    target.add_gradient_at(part, &z, &mut [0.0; 2], &mut []);
    target.add_hessian_vector_at(part, &z, &[1.0; 2], &mut [0.0; 2], &mut []);
    assert_eq!(target.counts(), Counts { terms: 8, ..Counts::default() });
    target.uncounted(|| target.log_likelihood_at(&[0], &z, &mut []));
    target.log_prior(&z, &mut []);
    assert_eq!(target.counts().terms, 8);
}

/// The points of ten threads are all counted.
#[test]
fn threads_lose_no_count() {
    let target = Counted::new(from_fn(1, |_| 0.0));
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                (0..1_000).for_each(|_| {
                    target.log_density(&[0.0], &mut []);
                })
            });
        }
    });
    assert_eq!(target.counts().log_density, 10_000);
}
