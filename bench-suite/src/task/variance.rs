//! Variances of estimators at fixed lambda, as a task.

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use super::{Labels, Preset, Section, Task};
use crate::catalog::{Method, Target};
use crate::grid::{Entry, expand};

/// The section `[variances]`: every method at every gap between the means of target and `q`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Variances {
    /// Dimension of the target, a standard normal.
    pub dim: usize,
    /// Standard deviation of `q`.
    pub scale: f64,
    /// Distance between the means of `q` and target, in each coordinate.
    pub gaps: Vec<f64>,
    /// Methods to compare.
    #[serde(rename = "method", default)]
    methods: Vec<Entry>,
}

/// Variance of one method's direction, given the states of its chains.
///
/// ```text
/// p = N(0, I),   q = N(gap, scale^2 I),   states ~ p, drawn once;   sum_i Var(g_i | states) over the means' part of lambda
/// ```
/// `transitions` directions are drawn, each from these states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variance {
    /// Target: a standard normal.
    pub target: Target,
    /// Standard deviation of `q`.
    pub scale: f64,
    /// Mean of `q` in each coordinate.
    pub gap: f64,
    /// Estimator of the direction.
    pub method: Method,
    /// Number of transitions.
    pub transitions: u64,
}

impl Section for Variances {
    fn check(&self) -> Result<(), Error> {
        expand::<Method>("variances.method", &self.methods).map(drop)
    }

    fn labels(&self, _: &[&Preset]) -> Result<Labels, Error> {
        let mut labels = Labels::default();
        labels.add("method", &expand::<Method>("variances.method", &self.methods)?);
        Ok(labels)
    }

    fn tasks(&self, preset: &Preset) -> Result<Vec<Task>, Error> {
        let methods = expand::<Method>("variances.method", &self.methods)?;
        let target = Target::StandardGaussian { dim: self.dim };
        let mut tasks = Vec::new();
        for &gap in &self.gaps {
            for method in methods.iter().map(|m| &m.value).filter(|m| preset.admits(target.label(), m)) {
                tasks.push(Task::Variance(Variance {
                    target: target.clone(),
                    scale: self.scale,
                    gap,
                    method: method.clone(),
                    transitions: preset.steps,
                }));
            }
        }
        Ok(tasks)
    }
}
