//! Built cases: targets with what is known of them.

use std::sync::Arc;

use faer::Mat;
use mcsa_models::{GroundTruth, Mixture};

use super::line::FirstCoordinate;
use super::{Margins, Truth};
use crate::catalog::Posterior;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Case;
    use mcsa_core::numeric::quadrature::{Axis, Map, log_integral};
    use mcsa_data::Catalogue;

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
}
