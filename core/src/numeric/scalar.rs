//! The elementwise functions of one number, with the bits the slice functions give on this machine.
//!
//! A call costs a dispatch and a whole vector: for one number now and then, not for a loop.

use super::elementwise::single;
use super::{exponential, logarithm, softplus};

macro_rules! scalar {
    ($($name:ident = $map:path),* $(,)?) => {
        $(
            #[doc = concat!("[`", stringify!($name), "`](super::", stringify!($name), "()) of one number.")]
            #[inline]
            pub fn $name(x: f64) -> f64 {
                single($map, x)
            }
        )*
    };
}

scalar! {
    exp = exponential::Exp,
    expm1 = exponential::Expm1,
    ln = logarithm::Ln,
    ln_1p = logarithm::Ln1p,
    ln_expm1 = logarithm::LnExpm1,
    ln_1p_exp = softplus::Softplus,
    log_sigmoid = softplus::LogSigmoid,
    sigmoid = softplus::Sigmoid,
}
