//! Faulty variants of the Gaussian: each breaks one law of the conformance suite, which must detect it.

use faer::{Mat, MatMut, MatRef};
use mcsa_core::numeric::scalar::erfc;
use mcsa_core::{
    Columns, Curvature, ExactDraws, Gradient, LogDensity, Named, Part, Separable, Stream, Subsampled,
};
use mcsa_models::{Gaussian, GroundTruth};
use mcsa_testing::model::{self as laws, Case, Failure};

use crate::{known, meter};

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
    ValueBesideGradient,
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
    RowsApartScaled,
    RowWeightsShared,
    RowWorkMissing,
    RowsAllocate,
    TwoNamesAlike,
    NamesReplace,
    DrawsTooWide,
    Unnormalised,
    MeanShifted,
    CovarianceIsScale,
    DensityAllocates,
    GradientAllocates,
    /// NaN within this distance of `mean + [1.3, 0, ..]`, in standard deviations.
    Hole(f64),
    /// NaN beyond this distance.
    Rim(f64),
    /// The gradient is too large by this factor where a coordinate is beyond six standard deviations.
    Tail(f64),
    /// The gradient is cut off at six standard deviations, coordinate by coordinate.
    Clipped,
    /// `work_len` is one too small.
    ShortWork,
}
use Fault::*;

/// A Gaussian with independent coordinates and a fault. Its data are the coordinates.
#[derive(Debug, Clone)]
struct Twin(Gaussian, Fault);

impl Twin {
    fn has(&self, fault: Fault) -> bool {
        self.1 == fault
    }

    fn standard(&self, i: usize, z: &[f64]) -> f64 {
        (z[i] - self.0.mean()[i]) / self.0.variance(i).sqrt()
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
        usize::from(!self.has(ShortWork)) + self.0.work_len(columns)
    }
    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        let (stale, work) = work.split_at_mut(1);
        if self.has(DensityAllocates) {
            std::hint::black_box(vec![1.0]);
        }
        let log_p = self.0.log_density(z, work);
        let distance = |first: f64| {
            let rest: f64 = (1..z.len()).map(|i| self.standard(i, z).powi(2)).sum();
            ((self.standard(0, z) - first).powi(2) + rest).sqrt()
        };
        match self.1 {
            StaleWork => log_p + 0.0 * stale[0],
            NanFarOut if z[0].abs() > 1e150 => f64::NAN,
            InfiniteFarOut if z[0] > 1e300 => f64::INFINITY,
            FiniteAtNan if log_p.is_nan() => 0.0,
            Unnormalised => log_p + 1e-6,
            Hole(size) if distance(1.3) < size => f64::NAN,
            Rim(size) if distance(0.0) > size && distance(0.0).is_finite() => f64::NAN,
            _ => log_p,
        }
    }
    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        for j in 0..z.ncols() {
            out[j] = self.log_density(z.column(j), work);
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
        let log_p = self.0.gradient_into(z, gradient, &mut work[1..]);
        let far = (0..z.len()).any(|i| self.standard(i, z).abs() > 6.0);
        for (i, g) in gradient.iter_mut().enumerate() {
            match self.1 {
                GradientFactor => *g *= 1.0 + 1e-6,
                Tail(factor) if far => *g *= factor,
                Clipped => *g = -self.standard(i, z).clamp(-6.0, 6.0) / self.0.variance(i).sqrt(),
                _ => {}
            }
        }
        if self.has(ValueBesideGradient) { log_p + 1e-9 } else { log_p }
    }
    fn gradients_into(&self, z: MatRef<'_, f64>, out: &mut [f64], mut g: MatMut<'_, f64>, work: &mut [f64]) {
        for (j, out) in out.iter_mut().enumerate() {
            *out = self.gradient_into(z.column(j), mcsa_core::ColumnsMut::column_mut(&mut g, j), work);
        }
        if self.has(GradientNeighbours) && z.ncols() > 1 {
            g[(0, 1)] += 1e-12 * z[(0, 0)];
        }
    }
}

