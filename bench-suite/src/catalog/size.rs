//! Limits on the sizes of synthetic targets.

use mcsa_core::{Error, fits_in_memory, square_fits_in_memory};

use super::Target;

impl Target {
    /// Refuses a size whose matrices do not fit in memory; the message names the largest that do.
    pub(super) fn check_size(&self) -> Result<(), Error> {
        match *self {
            // Dense covariances.
            Self::StandardGaussian { dim }
            | Self::CorrelatedGaussian { dim, .. }
            | Self::DiagonalGaussian { dim }
            | Self::WishartGaussian { dim, .. } => square_fits_in_memory("dim", dim),
            Self::Funnel { dim, .. } | Self::Modes { dim, .. } => fits_in_memory("dim", dim, 2),
            Self::SyntheticLogistic { rows, held_out, dim, .. } => {
                fits_in_memory("rows", rows.saturating_add(held_out), dim)
            }
            Self::SubsetLogistic { rows, held_out, .. } => {
                fits_in_memory("rows", rows.saturating_add(held_out), WIDEST)
            }
            Self::Moons { per_moon, .. } => fits_in_memory("per_moon", per_moon, 8),
            _ => Ok(()),
        }
    }
}

/// Number of inputs of the widest large data set.
const WIDEST: usize = 54;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_beyond_memory_are_refused_with_the_largest() {
        let refused = |target: Target| target.check_size().unwrap_err().to_string();
        let gaussian = |dim| Target::StandardGaussian { dim };
        assert!(gaussian(11_585).check_size().is_ok());
        assert!(refused(gaussian(11_586)).contains("expected at most 11585"));
        assert!(refused(Target::WishartGaussian { dim: usize::MAX, freedom: 9.0 }).contains("at most 11585"));
        assert!(refused(Target::Funnel { dim: usize::MAX, scale: 1.0 }).contains("at most 67108864"));
        assert!(refused(Target::Moons { per_moon: usize::MAX, noise: 1.0 }).starts_with("per_moon is"));
    }
}
