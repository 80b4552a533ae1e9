//! Posteriors of cases: built targets, reference posteriors, and planted failures.

use std::ops::Range;
use std::sync::Arc;

use faer::Mat;
use mcsa_core::{Error, Gradient, LogDensity, Stream, borrow};
use mcsa_data::{Catalogue, Dataset, ReferenceRegression};
use mcsa_models::{Banana, GroundTruth, Mixture, UnknownNoiseRegression};
use serde::{Deserialize, Serialize};

use super::Case;
use super::truth::FirstCoordinate;
use super::truth::Truth;
use super::truth::{LEVELS, Margin, Margins, level};
use crate::Posterior;

/// A case, built.
pub struct Built {
    /// The target.
    pub posterior: Arc<dyn Posterior>,
    /// Its moments.
    pub truth: Truth,
    /// The covariance, if it is known in closed form.
    pub covariance: Option<Mat<f64>>,
    /// A mode that starts may miss.
    pub hidden: Option<Vec<f64>>,
    /// Log normaliser of the density, if it is known in closed form or by quadrature.
    pub log_z: Option<f64>,
    /// Margins of the coordinates: in closed form, or by stored quantiles.
    pub margins: Option<Margins>,
}

impl Built {
    /// A target of which nothing is known.
    pub(super) fn unknown(posterior: Arc<dyn Posterior>) -> Self {
        Self { posterior, truth: Truth::None, covariance: None, hidden: None, log_z: None, margins: None }
    }

    /// A target with ground truth and these margins.
    pub(super) fn exact(target: impl GroundTruth + Posterior + 'static, margins: Margins) -> Self {
        Self {
            truth: Truth::of(&target),
            covariance: target.covariance(),
            log_z: Some(target.log_normaliser()),
            margins: Some(margins),
            ..Self::unknown(Arc::new(target))
        }
    }

    /// A mixture with a mode on the first axis that starts may miss.
    pub(super) fn hidden(target: Mixture, at: f64) -> Self {
        let mut mode = vec![0.0; mcsa_core::LogDensity::dim(&target)];
        mode[0] = at;
        let margins = Margins::mixture(&target);
        Self { hidden: Some(mode), ..Self::exact(target, margins) }
    }

    /// A line with normal coordinates beside it.
    pub(super) fn line(target: FirstCoordinate) -> Self {
        Self {
            truth: target.truth(),
            log_z: target.log_normaliser(),
            margins: target.margins(),
            ..Self::unknown(Arc::new(target))
        }
    }
}

/// The rows with every input standardised, and a column of ones.
pub(super) fn standardised(rows: Dataset) -> Dataset {
    let count = rows.rows() as f64;
    let mut x = rows.x.clone();
    for k in 0..x.ncols() {
        let column: &mut [f64] = x.col_as_slice_mut(k);
        let mean = column.iter().sum::<f64>() / count;
        let square = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let scale = if square > 0.0 { square.sqrt() } else { 1.0 };
        column.iter_mut().for_each(|x| *x = (*x - mean) / scale);
    }
    Dataset { x, ..rows }.with_ones_last()
}

/// The standardised rows of a regression, the responses standardised too.
pub(super) fn response_standardised(rows: Dataset) -> Dataset {
    let rows = standardised(rows);
    let (count, mean) = (rows.y.len() as f64, rows.y.iter().sum::<f64>() / rows.y.len() as f64);
    let scale = (rows.y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / count).sqrt();
    let y = rows.y.iter().map(|y| (y - mean) / scale).collect();
    Dataset { y, ..rows }
}

/// `10 d` rows: inputs with a correlation of 0.8 of neighbours, scaled so that log odds have a standard deviation of about 2.
pub(super) fn synthetic_rows(dim: usize, stream: &mut Stream) -> (Mat<f64>, Vec<f64>) {
    let mut x = Mat::zeros(10 * dim, dim);
    let mut weights = vec![0.0; dim];
    stream.normals_into(&mut weights);
    let mut labels = Vec::new();
    for row in 0..10 * dim {
        let mut last = stream.normal();
        for column in 0..dim {
            x[(row, column)] = last;
            last = 0.8 * last + 0.6 * stream.normal();
        }
        let odds: f64 = (0..dim).map(|column| x[(row, column)] * weights[column]).sum();
        let odds = 2.0 * odds / (dim as f64).sqrt();
        labels.push(if stream.uniform() < 1.0 / (1.0 + (-odds).exp()) { 1.0 } else { 0.0 });
    }
    (x, labels)
}

