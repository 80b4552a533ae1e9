//! Elementary functions over slices, vectorised at run time.

mod backend;
mod elementwise;
mod error_function;
mod exponential;
mod gamma;
mod lanes;
mod log_sum_exp;
mod logarithm;
mod logistic_sum;
mod normal;
mod pair;
mod reduce;
pub mod scalar;
mod scaled_erfc;
mod softplus;

pub use backend::Backend;
pub use error_function::{erf, erf_into, erfc, erfc_into, erfcx, erfcx_into};
pub use exponential::{exp, exp_into, expm1, expm1_into};
pub use gamma::{digamma, ln_gamma};
pub use log_sum_exp::log_sum_exp;
pub use logarithm::{ln, ln_1p, ln_1p_into, ln_expm1, ln_expm1_into, ln_into};
pub use logistic_sum::sum_log_sigmoid;
pub use normal::{log_ndtr, log_ndtr_into, ndtr_hazard, ndtr_hazard_into};
pub use reduce::{axpy, dot, sum, sum_squares_scaled};
pub use softplus::{ln_1p_exp, ln_1p_exp_into, log_sigmoid, log_sigmoid_into, sigmoid, sigmoid_into};