impl Curvature for Twin {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.0.hessian_vector_into(z, v, out, work);
        let factor = if self.has(HessianFactor) { 1.0 + 1e-6 } else { 1.0 };
        out.iter_mut().for_each(|h| *h *= factor);
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
        let fresh = |&(k, row): &(usize, &usize)| !self.has(RowsOnce) || !rows[..k].contains(row);
        let sum: f64 = rows.iter().enumerate().filter(fresh).map(|(_, &row)| self.term(row, z)).sum();
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
    fn add_gradient_at(&self, part: Part<'_>, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let Part { rows, scale } = part;
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
        let factor = if self.has(RowHessianOfPrior) { 1e-6 } else { 0.0 };
        out.iter_mut().zip(v).for_each(|(out, v)| *out = factor * v);
    }
    fn add_hessian_vector_at(&self, part: Part<'_>, _: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        let scale = if self.has(RowHessianNotScaled) { 1.0 } else { part.scale };
        part.rows.iter().for_each(|&i| out[i] -= scale * v[i] / self.0.variance(i));
    }
    fn gradients_at(&self, rows: &[usize], z: &[f64], gradients: &mut [f64], work: &mut [f64]) {
        gradients.fill(0.0);
        let scale = if self.has(RowsApartScaled) { 1.0 + 1e-6 } else { 1.0 };
        for (rows, gradient) in rows.chunks_exact(1).zip(gradients.chunks_exact_mut(z.len())) {
            self.add_gradient_at(Part { rows, scale }, z, gradient, work);
        }
    }
    fn add_weighted_hessian_vector_at(
        &self,
        rows: &[usize],
        weights: &[f64],
        z: &[f64],
        v: &[f64],
        out: &mut [f64],
        work: &mut [f64],
    ) {
        for (rows, &weight) in rows.chunks_exact(1).zip(weights) {
            let scale = if self.has(RowWeightsShared) { 1.0 } else { weight };
            self.add_hessian_vector_at(Part { rows, scale }, z, v, out, work);
        }
    }
}

impl ExactDraws for Twin {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        self.0.draw_into(stream, z);
        if self.has(DrawsTooWide) {
            z.iter_mut().zip(self.0.mean()).for_each(|(z, mean)| *z += 0.1 * (*z - mean));
        }
    }
}