/// Prefix of the name of a regression of `posteriordb`.
const PREFIX: &str = "posteriordb/";

/// Target with its exact posterior: the moments of the reference draws have Monte Carlo errors.
pub(super) fn of_posteriordb(catalogue: &Catalogue, data: &str) -> Result<Built, Error> {
    let Some(name) = data.strip_prefix(PREFIX) else {
        return Err(Error::invalid(format!("data is {data:?}, expected {PREFIX}NAME")));
    };
    let named = |error: Error| Error::invalid(format!("{data}: {error}"));
    let model = model(&catalogue.posteriordb()?.load(name)?).map_err(named)?;
    let exact = model.exact().map_err(named)?;
    let levels: [f64; LEVELS] = std::array::from_fn(level);
    let stored = |i: usize| <[f64; LEVELS]>::try_from(exact.quantiles(i, &levels)).ok().map(Margin::Stored);
    let margins = (0..exact.means.len()).map(stored).collect::<Option<Vec<_>>>().map(Margins::each);
    let truth = Truth::Moments { sds: exact.sds(), means: exact.means };
    let covariance = Some(exact.covariance);
    Ok(Built { truth, covariance, margins, ..Built::unknown(Arc::new(model)) })
}

fn model(known: &ReferenceRegression) -> Result<UnknownNoiseRegression, Error> {
    UnknownNoiseRegression::new(known.x.as_ref(), &known.y, &known.weights, known.half_cauchy)
}

/// Coordinates of a target that are effects around a location, with a scale whose logarithm is the sum of coordinates:
///
/// ```text
/// z_k = z_location + e^(sum_s z_s) eta_k,   k in place, s in scales
/// ```
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Effects {
    place: Range<usize>,
    scales: Vec<usize>,
    /// Coordinate of the location; 0 without one.
    location: Option<usize>,
}

impl Effects {
    /// Location and logarithm of the scale at a point.
    fn at(&self, z: &[f64]) -> (f64, f64) {
        let log_scale = self.scales.iter().map(|&s| z[s]).sum::<f64>();
        (self.location.map_or(0.0, |k| z[k]), log_scale)
    }
}

impl Case {
    /// Effects of a case on which chains move better in units of their scales.
    pub(super) fn effects(&self, dim: usize) -> Vec<Effects> {
        let counties = dim.saturating_sub(5) / 2;
        match self {
            Self::RadonCounties => vec![
                Effects { place: 5..5 + counties, scales: vec![0], location: Some(3) },
                Effects { place: 5 + counties..dim, scales: vec![1], location: Some(4) },
            ],
            Self::HierarchicalRows { .. } => vec![
                Effects { place: 2..dim - 1, scales: vec![0], location: None },
                Effects { place: dim - 1..dim, scales: vec![1], location: None },
            ],
            _ => Vec::new(),
        }
    }
}

/// Target with effects in units of their scales; the density includes the Jacobian.
pub(super) struct Unscaled<'a> {
    pub(super) posterior: &'a dyn Posterior,
    pub(super) effects: Vec<Effects>,
}

impl Unscaled<'_> {
    /// Replaces units by effects; returns the log-Jacobian.
    fn scale(&self, z: &mut [f64]) -> f64 {
        let mut log_jacobian = 0.0;
        for effects in &self.effects {
            let (location, log_scale) = effects.at(z);
            let scale = log_scale.exp();
            log_jacobian += effects.place.len() as f64 * log_scale;
            z[effects.place.clone()].iter_mut().for_each(|z| *z = location + scale * *z);
        }
        log_jacobian
    }

    /// Replaces units by effects in each column.
    pub(super) fn scale_each(&self, points: &mut Mat<f64>) {
        for j in 0..points.ncols() {
            self.scale(points.col_as_slice_mut(j));
        }
    }
}

