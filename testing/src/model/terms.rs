//! Laws of separable targets: prior and likelihood terms add up to the density, and their derivatives to its derivatives.

use faer::Mat;
use mcsa_core::{Columns, Curvature, Gradient, Minibatch, Part, Separable, Subsampled, numeric};

use super::{
    Case, Failure, gradient_is_gradient, gradient_returns_the_density, hessian_vector_is_derivative,
};
use crate::law::near;

/// `log_density = log_prior + log_likelihood_at(all rows)`, and likelihoods are sums over rows: they add over any split of the
/// rows, an empty list gives zero, a row listed twice counts twice, and the order does not matter. Within 1e-10 of the sizes added.
pub fn terms_add_up(case: &Case<dyn Separable + '_>) -> Result<(), Failure> {
    const LAW: &str = "terms_add_up";
    let (target, data) = (&case.target, case.target.num_data());
    let rows: Vec<usize> = (0..data).collect();
    let mut stream = case.stream("rows");
    case.each_point(4, |j, z| {
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
        Ok(())
    })
}

/// `Ok` if the two vectors agree, within 1e-10 of the size of their entries.
fn alike(
    law: &'static str,
    what: impl Fn() -> String,
    found: &[f64],
    expected: &[f64],
) -> Result<(), Failure> {
    let size = 1.0 + expected.iter().fold(0.0, |top: f64, x| top.max(x.abs()));
    for (i, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        near(law, || format!("{}, coordinate {i}", what()), found, expected, 1e-10 * size)?;
    }
    Ok(())
}

/// Lent memory for as many rows, filled with NaN.
fn rows_work(case: &Case<dyn Subsampled + '_>, rows: usize) -> Vec<f64> {
    vec![f64::NAN; case.target.rows_work_len(rows)]
}

/// Derivatives of the rows, added with a factor to what is there.
type AddAt<'a> = dyn Fn(&[usize], f64, &mut [f64]) -> Result<(), Failure> + 'a;

/// The derivatives that `add` adds for chosen rows are sums over the rows: prior and all rows give `whole`, no rows add nothing, rows
/// listed twice count twice, and those of two halves with different factors add up.
fn sums_over_rows(
    law: &'static str,
    case: &Case<dyn Separable + '_>,
    point: usize,
    prior: &[f64],
    whole: &[f64],
    add: &AddAt<'_>,
) -> Result<(), Failure> {
    let rows: Vec<usize> = (0..case.target.num_data()).collect();
    let mut stream = case.stream("rows of derivatives");
    let alike = |what: &str, found: &[f64], expected: &[f64]| {
        alike(law, || format!("{what}, point {point}"), found, expected)
    };
    let mut all = vec![0.0; prior.len()];
    add(&rows, 1.0, &mut all)?;
    let mut sum = prior.to_vec();
    add(&rows, 1.0, &mut sum)?;
    alike("prior and all rows against the target", &sum, whole)?;
    let mut still = whole.to_vec();
    add(&[], 2.0, &mut still)?;
    alike("no rows", &still, whole)?;
    let (chosen, others): (Vec<usize>, Vec<usize>) = rows.iter().partition(|_| stream.uniform() < 0.3);
    let mut halves = all.clone();
    add(&chosen, -1.0, &mut halves)?;
    let mut rest = vec![0.0; prior.len()];
    add(&others, 1.0, &mut rest)?;
    alike("all rows without the chosen ones against the others", &halves, &rest)?;
    let twice: Vec<usize> = others.iter().rev().chain(&others).copied().collect();
    let mut scaled = vec![0.0; prior.len()];
    add(&twice, -1.75, &mut scaled)?;
    rest.iter_mut().for_each(|rest| *rest *= -3.5);
    alike("rows listed twice, scaled", &scaled, &rest)
}

/// `gradient = prior gradient + gradient of all rows`, within 1e-10 of the sizes added. The gradient of some rows, times its
/// factor, is added to the earlier contents of the slice. It is the sum over the rows, also of gradients that are written row by
/// row.
///
/// The values returned with the gradients are `log_prior` and `log_likelihood_at`, without the factor, within 1e-12 (relative
/// above one).
pub fn row_gradients_add_up<P: Subsampled + Gradient>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "row_gradients_add_up";
    let (target, dim) = (&case.target, case.target.dim());
    case.each_point(4, |j, z| {
        let (mut whole, mut prior) = (vec![f64::NAN; dim], vec![f64::NAN; dim]);
        target.gradient_into(z, &mut whole, &mut case.work(1));
        let value = target.prior_gradient_into(z, &mut prior, &mut rows_work(case, 0));
        let expected = target.log_prior(z, &mut rows_work(case, 0));
        near(LAW, || format!("log prior, point {j}"), value, expected, 1e-12 * (1.0 + expected.abs()))?;
        sums_over_rows(LAW, case, j, &prior, &whole, &|rows, scale, out| {
            let value =
                target.add_gradient_at(Part { rows, scale }, z, out, &mut rows_work(case, rows.len()));
            let expected = target.log_likelihood_at(rows, z, &mut rows_work(case, rows.len()));
            let place = || format!("log likelihood of {} rows, point {j}", rows.len());
            near(LAW, place, value, expected, 1e-12 * (1.0 + expected.abs()))
        })?;
        sums_over_rows(LAW, case, j, &prior, &whole, &|rows, scale, out| {
            let mut gradients = vec![f64::NAN; rows.len() * dim];
            target.gradients_at(rows, z, &mut gradients, &mut rows_work(case, 1));
            gradients.chunks_exact(dim).for_each(|gradient| numeric::axpy(scale, gradient, out));
            Ok(())
        })
    })
}

