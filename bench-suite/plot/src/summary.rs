//! Five-number summary and outliers of a sample.

/// Data of a box plot after Tukey: the box from the first to the third quartile, the whiskers to the outermost values within
/// 1.5 box lengths of it, and every value beyond as an outlier.
///
/// Quartiles interpolate linearly between order statistics (type 7 of Hyndman and Fan). Values that are not finite are
/// counted in `not_finite` and otherwise ignored.
///
/// ```
/// use mcsa_plot::Summary;
/// let summary = Summary::of(&[1.0, 2.0, 3.0, 4.0, 99.0, f64::NAN]);
/// assert_eq!((summary.first_quartile, summary.median, summary.third_quartile), (2.0, 3.0, 4.0));
/// assert_eq!((summary.low_whisker, summary.high_whisker), (1.0, 4.0));
/// assert_eq!((summary.outliers, summary.not_finite), (vec![99.0], 1));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Smallest value that is not an outlier.
    pub low_whisker: f64,
    /// First quartile.
    pub first_quartile: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub third_quartile: f64,
    /// Largest value that is not an outlier.
    pub high_whisker: f64,
    /// Values beyond the whiskers, in order.
    pub outliers: Vec<f64>,
    /// Number of NaN and infinite values.
    pub not_finite: usize,
}

impl Summary {
    /// Summarises a sample; if it is empty, every number is NaN and nothing is drawn.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let not_finite = values.len() - sorted.len();
        let [first_quartile, median, third_quartile] =
            [0.25, 0.5, 0.75].map(|level| quantile(&sorted, level));
        let reach = 1.5 * (third_quartile - first_quartile);
        let (least, most) = (first_quartile - reach, third_quartile + reach);
        let is_near = |value: &f64| *value >= least && *value <= most;
        let low_whisker = sorted.iter().copied().find(is_near).unwrap_or(f64::NAN).min(first_quartile);
        let high_whisker = sorted.iter().copied().rev().find(is_near).unwrap_or(f64::NAN).max(third_quartile);
        let outliers = sorted.iter().copied().filter(|value| !is_near(value)).collect();
        Self { low_whisker, first_quartile, median, third_quartile, high_whisker, outliers, not_finite }
    }

    /// The five numbers in order.
    pub(super) fn numbers(&self) -> [f64; 5] {
        [self.low_whisker, self.first_quartile, self.median, self.third_quartile, self.high_whisker]
    }
}

fn quantile(sorted: &[f64], level: f64) -> f64 {
    let place = level * sorted.len().saturating_sub(1) as f64;
    let (below, share) = (place.floor() as usize, place.fract());
    match (sorted.get(below), sorted.get(below + 1)) {
        (Some(low), Some(high)) if share > 0.0 => low * (1.0 - share) + high * share,
        (Some(low), _) => *low,
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_interpolate() {
        let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!(summary.numbers(), [1.0, 1.75, 2.5, 3.25, 4.0]);
        assert!(summary.outliers.is_empty());
    }

    #[test]
    fn degenerate_samples_are_summarised() {
        assert!(Summary::of(&[]).numbers().iter().all(|number| number.is_nan()));
        assert_eq!(Summary::of(&[7.0]).numbers(), [7.0; 5]);
        assert_eq!(Summary::of(&[f64::INFINITY]).not_finite, 1);
        let constant = Summary::of(&[1.0, 1.0, 1.0, 1.0, 5.0]);
        assert_eq!((constant.numbers(), constant.outliers), ([1.0; 5], vec![5.0]));
    }
}
