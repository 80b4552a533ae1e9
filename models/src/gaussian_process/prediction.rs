use faer::MatRef;
use mcsa::Error;

use super::{Field, Scales};

/// As [`Field::predict`], with a word on what failed.
pub(super) fn predict(
    field: &Field,
    scales: Scales<'_>,
    mean: &[f64],
    variance: &[f64],
    x: MatRef<'_, f64>,
) -> Result<Vec<(f64, f64)>, Error> {
    let mut moments = vec![(0.0, 0.0); x.nrows()];
    match field.predict(scales, mean, variance, x, &mut moments) {
        Some(()) => Ok(moments),
        None => Err(Error::invalid(
            "the covariance at these scales has no Cholesky factor; predict at a point where the density is finite",
        )),
    }
}
