//! Annealed chain at given parameters: its law of the momentum, its sweeps forward and backward, and the reverse sweep.

use mcsa_core::numeric::dot;
use mcsa_core::{StepSizes, borrow};

use super::base;
use crate::{Along, PathPoint, Surrogate};

/// Law of the momentum, given the diagonal mass M.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mass {
    /// M is the variance: `v ~ N(0, M)`, with drift `v / M`. The Hamiltonian with that drift has this law (SL-DAIS, Sec. 3).
    #[default]
    Variance,
    /// M is the standard deviation: `v ~ N(0, M^2)`, with drift `v / M`, as in numpyro. The bound is valid too, but looser.
    Deviation,
}

impl Mass {
    /// Standard deviation s of the momentum.
    pub fn deviation(self, mass: f64) -> f64 {
        if self == Self::Variance { mass.sqrt() } else { mass }
    }

    /// `ds / dM`.
    pub(super) fn slope(self, mass: f64) -> f64 {
        if self == Self::Variance { 0.5 / mass.sqrt() } else { 1.0 }
    }
}

/// Parametrisation of the change kappa of the step size with the temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Slope {
    /// kappa itself, as in the paper. One step of an optimiser can then drive every step size to zero.
    #[default]
    Plain,
    /// `kappa / eta_max`, so that a step of an optimiser changes kappa by a fraction of the largest step size.
    Scaled,
}

/// View of a chain: constrained parameters, with what follows from the mass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chain<'a> {
    pub(super) base: base::View<'a>,
    pub(super) step_size: f64,
    pub(super) kappa: f64,
    pub(super) longest: f64,
    pub(super) gamma: f64,
    pub(super) betas: &'a [f64],
    /// `w = 1 / M`.
    pub(super) inverse_mass: &'a [f64],
    /// Standard deviation s of the momentum.
    pub(super) deviation: &'a [f64],
    /// `1 / s^2`.
    pub(super) precision: &'a [f64],
}

/// Derivatives for the parameters of a chain.
#[derive(Debug)]
pub(super) struct Bars<'a> {
    pub(super) base: base::Bars<'a>,
    pub(super) step_size: f64,
    pub(super) kappa: f64,
    pub(super) gamma: f64,
    pub(super) betas: &'a mut [f64],
    pub(super) inverse_mass: &'a mut [f64],
    pub(super) deviation: &'a mut [f64],
}

/// Tape of one path, as slices of lent memory. A row has d numbers.
#[derive(Debug)]
pub(super) struct Tape<'a> {
    /// `z_0 .. z_K`.
    pub(super) points: &'a mut [f64],
    /// `h_1 .. h_K`, where the momentum is kicked.
    pub(super) halves: &'a mut [f64],
    /// `v_0 .. v_{K-1}`.
    pub(super) before: &'a mut [f64],
    /// `v^_1 .. v^_K`.
    pub(super) after: &'a mut [f64],
    /// `L^-1 (h_k - mean)`.
    pub(super) whitened: &'a mut [f64],
    /// Gradients of `log q_0` at the halves.
    pub(super) base: &'a mut [f64],
    /// Gradients of the surrogate at the halves.
    pub(super) posterior: &'a mut [f64],
    /// Memory that the surrogate prepares once per path.
    pub(super) memory: &'a mut [f64],
    /// Tape of the surrogate, step after step.
    pub(super) kept: &'a mut [f64],
}

impl<'a> Tape<'a> {
    /// Length of the memory of a path of `steps` steps.
    pub(super) fn len<S: Surrogate + ?Sized>(surrogate: &S, steps: usize) -> usize {
        (7 * steps + 1) * surrogate.sizes().dim + surrogate.sizes().memory + steps * surrogate.sizes().tape
    }

