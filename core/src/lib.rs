//! The vocabulary of Markov chain score ascent.
//!
//! Minimising the inclusive divergence `KL(p || q_lambda)` means climbing the score: the gradient of
//! the objective is `E_p[d/dlambda log q_lambda(z)]`, and a Markov chain that leaves `p` invariant
//! supplies the expectation. This crate holds the words of that sentence and no algorithm:
//!
//! * what is fitted: [`LogDensity`], [`Gradient`], [`Curvature`], [`Separable`], [`Blocks`], [`ExactDraws`], [`Named`];
//! * what is learned of a model beside: [`Learnable`], [`LearnableDensity`], [`LearnableBlocks`], [`Given`];
//! * what fits it: [`Family`], [`Reparameterised`], per datum [`BlockFamily`], and [`Pushforward`], known by its draws alone;
//! * what moves points: [`Kernel`], its [`Cloud`], and the [`Guide`] or [`BlockGuide`] it may propose from;
//! * what is known step by step: [`StateSpace`], [`GaussianDynamics`], [`LearnableStateSpace`], and beside them [`PathGuide`],
//!   [`ChainFamily`], [`PathFamily`];
//! * what averages scores and moves lambda: [`Estimator`], [`Optimizer`];
//! * where chance comes from: [`Seed`], [`Stream`], and the [`Script`] that enumerates it;
//! * what is told: [`Record`] and its [`Metric`]s, [`Counted`], [`Error`], and of what must hold, [`law`];
//! * how values are kept and computed: [`bits`], [`numeric`], [`Ensemble`].
//!
//! # Conventions
//!
//! * A batch is a `d x N` column-major matrix; a column is a point, or a chain.
//! * Papers descend `g = -E_p[score]`; every direction here ascends.
//! * `-inf` is a log density outside the support. NaN is a fault of a model: kernels reject and count it.
//! * The caller lends memory: a type says `work_len(columns)`, and takes `work: &mut [f64]`.
//!
//! Deliberately absent: algorithms, input and output, clocks, printing, global state, feature flags.

pub mod bits;
mod block_family;
mod chacha;
mod columns;
mod config;
mod counted;
mod ensemble;
mod error;
mod estimator;
mod family;
mod guide;
mod kernel;
pub mod law;
mod learnable;
mod normal;
mod normal_table;
pub mod numeric;
mod optimizer;
mod path_guide;
mod pushforward;
mod record;
mod script;
mod seed;
mod state_space;
mod stream;
mod target;

pub use block_family::{BlockFamily, BlocksAt};
pub use columns::{Columns, ColumnsMut, batch, batch_mut, borrow, one};
pub use config::{checksum, type_name};
pub use counted::{Counted, Counts};
pub use ensemble::Ensemble;
pub use error::{Error, all_finite, fits_in_memory, same_length};
pub use estimator::Estimator;
pub use family::{Family, Reparameterised};
pub use guide::{At, BlockGuide, Guard, Guide};
pub use kernel::{Cloud, Kernel};
pub use learnable::{Given, Learnable, LearnableBlocks, LearnableDensity};
pub use optimizer::Optimizer;
pub use path_guide::{ChainFamily, PathFamily, PathGuide};
pub use pushforward::Pushforward;
pub use record::{Metric, Record, Reduction};
pub use script::{Branch, Script, enumerate};
pub use seed::{Address, Seed};
pub use state_space::{GaussianDynamics, LearnableStateSpace, StateSpace};
pub use stream::Stream;
pub use target::{Blocks, Curvature, ExactDraws, Gradient, LogDensity, Named, Separable};
