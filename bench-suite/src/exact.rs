//! Exact values by name, with which claims compare and which figures show as lines.

use std::sync::LazyLock;

use mcsa_core::Error;
use mcsa_theory::fixed_point::{Rest, SkewNormal};
use serde::Deserialize;

/// A number, or the name of an exact value: `-1105.872`, `"radon log evidence"`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Number(f64),
    Name(String),
}

impl Value {
    pub(crate) fn number(&self) -> Result<f64, Error> {
        let number = match self {
            Self::Number(number) => *number,
            Self::Name(name) => match VALUES.iter().find(|(known, _)| known == name) {
                Some((_, number)) => *number,
                None => {
                    let names: Vec<&str> = VALUES.iter().map(|(name, _)| name.as_str()).collect();
                    let reason =
                        format!("no exact value is called {name:?}; these are: {}", names.join(", "));
                    return Err(Error::invalid(reason));
                }
            },
        };
        if number.is_finite() { Ok(number) } else { Err(Error::parameter("a value", number, "finite")) }
    }
}

/// Log evidence of the radon model: county effects by closed form, scales by quadrature.
const RADON: f64 = -1105.872;

/// The target of MSC, standardised to location 0 and scale 1.
const MSC: SkewNormal = SkewNormal { shape: 5.0 };

/// Number of quadrature points: exact to 1e-8.
const POINTS: usize = 400;

/// All values: mean and scale of the skew normal of MSC, and those at which fits with two draws rest.
static VALUES: LazyLock<Vec<(String, f64)>> = LazyLock::new(|| {
    let rests = [
        ("skew normal", Some(MSC.moments())),
        ("skew normal, rest of importance sampling", MSC.pairwise(POINTS)),
        ("skew normal, rest of chi-square by sum", MSC.pairwise_chi_square(POINTS)),
        ("skew normal, rest of chi-square by maximum", MSC.pairwise_chi_square_by_max(POINTS)),
    ];
    let mut values = vec![("radon log evidence".to_owned(), RADON)];
    for (name, rest) in rests {
        let (mean, scale) = rest.map_or((f64::NAN, f64::NAN), placed);
        values.extend([(format!("mean of {name}"), mean), (format!("scale of {name}"), scale)]);
    }
    values
});

/// Mean and scale for the target itself, which has location 1/2 and scale 2.
fn placed(rest: Rest) -> (f64, f64) {
    (0.5 + 2.0 * rest.mean, 2.0 * rest.deviation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_data::Catalogue;

    #[test]
    fn every_value_is_known_by_its_name() {
        for (name, number) in VALUES.iter() {
            assert_eq!(Value::Name(name.clone()).number().unwrap(), *number);
        }
        let error = Value::Name("radon".into()).number().unwrap_err().to_string();
        assert!(error.contains("radon log evidence"), "{error}");
        assert!(Value::Number(f64::NAN).number().is_err());
    }

    #[test]
    fn the_evidence_of_radon_is_that_of_the_model() {
        let data = Catalogue::new(None).radon().unwrap();
        let model =
            mcsa_models::Radon::new(data.counties.len(), data.county, data.floor, data.log_radon).unwrap();
        let (exact, change) = model.log_evidence(1e-5);
        assert!((exact - RADON).abs() < 1e-3 && change < 1e-4, "{exact} {change}");
    }
}