    pub(super) fn of<S: Surrogate + ?Sized>(surrogate: &S, steps: usize, mut lent: &'a mut [f64]) -> Self {
        let d = surrogate.sizes().dim;
        Self {
            points: borrow(&mut lent, (steps + 1) * d),
            halves: borrow(&mut lent, steps * d),
            before: borrow(&mut lent, steps * d),
            after: borrow(&mut lent, steps * d),
            whitened: borrow(&mut lent, steps * d),
            base: borrow(&mut lent, steps * d),
            posterior: borrow(&mut lent, steps * d),
            memory: borrow(&mut lent, surrogate.sizes().memory),
            kept: borrow(&mut lent, steps * surrogate.sizes().tape),
        }
    }
}

/// Normal numbers of one path: `eps` (d), `nu` (K rows of d), and those of the surrogate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise<'a> {
    pub(super) eps: &'a [f64],
    pub(super) nu: &'a [f64],
    pub(super) own: &'a [f64],
}

impl<'a> Noise<'a> {
    pub(super) fn split(noise: &'a [f64], dim: usize, steps: usize) -> Self {
        let (eps, rest) = noise.split_at(dim);
        let (nu, own) = rest.split_at(steps * dim);
        Self { eps, nu, own }
    }
}

impl Chain<'_> {
    pub(super) fn dim(&self) -> usize {
        self.base.mean.len()
    }

    pub(super) fn num_steps(&self) -> usize {
        self.betas.len()
    }

    /// Step size `eta_k = clip(eta_0 + kappa beta_k, 0, eta_max)`, and true if it is strictly between its clips.
    fn eta(&self, k: usize) -> (f64, bool) {
        let raw = self.step_size + self.kappa * self.betas[k];
        (raw.clamp(0.0, self.longest), raw > 0.0 && raw < self.longest)
    }

    /// Numbers of clipped step sizes.
    pub(super) fn step_sizes(&self) -> StepSizes {
        let mut sizes = StepSizes { steps: self.num_steps(), ..StepSizes::default() };
        for beta in self.betas {
            let raw = self.step_size + self.kappa * beta;
            sizes.zero += usize::from(raw <= 0.0);
            sizes.longest += usize::from(raw >= self.longest);
        }
        sizes
    }

    /// `sqrt(1 - gamma^2)`.
    fn refresh(&self) -> f64 {
        (1.0 - self.gamma * self.gamma).sqrt()
    }

    /// Momentum `gamma earlier + sqrt(1 - gamma^2) S nu`, or `S nu` for the first one.
    fn draw_momentum(&self, earlier: Option<&[f64]>, nu: &[f64], momentum: &mut [f64]) {
        let refresh = self.refresh();
        for (i, v) in momentum.iter_mut().enumerate() {
            let fresh = self.deviation[i] * nu[i];
            *v = earlier.map_or(fresh, |earlier| self.gamma * earlier[i] + refresh * fresh);
        }
    }

    /// Writes the gradients of base and surrogate at the half step k to the tape.
    fn slopes<S: Surrogate + ?Sized>(
        &self,
        surrogate: &S,
        psi: &[f64],
        k: usize,
        tape: &mut Tape<'_>,
        work: &mut [f64],
    ) {
        let (row, kept) = (k * self.dim()..(k + 1) * self.dim(), surrogate.sizes().tape);
        let half = &tape.halves[row.clone()];
        self.base.slope_into(half, &mut tape.whitened[row.clone()], &mut tape.base[row.clone()]);
        let at = PathPoint { psi, memory: tape.memory, z: half };
        let kept = &mut tape.kept[k * kept..(k + 1) * kept];
        surrogate.gradient_into(at, &mut tape.posterior[row], kept, work);
    }

    /// Simulates a path onto the tape and returns the log ratio of forward and backward densities,
    /// `log q_0(z_0) - sum_k [log N(v^_k; 0, S^2) - log N(v_{k-1}; 0, S^2)]`. `work` is lent to the surrogate and holds at least d
    /// numbers.
    pub(super) fn simulate<S: Surrogate + ?Sized>(
        &self,
        surrogate: &S,
        psi: &[f64],
        noise: Noise<'_>,
        tape: &mut Tape<'_>,
        work: &mut [f64],
    ) -> f64 {
        let d = self.dim();
        surrogate.prepare(psi, noise.own, tape.memory);
        self.base.draw(noise.eps, &mut tape.points[..d]);
        let log_ratio = self.walk(surrogate, psi, noise.nu, tape, false, work);
        self.base.log_density(noise.eps, &mut work[..d]) - log_ratio
    }

    /// Simulates the path backward from `end`: fresh momenta, inverse steps. Fills points and momenta of the tape and returns the log
    /// ratio of [`simulate`](Self::simulate) along this path. `nu` holds K rows of d normal numbers, the last row that of the last
    /// momentum.
    ///
    /// ```text
    /// v^_K = S nu_K;  for k = K..1:
    ///   h_k = z_k - eta_k/2 M^-1 v^_k,   v_{k-1} = v^_k - eta_k kick(h_k),   z_{k-1} = h_k - eta_k/2 M^-1 v_{k-1}
    ///   v^_{k-1} = gamma v_{k-1} + sqrt(1 - gamma^2) S nu_{k-1}
    /// ```
    pub(super) fn simulate_back<S: Surrogate + ?Sized>(
        &self,
        surrogate: &S,
        psi: &[f64],
        end: &[f64],
        (nu, own): (&[f64], &[f64]),
        tape: &mut Tape<'_>,
        work: &mut [f64],
    ) -> f64 {
        let d = self.dim();
        surrogate.prepare(psi, own, tape.memory);
        tape.points[self.num_steps() * d..].copy_from_slice(end);
        let log_ratio = self.walk(surrogate, psi, nu, tape, true, work);
        let (whitened, logs) = work.split_at_mut(d);
        self.base.whiten(&tape.points[..d], whitened);
        self.base.log_density(whitened, &mut logs[..d]) - log_ratio
    }

    /// The steps of a path from its first point, or backward from its last one with the opposite step sizes; returns the sum of
    /// log ratios of momenta.
    fn walk<S: Surrogate + ?Sized>(
        &self,
        surrogate: &S,
        psi: &[f64],
        nu: &[f64],
        tape: &mut Tape<'_>,
        back: bool,
        work: &mut [f64],
    ) -> f64 {
        let (d, steps) = (self.dim(), self.num_steps());
        let mut log_ratio = 0.0;
        for step in 0..steps {
            let k = if back { steps - 1 - step } else { step };
            let (row, ((eta, _), beta)) = (k * d..(k + 1) * d, (self.eta(k), self.betas[k]));
            let (eta, from, to) = if back { (-eta, d, 0) } else { (eta, 0, d) };
            let (old, new) =
                if back { (&mut tape.after, &tape.before) } else { (&mut tape.before, &tape.after) };
            let last = if back { k + 1 } else { k.wrapping_sub(1) };
            let last = (step > 0).then(|| &new[last * d..][..d]);
            self.draw_momentum(last, &nu[row.clone()], &mut old[row.clone()]);
            for i in row.clone() {
                let velocity = old[i] * self.inverse_mass[i - k * d];
                tape.halves[i] = tape.points[i + from] + 0.5 * eta * velocity;
            }
            self.slopes(surrogate, psi, k, tape, work);
            let (old, new) =
                if back { (&tape.after, &mut tape.before) } else { (&tape.before, &mut tape.after) };
            for (i, at) in row.clone().enumerate() {
                let kick = (1.0 - beta) * tape.base[at] + beta * tape.posterior[at];
                new[at] = old[at] + eta * kick;
                tape.points[at + to] = tape.halves[at] + 0.5 * eta * (new[at] * self.inverse_mass[i]);
            }
            for (i, at) in row.enumerate() {
                let (before, after) = (tape.before[at], tape.after[at]);
                log_ratio += 0.5 * self.precision[i] * (before * before - after * after);
            }
        }
        log_ratio
    }

    /// Length of `work` for [`add_gradient`](Self::add_gradient).
    pub(super) fn work_len<S: Surrogate + ?Sized>(surrogate: &S) -> usize {
        10 * surrogate.sizes().dim + surrogate.sizes().work
    }

    /// Adds the derivatives of `cotangent . z_K + share * log ratio`, with the log ratio that [`simulate`](Self::simulate) returned
    /// for this tape. All derivatives are total: those for the base, the surrogate and the mass include every effect on the path.
    #[expect(
        clippy::too_many_arguments,
        reason = "surrogate, psi, chance, two factors, tape, two results, memory"
    )]
    pub(super) fn add_gradient<S: Surrogate + ?Sized>(
        &self,
        surrogate: &S,
        psi: &[f64],
        noise: Noise<'_>,
        (cotangent, share): (&[f64], f64),
        tape: &Tape<'_>,
        bars: &mut Bars<'_>,
        psi_bar: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (d, steps, kept) = (self.dim(), self.num_steps(), surrogate.sizes().tape);
        let [z_bar, v_bar, after_bar, kick_bar, half_bar, s_bar] = [(); 6].map(|()| borrow(&mut work, d));
        let room = borrow(&mut work, 4 * d);
        z_bar.copy_from_slice(cotangent);
        v_bar.fill(0.0);
        s_bar.fill(0.0);
        let refresh = self.refresh();
        for k in (0..steps).rev() {
            let row = k * d..(k + 1) * d;
            let ((eta, free), beta) = (self.eta(k), self.betas[k]);
            let (before, after) = (&tape.before[row.clone()], &tape.after[row.clone()]);
            let (base, posterior) = (&tape.base[row.clone()], &tape.posterior[row.clone()]);
            let mut eta_bar = 0.0;
            if k + 1 < steps {
                let fresh = &noise.nu[(k + 1) * d..][..d];
                for i in 0..d {
                    let (s, v) = (self.deviation[i], v_bar[i]);
                    after_bar[i] = self.gamma * v;
                    bars.gamma += v * (after[i] - self.gamma / refresh * s * fresh[i]);
                    s_bar[i] += refresh * v * fresh[i];
                }
            } else {
                after_bar.fill(0.0);
            }
            for i in 0..d {
                // The log ratio contains |v^|^2 / (2 s^2); then the second drift.
                let (z, w, scaled) = (z_bar[i], self.inverse_mass[i], share * after[i] * self.precision[i]);
                after_bar[i] += scaled + 0.5 * eta * (w * z);
                s_bar[i] -= scaled * after[i] / self.deviation[i];
                eta_bar += 0.5 * z * (w * after[i]);
                bars.inverse_mass[i] += 0.5 * eta * z * after[i];
                kick_bar[i] = eta * after_bar[i];
                eta_bar += after_bar[i] * ((1.0 - beta) * base[i] + beta * posterior[i]);
            }
            let mut beta_bar = dot(kick_bar, posterior) - dot(kick_bar, base);
            half_bar.copy_from_slice(z_bar);
            let at = (&tape.whitened[row.clone()], base);
            self.base.add_second(at, (kick_bar, 1.0 - beta), half_bar, &mut bars.base, room);
            let (half, kept) = (&tape.halves[row], &tape.kept[k * kept..(k + 1) * kept]);
            let at = PathPoint { psi, memory: tape.memory, z: half };
            let along = Along { at, tape: kept, u: kick_bar, scale: beta };
            surrogate.add_second(along, half_bar, psi_bar, work);
            for i in 0..d {
                // The first drift; the log ratio contains -|v|^2 / (2 s^2).
                let (h, w, scaled) =
                    (half_bar[i], self.inverse_mass[i], share * before[i] * self.precision[i]);
                z_bar[i] = h;
                v_bar[i] = after_bar[i] + 0.5 * eta * (w * h) - scaled;
                eta_bar += 0.5 * h * (w * before[i]);
                bars.inverse_mass[i] += 0.5 * eta * h * before[i];
                s_bar[i] += scaled * before[i] / self.deviation[i];
            }
            if free {
                bars.step_size += eta_bar;
                bars.kappa += beta * eta_bar;
                beta_bar += self.kappa * eta_bar;
            }
            bars.betas[k] += beta_bar;
        }
        for i in 0..d {
            let first = if steps > 0 { v_bar[i] * noise.nu[i] } else { 0.0 };
            bars.deviation[i] += s_bar[i] + first;
        }
        self.base.add_draw(z_bar, noise.eps, share, &mut bars.base);
    }
}