/// The products with the Hessian of prior and rows, with one factor or one each, add up to those of the target, as gradients do in
/// [`row_gradients_add_up`].
pub fn row_curvatures_add_up<P: Subsampled + Curvature>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "row_curvatures_add_up";
    let (target, dim, points) = (&case.target, case.target.dim(), case.points(5));
    for j in 0..points.ncols() - 1 {
        let (z, v) = (points.as_ref().column(j), points.as_ref().column(j + 1));
        let (mut whole, mut prior) = (vec![f64::NAN; dim], vec![f64::NAN; dim]);
        target.hessian_vector_into(z, v, &mut whole, &mut case.work(1));
        target.prior_hessian_vector_into(z, v, &mut prior, &mut rows_work(case, 0));
        sums_over_rows(LAW, case, j, &prior, &whole, &|rows, scale, out| {
            target.add_hessian_vector_at(Part { rows, scale }, z, v, out, &mut rows_work(case, rows.len()));
            Ok(())
        })?;
        sums_over_rows(LAW, case, j, &prior, &whole, &|rows, scale, out| {
            let weights = vec![scale; rows.len()];
            target.add_weighted_hessian_vector_at(rows, &weights, z, v, out, &mut rows_work(case, 1));
            Ok(())
        })?;
    }
    Ok(())
}

/// The case with the minibatch of these rows in place of the target.
fn minibatch<'a, P: Subsampled + ?Sized>(
    law: &'static str,
    case: &'a Case<P>,
    rows: &'a [usize],
) -> Result<Case<Minibatch<'a, P>>, Failure> {
    let refused = |error: mcsa_core::Error| Failure::new(law, "the minibatch", "accepted", error.to_string());
    Ok(Case {
        centre: case.centre.clone(),
        spread: case.spread.clone(),
        seed: case.seed,
        ..Case::new(Minibatch::new(&case.target, rows).map_err(refused)?)
    })
}

/// The derivatives of a minibatch are those of its value, found by differences as in [`gradient_is_gradient`] and
/// [`hessian_vector_is_derivative`]; its rows are a third of the data, at least one.
pub fn minibatch_derivatives_are_derivatives(case: &Case<dyn Subsampled + '_>) -> Result<(), Failure> {
    const LAW: &str = "minibatch_derivatives_are_derivatives";
    let rows: Vec<usize> = (0..case.target.num_data()).step_by(3).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let case = minibatch(LAW, case, &rows)?;
    gradient_returns_the_density(&case)
        .and_then(|()| gradient_is_gradient(&case))
        .and_then(|()| hessian_vector_is_derivative(&case))
        .map_err(|failure| Failure {
            law: LAW,
            place: format!("{}, {}", failure.law, failure.place),
            ..failure
        })
}

/// A minibatch averaged over all pairs of rows (over all single rows, if there are 2 data or more than 48) is the target: value, gradient
/// and product with the Hessian, within 1e-10 of their sizes.
pub fn minibatches_average_to_the_target<P: Subsampled + Curvature>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "minibatches_average_to_the_target";
    let (target, dim, data) = (&case.target, case.target.dim(), case.target.num_data());
    let pairs = (3..=48).contains(&data);
    let subsets: Vec<Vec<usize>> = match pairs {
        true => (0..data).flat_map(|i| (0..i).map(move |k| vec![i, k])).collect(),
        false => (0..data).map(|i| vec![i]).collect(),
    };
    let points = case.points(2);
    let (z, v) = (points.as_ref().column(0), points.as_ref().column(1));
    // Value, gradient and product; in the last column those of the target.
    let mut sums = Mat::<f64>::zeros(1 + 2 * dim, 2);
    let (mut gradient, mut product) = (vec![f64::NAN; dim], vec![f64::NAN; dim]);
    let mut add = |column: usize, weight: f64, value: f64, gradient: &[f64], product: &[f64]| {
        let terms = std::iter::once(&value).chain(gradient).chain(product);
        sums.col_as_slice_mut(column).iter_mut().zip(terms).for_each(|(sum, term)| *sum += weight * term);
    };
    for rows in &subsets {
        let batch = minibatch(LAW, case, rows)?;
        let value = batch.target.gradient_into(z, &mut gradient, &mut batch.work(1));
        batch.target.hessian_vector_into(z, v, &mut product, &mut batch.work(1));
        add(0, 1.0 / subsets.len() as f64, value, &gradient, &product);
    }
    if subsets.is_empty() {
        return Ok(());
    }
    let value = target.gradient_into(z, &mut gradient, &mut case.work(1));
    target.hessian_vector_into(z, v, &mut product, &mut case.work(1));
    add(1, 1.0, value, &gradient, &product);
    alike(
        LAW,
        || "value, gradient and product with the Hessian".into(),
        sums.col_as_slice(0),
        sums.col_as_slice(1),
    )
}