impl LogDensity for Unscaled<'_> {
    fn dim(&self) -> usize {
        self.posterior.dim()
    }

    fn work_len(&self, _: usize) -> usize {
        self.dim() + self.posterior.work_len(1)
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        let point = borrow(&mut work, z.len());
        point.copy_from_slice(z);
        self.scale(point) + self.posterior.log_density(point, work)
    }
}

impl Gradient for Unscaled<'_> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        let point = borrow(&mut work, z.len());
        point.copy_from_slice(z);
        let log_p = self.scale(point) + self.posterior.gradient_into(point, gradient, work);
        for effects in &self.effects {
            let scale = effects.at(z).1.exp();
            let (mut of_scale, mut of_location) = (effects.place.len() as f64, 0.0);
            for k in effects.place.clone() {
                of_location += gradient[k];
                gradient[k] *= scale;
                of_scale += gradient[k] * z[k];
            }
            effects.scales.iter().for_each(|&s| gradient[s] += of_scale);
            if let Some(location) = effects.location {
                gradient[location] += of_location;
            }
        }
        log_p
    }
}

/// Fault of a gradient, in the first coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Half as large.
    Scaled,
    /// One larger.
    Shifted,
    /// The other sign.
    Sign,
}

/// Standard normal density with a gradient that is not its own.
pub(super) struct WrongGradient {
    pub(super) dim: usize,
    pub(super) fault: Fault,
}

/// Standard normal density that is NaN where each of the first `coordinates` exceeds `from`.
pub(super) struct NanCorner {
    pub(super) dim: usize,
    pub(super) coordinates: usize,
    pub(super) from: f64,
}

/// Independent pairs of coordinates, each with a banana-shaped density.
pub(super) struct Bananas {
    pub(super) pairs: usize,
    pub(super) banana: Banana,
}

/// Likelihood of a logistic regression whose classes are separated, under a flat prior: improper.
///
/// ```text
/// p(z) ∝ prod_i 1 / (1 + exp(-s_i x_i z)),   s_i x_i b > 0 for all i and some b:   p does not fall along b
/// ```
pub(super) struct Separated {
    dim: usize,
    /// Rows `s_i x_i`, one after another.
    rows: Vec<f64>,
}

fn normal(z: &[f64]) -> f64 {
    -0.5 * z.iter().map(|z| z * z).sum::<f64>()
}

impl LogDensity for WrongGradient {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        normal(z)
    }
}

impl Gradient for WrongGradient {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(z).for_each(|(slope, z)| *slope = -z);
        gradient[0] = match self.fault {
            Fault::Scaled => 0.5 * gradient[0],
            Fault::Shifted => gradient[0] + 1.0,
            Fault::Sign => -gradient[0],
        };
        normal(z)
    }
}

impl LogDensity for NanCorner {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        if z[..self.coordinates].iter().all(|z| *z > self.from) { f64::NAN } else { normal(z) }
    }
}

impl Gradient for NanCorner {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let value = self.log_density(z, work);
        gradient.iter_mut().zip(z).for_each(|(slope, z)| *slope = if value.is_nan() { value } else { -z });
        value
    }
}

impl Bananas {
    /// Pairs with a ridge of standard deviation 2, with their moments and margins.
    pub(super) fn built(pairs: usize, bend: f64) -> Result<Built, Error> {
        let banana = Banana::new(2.0, bend)?;
        let truth = match Truth::of(&banana) {
            Truth::Moments { means, sds } => {
                Truth::Moments { means: means.repeat(pairs), sds: sds.repeat(pairs) }
            }
            Truth::None => Truth::None,
        };
        let one = banana.covariance();
        let entry = |i: usize, j: usize| match &one {
            Some(one) if i / 2 == j / 2 => one[(i % 2, j % 2)],
            _ => 0.0,
        };
        let covariance = one.is_some().then(|| Mat::from_fn(2 * pairs, 2 * pairs, entry));
        let pair = vec![Margin::Normals(vec![[1.0, 0.0, 2.0]]), Margin::banana(2.0, bend)];
        let margins = Some(Margins::repeated(pair, pairs));
        let target = Arc::new(Self { pairs, banana });
        Ok(Built { truth, covariance, log_z: Some(0.0), margins, ..Built::unknown(target) })
    }
}

