//! Parametric distributions: dimension, parameters lambda, lent memory and configuration, shared by every kind of family.

use crate::{Error, all_finite, same_length};

/// Distribution with parameters lambda, one flat slice `params` of unconstrained numbers: the part that [`Family`](crate::Family),
/// [`Pushforward`](crate::Pushforward) and [`BlockFamily`](crate::BlockFamily) share.
///
/// A type that is both a family and a pushforward has one dimension, one lambda and one length of work, which is enough for the
/// methods of either trait.
///
/// Every slice `params` must have passed [`check`](Parametric::check) before any method of these traits is called with it;
/// [`FamilyProposal`](crate::FamilyProposal) and the loop of a fit make sure of that.
pub trait Parametric: Send + Sync {
    /// The dimension of a point; of a block family, the dimension of the latent point of one datum.
    fn dim(&self) -> usize;

    /// The length of lambda. The documentation of each family describes the order of its entries.
    fn num_params(&self) -> usize;

    /// Length of the slice `work` that any method needs for a batch of `columns` columns.
    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// Checks that `params` has the right length, is finite, and lies where the distribution is defined.
    ///
    /// # Errors
    /// If it does not; the error names the length, or the entry and its value.
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)
    }

    /// Text of the configuration. A checkpoint stores this text, and a fit is resumed only if the texts agree.
    ///
    /// Implement it as `format!("{self:?}")` or as a shorter text with the same content. The default is the name of the type alone,
    /// without the values of its fields.
    fn config(&self) -> String {
        crate::type_name::<Self>()
    }
}
