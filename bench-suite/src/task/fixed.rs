//! Variances and biases of estimators at fixed lambda, as tasks.

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use super::{Labels, Preset, Section, Task};
use crate::catalog::{Method, Target};
use crate::grid::{Placed, grid};

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
    #[serde(rename = "method", deserialize_with = "grid")]
    methods: Vec<Placed<Method>>,
}

/// Variance of one method's direction, given the states of its chains.
///
/// ```text
/// p = N(0, I),   q = N(gap, scale^2 I),   states ~ p, drawn once;   sum_i Var(g_i | states) over the means' part of lambda
/// ```
/// `transitions` directions are drawn, each from these states.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variance {
    pub target: Target,
    pub scale: f64,
    /// Mean of `q` in each coordinate.
    pub gap: f64,
    pub method: Method,
    pub transitions: u64,
}

impl Section for Variances {
    fn labels(&self, _: &[&Preset]) -> Labels {
        Labels::default().with("method", &self.methods)
    }

    fn tasks(&self, preset: &Preset) -> Result<Vec<Task>, Error> {
        let target = Target::StandardGaussian { dim: self.dim };
        let mut tasks = Vec::new();
        for &gap in &self.gaps {
            for method in self.methods.iter().map(|m| &m.value).filter(|m| preset.admits(target.label(), m)) {
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

/// The section `[scatter]`: every method at one set of random parameters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scatters {
    /// Settings shared by all methods.
    pub setting: Setting,
    #[serde(rename = "method", deserialize_with = "grid")]
    methods: Vec<Placed<Method>>,
}

/// Settings of target, proposals and chains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Setting {
    /// Dimension of the target, a standard normal.
    pub dim: usize,
    /// Standard deviation of `q`.
    pub scale: f64,
    /// Scale of the multivariate t from which means of `q` are drawn.
    pub spread: f64,
    /// Degrees of freedom of that t.
    pub freedom: usize,
    /// Number of estimates at each parameter, each from its own chains.
    pub chains: u64,
    /// Number of steps at a parameter; only the estimate of the last step is used.
    pub length: u64,
    /// Standard deviation of the chains' starting points around a point drawn from a standard normal.
    pub start: f64,
}

/// Variance and bias of one method's direction at `lambdas` random parameters, one row for each.
///
/// ```text
/// p = N(0, I),   q = N(mu, scale^2 I),   mu ~ t;   g_c: the means' part of the direction from chains c
/// variance = sum_i Var_c(g_ci),   bias = |mean_c g_c - E_p s|
/// ```
/// As published, `pooled_variance` is the variance over all entries of all directions, so that it includes the differences
/// between the means of different coordinates; `pooled_bias` is the mean of all errors, in which errors of different
/// coordinates cancel.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scatter {
    /// Target: a standard normal.
    pub target: Target,
    pub setting: Setting,
    pub method: Method,
    pub lambdas: u64,
}

impl Section for Scatters {
    fn check(&self) -> Result<(), Error> {
        let Setting { dim, freedom, chains, length, .. } = self.setting;
        if dim == 0 || freedom == 0 || chains < 2 || length == 0 {
            return Err(Error::invalid("scatter: dim, freedom and length are at least 1, chains at least 2"));
        }
        Ok(())
    }

    fn labels(&self, _: &[&Preset]) -> Labels {
        Labels::default().with("method", &self.methods)
    }

    fn tasks(&self, preset: &Preset) -> Result<Vec<Task>, Error> {
        let target = Target::StandardGaussian { dim: self.setting.dim };
        let methods = self.methods.iter().map(|placed| placed.value.clone());
        let task = |method| {
            let (target, setting) = (target.clone(), self.setting);
            Task::Scatter(Scatter { target, setting, method, lambdas: preset.steps })
        };
        Ok(methods.filter(|method| preset.admits(target.label(), method)).map(task).collect())
    }
}