impl LogDensity for Bananas {
    fn dim(&self) -> usize {
        2 * self.pairs
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        z.chunks_exact(2).map(|pair| self.banana.log_density(pair, work)).sum()
    }
}

impl Gradient for Bananas {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let pairs = z.chunks_exact(2).zip(gradient.chunks_exact_mut(2));
        pairs.map(|(pair, slopes)| self.banana.gradient_into(pair, slopes, work)).sum()
    }
}

impl Separated {
    /// Ten rows per dimension, the first input a constant, whose labels are the signs of the second.
    pub(super) fn drawn(dim: usize, stream: &mut Stream) -> Self {
        let mut rows = Vec::new();
        for _ in 0..10 * dim {
            let mut x = vec![0.0; dim];
            stream.normals_into(&mut x);
            x[0] = 1.0;
            let sign = x[1 % dim].signum();
            rows.extend(x.into_iter().map(|x| sign * x));
        }
        Self { dim, rows }
    }

    fn odds<'a>(&'a self, z: &'a [f64]) -> impl Iterator<Item = (&'a [f64], f64)> {
        let product = move |row: &[f64]| row.iter().zip(z).map(|(x, z)| x * z).sum::<f64>();
        self.rows.chunks_exact(self.dim).map(move |row| (row, product(row)))
    }
}

impl LogDensity for Separated {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        // log 1/(1 + exp(-x)) without overflow.
        self.odds(z).map(|(_, x)| x.min(0.0) - (-x.abs()).exp().ln_1p()).sum()
    }
}

impl Gradient for Separated {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        for (row, x) in self.odds(z) {
            let share = 1.0 / (1.0 + x.exp());
            gradient.iter_mut().zip(row).for_each(|(slope, x)| *slope += share * x);
        }
        self.log_density(z, work)
    }
}

#[cfg(test)]
mod tests {
    use mcsa_core::Seed;
    use mcsa_core::numeric::quadrature::{Axis, Map, log_integral};
    use mcsa_data::{Catalogue, Posteriordb};

    use super::*;
    use crate::Case;

    fn built(text: &str) -> Built {
        let case: Case = toml::from_str(text).unwrap();
        assert!(text.contains(&format!("\"{}\"", case.kind())), "{text}");
        let built = case.build(&Catalogue::new(None)).unwrap();
        assert_eq!(case.dim().unwrap_or(built.posterior.dim()), built.posterior.dim(), "{text}");
        built
    }

    /// Normalisers of cases in the plane, by quadrature.
    #[test]
    fn normalisers_are_integrals() {
        for (text, tolerance) in [
            ("kind = \"two-modes\"\ndim = 2\ndistance = 4.0\nshare = 0.3", 1e-8),
            ("kind = \"symmetric-modes\"\ndim = 2\ndistance = 4.0\nshare = 0.3", 1e-8),
            ("kind = \"neal-funnel\"\ndim = 2\nscale = 1.0", 1e-6),
            ("kind = \"student\"\ndim = 2\nfreedom = 5.0", 1e-6),
            ("kind = \"heavy-coordinate\"\ndim = 2\nfreedom = 2.0", 1e-6),
            ("kind = \"bananas\"\npairs = 1\nbend = 0.25", 1e-6),
            ("kind = \"wishart\"\ndim = 2", 1e-8),
            ("kind = \"wrong-gradient\"\ndim = 2\nfault = \"sign\"", 1e-8),
        ] {
            let built = built(text);
            let mut work = vec![0.0; built.posterior.work_len(1)];
            let map = if text.contains("freedom") { Map::SinhSinh } else { Map::Sinh };
            let axes = vec![Axis::line(map, 0.0, 1.0); 2];
            let found = log_integral(&axes, 1e-9, |z| built.posterior.log_density(z, &mut work)).value;
            let known = built.log_z.unwrap();
            assert!((found - known).abs() < tolerance, "{text}: {found} {known}");
        }
    }

