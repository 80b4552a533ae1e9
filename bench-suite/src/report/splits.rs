//! Variance of the splits of a data set, which all methods share.
//!
//! ```text
//! y_rm = mu_m + s_r + e_rm          metric y of replicate r by method m: its split has the effect s_r under every method
//! var(s) = (MS_r - MS_e) / M,       var(e) = MS_e,       two-way analysis of variance without replication, R x M values
//! ```
//! Intervals of cells take replicates as independent, but the mean of `s_r` is in every cell of a data set: the splits alone move
//! all of them together by a standard error of `sd(s) / sqrt R`. Two methods of one run are compared without it; two runs on
//! different splits, or ours and a published one, are not. The residual holds the seeds and what single splits do to single methods.

use crate::results::{Results, Series};
use crate::tables::{Table, distinct, or_dash};

/// Smallest numbers of replicates and of methods.
const ENOUGH: (usize, usize) = (5, 2);

/// Variance components of the splits and of the rest by two-way analysis of columns, one for each method, of the values of the same
/// replicates; `None` if there are too few.
fn components(columns: &[Vec<f64>]) -> Option<[f64; 2]> {
    let (methods, replicates) = (columns.len(), columns.first()?.len());
    if replicates < ENOUGH.0 || methods < ENOUGH.1 || columns.iter().flatten().any(|value| !value.is_finite())
    {
        return None;
    }
    let (rows, count) = (replicates as f64, methods as f64);
    let means: Vec<f64> = columns.iter().map(|column| column.iter().sum::<f64>() / rows).collect();
    let grand = means.iter().sum::<f64>() / count;
    let effect = |r: usize| columns.iter().map(|column| column[r]).sum::<f64>() / count - grand;
    let effects: Vec<f64> = (0..replicates).map(effect).collect();
    let between = count * effects.iter().map(|effect| effect * effect).sum::<f64>() / (rows - 1.0);
    let residual = |(column, mean): (&Vec<f64>, &f64)| {
        column.iter().zip(&effects).map(|(value, effect)| (value - mean - effect).powi(2)).sum::<f64>()
    };
    let squares: f64 = columns.iter().zip(&means).map(residual).sum();
    let rest = squares / ((rows - 1.0) * (count - 1.0));
    Some([((between - rest) / count).max(0.0), rest])
}

/// Table of the variance components of each data set and metric of the published table, by the longest fits of all methods with
/// most replicates; `None` if there are no components.
pub(super) fn table(results: &Results) -> Option<Table> {
    results.experiment.published.as_ref()?;
    let mut rows = Vec::new();
    let all = results.series();
    let with_data = all.iter().filter(|series| series.target().data().is_some());
    for target in distinct(with_data.map(|series| series.target().label())) {
        for metric in ["accuracy", "lpd", "rmse", "error"] {
            let of: Vec<&Series<'_>> =
                all.iter().filter(|series| series.target().label() == target).collect();
            let columns = columns(&of, metric);
            let Some([splits, rest]) = components(&columns) else { continue };
            let (share, replicates) = (splits / (splits + rest), columns[0].len());
            let [spread, rest] = [splits, rest].map(f64::sqrt);
            let error = spread / (replicates as f64).sqrt();
            rows.push(vec![
                target.to_owned(),
                metric.to_owned(),
                replicates.to_string(),
                columns.len().to_string(),
                format!("{spread:.4}"),
                format!("{rest:.4}"),
                or_dash(share.is_finite().then(|| format!("{:.0} %", 100.0 * share))),
                format!("{error:.4}"),
                format!("{:.4}", 2.0_f64.sqrt() * error),
            ]);
        }
    }
    let head = "Data | Metric | Splits | Methods | sd of splits | sd of the rest | Share of splits | se by splits | \
                se of the difference of two such runs";
    let note = "Two-way analysis of variance, split by method: the splits, shared by all methods, move all cells of a data set \
                together by the standard error in the last column but one; intervals of cells are not independent. The rest are seeds, \
                and effects of single splits on single methods.";
    (!rows.is_empty()).then(|| Table::new("splits", "Variance of the splits", head, rows, note))
}

/// Final values of each method at the replicates that all of them have. Methods with less than half as many replicates as
/// others are left out.
fn columns(all: &[&Series<'_>], metric: &str) -> Vec<Vec<f64>> {
    let most = all.iter().map(|series| series.last(metric).len()).max().unwrap_or(0);
    let kept: Vec<_> = all.iter().filter(|series| 2 * series.last(metric).len() > most).collect();
    let replicates = kept.first().into_iter().flat_map(|series| &series.outcomes);
    let replicates = replicates.map(|outcome| outcome.job.replicate);
    let everywhere = |replicate: &u64| kept.iter().all(|series| series.end(*replicate, metric).is_some());
    let shared: Vec<u64> = replicates.filter(everywhere).collect();
    let column = |series: &&&Series<'_>| {
        shared.iter().filter_map(|replicate| series.end(*replicate, metric)).collect()
    };
    kept.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Effects of splits 1, -1, 2, -2, 0 under three methods of different means, without residual: their variance is 10 / 4.
    #[test]
    fn shared_effects_are_found_exactly() {
        let effects = [1.0, -1.0, 2.0, -2.0, 0.0];
        let columns = [0.0, 5.0, -3.0].map(|mean| effects.map(|effect| mean + effect).to_vec());
        let [splits, rest] = components(&columns).unwrap();
        assert!((splits - 2.5).abs() < 1e-12 && rest.abs() < 1e-12, "{splits} {rest}");
        // Counterexample: the same values, with splits that methods do not share.
        let mut other = columns.clone();
        other[1].rotate_left(1);
        other[2].rotate_left(2);
        let [splits, rest] = components(&other).unwrap();
        assert!(splits < 0.5 && rest > 1.5, "{splits} {rest}");
        assert_eq!(components(&columns[..1]), None);
        assert_eq!(components(&[vec![f64::NAN; 5], vec![0.0; 5]]), None);
    }

    /// By hand: values 1, 2 and 3, 6 and, to have five rows, the same differences. MS_r and MS_e from their definitions.
    #[test]
    fn components_are_those_of_the_analysis_of_variance() {
        let columns = [vec![1.0, 2.0, 3.0, 4.0, 5.0], vec![2.0, 2.0, 4.0, 4.0, 8.0]];
        // Row means 1.5, 2, 3.5, 4, 6.5 about 3.5: squares 4 + 2.25 + 0 + 0.25 + 9 = 15.5, MS_r = 2 x 15.5 / 4 = 7.75.
        // Half differences 0.5, 0, 0.5, 0, 1.5 about 0.5: squares 0 + 0.25 + 0 + 0.25 + 1 = 1.5, MS_e = 2 x 1.5 / 4 = 0.75.
        let [splits, rest] = components(&columns).unwrap();
        assert!((rest - 0.75).abs() < 1e-12 && (splits - 3.5).abs() < 1e-12, "{splits} {rest}");
    }
}
