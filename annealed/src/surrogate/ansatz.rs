//! Ansaetze of (SL-DAIS, Sec. 4) for the points and weights of a [`LogisticSurrogate`].

use faer::{Mat, MatRef};
use mcsa_core::{Error, Stream, same_length};

use super::clusters::Clusters;
use super::coreset::Coreset;
use super::logistic::LogisticSurrogate;
use crate::{draw_subset, seen_len};

/// Largest number of Lloyd iterations.
const PASSES: usize = 100;

/// Rows of a matrix.
fn rows_of(x: MatRef<'_, f64>, rows: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), x.ncols(), |n, k| x[(rows[n], k)])
}

/// Random rows without replacement.
fn random(x: MatRef<'_, f64>, count: usize, stream: &mut Stream) -> Result<Vec<usize>, Error> {
    if count > x.nrows() {
        let reason = format!("{count} points of {} data", x.nrows());
        return Err(Error::invalid(reason).within("LogisticSurrogate"));
    }
    let mut rows = vec![0; count];
    draw_subset(x.nrows(), &mut rows, &mut vec![0; seen_len(count)], |count| {
        stream.index(count).expect("a count above 0")
    });
    Ok(rows)
}

/// Labelled rows whose learned weights start at N / count.
fn labelled(
    x: MatRef<'_, f64>,
    labels: &[f64],
    rows: &[usize],
    prior_scale: f64,
) -> Result<LogisticSurrogate, Error> {
    same_length("labels", x.nrows(), labels.len()).map_err(|error| error.within("LogisticSurrogate"))?;
    let weights = vec![x.nrows() as f64 / rows.len() as f64; rows.len()];
    let labels: Vec<f64> = rows.iter().map(|&n| labels[n]).collect();
    LogisticSurrogate::from_rows(rows_of(x, rows).as_ref(), &labels, &weights, prior_scale)
}

/// Points whose two learned weights start at N / (2 count).
fn both(points: MatRef<'_, f64>, data: usize, prior_scale: f64) -> Result<LogisticSurrogate, Error> {
    let weights = vec![0.5 * data as f64 / points.nrows() as f64; points.nrows()];
    LogisticSurrogate::from_points(points, &weights, &weights, prior_scale)
}

/// Ansaetze of (SL-DAIS, Sec. 4), from features `x` (one row per datum), labels 0 or 1 and the number of points.
///
/// Learned weights start uniform, with the number N of data as their sum. The two of a point start equal, which the paper leaves open
/// (see [`with_class_rate`](Self::with_class_rate)). The eighth ansatz is [`NeuralSurrogate`](super::NeuralSurrogate).
impl LogisticSurrogate {
    /// RAND: random rows, one learned weight each.
    ///
    /// # Errors
    /// If there are more points than data, no point, lengths differ, a number is not finite, a label is neither 0 nor 1, or
    /// `prior_scale` is not positive.
    pub fn rand(
        x: MatRef<'_, f64>,
        labels: &[f64],
        points: usize,
        prior_scale: f64,
        stream: &mut Stream,
    ) -> Result<Self, Error> {
        labelled(x, labels, &random(x, points, stream)?, prior_scale)
    }

    /// RAND+-: covariates of random rows, two learned weights each. Labels are not used.
    ///
    /// # Errors
    /// Those of [`rand`](Self::rand).
    pub fn rand_pm(
        x: MatRef<'_, f64>,
        _: &[f64],
        points: usize,
        prior_scale: f64,
        stream: &mut Stream,
    ) -> Result<Self, Error> {
        both(rows_of(x, &random(x, points, stream)?).as_ref(), x.nrows(), prior_scale)
    }

    /// CS-INIT: rows of a [coreset](Coreset::logistic), one learned weight each. A coreset of `points` draws may have fewer rows.
    ///
    /// # Errors
    /// Those of [`rand`](Self::rand).
    pub fn cs_init(
        x: MatRef<'_, f64>,
        labels: &[f64],
        points: usize,
        prior_scale: f64,
        stream: &mut Stream,
    ) -> Result<Self, Error> {
        labelled(x, labels, &Coreset::logistic(x, labels, points, stream)?.rows, prior_scale)
    }

    /// CS-INIT+-: covariates of the rows of a [coreset](Coreset::logistic), two learned weights each.
    ///
    /// # Errors
    /// Those of [`rand`](Self::rand).
    pub fn cs_init_pm(
        x: MatRef<'_, f64>,
        labels: &[f64],
        points: usize,
        prior_scale: f64,
        stream: &mut Stream,
    ) -> Result<Self, Error> {
        let rows = Coreset::logistic(x, labels, points, stream)?.rows;
        both(rows_of(x, &rows).as_ref(), x.nrows(), prior_scale)
    }

    /// CS-FIX: rows and weights of a [coreset](Coreset::logistic); nothing is learned.
    ///
    /// # Errors
    /// Those of [`rand`](Self::rand).
    pub fn cs_fix(
        x: MatRef<'_, f64>,
        labels: &[f64],
        points: usize,
        prior_scale: f64,
        stream: &mut Stream,
    ) -> Result<Self, Error> {
        let coreset = Coreset::logistic(x, labels, points, stream)?;
        let (rows, labels) =
            (rows_of(x, &coreset.rows), coreset.rows.iter().map(|&n| labels[n]).collect::<Vec<_>>());
        Ok(Self::from_rows(rows.as_ref(), &labels, &coreset.weights, prior_scale)?.with_fixed_weights())
    }

    /// KM-FIX+-: [cluster centres](Clusters::k_means) of the covariates, two learned weights each. Labels are not used.
    ///
    /// # Errors
    /// Those of [`rand`](Self::rand).
    pub fn km_fix_pm(
        x: MatRef<'_, f64>,
        _: &[f64],
        points: usize,
        prior_scale: f64,
        stream: &mut Stream,
    ) -> Result<Self, Error> {
        both(Clusters::k_means(x, points, PASSES, stream)?.centres(), x.nrows(), prior_scale)
    }

    /// KM-INIT+-: [`km_fix_pm`](Self::km_fix_pm) with learned covariates, which start at the centres.
    ///
    /// # Errors
    /// Those of [`rand`](Self::rand).
    pub fn km_init_pm(
        x: MatRef<'_, f64>,
        labels: &[f64],
        points: usize,
        prior_scale: f64,
        stream: &mut Stream,
    ) -> Result<Self, Error> {
        Ok(Self::km_fix_pm(x, labels, points, prior_scale, stream)?.with_learned_points())
    }
}
