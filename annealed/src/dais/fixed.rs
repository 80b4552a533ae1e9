//! Annealed chain with constrained parameters: one path, and its derivatives.

use crate::Surrogate;

use mcsa_core::{Error, StepSizes, at_least_one, same_length};
use mcsa_families::Normal;

use super::base::{self, Shape, unpacked};
use super::chain::{Bars, Chain, Mass, Noise, Tape};

/// Differentiable annealed importance sampling with K steps, at given parameters.
///
/// ```text
/// z_0 ~ q_0,  v_0 ~ N(0, S^2);  for k = 1..K:
///   eta_k = clip(eta_0 + kappa beta_k, 0, eta_max)
///   h_k  = z_{k-1} + eta_k/2 M^-1 v_{k-1}
///   v^_k = v_{k-1} + eta_k grad[(1 - beta_k) log q_0 + beta_k g](h_k)
///   z_k  = h_k + eta_k/2 M^-1 v^_k
///   v_k  = gamma v^_k + sqrt(1 - gamma^2) S nu_k
/// log q = log q_0(z_0) - sum_k [log N(v^_k; 0, S^2) - log N(v_{k-1}; 0, S^2)]
/// ```
/// Here g is a [`Surrogate`] posterior. Let f be a log joint density. For every surrogate `E[f(z_K) - log q]` is a lower bound of
/// the log evidence, and `E[exp(f(z_K) - log q)]` is the evidence (SL-DAIS, Lemma 1). Without steps the bound is the usual one of
/// the base.
///
/// All parameters are on their constrained scale; [`Annealed`](super::Annealed) is the family with unconstrained parameters. A
/// step size that is clipped has no derivative. If all step sizes are clipped to 0, the chain does not move, and gradient steps
/// cannot change that. [`step_sizes`](Self::step_sizes) counts them.
#[derive(Debug, Clone, PartialEq)]
pub struct Dais {
    /// Law of `z_0`.
    pub base: Normal,
    /// Form of the base; if it is diagonal, the factor of the base is read on its diagonal alone.
    pub shape: Shape,
    /// `eta_0`, the step size before annealing.
    pub step_size: f64,
    /// `kappa`, the change of the step size with the temperature.
    pub kappa: f64,
    /// `eta_max`, the largest step size.
    pub longest: f64,
    /// `gamma`, the share of the momentum kept by a refresh, in `[0, 1)`.
    pub gamma: f64,
    /// `beta_1 .. beta_K`, the inverse temperatures; the last is 1.
    pub betas: Vec<f64>,
    /// Diagonal of M.
    pub mass: Vec<f64>,
    /// Law of the momentum given M.
    pub law: Mass,
}

/// One annealed path.
#[derive(Debug, Clone, PartialEq)]
pub struct DaisPath {
    /// Points `z_0 .. z_K`.
    pub points: Vec<Vec<f64>>,
    /// `log q`, the log ratio of the densities of the path forward and backward.
    pub log_q: f64,
}

impl DaisPath {
    /// The last point `z_K`.
    pub fn end(&self) -> &[f64] {
        self.points.last().map_or(&[], |point| point)
    }
}

/// Derivatives of `cotangent . z_K + share * log q` in each parameter on its constrained scale, by [`Dais::gradient`].
#[derive(Debug, Clone, PartialEq)]
pub struct DaisGradient {
    /// Mean of the base.
    pub mean: Vec<f64>,
    /// Scale of the base: its diagonal, or the factor row by row, zero above the diagonal.
    pub scale: Vec<f64>,
    /// Step size `eta_0`.
    pub step_size: f64,
    /// Slope `kappa`.
    pub kappa: f64,
    /// Share `gamma`.
    pub gamma: f64,
    /// Temperatures, each as a free number.
    pub betas: Vec<f64>,
    /// Diagonal of the mass.
    pub mass: Vec<f64>,
    /// Parameters psi of the surrogate.
    pub psi: Vec<f64>,
}

impl Dais {
    /// Number K of steps.
    pub fn num_steps(&self) -> usize {
        self.betas.len()
    }

    /// Dimension of z.
    pub fn dim(&self) -> usize {
        self.base.dim()
    }

