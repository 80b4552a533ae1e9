//! Laws of memory: lent memory of the claimed length is enough, and a warm call allocates nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Failure;

/// Counter of allocations: a function that runs a closure and returns its number of allocations.
///
/// Only a binary can install an allocator, so the caller provides the meter; the crate `allocation-counter` has one:
/// `|call| allocation_counter::measure(call).count_total`.
pub type Meter<'a> = &'a mut dyn FnMut(&mut dyn FnMut()) -> u64;

/// `Ok` if the second call of `call` allocates nothing; `verb` is the name of the method.
///
/// # Errors
/// If it allocates; the failure holds the number of allocations.
pub fn allocates_nothing(
    law: &'static str,
    verb: &'static str,
    meter: Meter<'_>,
    call: &mut dyn FnMut(),
) -> Result<(), Failure> {
    call();
    match meter(call) {
        0 => Ok(()),
        count => Err(Failure::new(law, verb, "no allocation", format!("{count}"))),
    }
}

/// Result of `code`, with a panic turned into an error.
///
/// # Errors
/// If `code` panics; the error is the panic's message.
pub fn caught<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").into()
    })
}

/// `Ok` if `code` runs without panic on lent memory of the `claimed` length; `verb` names the call.
///
/// # Errors
/// If it panics. The failure names the claimed length and a longer one that is enough; or it holds the panic's message, if no
/// length up to 64 times the claim plus 4096 is enough.
pub fn memory_is_enough(
    law: &'static str,
    verb: impl Into<String>,
    claimed: usize,
    mut code: impl FnMut(&mut [f64]),
) -> Result<(), Failure> {
    let mut run = |length: usize| caught(|| code(&mut vec![f64::NAN; length]));
    let Err(said) = run(claimed) else { return Ok(()) };
    let mut enough = (1..=12).map(|k| claimed * (1 << k.min(6)) + (1 << k));
    let found = match enough.find(|&length| run(length).is_ok()) {
        Some(length) => format!("more: {length} are enough"),
        None => format!("a panic with any: {said}"),
    };
    Err(Failure::new(law, verb, format!("at most the {claimed} numbers that work_len claims"), found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_short_a_claim_is_caught() {
        let claims = |claimed| memory_is_enough("law", "here", claimed, |work| work[4] = 1.0);
        assert!(claims(5).is_ok());
        let short = claims(4).unwrap_err().to_string();
        let said =
            "law: here: found more: 10 are enough, expected at most the 4 numbers that work_len claims";
        assert_eq!(short, said);
    }

    /// The first call may allocate; what a later one allocates is counted.
    #[test]
    fn a_warm_call_that_allocates_is_caught() {
        let counts = |count: u64| {
            allocates_nothing(
                "law",
                "f",
                &mut |call| {
                    call();
                    count
                },
                &mut || (),
            )
        };
        assert!(counts(0).is_ok());
        assert_eq!(counts(3).unwrap_err().to_string(), "law: f: found 3, expected no allocation");
    }
}
