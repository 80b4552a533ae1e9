//! Faulty variants of the Gaussian: each breaks one law of the conformance suite, which must detect it.

use faer::{Mat, MatMut, MatRef};
use mcsa_core::numeric::scalar::erfc;
use mcsa_core::{Curvature, ExactDraws, Gradient, LogDensity, Named, Separable, Stream, Subsampled};
use mcsa_models::{Constrained, Gaussian, GroundTruth, Transform};
use mcsa_testing::model::{self as laws, Case, Failure};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    Neighbours,
    StaleWork,
    GradientNeighbours,
    NanFarOut,
    InfiniteFarOut,
    FiniteAtNan,
    GradientFactor,
    GradientCoordinate,
    ValueBesideGradient,
    HessianSign,
    HessianFactor,
    PriorTwice,
    RowsOnce,
    MinibatchScaled,
    RowGradientOfPrior,
    RowGradientScaled,
    RowGradientOverwrites,
    RowGradientRowsOnce,
    RowValueScaled,
    RowHessianOfPrior,
    RowHessianNotScaled,
    RowHessianSign,
    RowWorkMissing,
    RowsAllocate,
    TwoNamesAlike,
    NamesReplace,
    NoJacobian,
    JacobianTwice,
    DrawsTooWide,
    DrawsShifted,
    Unnormalised,
    MeanShifted,
    CovarianceIsScale,
    DensityAllocates,
    GradientAllocates,
}
use Fault::*;

/// Log-normal target: `theta_i = exp(z_i)` with `z` the Gaussian, so that a Jacobian can be left out. Its data are
/// the coordinates.
struct Twin(Gaussian, Fault);

impl Twin {
    fn has(&self, fault: Fault) -> bool {
        self.1 == fault
    }

    fn jacobian(z: &[f64]) -> f64 {
        z.iter().sum()
    }

    fn term(&self, i: usize, z: &[f64]) -> f64 {
        -0.5 * (z[i] - self.0.mean()[i]).powi(2) / self.0.variance(i)
            - 0.5 * (2.0 * std::f64::consts::PI * self.0.variance(i)).ln()
    }
}

impl LogDensity for Twin {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn work_len(&self, columns: usize) -> usize {
        1 + self.0.work_len(columns)
    }
    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        let (stale, work) = work.split_at_mut(1);
        if self.has(DensityAllocates) {
            std::hint::black_box(vec![1.0]);
        }
        let log_p = self.0.log_density(z, work);
        match self.1 {
            StaleWork => log_p + 0.0 * stale[0],
            NanFarOut if z[0].abs() > 1e150 => f64::NAN,
            InfiniteFarOut if z[0] > 1e300 => f64::INFINITY,
            FiniteAtNan if log_p.is_nan() => 0.0,
            NoJacobian => log_p - Self::jacobian(z),
            JacobianTwice => log_p + Self::jacobian(z),
            Unnormalised => log_p + 1e-6,
            _ => log_p,
        }
    }
    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        for j in 0..z.ncols() {
            let column: Vec<f64> = (0..z.nrows()).map(|i| z[(i, j)]).collect();
            out[j] = self.log_density(&column, work);
            if self.has(Neighbours) && j > 0 {
                out[j] += 1e-14 * z[(0, j - 1)];
            }
        }
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        if self.has(NamesReplace) {
            *out = Named::default();
        }
        let name = |i| if self.has(TwoNamesAlike) { "theta".to_owned() } else { format!("theta[{i}]") };
        out.each(name, z.iter().map(|z| z.exp()));
    }
}

impl Gradient for Twin {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        if self.has(GradientAllocates) {
            std::hint::black_box(vec![1.0]);
        }
        let log_p = self.0.gradient_into(z, gradient, work);
        match self.1 {
            GradientFactor => gradient.iter_mut().for_each(|g| *g *= 1.0 + 1e-6),
            GradientCoordinate => gradient[0] += 1e-6,
            ValueBesideGradient => return log_p + 1e-9,
            _ => {}
        }
        log_p
    }
    fn gradients_into(&self, z: MatRef<'_, f64>, out: &mut [f64], mut g: MatMut<'_, f64>, work: &mut [f64]) {
        self.0.gradients_into(z, out, g.as_mut(), work);
        if self.has(GradientNeighbours) && z.ncols() > 1 {
            g[(0, 1)] += 1e-12 * z[(0, 0)];
        }
    }
}

