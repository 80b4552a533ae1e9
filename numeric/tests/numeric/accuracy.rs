//! Accuracy tests: every elementary function on every available backend against correctly rounded references.
//!
//! `tests/data/*.csv`: bits of x, bits of the nearest double to f(x), and the remainder in thousandths of an ulp.
//! `tests/data/README.md` contains the program that computed them.

use mcsa_numeric::{Backend, scalar};

struct Reference {
    x: f64,
    y: f64,
    remainder: f64,
}

fn parse(table: &str) -> Vec<Reference> {
    let bits =
        |field: &str| f64::from_bits(u64::from_str_radix(field, 16).expect("sixteen hexadecimal digits"));
    table
        .lines()
        .map(|line| {
            let mut fields = line.split(',');
            let mut next = || fields.next().expect("three fields");
            Reference {
                x: bits(next()),
                y: bits(next()),
                remainder: next().parse::<f64>().expect("an integer") / 1000.0,
            }
        })
        .collect()
}

/// Distance to the exact value in units of the last place of its nearest double.
fn ulps(got: f64, reference: &Reference) -> f64 {
    let want = reference.y;
    // At an underflow or a zero of the function, the sign of the result is not tested.
    let are_zeros = got == 0.0 && want == 0.0 && reference.x != 0.0;
    if are_zeros || got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()) {
        return reference.remainder.abs();
    }
    if got.is_nan() || want.is_nan() || got.is_infinite() || want.is_infinite() || want == 0.0 {
        // A signed zero of the wrong sign, or one side special: not close at all, unless just across the overflow or
        // underflow threshold.
        let steps = (got.to_bits() as i64).abs_diff(want.to_bits() as i64);
        return if steps <= 4 { steps as f64 } else { f64::INFINITY };
    }
    let magnitude = want.abs();
    let ulp = f64::from_bits(magnitude.to_bits() + 1) - magnitude;
    ((got - want) / ulp - reference.remainder).abs()
}

fn worst(table: &[Reference], got: &[f64]) -> (f64, f64) {
    let errors = table.iter().zip(got).map(|(r, &y)| (ulps(y, r), r.x));
    errors.fold((0.0, 0.0), |worst, e| if e.0 > worst.0 { e } else { worst })
}

fn within(table: &[Reference], got: &[f64], bound: f64) -> bool {
    worst(table, got).0 <= bound
}

fn check(name: &str, table: &str, bound: f64, apply: fn(Backend, &mut [f64])) {
    let table = parse(table);
    let mut report = String::new();
    let mut holds = true;
    for backend in Backend::ALL.into_iter().filter(|b| b.is_available()) {
        let mut y: Vec<f64> = table.iter().map(|r| r.x).collect();
        apply(backend, &mut y);
        let (error, x) = worst(&table, &y);
        holds &= error <= bound;
        report += &format!("{name} on {backend:?}: {error:.3} ulp at {x:e}\n");
        // Negative control: the values moved by three bounds must fail the test.
        let shift = 3 + bound as u64;
        let wrong: Vec<f64> = y.iter().map(|v| f64::from_bits(v.to_bits().wrapping_add(shift))).collect();
        assert!(!within(&table, &wrong, bound), "{name} on {backend:?}: a shift of {shift} ulp passes");
    }
    assert!(holds, "beyond {bound} ulp:\n{report}");
}

macro_rules! accuracy {
    ($($name:ident = $apply:expr, $bound:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let table = include_str!(concat!("../data/", stringify!($name), ".csv"));
                check(stringify!($name), table, $bound, $apply);
            }
        )*
    };
}

accuracy! {
    exp = Backend::exp, 1.25;
    ln = Backend::ln, 1.0;
    ln_1p = Backend::ln_1p, 1.0;
    ln_1p_exp = Backend::ln_1p_exp, 2.0;
    sigmoid = Backend::sigmoid, 2.0;
    ln_gamma = |_, x| x.iter_mut().for_each(|x| *x = scalar::ln_gamma(*x)), 5.0;
    digamma = |_, x| x.iter_mut().for_each(|x| *x = scalar::digamma(*x)), 4.0;
    tanh = Backend::tanh, 3.0;
    erfc = Backend::erfc, 4.0;
    log_ndtr = Backend::log_ndtr, 4.0;
    ndtr_hazard = Backend::ndtr_hazard, 4.0;
    ln_expm1 = Backend::ln_expm1, 3.5;
}
