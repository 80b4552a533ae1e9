//! Likelihood terms of targets with data, for archives.

use mcsa_core::{Error, Seed, Separable};
use mcsa_data::{Catalogue, Standardised};
use mcsa_models::{
    EightSchools, HierarchicalLogistic, NeuralRegression, ProbitRegression, Radon, ScalePrior,
    StockVolatility,
};

use super::Target;
use super::rows::{halves, scaled};
use super::volatility::index_levels;

/// A target with a likelihood term for each datum, and the data.
pub struct Likelihood {
    /// The target.
    pub target: Box<dyn Separable>,
    /// The data.
    pub observed: Vec<f64>,
}

impl Target {
    /// The likelihood terms and the data of the target that `build` makes; `None` if it has no such terms.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn likelihood(&self, catalogue: &Catalogue, seed: Seed) -> Result<Option<Likelihood>, Error> {
        let (target, observed): (Box<dyn Separable>, Vec<f64>) = match self {
            Self::EightSchools => {
                let model = EightSchools::non_centred();
                let observed = model.effects().to_vec();
                (Box::new(model), observed)
            }
            Self::Radon => {
                let data = catalogue.radon()?;
                let observed = data.log_radon.clone();
                let model = Radon::new(data.counties.len(), data.county, data.floor, data.log_radon)?;
                (Box::new(model), observed)
            }
            Self::StockVolatility { data } => {
                let series = index_levels(catalogue, data)?.levels.col_as_slice(0).to_vec();
                (Box::new(StockVolatility::new(series.clone())?), series)
            }
            Self::HierarchicalLogistic { data, standardised } => {
                let (train, _) = halves(catalogue, data, *standardised, seed)?;
                let model = HierarchicalLogistic::new(train.x.as_ref(), &train.y, ScalePrior::HalfNormal)?;
                (Box::new(model), train.y)
            }
            Self::Logistic { .. } | Self::SyntheticLogistic { .. } | Self::SubsetLogistic { .. } => {
                let rows = self.logistic_rows(catalogue, seed)?;
                (Box::new(rows.model), rows.train.y)
            }
            Self::SyntheticLinear { .. } => {
                let rows = self.linear_rows()?;
                (Box::new(rows.model), rows.y)
            }
            Self::Probit { .. } => {
                let (train, _) = self.probit_rows(catalogue, seed)?;
                (Box::new(ProbitRegression::new(train.x.as_ref(), &train.y, 1.0)?), train.y)
            }
            Self::NeuralRegression { data, hidden } => {
                let Standardised { train, .. } = scaled(catalogue, data, seed)?;
                (Box::new(NeuralRegression::new(train.x.as_ref(), &train.y, *hidden)?), train.y)
            }
            _ => return Ok(None),
        };
        Ok(Some(Likelihood { target, observed }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prior and terms add up to the log density of the target that is fitted.
    #[test]
    fn terms_are_those_of_the_target() {
        let (catalogue, seed) = (Catalogue::found(None), Seed::new(3));
        let rows =
            "rows = 30, held_out = 5, dim = 3, rate = 0.3, correlation = 0.2, prior_scale = 1.0, seed = 1";
        let linear = "rows = 20, dim = 2, correlation = 0.2, noise = 0.5, prior_scale = 1.0, seed = 1";
        let logistic = format!("{{ kind = \"synthetic-logistic\", name = \"synthetic\", {rows} }}");
        let linear = format!("{{ kind = \"synthetic-linear\", name = \"synthetic\", {linear} }}");
        let stock = "{ kind = \"stock-volatility\", data = \"sp500_close_2007_2017\" }";
        for text in ["{ kind = \"eight-schools\" }", &logistic, &linear, stock] {
            #[derive(serde::Deserialize)]
            struct One {
                target: Target,
            }
            let One { target } = toml::from_str(&format!("target = {text}")).unwrap();
            let posterior = target.build(&catalogue, seed).unwrap().posterior;
            let found = target.likelihood(&catalogue, seed).unwrap().unwrap();
            assert_eq!(found.observed.len(), found.target.num_data());
            let z: Vec<f64> = (0..posterior.dim()).map(|i| 0.3 - 0.1 * (i % 9) as f64).collect();
            let mut work = vec![0.0; posterior.work_len(1).max(found.target.work_len(1))];
            let rows: Vec<usize> = (0..found.observed.len()).collect();
            let sum =
                found.target.log_prior(&z, &mut work) + found.target.log_likelihood_at(&rows, &z, &mut work);
            let whole = posterior.log_density(&z, &mut work);
            assert!((sum - whole).abs() < 1e-9 * whole.abs().max(1.0), "{text}: {sum} {whole}");
        }
        assert!(Target::SkewNormal.likelihood(&catalogue, seed).unwrap().is_none());
    }
}
