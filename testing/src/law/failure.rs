//! Violations of laws, comparisons of numbers that return them, and laws of memory.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use faer::MatRef;

use mcsa_core::Columns;

/// Violation of a law: the law, the place, the value demanded and the value found.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The name of the law, equal to the name of the function that tests it.
    pub law: &'static str,
    /// The place of the violation: the param, the column, the point.
    pub place: String,
    /// The value that the law demands.
    pub expected: String,
    /// The value found.
    pub found: String,
}

impl Failure {
    /// A failure from its four parts.
    pub fn new(
        law: &'static str,
        place: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self { law, place: place.into(), expected: expected.into(), found: found.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { law, place, expected, found } = self;
        write!(f, "{law}: {place}: found {found}, expected {expected}")
    }
}

impl std::error::Error for Failure {}

/// `Ok` if `found` and `expected` differ by at most `tolerance`. A NaN in either is a failure.
pub fn near(
    law: &'static str,
    place: impl FnOnce() -> String,
    found: f64,
    expected: f64,
    tolerance: f64,
) -> Result<(), Failure> {
    if (found - expected).abs() <= tolerance {
        return Ok(());
    }
    Err(Failure::new(law, place(), format!("{expected:e} +- {tolerance:.1e}"), format!("{found:e}")))
}

/// `Ok` if the two slices are bit-identical and hold no NaN; `place` names the place of an index.
///
/// NaN is a failure even where both slices have it, because two calls may both return the NaN of memory that neither has written.
pub fn same_bits(
    law: &'static str,
    place: impl Fn(usize) -> String,
    found: &[f64],
    expected: &[f64],
) -> Result<(), Failure> {
    if found.len() != expected.len() {
        let (found, expected) = (format!("{} numbers", found.len()), format!("{}", expected.len()));
        return Err(Failure::new(law, "the length", expected, found));
    }
    match found.iter().zip(expected).position(|(a, b)| a.is_nan() || a.to_bits() != b.to_bits()) {
        None => Ok(()),
        Some(k) => Err(Failure::new(law, place(k), format!("{:e}", expected[k]), format!("{:e}", found[k]))),
    }
}

/// `Ok` if the columns of two batches are bit-identical and hold no NaN; `place` names the batches.
pub fn same_columns(
    law: &'static str,
    place: &str,
    found: MatRef<'_, f64>,
    expected: MatRef<'_, f64>,
) -> Result<(), Failure> {
    let columns = expected.ncols();
    (0..columns).try_for_each(|j| {
        let place = |i| format!("{place}, coordinate {i}, column {j} of {columns}");
        same_bits(law, place, found.column(j), expected.column(j))
    })
}

/// Counter of allocations: a function that runs a closure and returns its number of allocations.
///
/// Only a binary can install an allocator, so the caller provides the meter; the crate `allocation-counter` has one:
/// `|call| allocation_counter::measure(call).count_total`.
pub type Meter<'a> = &'a mut dyn FnMut(&mut dyn FnMut()) -> u64;

/// Result of `code`, with a panic turned into an error.
pub fn caught<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").into()
    })
}

