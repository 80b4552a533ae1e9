//! Posteriors of cases: built targets, reference posteriors, and planted failures.

use std::f64::consts::TAU;
use std::ops::Range;
use std::sync::Arc;

use faer::Mat;
use mcsa_core::{Error, Gradient, LogDensity, Stream, from_fn};
use mcsa_data::Dataset;
use mcsa_models::{Banana, Gaussian, GroundTruth, Mixture};
use serde::{Deserialize, Serialize};

use super::Case;
use super::truth::{self, Line, Margins, STANDARD, Truth};
use crate::Posterior;
use crate::regression::standardise;

/// True at points of a mode.
pub type Hidden = Box<dyn Fn(&[f64]) -> bool + Send + Sync>;

/// Distance, in standard deviations of a standard normal mode, within which a point is one of the mode.
const NEAR: f64 = 1.0;

/// A case, built.
pub struct Built {
    /// The target.
    pub posterior: Arc<dyn Posterior>,
    /// Its moments.
    pub truth: Truth,
    /// The covariance, if it is known in closed form.
    pub covariance: Option<Mat<f64>>,
    /// The modes that starts may miss, each as a function that is true at points of the mode.
    pub hidden: Vec<Hidden>,
    /// Log normaliser of the density, if it is known in closed form or by quadrature.
    pub log_z: Option<f64>,
    /// Margins of the coordinates: in closed form, or by stored quantiles.
    pub margins: Option<Margins>,
}

impl Built {
    /// A target of which nothing is known.
    pub fn unknown(target: impl Posterior + 'static) -> Self {
        let posterior = Arc::new(target);
        Self {
            posterior,
            truth: Truth::None,
            covariance: None,
            hidden: Vec::new(),
            log_z: None,
            margins: None,
        }
    }

    pub(super) fn exact(target: impl GroundTruth + Posterior + 'static, margins: Margins) -> Self {
        Self {
            truth: Truth::of(&target),
            covariance: target.covariance(),
            log_z: Some(target.log_normaliser()),
            margins: Some(margins),
            ..Self::unknown(target)
        }
    }

    pub(super) fn gaussian(target: Gaussian) -> Self {
        let margin = |i: usize| vec![[1.0, target.mean()[i], target.variance(i).sqrt()]];
        let margins = (0..target.dim()).map(margin).collect();
        let margins = truth::margins(margins, target.dim());
        Self::exact(target, margins)
    }

    /// A mixture with a mode on the first axis that starts may miss.
    pub(super) fn hidden(target: Mixture, at: f64) -> Self {
        let margins = truth::of_mixture(&target);
        let is_near =
            move |z: &[f64]| (z[0] - at).powi(2) + z[1..].iter().map(|z| z * z).sum::<f64>() < NEAR * NEAR;
        Self { hidden: vec![Box::new(is_near)], ..Self::exact(target, margins) }
    }

    /// A target that should be standard normal, without its constant.
    fn normal(target: impl Posterior + 'static) -> Self {
        let dim = target.dim();
        Self {
            truth: Truth::Moments { means: vec![0.0; dim], sds: vec![1.0; dim] },
            log_z: Some(0.5 * dim as f64 * TAU.ln()),
            margins: Some(truth::margins(vec![STANDARD.to_vec()], dim)),
            ..Self::unknown(target)
        }
    }
}

/// The rows with every input standardised, and a column of ones.
pub(super) fn standardised(mut rows: Dataset) -> Dataset {
    (0..rows.x.ncols()).for_each(|k| standardise(rows.x.col_as_slice_mut(k)));
    rows.with_ones(rows.inputs())
}