impl GroundTruth for Twin {
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

/// Two coordinates with different means and scales.
fn plane(fault: Fault) -> Case<Twin> {
    let target = Gaussian::diagonal(vec![0.0, 1.0_f64.sin()], vec![0.7, 0.9]).expect("known");
    known(Case::new(Twin(target, fault))).with_uniforms(|twin, z, u| {
        for i in 0..z.len() {
            u[i] = 0.5 * erfc((twin.0.mean()[i] - z[i]) / (2.0 * twin.0.variance(i)).sqrt());
        }
    })
}

/// A standard Gaussian scaled by 0.3.
fn narrow(dim: usize, fault: Fault) -> Case<Twin> {
    let target = Gaussian::diagonal(vec![0.0; dim], vec![0.3; dim]).expect("known");
    Case::new(Twin(target, fault)).with_spread(0.3)
}

type Law = fn(&Case<Twin>) -> Result<(), Failure>;

/// Laws, and the faults that each must detect.
macro_rules! table {
    ($($law:ident $(($meter:ident))? : $($fault:ident)*;)*) => {
        &[$((stringify!($law), |case| laws::$law(case $(, &mut $meter)?), &[$($fault),*])),*]
    };
}

const LAWS: &[(&str, Law, &[Fault])] = table! {
    batch_equals_columns: Neighbours StaleWork;
    gradient_batch_equals_columns: GradientNeighbours;
    far_points_are_decided: NanFarOut InfiniteFarOut FiniteAtNan;
    gradient_is_gradient: GradientFactor;
    gradient_returns_the_density: ValueBesideGradient;
    hessian_vector_is_derivative: HessianFactor;
    terms_add_up: PriorTwice RowsOnce MinibatchScaled;
    row_gradients_add_up: RowGradientOfPrior RowGradientScaled RowGradientOverwrites RowGradientRowsOnce RowValueScaled RowsApartScaled;
    row_curvatures_add_up: RowHessianOfPrior RowHessianNotScaled RowWeightsShared;
    minibatch_derivatives_are_derivatives: RowGradientScaled RowHessianNotScaled RowValueScaled;
    minibatches_average_to_the_target: RowGradientScaled RowHessianNotScaled;
    work_is_enough: ShortWork;
    gradient_work_is_enough: ShortWork;
    row_derivatives_work_is_enough: RowWorkMissing;
    density_allocates_nothing(meter): DensityAllocates;
    gradient_allocates_nothing(meter): GradientAllocates;
    row_derivatives_allocate_nothing(meter): RowsAllocate;
    names_are_distinct: TwoNamesAlike NamesReplace;
    normaliser_is_integral: Unnormalised;
    moments_are_integrals: MeanShifted CovarianceIsScale;
    draws_follow_the_law: DrawsTooWide;
};

#[test]
fn every_fault_is_found_by_its_law_and_nothing_without_one() {
    for (name, law, faults) in LAWS {
        assert_eq!(law(&plane(None)), Ok(()), "{name}");
        for fault in *faults {
            let failure = law(&plane(*fault)).expect_err(&format!("{fault:?} passes {name}"));
            assert_eq!(failure.law, *name, "{failure}");
        }
    }
    for dim in [1, 2, 3, 5, 10, 50] {
        assert_eq!(laws::check(&narrow(dim, None)), Ok(()));
        assert_eq!(laws::check_gradient(&narrow(dim, None)), Ok(()));
    }
}

/// A hole that the probes miss is smaller than the stated power.
#[test]
fn holes_are_found() {
    for (dim, fault) in [
        (1, Hole(0.01)),
        (2, Hole(0.1)),
        (3, Hole(0.3)),
        (4, Hole(0.5)),
        (5, Hole(1.0)),
        (1, Rim(40.0)),
        (2, Rim(40.0)),
        (10, Rim(40.0)),
    ] {
        let failure = laws::density_is_never_nan(&narrow(dim, fault)).expect_err("NaN");
        assert!(laws::check(&narrow(dim, fault)).is_err());
        assert_eq!((failure.law, failure.found.as_str()), ("density_is_never_nan", "NaN"), "{failure}");
    }
    let missed = |case: Case<Twin>| laws::density_is_never_nan(&case).expect("missed").expect("probes");
    let power = missed(narrow(5, Hole(1e-3)));
    assert!((power.size - std::f64::consts::LN_10 / 16_384.0).abs() < 1e-8, "{power}");
    let few = missed(Case { probes: 64, ..narrow(2, Hole(0.05)) });
    let effort = "64 scattered probes, a grid with cells of 2.000";
    assert!(few.size > 0.03 && few.effort.contains(effort), "{few}");
}

#[test]
fn a_gradient_that_is_wrong_in_the_tails_is_found() {
    for dim in [1, 2, 5, 20, 50] {
        for fault in [Tail(1.001), Tail(0.0), Tail(-1.0), Clipped] {
            let case = narrow(dim, fault);
            assert_eq!(laws::gradient_is_gradient(&case), Ok(()), "{fault:?} is not seen in the middle");
            let failure = laws::check_gradient(&case).expect_err("wrong beyond six scales");
            assert_eq!(failure.law, "gradient_holds_in_the_tails", "{failure}");
        }
    }
}

/// Too short a claim of memory, a panic in another law, and a law that is left out.
#[test]
fn reports_name_laws_and_reasons() {
    let failure = laws::check(&narrow(3, ShortWork)).expect_err("short");
    assert_eq!((failure.law, failure.found.as_str()), ("work_is_enough", "more: 2 are enough"));
    let others = narrow(3, ShortWork).without("work_is_enough", "to see another law fail").expect("a law");
    let failure = laws::check(&others).expect_err("short").to_string();
    assert!(failure.starts_with("batch_equals_columns: the code under examination: found "), "{failure}");
    let unknown = narrow(1, None).without("density_is_nan", "misspelt").expect_err("no such law").to_string();
    let list = "no law is called \"density_is_nan\"; the laws are work_is_enough, ";
    assert!(unknown.starts_with(list), "{unknown}");
    let without =
        narrow(1, Hole(0.001)).without("density_is_never_nan", "the twin has a hole").expect("a law");
    let report = laws::report(&without);
    let line = "  left out density_is_never_nan     the twin has a hole\n";
    assert!(report.holds() && report.to_string().contains(line), "{report}");
}

#[test]
fn oracles_are_compared() {
    let case = plane(None);
    let oracle = |z: &[f64]| (0..2).map(|i| case.target.term(i, z)).sum::<f64>();
    assert_eq!(laws::density_equals(&case, &oracle), Ok(()));
    assert!(laws::density_equals(&case, &|z| oracle(z) + 1e-8).is_err());
}
