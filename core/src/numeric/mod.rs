//! Elementary functions over slices, vectorised at run time.

mod backend;
mod elementwise;
mod exponential;
mod lanes;
mod logarithm;
mod reduce;
pub mod scalar;
mod softplus;

pub use backend::Backend;
pub use exponential::{exp, exp_into, expm1, expm1_into};
pub use logarithm::{ln, ln_1p, ln_1p_into, ln_expm1, ln_expm1_into, ln_into};
pub use reduce::{axpy, dot, sum, sum_squares_scaled};
pub use softplus::{
    ln_1p_exp, ln_1p_exp_into, log_sigmoid, log_sigmoid_into, sigmoid, sigmoid_into,
};