/// Function that examines one call. Its arguments are the name of the called method, and a closure that makes the call on lent
/// memory.
pub type Run<'r> = &'r mut dyn FnMut(&'static str, &mut dyn FnMut(&mut [f64])) -> Result<(), Failure>;

/// Numbers of columns or rows of calls that are lent exactly the memory that is claimed; allocations are counted with the last.
pub(crate) const SIZES: [usize; 5] = [0, 1, 2, 5, 13];

/// `Ok` if the calls that `calls` makes run without panic on lent memory of the `claimed` length, for each number of columns or rows in
/// `sizes`. A failure holds a longer length that is enough, or the panic's message if none up to 64 times the claim plus 4096 is.
pub fn claims_are_enough(
    law: &'static str,
    sizes: &[usize],
    claimed: impl Fn(usize) -> usize,
    mut calls: impl FnMut(usize, Run<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    sizes.iter().try_for_each(|&size| {
        let claimed = claimed(size);
        calls(size, &mut |verb, call| {
            let mut run = |length: usize| caught(|| call(&mut vec![f64::NAN; length]));
            let Err(said) = run(claimed) else { return Ok(()) };
            let mut enough = (1..=12).map(|k| claimed * (1 << k.min(6)) + (1 << k));
            let found = match enough.find(|&length| run(length).is_ok()) {
                Some(length) => format!("more: {length} are enough"),
                None => format!("a panic with any: {said}"),
            };
            let expected = format!("at most the {claimed} numbers that work_len claims");
            Err(Failure::new(law, format!("{verb}, {size} at once"), expected, found))
        })
    })
}

/// `Ok` if the calls that `calls` makes allocate nothing on this lent memory. Each is made once before it is counted.
pub fn calls_are_silent(
    law: &'static str,
    meter: Meter<'_>,
    work: &mut [f64],
    calls: impl FnOnce(Run<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    calls(&mut |verb, call| {
        call(work);
        match meter(&mut || call(work)) {
            0 => Ok(()),
            count => Err(Failure::new(law, verb, "no allocation", format!("{count}"))),
        }
    })
}

/// Two laws per trait: `Trait, methods, subject.claim, sizes, calls => law of lent memory, law of allocations`.
macro_rules! laws_of_memory {
    ($($bound:ident, $methods:literal, $subject:ident.$claim:ident, $sizes:expr, $calls:ident
        => $enough:ident, $silent:ident;)*) => { $(
        #[doc = concat!($methods, " need at most the lent memory that `", stringify!($claim), "` claims, for 0 to 13 columns or rows.")]
        pub fn $enough(case: &Case<dyn $bound + '_>) -> Result<(), Failure> {
            let (law, claimed) = (stringify!($enough), |size| case.$subject.$claim(size));
            $crate::law::claims_are_enough(law, $sizes, claimed, |size, run| $calls(case, size, run))
        }

        #[doc = concat!($methods, " allocate nothing, given lent memory.")]
        pub fn $silent(case: &Case<dyn $bound + '_>, meter: $crate::law::Meter<'_>) -> Result<(), Failure> {
            let (law, size) = (stringify!($silent), $crate::law::SIZES[4]);
            let mut work = vec![f64::NAN; case.$subject.$claim(size)];
            $crate::law::calls_are_silent(law, meter, &mut work, |run| $calls(case, size, run))
        }
    )* };
}
pub(crate) use laws_of_memory;

#[cfg(test)]
mod tests {
    use super::*;
    use faer::mat;

    #[test]
    fn what_is_near_or_the_same_passes_and_nothing_else() {
        let near = |found, expected| near("law", || "here".into(), found, expected, 0.125);
        assert!(near(1.0, 1.1).is_ok() && near(1.0, 1.2).is_err() && near(f64::NAN, f64::NAN).is_err());
        let same = |found: &[f64], expected: &[f64]| same_bits("law", |k| format!("[{k}]"), found, expected);
        assert!(same(&[0.5, -0.0], &[0.5, -0.0]).is_ok());
        assert!(same(&[f64::NAN], &[f64::NAN]).is_err() && same(&[0.5], &[0.5, 1.0]).is_err());
        let broken = same(&[0.5, 0.0], &[0.5, -0.0]).unwrap_err();
        assert_eq!(broken.to_string(), "law: [1]: found 0e0, expected -0e0");
        let (a, b) = (mat![[1.0, 2.0]], mat![[1.0, 3.0]]);
        assert!(same_columns("law", "f", a.as_ref(), a.as_ref()).is_ok());
        let broken = same_columns("law", "f", a.as_ref(), b.as_ref()).unwrap_err();
        assert_eq!(broken.place, "f, coordinate 0, column 1 of 2");
    }

    #[test]
    fn too_short_a_claim_is_caught() {
        let mut call = |work: &mut [f64]| work[4] = 1.0;
        let mut claims = |claimed| claims_are_enough("law", &[1], |_| claimed, |_, run| run("f", &mut call));
        assert!(claims(5).is_ok());
        let short = claims(4).unwrap_err().to_string();
        let said = "law: f, 1 at once: found more: 10 are enough, \
                    expected at most the 4 numbers that work_len claims";
        assert_eq!(short, said);
    }

    /// The first call may allocate; what a later one allocates is counted.
    #[test]
    fn a_warm_call_that_allocates_is_caught() {
        let counts = |count: u64| {
            let mut meter = |call: &mut dyn FnMut()| {
                call();
                count
            };
            calls_are_silent("law", &mut meter, &mut [], |run| run("f", &mut |_| ()))
        };
        assert!(counts(0).is_ok());
        assert_eq!(counts(3).unwrap_err().to_string(), "law: f: found 3, expected no allocation");
    }
}