    /// Margins agree with moments: medians lie within a standard deviation of the means (Cantelli), and the 5 % and 95 % quantiles
    /// within 4.4 of them.
    #[test]
    fn margins_agree_with_moments() {
        for text in [
            "kind = \"two-modes\"\ndim = 3\ndistance = 6.0\nshare = 0.05",
            "kind = \"neal-funnel\"\ndim = 10\nscale = 3.0",
            "kind = \"student\"\ndim = 4\nfreedom = 5.0",
            "kind = \"bananas\"\npairs = 3\nbend = 0.25",
            "kind = \"wishart\"\ndim = 5",
            "kind = \"skewed\"",
            "kind = \"schools\"",
            "kind = \"linear-rows\"\ndata = \"yacht\"",
            "kind = \"logistic-rows\"\ndata = \"pima\"",
            "kind = \"forty-gaussians\"",
        ] {
            let built = built(text);
            let Truth::Moments { means, sds } = &built.truth else { panic!("{text}: no moments") };
            // Stored runs may have moments alone.
            let Some(margins) = &built.margins else { continue };
            let quantiles = margins.quantiles();
            assert!(quantiles.len() == built.posterior.dim() && means.len() == quantiles.len(), "{text}");
            for ((q, mean), sd) in quantiles.iter().zip(means).zip(sds) {
                assert!(q.is_sorted() && (q[9] - mean).abs() <= *sd, "{text}: {q:?} {mean} {sd}");
                assert!(
                    mean - q[0] < 4.4 * sd && q[18] - mean < 4.4 * sd && q[0] < *mean && q[18] > *mean,
                    "{text}"
                );
            }
        }
    }

    /// Cases whose chains move well are refused without a stored run.
    #[test]
    fn a_case_without_a_stored_run_is_refused() {
        let refused: Case = toml::from_str("kind = \"probit-rows\"\ndata = \"sonar\"").unwrap();
        assert!(refused.build(&Catalogue::new(None)).is_err());
    }

    const LEVELS: [f64; 3] = [0.05, 0.5, 0.95];

    fn carried() -> std::path::PathBuf {
        std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../data/tests")
    }

    /// Largest differences between the exact posterior and the reference draws: of means in their Monte Carlo errors, and of
    /// sds, relative, and quantiles, in sds.
    fn differences(known: &ReferenceRegression) -> [f64; 3] {
        let exact = model(known).unwrap().exact().unwrap();
        let last = known.means.len() - 1;
        let (mut means, mut sds) = (exact.means.clone(), exact.sds());
        (means[last], sds[last]) = exact.scale();
        let mut found = [0.0_f64; 3];
        for i in 0..=last {
            found[0] = found[0].max((means[i] - known.means[i]).abs() / known.mean_errors[i]);
            found[1] = found[1].max((sds[i] / known.sds[i] - 1.0).abs());
            for (value, of_level) in exact.quantiles(i, &LEVELS).into_iter().zip(&known.quantiles) {
                let value = if i == last { value.exp() } else { value };
                found[2] = found[2].max((value - of_level[i]).abs() / sds[i]);
            }
        }
        found
    }

    /// The carried folder has moments by direct sums over a grid of `log sigma`, printed with six digits.
    #[test]
    fn the_exact_posterior_is_that_of_the_grid() {
        let folder = Posteriordb::open(carried().join("posteriordb")).unwrap();
        for name in folder.names() {
            let mut known = folder.load(name).unwrap();
            let [mean, sd, quantile] = differences(&known);
            assert!(mean < 0.2 && sd < 1e-4 && quantile < 5e-4, "{name}: {mean} {sd} {quantile}");
            // The twin with another prior is caught.
            known.half_cauchy = known.half_cauchy.map_or(Some(0.5), |_| None);
            assert!(differences(&known)[0] > 100.0, "{name}");
        }
    }

    /// In the folder that `MCSA_POSTERIORDB` names, if there is one: 10,000 reference draws agree with the exact posterior. Means:
    /// 5 standard errors; sds and quantiles: 5 % and 0.1 sd, some 7 and 5 standard errors.
    #[test]
    fn references_agree_with_the_exact_posteriors() {
        let Ok(folder) = Catalogue::found(None).posteriordb() else { return };
        for name in folder.names() {
            let [mean, sd, quantile] = differences(&folder.load(name).unwrap());
            assert!(mean < 5.0 && sd < 0.05 && quantile < 0.1, "{name}: {mean} {sd} {quantile}");
        }
    }

