//! The largest weight.

use faer::{Mat, MatRef};
use mcsa::{Columns, ColumnsMut, Error, Family, Gradient};

use super::laplace::difference_width;
use super::{Lbfgs, Outcome};

/// The highest point that climbs from several starts have found.
#[derive(Debug, Clone, PartialEq)]
pub struct Supremum {
    /// How high: a lower bound of the supremum, and equal to it if a climb began in the right basin.
    pub value: f64,
    /// Where.
    pub point: Vec<f64>,
    /// How the climb there ended; [`Unbounded`](Outcome::Unbounded) if any climb found no maximum.
    pub outcome: Outcome,
    /// How many climbs came within `1e-6` of it. One of many hints at basins not found.
    pub agreeing: usize,
    /// How many climbs there were: starts of finite weight.
    pub climbs: usize,
}

/// `log w* = sup_z (log p(z) - log q_lambda(z))`, by climbs from each column of `starts`.
///
/// With an unnormalised `p` this is `log w* + log Z`. Independent Metropolis-Hastings converges at the rate
/// `1 - 1/w*` (Mengersen & Tweedie 1996); where q has lighter tails than p, `w*` is infinite, and
/// the outcome is [`Unbounded`](Outcome::Unbounded). Where the ratio only tends to its supremum far out, the climb ends where the slope is
/// within the tolerance. Several starts do not prove a maximum global; take them from p and from q.
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
/// # Ok::<(), mcsa::Error>(())
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
    mcsa::same_length("family's points", dim, family.dim()).map_err(within)?;
    mcsa::same_length("starts", dim, starts.nrows()).map_err(within)?;
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
        // A start outside the support is no fault of the others.
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
