//! Noise of reparameterised draws.

use faer::MatMut;
use mcsa_core::{Error, batch_mut, fits_in_memory};

/// Returns an error if the number of draws is 0, odd for mirrored pairs, or too large for memory.
pub(crate) fn check_draws(samples: usize, dim: usize, mirrored: bool) -> Result<(), Error> {
    if samples == 0 {
        return Err(Error::parameter("samples", 0.0, "at least 1"));
    }
    if mirrored && !samples.is_multiple_of(2) {
        return Err(Error::parameter("samples", samples as f64, "even, for mirrored pairs"));
    }
    fits_in_memory("samples", samples, dim)
}

/// Fills `noise`, a column of `rows` numbers per draw, with `draw`; if mirrored, the second half is the negative of the first.
pub(crate) fn fill(noise: &mut [f64], rows: usize, mirrored: bool, draw: impl FnOnce(MatMut<'_, f64>)) {
    let half = if mirrored { noise.len() / 2 } else { noise.len() };
    let (drawn, images) = noise.split_at_mut(half);
    draw(batch_mut(drawn, rows, half.checked_div(rows).unwrap_or(0)));
    images.iter_mut().zip(drawn).for_each(|(image, eps)| *image = -*eps);
}