impl Curvature for Twin {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.0.hessian_vector_into(z, v, out, work);
        match self.1 {
            HessianSign => out.iter_mut().for_each(|h| *h = -*h),
            HessianFactor => out.iter_mut().for_each(|h| *h *= 1.0 + 1e-6),
            _ => {}
        }
    }
}

impl Separable for Twin {
    fn num_data(&self) -> usize {
        self.dim()
    }
    fn log_prior(&self, z: &[f64], _: &mut [f64]) -> f64 {
        if self.has(PriorTwice) { self.term(0, z) } else { 0.0 }
    }
    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], _: &mut [f64]) -> f64 {
        let mut seen = vec![false; if self.has(RowsOnce) { self.dim() } else { 0 }];
        let fresh = |row: &&usize| !self.has(RowsOnce) || !std::mem::replace(&mut seen[**row], true);
        let sum: f64 = rows.iter().filter(fresh).map(|&row| self.term(row, z)).sum();
        let scaled = self.has(MinibatchScaled) && !rows.is_empty();
        if scaled { sum * self.dim() as f64 / rows.len() as f64 } else { sum }
    }
}

impl Subsampled for Twin {
    fn rows_work_len(&self, rows: usize) -> usize {
        if self.has(RowWorkMissing) { 0 } else { rows }
    }
    fn prior_gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient.fill(if self.has(RowGradientOfPrior) { 1e-6 } else { 0.0 });
        self.log_prior(z, work)
    }
    fn add_gradient_at(
        &self,
        rows: &[usize],
        scale: f64,
        z: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) -> f64 {
        if self.has(RowsAllocate) {
            std::hint::black_box(vec![1.0]);
        }
        if self.has(RowGradientOverwrites) {
            gradient.fill(0.0);
        }
        for (k, &i) in rows.iter().enumerate() {
            work[k] = (self.0.mean()[i] - z[i]) / self.0.variance(i);
            let listed = rows[..k].contains(&i) && self.has(RowGradientRowsOnce);
            gradient[i] += match self.1 {
                _ if listed => 0.0,
                RowGradientScaled => scale * scale * work[k],
                _ => scale * work[k],
            };
        }
        let value = self.log_likelihood_at(rows, z, &mut []);
        if self.has(RowValueScaled) { scale * value } else { value }
    }
    fn prior_hessian_vector_into(&self, _: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.iter_mut()
            .zip(v)
            .for_each(|(out, v)| *out = if self.has(RowHessianOfPrior) { 1e-6 * v } else { 0.0 });
    }
    fn add_hessian_vector_at(
        &self,
        rows: &[usize],
        scale: f64,
        _: &[f64],
        v: &[f64],
        out: &mut [f64],
        _: &mut [f64],
    ) {
        for &i in rows {
            let product = v[i] / self.0.variance(i);
            out[i] -= match self.1 {
                RowHessianNotScaled => product,
                RowHessianSign => -scale * product,
                _ => scale * product,
            };
        }
    }
}

impl Constrained for Twin {
    fn transform(&self, _: usize) -> Transform {
        Transform::Positive
    }
    fn log_density_at(&self, theta: &[f64]) -> f64 {
        let z: Vec<f64> = theta.iter().map(|theta| theta.ln()).collect();
        (0..self.dim()).map(|i| self.term(i, &z)).sum::<f64>() - Self::jacobian(&z)
    }
}

impl ExactDraws for Twin {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        self.0.draw_into(stream, z);
        for (z, mean) in z.iter_mut().zip(self.0.mean()) {
            match self.1 {
                DrawsTooWide => *z += 0.1 * (*z - mean),
                DrawsShifted => *z += 0.1,
                _ => {}
            }
        }
    }
}

