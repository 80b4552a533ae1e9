//! Classification: hierarchical logistic regression and Gaussian processes (MCMC-SE, Fig. 4 and 5, Tab. 2 and 3; CW, Fig. 2, 3
//! and 5).

mod claims;
mod figures;

pub(super) use claims::CHECKS;
pub(super) use figures::{logistic, logistic_speed, processes};
