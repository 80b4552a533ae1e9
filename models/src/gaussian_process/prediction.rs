use faer::MatRef;
use mcsa_core::{Columns, Error};

use super::{Field, Scales};

/// Moments of [`Field::predict`], with an error if the covariance has no Cholesky factor.
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

/// Moments of the field at the rows of `x` given each draw, a column of `draws`, whose field values count as known. The closures
/// `scales` and `values` extract the parts of a draw.
pub(super) fn predict_each<'a>(
    field: &Field,
    scales: impl Fn(&'a [f64]) -> Scales<'a>,
    values: impl Fn(&'a [f64]) -> &'a [f64],
    draws: MatRef<'a, f64>,
    x: MatRef<'_, f64>,
) -> Result<Vec<Vec<(f64, f64)>>, Error> {
    assert!(draws.ncols() > 0, "an average needs a draw");
    let known = vec![0.0; field.inputs()];
    let each = |s| predict(field, scales(draws.column(s)), values(draws.column(s)), &known, x);
    (0..draws.ncols()).map(each).collect()
}