impl GroundTruth for Twin {
    fn log_normaliser(&self) -> f64 {
        0.0
    }
    fn mean(&self) -> Option<Vec<f64>> {
        let shift = if self.has(MeanShifted) { 1e-4 } else { 0.0 };
        Some(self.0.mean().iter().map(|mean| mean + shift).collect())
    }
    fn covariance(&self) -> Option<Mat<f64>> {
        let covariance = self.0.covariance();
        let root = |i: usize, j: usize| covariance[(i, j)].signum() * covariance[(i, j)].abs().sqrt();
        let scale = Mat::from_fn(self.dim(), self.dim(), root);
        Some(if self.has(CovarianceIsScale) { scale } else { covariance })
    }
}

fn case(fault: Fault, dim: usize) -> Case<Twin> {
    let mean = (0..dim).map(|i| (i as f64).sin()).collect();
    let scale = (0..dim).map(|i| 0.7 + 0.2 * i as f64).collect();
    let case = Case::new(Twin(Gaussian::diagonal(mean, scale).expect("known"), fault));
    crate::known(crate::printed(case)).with_uniforms(|twin, z, u| {
        for i in 0..z.len() {
            u[i] = 0.5 * erfc((twin.0.mean()[i] - z[i]) / (2.0 * twin.0.variance(i)).sqrt());
        }
    })
}

type Law = fn(&Case<Twin>) -> Result<(), Failure>;

fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

fn density_allocates_nothing(case: &Case<Twin>) -> Result<(), Failure> {
    laws::density_allocates_nothing(case, &mut meter)
}

fn gradient_allocates_nothing(case: &Case<Twin>) -> Result<(), Failure> {
    laws::gradient_allocates_nothing(case, &mut meter)
}

fn row_derivatives_allocate_nothing(case: &Case<Twin>) -> Result<(), Failure> {
    laws::row_derivatives_allocate_nothing(case, &mut meter)
}

const BROKEN: [(Fault, Law, &str); 43] = [
    (Neighbours, laws::batch_equals_columns, "batch_equals_columns"),
    (StaleWork, laws::batch_equals_columns, "batch_equals_columns"),
    (GradientNeighbours, laws::gradient_batch_equals_columns, "gradient_batch_equals_columns"),
    (NanFarOut, laws::far_points_are_decided, "far_points_are_decided"),
    (InfiniteFarOut, laws::far_points_are_decided, "far_points_are_decided"),
    (FiniteAtNan, laws::far_points_are_decided, "far_points_are_decided"),
    (GradientFactor, laws::gradient_is_gradient, "gradient_is_gradient"),
    (GradientCoordinate, laws::gradient_is_gradient, "gradient_is_gradient"),
    (NoJacobian, laws::gradient_is_gradient, "gradient_is_gradient"),
    (ValueBesideGradient, laws::gradient_knows_the_density, "gradient_knows_the_density"),
    (HessianSign, laws::hessian_vector_is_derivative, "hessian_vector_is_derivative"),
    (HessianFactor, laws::hessian_vector_is_derivative, "hessian_vector_is_derivative"),
    (GradientFactor, laws::hessian_vector_is_derivative, "hessian_vector_is_derivative"),
    (PriorTwice, laws::terms_add_up, "terms_add_up"),
    (RowsOnce, laws::terms_add_up, "terms_add_up"),
    (MinibatchScaled, laws::terms_add_up, "terms_add_up"),
    (RowGradientOfPrior, laws::row_gradients_add_up, "row_gradients_add_up"),
    (RowGradientScaled, laws::row_gradients_add_up, "row_gradients_add_up"),
    (RowGradientOverwrites, laws::row_gradients_add_up, "row_gradients_add_up"),
    (RowGradientRowsOnce, laws::row_gradients_add_up, "row_gradients_add_up"),
    (RowValueScaled, laws::row_gradients_add_up, "row_gradients_add_up"),
    (RowHessianOfPrior, laws::row_curvatures_add_up, "row_curvatures_add_up"),
    (RowHessianNotScaled, laws::row_curvatures_add_up, "row_curvatures_add_up"),
    (RowHessianSign, laws::row_curvatures_add_up, "row_curvatures_add_up"),
    (RowGradientScaled, laws::minibatch_derivatives_are_derivatives, "minibatch_derivatives_are_derivatives"),
    (
        RowHessianNotScaled,
        laws::minibatch_derivatives_are_derivatives,
        "minibatch_derivatives_are_derivatives",
    ),
    (RowValueScaled, laws::minibatch_derivatives_are_derivatives, "minibatch_derivatives_are_derivatives"),
    (RowGradientScaled, laws::minibatches_average_to_the_target, "minibatches_average_to_the_target"),
    (RowHessianNotScaled, laws::minibatches_average_to_the_target, "minibatches_average_to_the_target"),
    (RowWorkMissing, laws::row_derivatives_work_is_enough, "row_derivatives_work_is_enough"),
    (RowsAllocate, row_derivatives_allocate_nothing, "row_derivatives_allocate_nothing"),
    (TwoNamesAlike, laws::names_are_distinct, "names_are_distinct"),
    (NamesReplace, laws::names_are_distinct, "names_are_distinct"),
    (NoJacobian, laws::density_carries_its_jacobian, "density_carries_its_jacobian"),
    (JacobianTwice, laws::density_carries_its_jacobian, "density_carries_its_jacobian"),
    (NoJacobian, laws::normaliser_is_integral, "normaliser_is_integral"),
    (Unnormalised, laws::normaliser_is_integral, "normaliser_is_integral"),
    (DrawsTooWide, laws::draws_follow_the_law, "draws_follow_the_law"),
    (DrawsShifted, laws::draws_follow_the_law, "draws_follow_the_law"),
    (MeanShifted, laws::moments_are_integrals, "moments_are_integrals"),
    (CovarianceIsScale, laws::moments_are_integrals, "moments_are_integrals"),
    (DensityAllocates, density_allocates_nothing, "density_allocates_nothing"),
    (GradientAllocates, gradient_allocates_nothing, "gradient_allocates_nothing"),
];

