//! Test case of the conformance suite: a target and the points at which it is tested.

use std::fmt;
use std::sync::Arc;

use crate::law::{Direction, LeftOut, directions};
use faer::{Mat, MatRef};
use mcsa_core::numeric::quadrature::Map;
use mcsa_core::{Columns, Error, LogDensity, Seed, Stream};

use super::{Failure, LAWS};

/// Writes conditional or marginal distribution functions of a target at a point: `u_i = P(Z_i <= z_i | Z_1 = z_1, .., Z_i-1 =
/// z_i-1)` or `u_i = P(Z_i <= z_i)`. At an exact draw each is uniform on `(0, 1)`.
pub type Uniforms = Arc<dyn Fn(&[f64], &mut [f64])>;

/// Normaliser and moments of a target, as far as they are known.
#[derive(Debug, Clone)]
pub struct Truth {
    /// `log int p(z) dz`: zero if the density is normalised.
    pub log_normaliser: f64,
    /// `E[z]`, if it is known.
    pub mean: Option<Vec<f64>>,
    /// The covariance, if it is known.
    pub covariance: Option<Mat<f64>>,
}

/// Test case: a target, and the region in which its laws are tested.
///
/// Test points are `centre + spread * eps` with `eps` standard normal; quadrature uses centre and spread too.
///
/// ```
/// use mcsa_models::Gaussian; use mcsa_testing::model::Case;
/// let case = Case::new(Gaussian::standard(2)).with_centre(vec![1.0, 0.0]).with_spread(0.5);
/// assert_eq!(case.spread, [0.5, 0.5]);
/// ```
#[derive(Clone)]
pub struct Case<P: ?Sized> {
    /// Centre of the test points.
    pub centre: Vec<f64>,
    /// Standard deviation of the test points around the centre, per coordinate.
    pub spread: Vec<f64>,
    /// Variable transformation of the quadrature; [`Map::SinhSinh`] for tails heavier than exponential.
    pub map: Map,
    /// Seed of the test points.
    pub seed: Seed,
    /// Distribution functions, needed for targets with exact draws.
    pub uniforms: Option<Uniforms>,
    /// Normaliser and moments, needed for [`normaliser_is_integral`](super::normaliser_is_integral) and
    /// [`moments_are_integrals`](super::moments_are_integrals).
    pub truth: Option<Truth>,
    /// Number of scattered probes of [`density_is_never_nan`](super::density_is_never_nan); the numbers of probes on the grid, the
    /// axes and the rays follow from it. Fewer suit a target that is slow to evaluate.
    pub probes: usize,
    /// Laws that [`check`](super::check), [`report`](super::report) and [`model_suite!`](crate::model_suite) leave out.
    pub left_out: LeftOut,
    /// The target under test. It is the last field, so that a reference to a case of any target is one to a case of a trait object:
    /// the laws are compiled once for all targets.
    pub target: P,
}

impl<P: ?Sized> fmt::Debug for Case<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { centre, spread, left_out, .. } = self;
        let mut shown = f.debug_struct("Case");
        shown
            .field("centre", centre)
            .field("spread", spread)
            .field("left_out", left_out)
            .finish_non_exhaustive()
    }
}

impl<P: LogDensity> Case<P> {
    /// A case with centre 0, unit spread, light tails, seed 1, 2^14 probes and all laws.
    pub fn new(target: P) -> Self {
        let dim = target.dim();
        Self {
            centre: vec![0.0; dim],
            spread: vec![1.0; dim],
            map: Map::Sinh,
            seed: Seed::new(1),
            uniforms: None,
            truth: None,
            probes: 1 << 14,
            left_out: LeftOut::default(),
            target,
        }
    }

    /// Leaves out one law, for a reason that is reported.
    ///
    /// # Errors
    /// If no law has this name, or the reason is empty.
    pub fn without(mut self, law: &str, reason: &'static str) -> Result<Self, Error> {
        self.left_out.add(LAWS, law, reason)?;
        Ok(self)
    }

    /// Sets the centre of the test points.
    #[must_use]
    pub fn with_centre(self, centre: Vec<f64>) -> Self {
        assert_eq!(centre.len(), self.target.dim(), "a centre of the target's dimension");
        Self { centre, ..self }
    }

    /// Sets the spread of the test points, equal in all coordinates.
    #[must_use]
    pub fn with_spread(self, spread: f64) -> Self {
        Self { spread: vec![spread; self.target.dim()], ..self }
    }

    /// Sets the distribution functions for [`draws_follow_the_law`](super::draws_follow_the_law).
    #[must_use]
    pub fn with_uniforms(self, uniforms: fn(&P, &[f64], &mut [f64])) -> Self
    where
        P: Clone + 'static,
    {
        let target = self.target.clone();
        Self { uniforms: Some(Arc::new(move |z, u| uniforms(&target, z, u))), ..self }
    }
}

impl<P: LogDensity + ?Sized> Case<P> {
    pub(super) fn truth(&self, law: &'static str) -> Result<&Truth, Failure> {
        let missing = || Failure::new(law, "the case", "normaliser and moments: Case::truth", "none");
        self.truth.as_ref().ok_or_else(missing)
    }

    pub(super) fn stream(&self, name: &str) -> Stream {
        self.seed.named(name).stream(0, 0)
    }

    /// Lent memory, filled with NaN.
    pub(super) fn work(&self, columns: usize) -> Vec<f64> {
        vec![f64::NAN; self.target.work_len(columns)]
    }

    pub(super) fn log_density(&self, z: &[f64]) -> f64 {
        self.target.log_density(z, &mut self.work(1))
    }

    pub(super) fn log_densities(&self, z: MatRef<'_, f64>) -> Vec<f64> {
        let mut log_p = vec![f64::NAN; z.ncols()];
        self.target.log_densities(z, &mut log_p, &mut self.work(z.ncols()));
        log_p
    }

    /// Random test points, one per column.
    pub(super) fn points(&self, columns: usize) -> Mat<f64> {
        let mut stream = self.stream("points");
        Mat::from_fn(self.target.dim(), columns, |i, _| self.centre[i] + self.spread[i] * stream.normal())
    }

    /// Examines random test points, with their numbers.
    pub(super) fn each_point(
        &self,
        count: usize,
        mut examine: impl FnMut(usize, &[f64]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let points = self.points(count);
        (0..count).try_for_each(|j| examine(j, points.as_ref().column(j)))
    }

    /// Test directions; their lengths are those of the spread.
    pub(super) fn directions(&self) -> Vec<Direction> {
        directions("coordinate", &self.spread, 8, &mut self.stream("directions"))
    }

    /// True in at most three dimensions, where quadrature is affordable.
    pub(super) fn is_integrable(&self) -> bool {
        self.target.dim() <= 3
    }
}
