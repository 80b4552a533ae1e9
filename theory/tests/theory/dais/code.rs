//! Chains of `mcsa-families` on linear Gaussian models, right or with a mistake.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use faer::Mat;
use mcsa_annealed::Surrogate;
use mcsa_annealed::dais::{Base, Dais, DaisGradient, Mass, Shape};

use super::{Case, LONGEST};

/// Deliberate mistake of a chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Mistake {
    /// None.
    None,
    /// The new noise of a refreshment is not multiplied by `sqrt(1 - gamma^2)`.
    Refresh,
    /// The last kick is twice as strong.
    LastKick,
    /// The momentum has the deviation of the other convention.
    Mass,
    /// The likelihood guides in place of the surrogate.
    Target,
}

/// Entries of the lower half of a matrix.
pub(super) fn lower(d: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..d).flat_map(|i| (0..=i).map(move |j| (i, j)))
}

/// Log prior and a quadratic log likelihood, `constant + a . z - z^T P z / 2`, with psi = (a, lower half of P) in a guide.
struct Joint {
    slope: Vec<f64>,
    precision: Mat<f64>,
    constant: f64,
    /// Number of the call of the gradient that is doubled.
    twice_at: usize,
    calls: AtomicUsize,
}

impl Joint {
    fn product(&self, u: &[f64], i: usize) -> f64 {
        (0..u.len()).map(|j| self.precision[(i, j)] * u[j]).sum()
    }
}

impl Joint {
    fn gradient(&self, slope: &[f64], z: &[f64]) -> Vec<f64> {
        (0..z.len()).map(|i| slope[i] - self.product(z, i)).collect()
    }

    fn psi(&self) -> Vec<f64> {
        let half = lower(self.slope.len()).map(|(i, j)| self.precision[(i, j)]);
        self.slope.iter().copied().chain(half).collect()
    }

    fn value(&self, z: &[f64]) -> f64 {
        let term = |i: usize| z[i] * (self.slope[i] - 0.5 * self.product(z, i));
        self.constant + (0..z.len()).map(term).sum::<f64>()
    }
}

impl Surrogate for Joint {
    fn dim(&self) -> usize {
        self.slope.len()
    }

    fn num_params(&self) -> usize {
        let d = self.slope.len();
        d + d * (d + 1) / 2
    }

    fn gradient_into(
        &self,
        psi: &[f64],
        _: &[f64],
        z: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
        _: &mut [f64],
    ) {
        let factor = if self.calls.fetch_add(1, Relaxed) + 1 == self.twice_at { 2.0 } else { 1.0 };
        gradient.copy_from_slice(&self.gradient(&psi[..z.len()], z));
        gradient.iter_mut().for_each(|g| *g *= factor);
    }

    fn add_second(
        &self,
        _: &[f64],
        _: &[f64],
        _: &[f64],
        z: &[f64],
        u: &[f64],
        scale: f64,
        product: &mut [f64],
        psi_bar: &mut [f64],
        _: &mut [f64],
    ) {
        for i in 0..u.len() {
            product[i] -= scale * self.product(u, i);
            psi_bar[i] += scale * u[i];
        }
        let d = u.len();
        for ((i, j), bar) in lower(d).zip(&mut psi_bar[d..]) {
            *bar -= scale * if i == j { u[i] * z[i] } else { u[i] * z[j] + u[j] * z[i] };
        }
    }
}

/// Chain with guide and target.
pub(super) struct Code {
    dais: Dais,
    guide: Joint,
    target: Joint,
    mistake: Mistake,
}

impl Code {
    pub(super) fn of(case: &Case, mistake: Mistake) -> Self {
        let d = case.mean.len();
        let (shape, scale) = match case.full {
            true => (Shape::Lower, (0..d * d).map(|k| case.scale[(k / d, k % d)]).collect()),
            false => (Shape::Diagonal, (0..d).map(|i| case.scale[(i, i)]).collect()),
        };
        let precision = case.prior.precision();
        let prior = |i: usize| -> f64 { (0..d).map(|j| precision[(i, j)] * case.prior.mean()[j]).sum() };
        let joint = |slope: &[f64], curvature: &Mat<f64>| Joint {
            slope: (0..d).map(|i| slope[i] + prior(i)).collect(),
            precision: curvature + &precision,
            constant: case.likelihood.constant + case.prior.log_density(&vec![0.0; d]),
            twice_at: 0,
            calls: AtomicUsize::new(0),
        };
        let target = joint(&case.likelihood.slope, &case.likelihood.curvature);
        let guide = match mistake {
            Mistake::Target => joint(&case.likelihood.slope, &case.likelihood.curvature),
            _ => joint(&case.slope, &case.curvature),
        };
        let twice_at = if mistake == Mistake::LastKick { case.betas.len() } else { 0 };
        let dais = Dais {
            base: Base::new(case.mean.clone(), shape, scale).unwrap(),
            step_size: case.step_size,
            kappa: case.kappa,
            longest: LONGEST,
            gamma: case.gamma,
            betas: case.betas.clone(),
            mass: case.mass.clone(),
            law: if case.numpyro != (mistake == Mistake::Mass) { Mass::Deviation } else { Mass::Variance },
        };
        dais.check().unwrap();
        Self { dais, guide: Joint { twice_at, ..guide }, target, mistake }
    }

    pub(super) fn noise_len(&self) -> usize {
        self.dais.noise_len(&self.guide)
    }

    /// Log weight of the path that the normal numbers `noise` draw.
    pub(super) fn log_weight(&self, noise: &[f64]) -> f64 {
        let mut noise = noise.to_vec();
        if self.mistake == Mistake::Refresh {
            let factor = (1.0 - self.dais.gamma * self.dais.gamma).sqrt();
            noise.iter_mut().skip(2 * self.dais.dim()).for_each(|x| *x /= factor);
        }
        self.guide.calls.store(0, Relaxed);
        let path = self.dais.path(&self.guide, &self.guide.psi(), &noise);
        self.target.value(path.end()) - path.log_q
    }

    /// Gradient of the log weight: mean, temperatures, mass, slope of the surrogate, step size, kappa, gamma, lower halves of
    /// the curvature and of the scale.
    pub(super) fn gradient(&self, noise: &[f64]) -> Vec<f64> {
        let d = self.dais.dim();
        let psi = self.guide.psi();
        let path = self.dais.path(&self.guide, &psi, noise);
        let cotangent = self.target.gradient(&self.target.slope, path.end());
        let gradient = self.dais.gradient(&self.guide, &psi, noise, &cotangent, -1.0);
        let DaisGradient { mean, scale, step_size, kappa, gamma, betas, mass, psi } = gradient;
        let scale: Vec<f64> = match scale.len() == d * d {
            true => lower(d).map(|(i, j)| scale[i * d + j]).collect(),
            false => scale,
        };
        let (slope, half) = psi.split_at(d);
        [&mean[..], &betas, &mass, slope, &[step_size, kappa, gamma], half, &scale].concat()
    }
}
