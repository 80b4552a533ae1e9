//! Law of named parameters, which appear in output for people.

use mcsa_core::{Columns, LogDensity, Named};

use super::{Case, Failure};
use crate::law::same_bits;

/// `constrain` appends to the list, gives every parameter a distinct name and a finite value, and repeats the values bit by bit.
///
/// # Errors
/// If a name is not distinct or a value not finite or not repeated; the failure gives the name.
pub fn names_are_distinct<P: LogDensity>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "names_are_distinct";
    let points = case.points(1);
    let z = points.as_ref().column(0);
    let mut named = Named::default();
    named.push("before", 1.0);
    case.target.constrain(z, &mut named);
    if named.iter().next() != Some(("before", 1.0)) {
        return Err(Failure::new(LAW, "the list handed in", "appended to", "overwritten"));
    }
    let distinct = named.check_distinct();
    distinct.map_err(|error| Failure::new(LAW, "the names", "distinct", error.to_string()))?;
    for (name, value) in named.iter() {
        if !value.is_finite() {
            return Err(Failure::new(LAW, name, "a finite number", format!("{value}")));
        }
    }
    let mut again = Named::default();
    case.target.constrain(z, &mut again);
    let place =
        |k: usize| again.names().get(k).map_or_else(String::new, |name| format!("{name}, asked again"));
    same_bits(LAW, place, again.row(), &named.row()[1..])
}
