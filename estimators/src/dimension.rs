//! Target and family in one space.

use mcsa::{Error, Family, LogDensity};

/// Refuses a family of another dimension than the target's.
pub(crate) fn same_dimension<P, F>(target: &P, family: &F) -> Result<(), Error>
where
    P: LogDensity + ?Sized,
    F: Family + ?Sized,
{
    let (target, family) = (target.dim(), family.dim());
    if target == family {
        return Ok(());
    }
    Err(Error::invalid(format!("the target has dimension {target}, the family {family}")))
}
