//! Dimension check of target and family.

use mcsa_core::Error;

/// Returns an error if target and family have different dimensions.
pub(crate) fn same_dimension(target: usize, family: usize) -> Result<(), Error> {
    if target == family {
        return Ok(());
    }
    Err(Error::invalid(format!("the target has dimension {target}, the family {family}")))
}
