//! Input of the replay of one path, as JSON.

use mcsa_core::Error;
use serde::Deserialize;

/// A problem, the random numbers of one path, and the parameters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    pub(super) problem: Problem,
    pub(super) case: Case,
    pub(super) params: Params,
}

/// Kind of a regression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Logistic,
    Linreg,
}

/// Data and prior of a regression.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Problem {
    pub(super) kind: Kind,
    #[serde(rename = "N")]
    pub(super) rows: usize,
    #[serde(rename = "D")]
    pub(super) dim: usize,
    #[serde(rename = "X")]
    pub(super) x: Vec<Vec<f64>>,
    pub(super) y: Vec<f64>,
    pub(super) prior_scale: f64,
    pub(super) prior_mean: Option<Vec<f64>>,
    pub(super) sigma_obs: Option<f64>,
}

/// Guide of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Algorithm {
    Dais,
    Ns,
    SlRand,
    SlPmFix,
    SlPmLearn,
    SlQuad,
}

/// Form of the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum BaseForm {
    Mf,
    Mvn,
}

/// Law of the momentum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Convention {
    Paper,
    Numpyro,
}

/// Method, sizes and random numbers of one path.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) base: BaseForm,
    pub(super) algo: Algorithm,
    pub(super) convention: Convention,
    #[serde(rename = "K")]
    pub(super) steps: usize,
    pub(super) eta_max: f64,
    pub(super) eps0: Vec<f64>,
    pub(super) nu: Vec<Vec<f64>>,
    #[serde(rename = "I")]
    pub(super) end_rows: Vec<usize>,
    #[serde(rename = "J")]
    pub(super) guide_rows: Option<Vec<usize>>,
    pub(super) surr_idx: Option<Vec<usize>>,
    pub(super) x_surr: Option<Vec<Vec<f64>>>,
}

/// Parameters on their constrained scale.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    pub(super) mu: Vec<f64>,
    pub(super) sigma: Option<Vec<f64>>,
    #[serde(rename = "L")]
    pub(super) factor: Option<Vec<Vec<f64>>>,
    pub(super) eta0: f64,
    pub(super) kappa: f64,
    pub(super) gamma: f64,
    #[serde(rename = "M")]
    pub(super) mass: Vec<f64>,
    pub(super) beta: Vec<f64>,
    pub(super) omega: Option<Vec<f64>>,
    pub(super) omega_pos: Option<Vec<f64>>,
    pub(super) omega_neg: Option<Vec<f64>>,
    pub(super) x_surr: Option<Vec<Vec<f64>>>,
    pub(super) a: Option<Vec<f64>>,
    #[serde(rename = "B")]
    pub(super) b: Option<Vec<Vec<f64>>>,
    pub(super) sigma_obs: Option<f64>,
}

impl Params {
    /// Names of the parameters that only some methods have, and whether they are given.
    pub(super) fn optional(&self) -> [(&'static str, bool); 9] {
        [
            ("sigma", self.sigma.is_some()),
            ("L", self.factor.is_some()),
            ("omega", self.omega.is_some()),
            ("omega_pos", self.omega_pos.is_some()),
            ("omega_neg", self.omega_neg.is_some()),
            ("x_surr", self.x_surr.is_some()),
            ("a", self.a.is_some()),
            ("B", self.b.is_some()),
            ("sigma_obs", self.sigma_obs.is_some()),
        ]
    }
}

impl Question {
    /// Parses JSON, and checks the shapes that all methods share.
    ///
    /// # Errors
    /// If the text is not such JSON, a key is unknown or missing, or a length is wrong; the place is named.
    pub fn read(text: &str) -> Result<Self, Error> {
        let question: Self =
            serde_json::from_str(text).map_err(|error| Error::invalid(format!("not a replay: {error}")))?;
        let Self { problem, case, params } = &question;
        let d = problem.dim;
        if d == 0 || problem.rows == 0 {
            return Err(Error::invalid("problem: N and D are at least 1"));
        }
        matrix("problem.X", &problem.x, problem.rows, d)?;
        length("problem.y", &problem.y, problem.rows)?;
        positive("problem.prior_scale", problem.prior_scale)?;
        length("case.eps0", &case.eps0, d)?;
        matrix("case.nu", &case.nu, case.steps, d)?;
        indices("case.I", &case.end_rows, problem.rows)?;
        length("params.mu", &params.mu, d)?;
        length("params.M", &params.mass, d)?;
        length("params.beta", &params.beta, case.steps)?;
        if let Some(mean) = &problem.prior_mean {
            length("problem.prior_mean", mean, d)?;
        }
        let labels = |y: &f64| *y == 0.0 || *y == 1.0;
        if problem.kind == Kind::Logistic && !problem.y.iter().all(labels) {
            return Err(Error::invalid("problem.y: labels are 0 or 1"));
        }
        Ok(question)
    }
}

pub(super) fn length(place: &str, list: &[f64], expected: usize) -> Result<(), Error> {
    if list.len() == expected {
        return Ok(());
    }
    Err(Error::invalid(format!("{place} has length {}, expected {expected}", list.len())))
}

/// Entries of a matrix, row after row.
pub(super) fn matrix(place: &str, rows: &[Vec<f64>], count: usize, d: usize) -> Result<Vec<f64>, Error> {
    if rows.len() != count {
        return Err(Error::invalid(format!("{place} has {} rows, expected {count}", rows.len())));
    }
    for (n, row) in rows.iter().enumerate() {
        length(&format!("{place}[{n}]"), row, d)?;
    }
    Ok(rows.concat())
}

pub(super) fn indices(place: &str, list: &[usize], rows: usize) -> Result<(), Error> {
    if list.is_empty() {
        return Err(Error::invalid(format!("{place} is empty")));
    }
    match list.iter().position(|n| *n >= rows) {
        Some(k) => Err(Error::invalid(format!("{place}[{k}] is {}, expected less than {rows}", list[k]))),
        None => Ok(()),
    }
}

pub(super) fn positive(place: &str, x: f64) -> Result<(), Error> {
    if x > 0.0 && x.is_finite() {
        return Ok(());
    }
    Err(Error::invalid(format!("{place} is {x}, expected positive and finite")))
}

/// The value of a key that this method needs.
pub(super) fn needed<'a, T>(place: &str, value: &'a Option<T>) -> Result<&'a T, Error> {
    value.as_ref().ok_or_else(|| Error::invalid(format!("{place} is missing")))
}
