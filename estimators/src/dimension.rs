//! Target and family in one space.

use mcsa::Error;

/// Refuses a family of another dimension than the target's.
pub(crate) fn same_dimension(target: usize, family: usize) -> Result<(), Error> {
    if target == family {
        return Ok(());
    }
    Err(Error::invalid(format!("the target has dimension {target}, the family {family}")))
}
