//! Law of the normalising constant, by bridge sampling against a reference density.

use crate::law::{ACCEPTED, DETECTED, Power, near};
use faer::{Mat, MatRef};
use mcsa_core::{Columns, ColumnsMut, Family, Stream};

use super::reference::Reference;
use super::{Case, Failure};

/// Error of the log normaliser that the law tries to detect with probability 0.9.
const SOUGHT: f64 = 1e-3;
const ROUNDING: f64 = 1e-9;
const BATCH: usize = 1024;
const PILOT: usize = 512;
/// Least effective number of terms of a mean for the law to use it.
const TERMS: f64 = 200.0;

/// `int q = 1`, in any dimension, by bridge sampling (Bennett 1976; Meng and Wong 1996) between draws of the family and of a
/// normalised reference density `r`:
///
/// ```text
/// int q = E_r[ q / (q + r) ] / E_q[ r / (q + r) ].
/// ```
///
/// `r` has the shape of `q` along lines, or along rays from the mode, and a normaliser computed on a line. For independent
/// coordinates, Gaussians and multivariate t it equals `q` up to interpolation, and the estimate has almost no variance. Elsewhere
/// draws are added until an error of 1e-3 is detected with probability 0.9, or an eighth of [`Case::draws`] is taken; the returned
/// power states the size that is detected. False alarm 6e-7. If the two densities hardly overlap, the law holds without a test
/// (infinite power size). In one and two dimensions [`density_integrates_to_one`](super::density_integrates_to_one) computes the
/// integral to 1e-9, and this law is skipped unless that law is left out.
///
/// # Errors
/// If the log normaliser differs from zero; the failure names it.
pub fn density_is_normalised<F: Family>(case: &Case<F>) -> Result<Option<Power>, Failure> {
    const LAW: &str = "density_is_normalised";
    let dim = case.family.dim();
    if (dim == 1 || dim == 2) && case.left_out.reason("density_integrates_to_one").is_none() {
        return Ok(None);
    }
    let power = |size, effort: String| Ok(Some(Power::new("the log normaliser of log q", size, effort)));
    let mut stream = case.stream("normaliser");
    let (z, log_q) = case.draw(PILOT, &mut stream);
    let mut pilot_stream = case.stream("pilot of the normaliser");
    let reference = Reference::nearest(case, z.as_ref(), |reference| {
        let mut bridge = Bridge::default();
        bridge.add(case, reference, (z.as_ref(), &log_q), &mut pilot_stream);
        bridge.error()
    });
    let Some(reference) = reference else {
        return power(f64::INFINITY, "no reference density is near".into());
    };
    let mut bridge = Bridge::default();
    loop {
        let (z, log_q) = case.draw(BATCH, &mut stream);
        bridge.add(case, &reference, (z.as_ref(), &log_q), &mut stream);
        let (count, error) = (bridge.of_r.count, bridge.error());
        let is_enough = count >= 2048.0 && DETECTED * error <= SOUGHT || count >= (case.draws / 8) as f64;
        if !is_enough && !error.is_nan() {
            continue;
        }
        let draws = format!("{count} draws of each density");
        if bridge.of_r.terms().min(bridge.of_q.terms()) < TERMS {
            return power(f64::INFINITY, draws);
        }
        let found = bridge.of_r.mean().ln() - bridge.of_q.mean().ln();
        near(LAW, || format!("log normaliser, {draws}"), found, 0.0, ACCEPTED * error + ROUNDING)?;
        return power((DETECTED * error).max(ROUNDING), draws);
    }
}

/// Bridge sampling estimate: the two means whose ratio is the integral of `q`.
#[derive(Default)]
struct Bridge {
    of_r: Mean,
    of_q: Mean,
}

impl Bridge {
    /// Adds draws of the family, and as many draws of the reference.
    fn add<F: Family>(
        &mut self,
        case: &Case<F>,
        reference: &Reference,
        (z, log_q): (MatRef<'_, f64>, &[f64]),
        stream: &mut Stream,
    ) {
        for (j, log_q) in log_q.iter().enumerate() {
            self.of_q.add(1.0 / (1.0 + (log_q - reference.log_density(z.column(j))).exp()));
        }
        let mut z = Mat::zeros(z.nrows(), z.ncols());
        (0..z.ncols()).for_each(|j| reference.draw_into(stream, z.as_mut().column_mut(j)));
        for (j, log_q) in case.log_probs(&case.params, z.as_ref()).iter().enumerate() {
            self.of_r.add(1.0 / (1.0 + (reference.log_density(z.as_ref().column(j)) - log_q).exp()));
        }
    }

    /// Standard error of the logarithm of the ratio.
    fn error(&self) -> f64 {
        self.of_r.relative_error().hypot(self.of_q.relative_error())
    }
}

/// Mean of nonnegative numbers, with its uncertainty.
#[derive(Default)]
struct Mean {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// Effective number of terms, `(sum x)^2 / sum x^2`.
    fn terms(&self) -> f64 {
        self.sum * self.sum / self.squares
    }

    fn relative_error(&self) -> f64 {
        (1.0 / self.terms() - 1.0 / self.count).max(0.0).sqrt()
    }
}
