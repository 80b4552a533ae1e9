//! Elementary functions of one number, bit-identical to the slice functions on this machine.
//!
//! A call costs a dispatch and the computation of a whole vector register. Use the slice functions in loops.

use super::backend::Backend;
use super::elementwise::single;
use super::{error_function, exponential, hyperbolic, logarithm, normal, softplus};

pub use super::gamma::scalar::{digamma, ln_gamma};

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
    expm1 = exponential::Expm1,
    ln = logarithm::Ln,
    ln_1p = logarithm::Ln1p,
    ln_expm1 = logarithm::LnExpm1,
    ln_1p_exp = softplus::Softplus,
    log_sigmoid = softplus::LogSigmoid,
    sigmoid = softplus::Sigmoid,
    tanh = hyperbolic::Tanh,
    erf = error_function::Erf,
    erfc = error_function::Erfc,
    erfcx = error_function::Erfcx,
    log_ndtr = normal::LogNdtr,
    ndtr_hazard = normal::NdtrHazard,
}
