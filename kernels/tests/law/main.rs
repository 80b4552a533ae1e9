//! Laws of the gradient kernels: exact ones first, then one-step invariance, each with twins that must fail.

#[cfg(test)]
mod integrator;
#[cfg(test)]
mod invariance;
#[cfg(test)]
mod orbit;
#[cfg(test)]
mod robustness;
#[cfg(test)]
mod sampling;
#[cfg(test)]
mod targets;
#[cfg(test)]
mod textbook;
#[cfg(test)]
mod trajectory;
#[cfg(test)]
mod twins;
#[cfg(test)]
mod warm_up;
