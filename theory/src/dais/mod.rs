//! Differentiable annealed importance sampling of linear Gaussian models in closed form (SL-DAIS, Sec. 3).
//!
//! Prior and base are [`Normal`], the likelihood and its surrogate [`Quadratic`]. Every step of a [`LinearDais`] is then linear in the
//! noise, and the distribution of `z_K`, the bound, its gap and the mean weight are exact, for any schedule, mass and refreshment.
//!
//! ```
//! use mcsa_theory::dais::{LinearDais, Normal, Quadratic};
//! let prior = Normal::scalar(0.0, 1.0)?;
//! let likelihood = Quadratic::scalar(2.0, 3.0);
//! let (posterior, log_evidence) = prior.posterior(&likelihood)?;
//! let gap = |steps: usize| LinearDais::from_prior(&prior, &likelihood, steps, 0.3).gap(&posterior);
//! assert!(gap(8) < gap(4) && gap(4) < gap(1));
//! assert!((log_evidence + 0.5 * 4f64.ln() - 0.5).abs() < 1e-15);
//! # Ok::<(), mcsa_core::Error>(())
//! ```

mod chain;
mod gap;
mod mean_weight;
mod moments;
mod normal;
mod phase;
mod posterior;
mod quadratic;

pub use chain::{End, LinearDais};
pub use gap::Gap;
pub use normal::Normal;
pub use quadratic::Quadratic;