/// The standardised rows of a regression, the responses standardised too.
pub(super) fn response_standardised(mut rows: Dataset) -> Dataset {
    standardise(&mut rows.y);
    standardised(rows)
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
    fn log_scale(&self, z: &[f64]) -> f64 {
        self.scales.iter().map(|&s| z[s]).sum()
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

/// Replaces units by effects; returns the log-Jacobian.
pub(super) fn scale(all: &[Effects], z: &mut [f64]) -> f64 {
    let mut log_jacobian = 0.0;
    for effects in all {
        let (location, log_scale) = (effects.location.map_or(0.0, |k| z[k]), effects.log_scale(z));
        log_jacobian += effects.place.len() as f64 * log_scale;
        z[effects.place.clone()].iter_mut().for_each(|z| *z = location + log_scale.exp() * *z);
    }
    log_jacobian
}

/// Target with effects in units of their scales; the density includes the Jacobian.
pub(super) fn unscaled<'a>(posterior: &'a dyn Posterior, all: &'a [Effects]) -> impl Gradient + 'a {
    let work = || vec![0.0; posterior.work_len(1)];
    let density = move |z: &[f64]| {
        let mut point = z.to_vec();
        scale(all, &mut point) + posterior.log_density(&point, &mut work())
    };
    from_fn(posterior.dim(), density).with_gradient(move |z, gradient| {
        let mut point = z.to_vec();
        scale(all, &mut point);
        posterior.gradient_into(&point, gradient, &mut work());
        for effects in all {
            let scale = effects.log_scale(z).exp();
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
    })
}

/// Log density of standard normal coordinates without its constant.
fn normal(z: &[f64]) -> f64 {
    -0.5 * z.iter().map(|z| z * z).sum::<f64>()
}

fn normal_gradient(z: &[f64], gradient: &mut [f64]) {
    gradient.iter_mut().zip(z).for_each(|(slope, z)| *slope = -z);
}

/// Independent coordinates: the first has the density of a line, the others are standard normal.
pub(super) fn of_line(dim: usize, line: Line) -> Built {
    let dim = dim.max(1);
    let target = from_fn(dim, move |z| line.at(z[0]).0 + normal(&z[1..]));
    let target = target.with_gradient(move |z, gradient| {
        normal_gradient(z, gradient);
        gradient[0] = line.at(z[0]).1;
    });
    let moments = |(mean, sd): (f64, f64)| {
        let (mut means, mut sds) = (vec![0.0; dim], vec![1.0; dim]);
        (means[0], sds[0]) = (mean, sd);
        Truth::Moments { means, sds }
    };
    let margins = match line {
        Line::Student { freedom } => {
            Some(truth::margins(vec![truth::student(freedom), STANDARD.to_vec()], dim))
        }
        _ => None,
    };
    let log_z = line.log_normaliser().map(|first| first + 0.5 * (dim - 1) as f64 * TAU.ln());
    Built { truth: line.moments().map_or(Truth::None, moments), log_z, margins, ..Built::unknown(target) }
}

/// Fault of a gradient, in the first coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The derivative is half as large as it should be.
    Scaled,
    /// The derivative is larger by one.
    Shifted,
    /// The derivative has the opposite sign.
    Sign,
}

/// Standard normal density with a gradient that is not its own.
pub(super) fn wrong_gradient(dim: usize, fault: Fault) -> Built {
    Built::normal(from_fn(dim, normal).with_gradient(move |z, gradient| {
        normal_gradient(z, gradient);
        gradient[0] = match fault {
            Fault::Scaled => 0.5 * gradient[0],
            Fault::Shifted => gradient[0] + 1.0,
            Fault::Sign => -gradient[0],
        };
    }))
}

/// Standard normal density that is NaN where each of the first `coordinates` exceeds `from`.
pub(super) fn nan_corner(dim: usize, coordinates: usize, from: f64) -> Built {
    let is_in = move |z: &[f64]| z[..coordinates].iter().all(|z| *z > from);
    let target = from_fn(dim, move |z| if is_in(z) { f64::NAN } else { normal(z) });
    Built::normal(target.with_gradient(move |z, gradient| match is_in(z) {
        true => gradient.fill(f64::NAN),
        false => normal_gradient(z, gradient),
    }))
}

/// Independent pairs of coordinates, each with a banana-shaped density whose ridge has standard deviation 2.
pub(super) fn bananas(pairs: usize, bend: f64) -> Result<Built, Error> {
    let banana = Banana::new(2.0, bend)?;
    let density = move |z: &[f64]| z.chunks_exact(2).map(|pair| banana.log_density(pair, &mut [])).sum();
    let target = from_fn(2 * pairs, density).with_gradient(move |z, gradient| {
        for (pair, slopes) in z.chunks_exact(2).zip(gradient.chunks_exact_mut(2)) {
            banana.gradient_into(pair, slopes, &mut []);
        }
    });
    let pair = truth::margins(vec![vec![[1.0, 0.0, 2.0]], truth::banana(2.0, bend)], 2);
    let truth = match Truth::of(&banana) {
        Truth::Moments { means, sds } => {
            Truth::Moments { means: means.repeat(pairs), sds: sds.repeat(pairs) }
        }
        Truth::None => Truth::None,
    };
    let of_pairs = |one: Mat<f64>| {
        Mat::from_fn(2 * pairs, 2 * pairs, |i, j| if i / 2 == j / 2 { one[(i % 2, j % 2)] } else { 0.0 })
    };
    let covariance = banana.covariance().map(of_pairs);
    let margins: Option<Margins> = Some(Box::new(move || pair().repeat(pairs)));
    Ok(Built { truth, covariance, log_z: Some(0.0), margins, ..Built::unknown(target) })
}

/// Likelihood of a logistic regression whose classes are separated, under a flat prior: improper. Ten rows per dimension, the first
/// input a constant, whose labels are the signs of the second.
///
/// ```text
/// p(z) ∝ prod_i 1 / (1 + exp(-s_i x_i z)),   s_i x_i b > 0 for all i and some b:   p does not fall along b
/// ```
pub(super) fn separated(dim: usize, stream: &mut Stream) -> impl Posterior + use<> {
    // Rows `s_i x_i`, one after another.
    let mut rows = Vec::new();
    for _ in 0..10 * dim {
        let mut x = vec![0.0; dim];
        stream.normals_into(&mut x);
        x[0] = 1.0;
        let sign = x[1 % dim].signum();
        rows.extend(x.into_iter().map(|x| sign * x));
    }
    let odds = |row: &[f64], z: &[f64]| row.iter().zip(z).map(|(x, z)| x * z).sum::<f64>();
    let of_density = rows.clone();
    // log 1/(1 + exp(-x)) without overflow.
    let term = |x: f64| x.min(0.0) - (-x.abs()).exp().ln_1p();
    let density = move |z: &[f64]| of_density.chunks_exact(dim).map(|row| term(odds(row, z))).sum();
    from_fn(dim, density).with_gradient(move |z, gradient| {
        gradient.fill(0.0);
        for row in rows.chunks_exact(dim) {
            let share = 1.0 / (1.0 + odds(row, z).exp());
            gradient.iter_mut().zip(row).for_each(|(slope, x)| *slope += share * x);
        }
    })
}

#[cfg(test)]
mod tests {
    use mcsa_core::Seed;
    use mcsa_core::numeric::quadrature::{Axis, Map, log_integral};
    use mcsa_data::Catalogue;
    use mcsa_testing::model::gradient_is_gradient;

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
            let quantiles = margins();
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

    /// A case whose chains move well needs a stored run.
    #[test]
    fn a_case_without_a_stored_run_is_an_error() {
        let case: Case = toml::from_str("kind = \"probit-rows\"\ndata = \"sonar\"").unwrap();
        let error = case.build(&Catalogue::new(None)).err().unwrap().to_string();
        assert!(error.contains("run `mcsa-bench references`"), "{error}");
    }

    /// Log densities differ by the log-Jacobian, gradients are those of the density, and a gradient without the derivative of the
    /// Jacobian is not.
    #[test]
    fn effects_in_units_have_their_gradient() {
        let hierarchical = Case::HierarchicalRows { data: "heart_cleveland".into() };
        for case in [Case::RadonCounties, hierarchical] {
            let posterior = case.posterior(&Catalogue::new(None)).unwrap().posterior;
            let all = case.effects(posterior.dim());
            let target = unscaled(&*posterior, &all);
            let (mut stream, mut work) = (Seed::new(3).stream(0, 0), vec![0.0; posterior.work_len(1)]);
            let z: Vec<f64> = (0..target.dim()).map(|_| 0.1 * stream.normal()).collect();
            let mut scaled = z.clone();
            let log_jacobian = scale(&all, &mut scaled);
            let log_p = posterior.log_density(&scaled, &mut work);
            assert!((target.log_density(&z, &mut []) - log_jacobian - log_p).abs() < 1e-9);
            let is_gradient = |target: &dyn Posterior| {
                gradient_is_gradient(&mcsa_testing::model::Case::new(target).with_spread(0.1)).is_ok()
            };
            assert!(is_gradient(&target), "{}", case.title());
            let log_scales = from_fn(target.dim(), |z| target.log_density(z, &mut []));
            assert!(!is_gradient(&log_scales.with_gradient(|z, gradient| {
                target.gradient_into(z, gradient, &mut []);
                all.iter().for_each(|effects| gradient[effects.scales[0]] -= effects.place.len() as f64);
            })));
        }
    }

    #[test]
    fn only_the_wrong_gradients_are_wrong() {
        let is_gradient =
            |built: Built| gradient_is_gradient(&mcsa_testing::model::Case::new(&*built.posterior)).is_ok();
        for fault in [Fault::Scaled, Fault::Shifted, Fault::Sign] {
            assert!(!is_gradient(wrong_gradient(3, fault)));
        }
        assert!(is_gradient(nan_corner(3, 2, 9.0)) && is_gradient(bananas(2, 0.5).unwrap()));
        assert!(is_gradient(Built::unknown(separated(3, &mut Seed::new(1).stream(0, 0)))));
        // Beside the step, whose derivative is not in the gradient.
        for line in [Line::Step { height: 3.0 }, Line::Flat, Line::LogTail, Line::Student { freedom: 2.0 }] {
            let target = of_line(2, line).posterior;
            let case = mcsa_testing::model::Case::new(&*target).with_centre(vec![-9.0, 0.0]);
            assert_eq!(gradient_is_gradient(&case).err(), None, "{line:?}");
        }
    }

    /// Along the separating direction the likelihood rises for ever.
    #[test]
    fn separated_classes_have_no_mode() {
        let separated = separated(3, &mut Seed::new(1).stream(0, 0));
        let at = |scale: f64| separated.log_density(&[0.0, scale, 0.0], &mut []);
        assert!(at(1.0) < at(10.0) && at(10.0) < at(1e6) && at(1e6) <= 0.0 && at(1e6) > -0.1);
    }
}