    /// Number of normal numbers of a path: `eps` (d), then `nu` (K rows of d), then those of the surrogate.
    pub fn noise_len<S: Surrogate + ?Sized>(&self, surrogate: &S) -> usize {
        (1 + self.num_steps()) * self.dim() + surrogate.sizes().noise
    }

    /// Checks the parameters of the chain.
    ///
    /// # Errors
    /// If a parameter is out of its range; the error names it. The last temperature may differ from 1, since its derivative is
    /// that of a free number.
    pub fn check(&self) -> Result<(), Error> {
        at_least_one("dimension of the base", self.dim())?;
        same_length("mass", self.dim(), self.mass.len())?;
        let positive = |name, x: f64| (name, x, x > 0.0 && x.is_finite(), "positive and finite");
        let finite = |name, x: f64| (name, x, x.is_finite(), "finite");
        let gamma = ("gamma", self.gamma, self.gamma >= 0.0 && self.gamma < 1.0, "in [0, 1)");
        let own = [positive("largest step size", self.longest), gamma];
        let others = [finite("step size", self.step_size), finite("kappa", self.kappa)];
        let mass = self.mass.iter().map(|&x| positive("mass", x));
        let betas = self.betas.iter().map(|&x| finite("beta", x));
        match mass.chain(own).chain(others).chain(betas).find(|(_, _, is_right, _)| !is_right) {
            Some((name, x, _, expected)) => Err(Error::parameter(name, x, expected)),
            None => Ok(()),
        }
    }

    /// Numbers of clipped step sizes.
    pub fn step_sizes(&self) -> StepSizes {
        self.with_chain(|chain| chain.step_sizes())
    }

    /// Simulates the path of these normal numbers.
    pub fn path<S: Surrogate + ?Sized>(&self, surrogate: &S, psi: &[f64], noise: &[f64]) -> DaisPath {
        let split = self.split(surrogate, psi, noise);
        self.trace(surrogate, |chain, tape, work| chain.simulate(surrogate, psi, split, tape, work))
    }

    /// Simulates a path backward from its last point, with fresh momenta: a draw of the path given its end.
    ///
    /// `noise` holds K rows of d normal numbers and those of the surrogate. Let `end` be a draw of the posterior with log joint
    /// density f. Then `E[f(end) - log q]` is an upper bound of the log evidence, and `E[exp(log q - f(end))]` is the reciprocal
    /// of the evidence. This upper bound and the lower bound of [`path`](Self::path) enclose the log evidence.
    pub fn path_back<S: Surrogate + ?Sized>(
        &self,
        surrogate: &S,
        psi: &[f64],
        end: &[f64],
        noise: &[f64],
    ) -> DaisPath {
        let (d, steps) = (self.dim(), self.num_steps());
        assert_eq!((surrogate.sizes().dim, end.len()), (d, d), "dimensions of surrogate, end and chain");
        let lengths = (surrogate.sizes().params, steps * d + surrogate.sizes().noise);
        assert_eq!((psi.len(), noise.len()), lengths, "psi and noise");
        let noise = noise.split_at(steps * d);
        self.trace(surrogate, |chain, tape, work| chain.simulate_back(surrogate, psi, end, noise, tape, work))
    }

