//! Hostile densities: whatever a closure returns, the call ends with a result or an error, without a panic.

use std::f64::consts::PI;

use mcsa::Options;
use mcsa::prelude::*;
use proptest::prelude::*;

/// Pieces of a density: cells of the line of the first coordinate, each with its own form.
fn value(pieces: &[(u8, f64)], z: &[f64]) -> f64 {
    let cell = (z[0].abs() * 0.7 + z[z.len() - 1].max(0.0)).min(1e6) as usize % pieces.len();
    let square: f64 = z.iter().map(|z| z * z).sum();
    let (form, scale) = pieces[cell];
    match form {
        0 => -0.5 * square * scale,
        1 => f64::NAN,
        2 => f64::NEG_INFINITY,
        3 => f64::INFINITY,
        4 => 0.0,
        5 => -1e300 * square,
        6 => scale * (3.0 * PI * z[0]).sin() - 0.1 * square,
        7 => -scale * square.sqrt(),
        8 => 0.5 * square,
        _ => -(1.0 + square).ln() * scale,
    }
}

/// A Gaussian whose parameters have these names.
struct Called([&'static str; 2]);

impl LogDensity for Called {
    fn dim(&self) -> usize {
        2
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        -0.5 * z.iter().map(|z| z * z).sum::<f64>()
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        self.0.iter().zip(z).for_each(|(name, value)| out.push(name, *value));
    }
}

#[test]
fn two_parameters_of_one_name_are_an_error() {
    let options = Options { draws: 100, starts: 4, evaluations: Some(3_000), ..Options::seeded(1) };
    let error = mcsa::fit_density(&Called(["a", "a"]), &options).unwrap_err().to_string();
    assert!(error.contains("two parameters have the name \"a\""), "{error}");
    let fitted = mcsa::fit_density(&Called(["a", "b"]), &options).unwrap();
    assert_eq!(fitted.parameters.iter().map(|of| of.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 20, ..ProptestConfig::default() })]

    /// The gradient is arbitrary: differences, noise, NaN or zero.
    #[test]
    fn no_density_makes_a_fit_panic(
        pieces in prop::collection::vec((0_u8..10, 0.1..3.0_f64), 1..4),
        dim in 1..4_usize,
        slope in 0_u8..4,
        seed in 0..100_u64,
    ) {
        let density = |z: &[f64]| value(&pieces, z);
        let target = from_fn(dim, density).with_gradient(|z, gradient| {
            for (i, gradient) in gradient.iter_mut().enumerate() {
                *gradient = match slope {
                    0 => {
                        let mut near = z.to_vec();
                        near[i] += 1e-6;
                        (value(&pieces, &near) - value(&pieces, z)) / 1e-6
                    }
                    1 => -z[i],
                    2 => f64::NAN,
                    _ => 0.0,
                };
            }
        });
        let options = Options { draws: 100, starts: 4, evaluations: Some(3_000), ..Options::seeded(seed) };
        for fitted in [mcsa::fit(&target, &options), mcsa::fit_density(&target, &options)] {
            match fitted {
                Ok(fitted) => {
                    prop_assert!(!fitted.to_string().is_empty());
                    // A metric, or an error with the reason.
                    prop_assert!(fitted.sampler_start().map_or_else(|error| !error.to_string().is_empty(), |h| h.map().is_ok()));
                }
                Err(error) => prop_assert!(error.to_string().starts_with("fit: "), "{error}"),
            }
        }
    }
}
