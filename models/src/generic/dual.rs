//! Forward accumulation of gradients of few variables (Griewank and Walther 2008, chapter 3): dual numbers.

use std::cell::Cell;
use std::iter::Sum;

use super::real::{Real, arithmetic};

/// Largest number of variables of a dual number. With more variables the tape costs less; with fewer it costs up to 1.7 times as much.
pub(super) const MOST: usize = 8;

/// Dual number: a value, and its derivatives in up to eight variables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dual {
    value: f64,
    tangent: [f64; MOST],
}

thread_local! {
    /// Memory of arguments.
    static ARGUMENTS: Cell<Vec<Dual>> = const { Cell::new(Vec::new()) };
}

/// Writes the gradient at `z`, of at most eight numbers, of a function of `z` and of memory for `len` more; returns its value.
pub(super) fn gradient_into(
    z: &[f64],
    len: usize,
    gradient: &mut [f64],
    f: impl Fn(&[Dual], &mut [Dual]) -> Dual,
) -> f64 {
    let mut arguments = ARGUMENTS.take();
    arguments.clear();
    arguments.extend(z.iter().map(|&value| Dual::from(value)));
    arguments.iter_mut().enumerate().for_each(|(i, z)| z.tangent[i] = 1.0);
    arguments.resize(z.len() + len, 0.0.into());
    let (inputs, rest) = arguments.split_at_mut(z.len());
    let result = f(inputs, rest);
    gradient.copy_from_slice(&result.tangent[..z.len()]);
    ARGUMENTS.set(arguments);
    result.value
}

impl From<f64> for Dual {
    #[inline]
    fn from(value: f64) -> Self {
        Self { value, tangent: [0.0; MOST] }
    }
}

impl Real for Dual {
    #[inline]
    fn value(self) -> f64 {
        self.value
    }

    #[inline(always)]
    fn function(value: f64, partials: impl IntoIterator<Item = (Self, f64)>) -> Self {
        let mut result = Self::from(value);
        for (x, partial) in partials {
            result.tangent.iter_mut().zip(x.tangent).for_each(|(sum, t)| *sum += partial * t);
        }
        result
    }
}

arithmetic!([] Dual);

impl Sum for Dual {
    #[inline]
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(0.0.into(), |sum, term| sum + term)
    }
}
