//! Families of any shape by name, begun where a Gaussian with independent coordinates is.

use faer::Mat;
use mcsa::{Error, Family};
use mcsa_families::{FullRank, MeanField, MultivariateT};
use serde::{Deserialize, Serialize};

/// A family by name, with its settings. Each can begin at a mean and standard deviations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Shape {
    /// Independent Gaussians.
    MeanField,
    /// A Gaussian with a dense factor.
    FullRank,
    /// The Student t with a dense factor.
    StudentT {
        /// The degrees of freedom.
        freedom: f64,
    },
}

/// A family, and its params where it begins.
pub struct Shaped {
    /// The family.
    pub family: Box<dyn Family>,
    /// Where it begins.
    pub params: Vec<f64>,
}

impl Shape {
    /// Every name, its settings, and what stands behind it.
    pub const ALL: [(&'static str, &'static str, &'static str); 3] = [
        ("mean-field", "", "independent Gaussians"),
        ("full-rank", "", "a Gaussian"),
        ("student-t", "freedom = 5.0", "a Student t"),
    ];

    /// The name, as files write it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::MeanField => "mean-field",
            Self::FullRank => "full-rank",
            Self::StudentT { .. } => "student-t",
        }
    }

    /// The family, and its params that are nearest to these means and deviations of independent coordinates.
    ///
    /// # Errors
    /// If a setting or a number is impossible.
    pub fn around(&self, mean: &[f64], deviations: &[f64]) -> Result<Shaped, Error> {
        let dim = mean.len();
        let diagonal = || Mat::from_fn(dim, dim, |i, j| if i == j { deviations[i] } else { 0.0 });
        Ok(match *self {
            Self::MeanField => shaped(MeanField::new(dim), MeanField::new(dim).at(mean, deviations)?),
            Self::FullRank => shaped(FullRank::new(dim), FullRank::new(dim).at(mean, diagonal().as_ref())?),
            Self::StudentT { freedom } => {
                let family = MultivariateT::fixed(dim, freedom)?;
                shaped(family, family.at(mean, diagonal().as_ref())?)
            }
        })
    }
}

fn shaped(family: impl Family + 'static, params: Vec<f64>) -> Shaped {
    Shaped { family: Box::new(family), params }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_listing_says_begins_where_it_should() {
        for (name, settings, _) in Shape::ALL {
            let settings = settings.split(", ").collect::<Vec<_>>().join("\n");
            let shape: Shape = toml::from_str(&format!("kind = {name:?}\n{settings}")).unwrap();
            assert_eq!(shape.kind(), name);
            let Shaped { family, params } = shape.around(&[1.0, -2.0], &[0.5, 2.0]).unwrap();
            assert_eq!(family.check(&params), Ok(()));
            let mut work = vec![0.0; family.work_len(1)];
            let mut at = |z: [f64; 2]| family.log_prob(&params, &z, &mut work);
            let top = at([1.0, -2.0]);
            assert!(top > at([1.1, -2.0]) && top > at([1.0, -1.9]), "{name}");
            assert!((at([1.5, -2.0]) - at([1.0, 0.0])).abs() < 1e-9, "{name}");
        }
    }
}
