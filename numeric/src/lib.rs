//! Vectorised elementary functions and reductions over slices, the arithmetic of log densities and scores.
//!
//! Most of the time of a logistic or probit likelihood goes into `exp`, logarithms and sums. Each function is one generic
//! implementation, compiled for AVX-512, for AVX2 with FMA and for baseline instructions, and chosen at run time ([`Backend`]); all
//! `unsafe` code is inside `pulp`. In this module a lane is an element of a vector register, not a random stream.
//!
//! Each function has three forms: `f(&mut x)` in place, `f_into(&x, &mut out)`, and [`scalar`]`::f(x)` of one number. The two
//! gamma functions have the last form alone. On one backend the three forms give bit-identical results for equal arguments.
//! Neighbours of a number do not matter, nor do length and alignment of the slice: the last, incomplete register runs through the
//! same code, masked. Reductions add in a fixed order (see [`sum()`]). Nothing allocates. Lengths or shapes that differ and
//! indices out of range panic.
//!
//! # Accuracy
//!
//! Errors in units in the last place of the correctly rounded value: the bound that the tests assert, and the largest error found
//! at 7 times some 800 points per function (mpmath, 60 digits; `tests/data`) over all backends.
//!
//! | function | bound | largest error found | remark |
//! |---|---|---|---|
//! | [`exp()`] | 1.25 | 1.01 | subnormal results included |
//! | [`ln()`] | 1 | 0.79 | subnormal arguments included |
//! | [`ln_1p()`] | 1 | 0.74 | |
//! | [`ln_expm1()`] | 3.5 | 2.81 | near `ln 2`, where it is 0: 2e-16 absolute |
//! | [`ln_1p_exp()`], [`log_sigmoid()`] | 2 | 1.35 | subnormal results included |
//! | [`sigmoid()`] | 2 | 1.67 | |
//! | [`tanh()`] | 3 | 2.20 | |
//! | [`erfc()`] | 4 | 3.55 | worst just below 1, near `x = 0` |
//! | [`log_ndtr()`] | 4 | 3.30 | to `z = -1e154`, and to the last subnormal on the right |
//! | [`ndtr_hazard()`] | 4 | 3.10 | |
//! | [`ln_gamma`](scalar::ln_gamma) | 5 | 3.72 | relative near the zeros 1 and 2 too |
//! | [`digamma`](scalar::digamma) | 4 | 2.53 | relative near its zero too |
//!
//! # Reproducibility
//!
//! A backend gives bit-identical results on every machine that has it. Results of different backends differ in the last places,
//! because the portable code rounds `a * b + c` twice; [`sum()`] and the two gamma functions are bit-identical on all
//! backends.
//!
//! # Deliberately absent
//!
//! Single precision; trigonometry and powers, which no density here needs; arguments below 0 for the gamma
//! functions; the vector units of other processors, which get the portable code.
//!
//! Coefficients are Chebyshev fits in 50 to 60 digits; the comment on each table of coefficients states its error. The vector code
//! has no lookup tables and no branches.

mod columns;
pub mod design;
mod elementwise;
mod error_function;
mod exponential;
mod gamma;
mod lanes;
pub mod linear;
mod log_products;
mod logarithm;
mod normal;
pub mod quadrature;
mod reduce;

pub use columns::{Columns, ColumnsMut, batch, batch_mut, borrow, one};
pub use error_function::*;
pub use exponential::*;
pub use lanes::{Backend, vectorised};
pub use log_products::*;
pub use logarithm::*;
pub use normal::*;
pub use reduce::*;

pub mod scalar {
    //! Elementary functions of one number, bit-identical to the slice functions on this machine.
    //!
    //! A call costs a dispatch and the computation of a whole vector register. Use the slice functions in loops.

    use super::elementwise::single;
    use super::lanes::Backend;
    use super::{error_function, exponential, logarithm, normal};

    pub use super::gamma::{digamma, ln_gamma};

    macro_rules! scalar {
        ($($name:ident = $map:path),* $(,)?) => {
            $(
                #[doc = concat!("[`", stringify!($name), "`](super::", stringify!($name), "()) of one number.")]
                #[inline]
                pub fn $name(x: f64) -> f64 {
                    single(Backend::best(), $map, x)
                }
            )*
        };
    }

    scalar! {
        exp = exponential::Exp,
        ln = logarithm::Ln,
        ln_1p = logarithm::Ln1p,
        ln_expm1 = logarithm::LnExpm1,
        ln_1p_exp = logarithm::Softplus,
        log_sigmoid = logarithm::LogSigmoid,
        sigmoid = logarithm::Sigmoid,
        tanh = exponential::Tanh,
        erfc = error_function::Erfc,
        log_ndtr = normal::LogNdtr,
        ndtr_hazard = normal::NdtrHazard,
    }
}
