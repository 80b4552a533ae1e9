//! Law of separable targets: prior and likelihood terms add up to the density.

use mcsa_core::{Columns, Separable};

use super::{Case, Failure};
use mcsa_core::law::near;

/// `log_density = log_prior + log_likelihood_at(all rows)`, and likelihoods are sums over rows: they add over any split of the
/// rows, an empty list gives zero, a row listed twice counts twice, and the order does not matter. Within 1e-10 of the sizes added.
///
/// # Errors
/// If a sum differs; the failure names the subset and the point.
pub fn terms_add_up<P: Separable>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "terms_add_up";
    let (target, data) = (&case.target, case.target.num_data());
    let rows: Vec<usize> = (0..data).collect();
    let points = case.points(4);
    let mut stream = case.stream("rows");
    for j in 0..points.ncols() {
        let z = points.as_ref().column(j);
        let likelihood = |rows: &[usize]| target.log_likelihood_at(rows, z, &mut case.work(1));
        let (prior, all) = (target.log_prior(z, &mut case.work(1)), likelihood(&rows));
        let size = 1.0 + prior.abs() + all.abs();
        let compare = |what: &str, found: f64, expected: f64| {
            near(LAW, || format!("{what}, point {j}"), found, expected, 1e-10 * size)
        };
        compare("prior and likelihood against the density", prior + all, case.log_density(z))?;
        compare("no rows", likelihood(&[]), 0.0)?;
        let (odd, even): (Vec<usize>, Vec<usize>) = rows.iter().partition(|&&row| row % 2 == 1);
        compare("odd and even rows", likelihood(&odd) + likelihood(&even), all)?;
        let (chosen, others): (Vec<usize>, Vec<usize>) = rows.iter().partition(|_| stream.uniform() < 0.3);
        compare("chosen and other rows", likelihood(&chosen) + likelihood(&others), all)?;
        let twice: Vec<usize> = chosen.iter().rev().chain(&chosen).copied().collect();
        compare("rows listed twice", likelihood(&twice), 2.0 * likelihood(&chosen))?;
        if data <= 64 {
            let singles: f64 = rows.iter().map(|&row| likelihood(&[row])).sum();
            compare("one row at a time", singles, all)?;
        }
    }
    Ok(())
}