    #[test]
    fn a_case_is_built_or_says_what_is_missing() {
        let case = |name: &str| Case::Posteriordb { data: format!("posteriordb/{name}") };
        let built = case("made_up-normal").build(&Catalogue::new(Some(carried()))).unwrap();
        assert_eq!(built.posterior.dim(), 3);
        let refused = |case: Case, folder: Option<std::path::PathBuf>| {
            case.build(&Catalogue::new(folder)).err().unwrap().to_string()
        };
        assert!(refused(case("other"), Some(carried())).contains("no posterior \"other\""));
        assert!(refused(Case::Posteriordb { data: "x".into() }, None).contains("expected posteriordb/NAME"));
    }

    /// Log densities differ by the log-Jacobian, gradients are central differences, and a gradient without the derivative of the
    /// Jacobian is not.
    #[test]
    fn the_gradient_is_a_difference() {
        let hierarchical = Case::HierarchicalRows { data: "heart_cleveland".into() };
        for case in [Case::RadonCounties, hierarchical] {
            let built = case.posterior(&Catalogue::new(None)).unwrap();
            let (posterior, dim) = (&*built.posterior, built.posterior.dim());
            let target = Unscaled { posterior, effects: case.effects(dim) };
            let (mut stream, mut work) = (Seed::new(3).stream(0, 0), vec![0.0; target.work_len(1)]);
            let z: Vec<f64> = (0..dim).map(|_| 0.1 * stream.normal()).collect();
            let mut gradient = vec![0.0; dim];
            let log_p = target.gradient_into(&z, &mut gradient, &mut work);
            let mut scaled = z.clone();
            let log_jacobian = target.scale(&mut scaled);
            assert!((log_p - log_jacobian - posterior.log_density(&scaled, &mut work)).abs() < 1e-9);
            for k in 0..dim {
                let mut at = |step: f64| {
                    let mut z = z.clone();
                    z[k] += step;
                    target.log_density(&z, &mut work)
                };
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                let error = (gradient[k] - difference).abs() / (1.0 + difference.abs());
                assert!(error < 1e-5, "{}, {k}: {} {difference}", case.title(), gradient[k]);
                let of_scale = target.effects.iter().filter(|effects| effects.scales.contains(&k));
                let terms: f64 = of_scale.map(|effects| effects.place.len() as f64).sum();
                assert!(terms == 0.0 || (gradient[k] - terms - difference).abs() > 0.5);
            }
        }
    }

    fn differs(target: &impl Gradient, z: &[f64]) -> bool {
        let (mut slopes, mut work) = (vec![0.0; z.len()], vec![0.0; target.work_len(1)]);
        target.gradient_into(z, &mut slopes, &mut work);
        (0..z.len()).any(|i| {
            let mut at = |step: f64| {
                let mut z = z.to_vec();
                z[i] += step;
                target.log_density(&z, &mut work)
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            (slopes[i] - difference).abs() > 1e-5
        })
    }

    #[test]
    fn only_the_wrong_gradients_are_wrong() {
        for fault in [Fault::Scaled, Fault::Shifted, Fault::Sign] {
            assert!(differs(&WrongGradient { dim: 3, fault }, &[0.4, 1.0, -1.0]));
        }
        assert!(!differs(&NanCorner { dim: 3, coordinates: 2, from: 1.0 }, &[0.4, 2.0, -1.0]));
        let banana = Banana::new(2.0, 0.5).unwrap();
        assert!(!differs(&Bananas { pairs: 2, banana }, &[0.4, 1.0, -1.0, 2.0]));
        let separated = Separated::drawn(3, &mut Seed::new(1).stream(0, 0));
        assert!(!differs(&separated, &[0.4, 1.0, -1.0]));
    }

    /// Along the separating direction the likelihood rises for ever.
    #[test]
    fn separated_classes_have_no_mode() {
        let separated = Separated::drawn(3, &mut Seed::new(1).stream(0, 0));
        let at = |scale: f64| separated.log_density(&[0.0, scale, 0.0], &mut []);
        assert!(at(1.0) < at(10.0) && at(10.0) < at(1e6) && at(1e6) <= 0.0 && at(1e6) > -0.1);
    }
}
