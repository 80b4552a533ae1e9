//! Tests of evaluation counters: counts are exact, and counting changes no value.

use faer::{MatMut, MatRef, mat};
use mcsa_core::{
    ColumnsMut, Counted, Counts, Curvature, Family, Gradient, LogDensity, Parametric, Seed, Separable,
    Stream, Subsampled,
};

struct Bowl;

impl LogDensity for Bowl {
    fn dim(&self) -> usize {
        2
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        -0.5 * z.iter().map(|x| x * x).sum::<f64>()
    }
}

impl Gradient for Bowl {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(z).for_each(|(g, z)| *g = -z);
        self.log_density(z, work)
    }
}

impl Curvature for Bowl {
    fn hessian_vector_into(&self, _: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.iter_mut().zip(v).for_each(|(out, v)| *out = -v);
    }
}

/// Every row has the log likelihood 1.
impl Separable for Bowl {
    fn num_data(&self) -> usize {
        2
    }
    fn log_prior(&self, _: &[f64], _: &mut [f64]) -> f64 {
        0.0
    }
    fn log_likelihood_at(&self, rows: &[usize], _: &[f64], _: &mut [f64]) -> f64 {
        rows.len() as f64
    }
}

impl Subsampled for Bowl {
    fn prior_gradient_into(&self, _: &[f64], _: &mut [f64], _: &mut [f64]) -> f64 {
        0.0
    }
    fn add_gradient_at(&self, rows: &[usize], _: f64, _: &[f64], _: &mut [f64], _: &mut [f64]) -> f64 {
        rows.len() as f64
    }
    fn prior_hessian_vector_into(&self, _: &[f64], _: &[f64], _: &mut [f64], _: &mut [f64]) {}
    fn add_hessian_vector_at(&self, _: &[usize], _: f64, _: &[f64], _: &[f64], _: &mut [f64], _: &mut [f64]) {
    }
}

/// Family of normals with mean lambda and unit variance.
struct Around;

impl Parametric for Around {
    fn dim(&self) -> usize {
        1
    }
    fn num_params(&self) -> usize {
        1
    }
}

impl Family for Around {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], _: &mut [f64]) {
        log_q.iter_mut().enumerate().for_each(|(j, q)| *q = -0.5 * (z[(0, j)] - params[0]).powi(2));
    }
    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        _: &mut [f64],
    ) {
        for (j, lane) in lanes.iter_mut().enumerate() {
            let eps = lane.normal();
            z.column_mut(j)[0] = params[0] + eps;
            log_q[j] = -0.5 * eps * eps;
        }
    }
    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
    ) {
        weights.iter().enumerate().for_each(|(j, w)| gradient[0] += w * (z[(0, j)] - params[0]));
    }
}

#[test]
fn targets_are_counted_by_the_point() {
    let (target, z) = (Counted::new(Bowl), mat![[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]]);
    let (mut out, mut gradients) = ([0.0; 3], faer::Mat::zeros(2, 3));
    target.log_density(&[1.0, 2.0], &mut []);
    target.log_densities(z.as_ref(), &mut out, &mut []);
    let alone: Vec<f64> = (0..3).map(|j| Bowl.log_density(z.col_as_slice(j), &mut [])).collect();
    assert_eq!(out, alone[..]);
    target.gradient_into(&[1.0, 2.0], &mut [0.0; 2], &mut []);
    target.gradients_into(z.as_ref(), &mut out, gradients.as_mut(), &mut []);
    target.hessian_vector_into(&[0.0; 2], &[1.0; 2], &mut [0.0; 2], &mut []);
    let expected = Counts { log_density: 4, gradient: 4, hessian_vector: 1, ..Counts::default() };
    assert_eq!(target.counts(), expected);
    let mut target = target;
    target.reset();
    assert_eq!(target.counts(), Counts::default());
}

#[test]
fn families_are_counted_by_the_point() {
    let family = Counted::new(Around);
    let (mut z, mut log_q, mut gradient) = (faer::Mat::zeros(1, 4), [0.0; 4], [0.0]);
    family.sample_into(&[1.0], &mut Seed::new(1).streams(4, 0), z.as_mut(), &mut log_q, &mut []);
    let mut again = [0.0; 4];
    family.log_probs(&[1.0], z.as_ref(), &mut again, &mut []);
    family.log_prob(&[1.0], &[0.5], &mut []);
    family.add_scores(&[1.0], z.as_ref(), &[0.25; 4], &mut gradient, &mut []);
    family.add_score(&[1.0], &[0.5], 1.0, &mut gradient, &mut []);
    assert_eq!(family.counts(), Counts { log_prob: 5, sample: 4, score: 5, ..Counts::default() });
}

/// Likelihood terms count by the row: two values, then a gradient and a product with the Hessian of three rows each.
#[test]
fn terms_are_counted_by_the_row() {
    let target = Counted::new(Bowl);
    assert_eq!(target.log_likelihood_at(&[0, 1], &[0.0; 2], &mut []), 2.0);
    target.add_gradient_at(&[0, 1, 1], 1.0, &[0.0; 2], &mut [0.0; 2], &mut []);
    target.add_hessian_vector_at(&[0, 1, 1], 1.0, &[0.0; 2], &[1.0; 2], &mut [0.0; 2], &mut []);
    assert_eq!(target.counts(), Counts { terms: 8, ..Counts::default() });
    target.uncounted(|| target.log_likelihood_at(&[0], &[0.0; 2], &mut []));
    target.log_prior(&[0.0; 2], &mut []);
    assert_eq!(target.counts().terms, 8);
}

/// The points of ten threads are all counted.
#[test]
fn threads_lose_no_count() {
    let target = Counted::new(Bowl);
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                (0..1_000).for_each(|_| {
                    target.log_density(&[0.0; 2], &mut []);
                })
            });
        }
    });
    assert_eq!(target.counts().log_density, 10_000);
}
