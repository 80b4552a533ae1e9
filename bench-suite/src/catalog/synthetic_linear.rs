//! Synthetic rows of a linear regression with known noise, whose posterior has a closed form.

use faer::Mat;
use mcsa_core::{Error, Seed};
use mcsa_models::LinearRegression;
use mcsa_theory::dais::{Normal, Quadratic};

use super::Target;

/// Linear regression with its rows, and its parts in closed form.
pub(crate) struct LinearRows {
    pub(crate) model: LinearRegression,
    pub(crate) x: Mat<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) noise: f64,
    pub(crate) prior_scale: f64,
    pub(crate) prior: Normal,
    pub(crate) likelihood: Quadratic,
}

impl Target {
    /// The rows of a synthetic linear regression.
    ///
    /// ```text
    /// x = [1; sqrt(c) f + sqrt(1 - c) e_k],   y = sum_k (-1)^k x_k + r e
    /// ```
    /// with standard normal f and e, a correlation c and noise r.
    ///
    /// # Errors
    /// If the target is another, or a setting is invalid.
    pub(crate) fn linear_rows(&self) -> Result<LinearRows, Error> {
        let Self::SyntheticLinear { name, rows, dim, correlation, noise, prior_scale, seed } = self else {
            return Err(Error::invalid(format!("{} is no synthetic linear regression", self.kind())));
        };
        if !name.starts_with("synthetic") {
            return Err(Error::invalid(format!("name is {name:?}, expected one that begins with synthetic")));
        }
        if *rows == 0 || *dim == 0 {
            return Err(Error::invalid("expected at least 1 row and 1 column").within(self.kind()));
        }
        if !(0.0..1.0).contains(correlation) {
            let expected = "at least 0 and less than 1";
            return Err(Error::parameter("correlation", *correlation, expected).within(self.kind()));
        }
        let mut stream = Seed::new(*seed).named(self.kind()).stream(0, 0);
        let (common, own) = (correlation.sqrt(), (1.0 - correlation).sqrt());
        let mut x = Mat::from_fn(*rows, *dim, |_, _| 1.0);
        let mut y = vec![0.0; *rows];
        for (i, y) in y.iter_mut().enumerate() {
            let factor = common * stream.normal();
            (1..*dim).for_each(|k| x[(i, k)] = factor + own * stream.normal());
            let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
            *y = (0..*dim).map(|k| sign(k) * x[(i, k)]).sum::<f64>() + noise * stream.normal();
        }
        let model = LinearRegression::new(x.as_ref(), &y, *noise, *prior_scale)?;
        let prior = Normal::diagonal(vec![0.0; *dim], &vec![*prior_scale; *dim])?;
        let likelihood = Quadratic::regression(&x, &y, &vec![1.0; *rows], *noise);
        Ok(LinearRows { model, x, y, noise: *noise, prior_scale: *prior_scale, prior, likelihood })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(correlation: f64, seed: u64) -> Target {
        let (name, rows, dim) = ("synthetic".to_owned(), 30, 3);
        Target::SyntheticLinear { name, rows, dim, correlation, noise: 0.7, prior_scale: 1.5, seed }
    }

    #[test]
    fn the_closed_form_is_that_of_the_model() {
        let rows = target(0.6, 2).linear_rows().unwrap();
        let (posterior, log_evidence) = rows.prior.posterior(&rows.likelihood).unwrap();
        assert!((log_evidence - rows.model.log_evidence()).abs() < 1e-10);
        assert!((0..3).all(|k| (posterior.mean()[k] - rows.model.posterior_mean()[k]).abs() < 1e-12));
        let other = target(0.6, 3).linear_rows().unwrap();
        assert!((log_evidence - other.model.log_evidence()).abs() > 1e-3, "other rows are seen");
        assert!(target(1.0, 2).linear_rows().is_err() && target(f64::NAN, 2).linear_rows().is_err());
    }
}
