//! Supremum of the importance weight, `log w* = sup_z (log p(z) - log q_lambda(z))`.

use faer::{Mat, MatRef};
use mcsa_core::{Columns, ColumnsMut, Error, Family, Gradient};

use super::laplace::difference_width;
use super::{Lbfgs, Outcome};

/// Result of maximisations of the log weight from several starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Supremum {
    /// The largest log weight found: a lower bound of the supremum, and equal to it if a start was in the basin of the global
    /// maximum.
    pub value: f64,
    /// The point with this log weight.
    pub point: Vec<f64>,
    /// The outcome of the maximisation that found the point; [`Unbounded`](Outcome::Unbounded) if any maximisation found no
    /// maximum.
    pub outcome: Outcome,
    /// The number of maximisations that ended within `1e-6` of the value. One out of many suggests that there are basins not found.
    pub agreeing: usize,
    /// The number of maximisations: of starts with a finite weight.
    pub climbs: usize,
}

/// Supremum of the log weight, `log w* = sup_z (log p(z) - log q_lambda(z))`, by maximisation from each column of `starts`.
///
/// With an unnormalised `p` this is `log w* + log Z`. Independent Metropolis-Hastings converges at the rate `1 - 1/w*` (Mengersen &
/// Tweedie 1996); if q has lighter tails than p, `w*` is infinite, and the outcome is [`Unbounded`](Outcome::Unbounded). If the
/// ratio tends to its supremum only at infinity, the maximisation ends where the gradient norm is at most the tolerance. Several
/// starts do not prove that a maximum is global; take them from p and from q.
///
/// The gradient of `log q` in z is taken by central differences, in one batch of `2 d + 1` columns per evaluation.
///
/// # Errors
/// If dimensions differ, the family refuses lambda, or no start has a finite weight.
///
/// ```
/// use mcsa_families::MeanField;
/// use mcsa_models::Gaussian;
/// use mcsa_optim::deterministic::{Lbfgs, log_weight_supremum};
/// let (p, q) = (Gaussian::standard(1), MeanField::new(1));
/// let starts = faer::mat![[-3.0, 2.0]];
/// let highest = log_weight_supremum(&Lbfgs::default(), &p, &q, &q.at(&[0.0], &[2.0])?, starts.as_ref())?;
/// assert!((highest.value - 2.0_f64.ln()).abs() < 1e-9 && highest.agreeing == 2); // scales 1 and 2
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub fn log_weight_supremum<P, F>(
    lbfgs: &Lbfgs,
    target: &P,
    family: &F,
    params: &[f64],
    starts: MatRef<'_, f64>,
) -> Result<Supremum, Error>
where
    P: Gradient + ?Sized,
    F: Family + ?Sized,
{
    let within = |error: Error| error.within("log_weight_supremum");
    let dim = target.dim();
    mcsa_core::same_length("family's points", dim, family.dim()).map_err(within)?;
    mcsa_core::same_length("starts", dim, starts.nrows()).map_err(within)?;
    family.check(params).map_err(within)?;
    let columns = 2 * dim + 1;
    let mut batch = Mat::zeros(dim, columns);
    let mut log_q = vec![0.0; columns];
    let mut work = vec![0.0; target.work_len(1)];
    let mut family_work = vec![0.0; family.work_len(columns)];
    let mut log_weight = |z: &[f64], gradient: &mut [f64]| {
        for j in 0..columns {
            batch.as_mut().column_mut(j).copy_from_slice(z);
        }
        for (k, x) in z.iter().enumerate() {
            let width = difference_width(*x);
            batch[(k, 2 * k)] += width;
            batch[(k, 2 * k + 1)] -= width;
        }
        family.log_probs(params, batch.as_ref(), &mut log_q, &mut family_work);
        let log_p = target.gradient_into(z, gradient, &mut work);
        for (k, g) in gradient.iter_mut().enumerate() {
            *g -= (log_q[2 * k] - log_q[2 * k + 1]) / (batch[(k, 2 * k)] - batch[(k, 2 * k + 1)]);
        }
        log_p - log_q[2 * dim]
    };
    let mut peaks = Vec::new();
    let mut is_unbounded = false;
    for j in 0..starts.ncols() {
        // A start outside the support is skipped; the other starts are used.
        if let Ok(peak) = lbfgs.maximise(&mut log_weight, starts.column(j)) {
            is_unbounded |= peak.outcome == Outcome::Unbounded;
            peaks.push(peak);
        }
    }
    let climbs = peaks.len();
    let agreeing = |value: f64| peaks.iter().filter(|peak| value - peak.value < 1e-6).count();
    let highest = peaks.iter().max_by(|a, b| a.value.total_cmp(&b.value));
    let highest = highest.ok_or_else(|| within(Error::invalid("no start has a finite weight")))?;
    Ok(Supremum {
        value: highest.value,
        point: highest.point.clone(),
        outcome: if is_unbounded { Outcome::Unbounded } else { highest.outcome },
        agreeing: agreeing(highest.value),
        climbs,
    })
}