#[test]
fn every_fault_is_found_by_its_law() {
    for (fault, law, name) in BROKEN {
        let failure = law(&case(fault, 2)).expect_err(&format!("{fault:?} passes {name}"));
        assert_eq!(failure.law, name, "{failure}");
    }
}

#[test]
fn without_a_fault_every_law_holds() {
    for (_, law, name) in BROKEN {
        // This variant copies the columns with every fault, so it always allocates.
        if name != "density_allocates_nothing" {
            assert_eq!(law(&case(None, 2)), Ok(()), "{name}");
        }
    }
    assert_eq!(laws::transforms_invert(&case(None, 2)), Ok(()));
    assert_eq!(laws::jacobians_are_slopes(&case(None, 2)), Ok(()));
}

/// Faulty transform: a model whose transform has another range than its formula.
#[test]
fn a_lost_transform_is_caught() {
    struct Squeezed;
    impl LogDensity for Squeezed {
        fn dim(&self) -> usize {
            1
        }
        fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
            -(-z[0]).exp().ln_1p() - z[0].exp().ln_1p()
        }
    }
    impl Constrained for Squeezed {
        fn transform(&self, _: usize) -> Transform {
            Transform::Interval { low: 0.0, high: 2.0 }
        }
        fn log_density_at(&self, _: &[f64]) -> f64 {
            0.0
        }
    }
    let failure = laws::density_carries_its_jacobian(&crate::printed(Case::new(Squeezed)))
        .expect_err("log 2 is missing");
    assert_eq!(failure.law, "density_carries_its_jacobian");
}

#[test]
fn oracles_are_compared() {
    let case = case(None, 2);
    let oracle = |z: &[f64]| (0..2).map(|i| case.target.term(i, z)).sum::<f64>();
    assert_eq!(laws::density_equals(&case, &oracle), Ok(()));
    assert!(laws::density_equals(&case, &|z| oracle(z) + 1e-8).is_err());
    let slope = |z: &[f64], v: &[f64]| {
        let pull = |i: usize| -(z[i] - case.target.0.mean()[i]) / case.target.0.variance(i);
        (0..2).map(|i| pull(i) * v[i]).sum::<f64>()
    };
    assert_eq!(laws::gradient_equals(&case, &|z, v| (oracle(z), slope(z, v))), Ok(()));
    assert!(laws::gradient_equals(&case, &|z, v| (oracle(z), slope(z, v) + 1e-8)).is_err());
    assert!(laws::gradient_equals(&case, &|z, v| (oracle(z) + 1e-8, slope(z, v))).is_err());
}
