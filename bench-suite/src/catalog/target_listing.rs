//! Names of targets in files, with their settings.

use super::Target;

impl Target {
    /// Every name with its settings and a description, but for targets of metrics of the bound alone.
    pub const ALL: [(&'static str, &'static str, &'static str); 22] = [
        ("standard-gaussian", "dim = 1", "mean 0, covariance 1"),
        ("correlated-gaussian", "dim = 10, correlation = 0.5", "every pair equally correlated"),
        ("diagonal-gaussian", "dim = 100", "independent coordinates of random variance (CW)"),
        ("wishart-gaussian", "dim = 100, freedom = 600.0", "random covariance (pMCSA)"),
        ("skew-normal", "", "one dimension (MSC)"),
        ("banana", "width = 2.0, bend = 0.5", "a bent ridge"),
        ("funnel", "dim = 5, scale = 1.0", "Neal's funnel"),
        ("moons", "per_moon = 8, noise = 0.15", "two half circles that reach into each other"),
        ("modes", "dim = 2, distance = 6.0, share = 0.3", "two standard normals apart"),
        ("eight-schools", "", "non-centred"),
        ("radon", "", "homes in counties (MCMC-SE, CW)"),
        ("stock-volatility", "data = \"sp500_close_2007_2017\"", "levels of an index (CW)"),
        (
            "fx-volatility",
            "data = \"fx_ecb_18\", series = \"cad\", first = \"level\"",
            "returns of a currency (MSC)",
        ),
        ("hierarchical-logistic", "data = \"pima\", standardised = false", "labels (MCMC-SE, CW)"),
        ("logistic", "data = \"pima\", standardised = true, prior_scale = 1.0", "labels"),
        ("probit", "data = \"pima\"", "labels (MSC)"),
        ("gp-classification", "data = \"sonar\", standardised = false", "labels (MCMC-SE)"),
        ("neural-regression", "data = \"yacht\", hidden = 50", "responses (pMCSA)"),
        ("robust-gp", "data = \"yacht\"", "responses (pMCSA)"),
        (
            "synthetic-logistic",
            "name = \"synthetic\", rows = 500, held_out = 500, dim = 5, rate = 0.1, correlation = 0.5, prior_scale = 1.0, \
             seed = 1",
            "synthetic labels, one of them rare (SL-DAIS)",
        ),
        (
            "subset-logistic",
            "data = \"susy\", rows = 500, held_out = 500, ratio = 0.1, prior_scale = 1.0, seed = 1",
            "labels of a large set, or SYNTHETIC ones of its shape (SL-DAIS)",
        ),
        ("case", "case = { kind = \"skewed\" }", "a case of the verdict on a fit"),
    ];

    /// Name used in files.
    pub fn kind(&self) -> &'static str {
        let place = match self {
            Self::StandardGaussian { .. } => 0,
            Self::CorrelatedGaussian { .. } => 1,
            Self::DiagonalGaussian { .. } => 2,
            Self::WishartGaussian { .. } => 3,
            Self::SkewNormal => 4,
            Self::Banana { .. } => 5,
            Self::Funnel { .. } => 6,
            Self::Moons { .. } => 7,
            Self::Modes { .. } => 8,
            Self::EightSchools => 9,
            Self::Radon => 10,
            Self::StockVolatility { .. } => 11,
            Self::FxVolatility { .. } => 12,
            Self::HierarchicalLogistic { .. } => 13,
            Self::Logistic { .. } => 14,
            Self::Probit { .. } => 15,
            Self::GpClassification { .. } => 16,
            Self::NeuralRegression { .. } => 17,
            Self::RobustGp { .. } => 18,
            Self::SyntheticLogistic { .. } => 19,
            Self::SubsetLogistic { .. } => 20,
            Self::Case { .. } => 21,
            Self::SparseProcess(_) => return "sparse-process",
            Self::LocalRegression(_) => return "local-regression",
        };
        Self::ALL[place].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;
    use mcsa_data::Catalogue;

    #[test]
    fn what_the_listing_says_can_be_built() {
        let catalogue = Catalogue::new(None);
        for (name, settings, _) in Target::ALL {
            let settings = settings.split(", ").collect::<Vec<_>>().join("\n");
            let target: Target = toml::from_str(&format!("kind = {name:?}\n{settings}")).unwrap();
            assert_eq!(target.kind(), name);
            assert!(target.build(&catalogue, Seed::new(1)).unwrap().posterior.dim() > 0, "{name}");
        }
    }
}
