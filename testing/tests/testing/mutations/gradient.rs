//! Mutants of gradient-based kernels and random walks. They need no proposal.

use super::memory::{Memory, kernel, methods};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HmcSlip {
    None,
    MissingHalfStep,
    WrongKineticSign,
    NoAcceptTest,
}

/// Hamiltonian Monte Carlo with four leapfrog steps.
pub(crate) struct Hmc {
    pub(crate) slip: HmcSlip,
    pub(crate) eps: f64,
}

kernel!(Hmc, Gradient, |kernel, target, _, state, lanes, work| {
    let (dim, eps) = (target.dim(), kernel.eps);
    for (j, lane) in lanes.iter_mut().enumerate() {
        let mut z = state.chains.positions.col_as_slice(j).to_vec();
        let (mut gradient, mut momentum) = (vec![0.0; dim], vec![0.0; dim]);
        lane.normals_into(&mut momentum);
        let kinetic = |momentum: &[f64]| 0.5 * momentum.iter().map(|v| v * v).sum::<f64>();
        let before = kinetic(&momentum);
        let mut log_p = target.gradient_into(&z, &mut gradient, work);
        let half = if kernel.slip == HmcSlip::MissingHalfStep { 0.0 } else { 0.5 };
        for _ in 0..4 {
            // Without half steps a full kick follows a full drift: volume is preserved, reversibility is not.
            (0..dim).for_each(|i| momentum[i] += half * eps * gradient[i]);
            (0..dim).for_each(|i| z[i] += eps * momentum[i]);
            log_p = target.gradient_into(&z, &mut gradient, work);
            (0..dim).for_each(|i| momentum[i] += (1.0 - half) * eps * gradient[i]);
        }
        let gain = before - kinetic(&momentum);
        let gain = if kernel.slip == HmcSlip::WrongKineticSign { -gain } else { gain };
        let log_alpha = log_p - state.chains.log_p[j] + gain;
        if lane.accept(log_alpha) || kernel.slip == HmcSlip::NoAcceptTest {
            state.chains.place(j, &z, log_p);
        }
    }
});

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MalaSlip {
    None,
    MissingRatio,
    Sequential,
}

/// The Metropolis-adjusted Langevin algorithm: `z' ~ N(z + eps^2/2 grad log p(z), eps^2)`.
pub(crate) struct Mala {
    pub(crate) slip: MalaSlip,
    pub(crate) eps: f64,
}

kernel!(Mala, Gradient, |kernel, target, _, state, lanes, work| {
    let (dim, eps) = (target.dim(), kernel.eps);
    let drift = 0.5 * eps * eps;
    for (j, lane) in lanes.iter_mut().enumerate() {
        let here = state.chains.positions.col_as_slice(j).to_vec();
        let (mut gradient, mut gradient_there) = (vec![0.0; dim], vec![0.0; dim]);
        target.gradient_into(&here, &mut gradient, work);
        let mut z = here.clone();
        for i in 0..dim {
            if kernel.slip == MalaSlip::Sequential {
                // The coordinates already moved enter the drift of the next ones; the acceptance ratio ignores this.
                target.gradient_into(&z, &mut gradient_there, work);
                z[i] += drift * gradient_there[i] + eps * lane.normal();
            } else {
                z[i] += drift * gradient[i] + eps * lane.normal();
            }
        }
        let log_p = target.gradient_into(&z, &mut gradient_there, work);
        let log_move = |from: &[f64], to: &[f64], gradient: &[f64]| -> f64 {
            (0..dim).map(|i| -0.5 * ((to[i] - from[i] - drift * gradient[i]) / eps).powi(2)).sum()
        };
        let ratio = log_move(&z, &here, &gradient_there) - log_move(&here, &z, &gradient);
        let ratio = if kernel.slip == MalaSlip::MissingRatio { 0.0 } else { ratio };
        if lane.accept(log_p - state.chains.log_p[j] + ratio) {
            state.chains.place(j, &z, log_p);
        }
    }
});

/// Multiplicative random walk: `z' = exp(eps n) z`, whose Jacobian is `exp(dim eps n)`.
pub(crate) struct Scaling {
    pub(crate) jacobian: bool,
}

kernel!(Scaling, LogDensity, |kernel, target, _, state, lanes, work| {
    for (j, lane) in lanes.iter_mut().enumerate() {
        let log_factor = 0.5 * lane.normal();
        let z: Vec<f64> =
            state.chains.positions.col_as_slice(j).iter().map(|x| x * log_factor.exp()).collect();
        let log_p = target.log_density(&z, work);
        let volume = if kernel.jacobian { target.dim() as f64 * log_factor } else { 0.0 };
        if lane.accept(log_p - state.chains.log_p[j] + volume) {
            state.chains.place(j, &z, log_p);
        }
    }
});

/// Gaussian random walk, optionally with the fault that its steps grow with the distance from the origin.
pub(crate) struct RandomWalk {
    pub(crate) growing: bool,
}

kernel!(RandomWalk, LogDensity, |kernel, target, _, state, lanes, work| {
    for (j, lane) in lanes.iter_mut().enumerate() {
        let here = state.chains.positions.col_as_slice(j);
        let norm = here.iter().map(|x| x * x).sum::<f64>().sqrt();
        let scale = if kernel.growing { 0.3 + norm } else { 1.0 };
        let z: Vec<f64> = here.iter().map(|x| x + scale * lane.normal()).collect();
        let log_p = target.log_density(&z, work);
        if lane.accept(log_p - state.chains.log_p[j]) {
            state.chains.place(j, &z, log_p);
        }
    }
});