    /// Gradient of `cotangent . z_K + share * log q` along the path of these normal numbers. With the gradient of f at `z_K` as
    /// cotangent and share -1 it is that of the bound `f(z_K) - log q`.
    ///
    /// It costs one product with the second derivatives of the surrogate per step. Every effect of a parameter on the path is
    /// included.
    pub fn gradient<S: Surrogate + ?Sized>(
        &self,
        surrogate: &S,
        psi: &[f64],
        noise: &[f64],
        cotangent: &[f64],
        share: f64,
    ) -> DaisGradient {
        let (d, steps) = (self.dim(), self.num_steps());
        let noise = self.split(surrogate, psi, noise);
        let mut lent = vec![0.0; Tape::len(surrogate, steps)];
        let mut tape = Tape::of(surrogate, steps, &mut lent);
        let mut work = vec![0.0; Chain::work_len(surrogate)];
        self.with_chain(|chain| {
            chain.simulate(surrogate, psi, noise, &mut tape, &mut work);
            let (mut mean, mut scales, mut triangle) =
                (vec![0.0; d], vec![0.0; d], vec![0.0; chain.base.triangle.len()]);
            let (mut betas, mut inverse_mass, mut deviation) = (vec![0.0; steps], vec![0.0; d], vec![0.0; d]);
            let mut psi_bar = vec![0.0; psi.len()];
            let mut bars = Bars {
                base: base::Bars { mean: &mut mean, scales: &mut scales, triangle: &mut triangle },
                step_size: 0.0,
                kappa: 0.0,
                gamma: 0.0,
                betas: &mut betas,
                inverse_mass: &mut inverse_mass,
                deviation: &mut deviation,
            };
            let bar = (cotangent, share);
            chain.add_gradient(surrogate, psi, noise, bar, &tape, &mut bars, &mut psi_bar, &mut work);
            let Bars { step_size, kappa, gamma, .. } = bars;
            let mass = (0..d).map(|i| {
                let inverse = chain.inverse_mass[i];
                deviation[i] * self.law.slope(self.mass[i]) - inverse_mass[i] * (inverse * inverse)
            });
            let mass = mass.collect();
            let scale = match self.shape {
                Shape::Diagonal => scales,
                Shape::Lower => unpacked(d, &scales, &triangle),
            };
            DaisGradient { mean, scale, step_size, kappa, gamma, betas, mass, psi: psi_bar }
        })
    }

    /// Calls `f` with the chain, in whose numbers all that follows from the parameters is computed.
    fn with_chain<T>(&self, f: impl FnOnce(&Chain<'_>) -> T) -> T {
        let (d, factor) = (self.dim(), self.base.factor());
        let scales: Vec<f64> = (0..d).map(|i| factor[(i, i)]).collect();
        let packed = (0..d).flat_map(|k| (k..d).map(move |i| factor[(i, k)]));
        let triangle: Vec<f64> = packed.filter(|_| self.shape == Shape::Lower).collect();
        let inverse: Vec<f64> = scales.iter().map(|scale| 1.0 / scale).collect();
        let deviation: Vec<f64> = self.mass.iter().map(|&mass| self.law.deviation(mass)).collect();
        f(&Chain {
            base: base::View {
                shape: self.shape,
                mean: self.base.mean(),
                scales: &scales,
                inverse: &inverse,
                triangle: &triangle,
            },
            step_size: self.step_size,
            kappa: self.kappa,
            longest: self.longest,
            gamma: self.gamma,
            betas: &self.betas,
            inverse_mass: &self.mass.iter().map(|mass| 1.0 / mass).collect::<Vec<_>>(),
            deviation: &deviation,
            precision: &deviation.iter().map(|s| 1.0 / (s * s)).collect::<Vec<_>>(),
        })
    }

    /// The path that `run` writes to a tape, and the log ratio that it returns.
    fn trace<S: Surrogate + ?Sized>(
        &self,
        surrogate: &S,
        run: impl FnOnce(&Chain<'_>, &mut Tape<'_>, &mut [f64]) -> f64,
    ) -> DaisPath {
        let mut lent = vec![0.0; Tape::len(surrogate, self.num_steps())];
        let mut tape = Tape::of(surrogate, self.num_steps(), &mut lent);
        let mut work = vec![0.0; (2 * self.dim()).max(surrogate.sizes().work)];
        let log_q = self.with_chain(|chain| run(chain, &mut tape, &mut work));
        DaisPath { points: tape.points.chunks_exact(self.dim()).map(<[f64]>::to_vec).collect(), log_q }
    }

    /// The parts of a path's noise, of which the lengths are checked.
    fn split<'a, S: Surrogate + ?Sized>(&self, surrogate: &S, psi: &[f64], noise: &'a [f64]) -> Noise<'a> {
        assert_eq!(surrogate.sizes().dim, self.dim(), "dimensions of surrogate and chain");
        let lengths = (surrogate.sizes().params, self.noise_len(surrogate));
        assert_eq!((psi.len(), noise.len()), lengths, "psi and noise");
        Noise::split(noise, self.dim(), self.num_steps())
    }
}
