//! Family of annealed paths with unconstrained parameters.

use crate::Surrogate;
use faer::reborrow::ReborrowMut;
use faer::{MatMut, MatRef};
use mcsa_core::{
    Backprop, Columns, ColumnsMut, Error, Parametric, Pushforward, StepSizes, Stream, all_finite, borrow,
    each_column, numeric, positive, same_length,
};

use super::base::{self, Shape};
use super::chain::{Bars, Chain, Mass, Noise, Slope, Tape};
use super::fixed::Dais;
use mcsa_families::{FullRank, GaussianFamily, Link, MeanField};
use mcsa_numeric::linear::packed;

/// Largest `|logit gamma|`: nearer to 1 the derivative of the refresh overflows.
const LOGIT: f64 = 15.0;

/// Annealed importance sampling as a variational family: the end `z_K` of a path that starts at a Gaussian and follows a surrogate
/// posterior.
///
/// The family is a [`Pushforward`] of the path's normal numbers. `log q` is the log ratio of the densities of the path forward and
/// backward (see [`Dais`](super::Dais)), so that `E[log p(z_K) - log q]` is a lower bound of the log evidence. The surrogate decides
/// the method:
///
/// | method | surrogate | target of the bound |
/// |---|---|---|
/// | DAIS | the log posterior | the log posterior |
/// | NS-DAIS | a minibatch of it, drawn once per path | another minibatch |
/// | SL-DAIS | the log prior and a learned surrogate likelihood | a minibatch |
///
/// ```text
/// lambda = [base; u; kappa; w; log M; b; psi]
/// eta_0 = eta_max / (1 + e^-u),   gamma = 1 / (1 + e^-w),   beta_k = sum_{j<=k} e^{b_j} / sum_j e^{b_j}
/// ```
/// `base` is the lambda of [`MeanField`] or [`FullRank`] with the exponential link, psi that of the surrogate. `|w|` is cut at 15.
///
/// A step size that is clipped, to 0 or to `eta_max`, has no derivative. If all step sizes are 0, the path never moves again, and
/// the fit is that of the base. [`step_sizes`](Pushforward::step_sizes) counts clipped step sizes. Every step of a fit records
/// the counts, and so does the outcome of a run that ends there.
#[derive(Debug, Clone, PartialEq)]
pub struct Annealed<S> {
    /// Surrogate posterior that the path follows.
    pub surrogate: S,
    /// Form of the base: the lambda of [`MeanField`] or of [`FullRank`].
    pub shape: Shape,
    /// Number K of steps.
    pub steps: usize,
    /// `eta_max`, the largest step size.
    pub longest: f64,
    /// Law of the momentum.
    pub law: Mass,
    /// Parametrisation of kappa.
    pub slope: Slope,
}

impl<S: Surrogate> Annealed<S> {
    /// Family of `steps` steps with a base of this form and `eta_max = 0.25`.
    pub const fn new(surrogate: S, shape: Shape, steps: usize) -> Self {
        let (longest, law, slope) = (0.25, Mass::Variance, Slope::Plain);
        Self { surrogate, shape, steps, longest, law, slope }
    }

    /// Parameters at the start of a fit, from the lambda of the base, the step size `eta_0` and psi. The other parameters are
    /// `kappa = 0`, `gamma = 0.9`, unit mass and `beta_k = k / K`.
    ///
    /// # Errors
    /// If a length differs, a number is not finite, or the step size is not between 0 and `eta_max`.
    pub fn at(&self, base: &[f64], step_size: f64, psi: &[f64]) -> Result<Vec<f64>, Error> {
        let layout = self.layout();
        same_length("base", layout.base, base.len())?;
        same_length("psi", self.surrogate.sizes().params, psi.len())?;
        if !(step_size > 0.0 && step_size < self.longest) {
            return Err(Error::parameter("step size", step_size, "between 0 and eta_max"));
        }
        let mut params = base.to_vec();
        params.push((step_size / (self.longest - step_size)).ln());
        params.extend([0.0, 9.0_f64.ln()]);
        params.resize(layout.psi(), 0.0);
        params.extend_from_slice(psi);
        self.check(&params)?;
        Ok(params)
    }

    /// The chain at `params`, with all parameters on their constrained scale.
    ///
    /// # Errors
    /// If [`check`](Parametric::check) finds a fault in `params`.
    pub fn chain(&self, params: &[f64]) -> Result<Dais, Error> {
        self.check(params)?;
        let (layout, mut memory) = (self.layout(), vec![0.0; self.layout().constrained_len()]);
        let mut memory = &mut memory[..];
        let Chain { step_size, kappa, longest, gamma, betas, .. } =
            self.constrained(params, &mut memory).chain;
        let base = &params[..layout.base];
        Ok(Dais {
            base: match self.shape {
                Shape::Diagonal => MeanField::new(layout.dim).with_link(Link::Exp).moments(base)?,
                Shape::Lower => FullRank::new(layout.dim).with_link(Link::Exp).moments(base)?,
            },
            shape: self.shape,
            step_size,
            kappa,
            longest,
            gamma,
            betas: betas.to_vec(),
            mass: params[layout.mass()..][..layout.dim].iter().map(|log| log.exp()).collect(),
            law: self.law,
        })
    }

    /// Constrained values at `params`, in lent memory.
    fn constrained<'a, 'w: 'a>(&self, params: &'a [f64], work: &mut &'w mut [f64]) -> Constrained<'a> {
        let &Self { shape, longest, law, slope, .. } = self;
        let layout = self.layout();
        let mut memory = borrow(work, layout.constrained_len());
        let d = layout.dim;
        let [scales, inverse, derivatives, inverse_mass, deviation, precision] =
            [(); 6].map(|()| borrow(&mut memory, d));
        for i in 0..d {
            inverse[i] = params[d + rho_at(shape, d, i)];
        }
        Link::Exp.scales_into(inverse, scales);
        Link::Exp.derivatives_into(inverse, derivatives);
        inverse.iter_mut().zip(&*scales).for_each(|(inverse, scale)| *inverse = 1.0 / scale);

        numeric::exp_into(&params[layout.mass()..layout.betas()], precision);
        for i in 0..d {
            let mass = precision[i];
            inverse_mass[i] = 1.0 / mass;
            deviation[i] = law.deviation(mass);
            precision[i] = 1.0 / (deviation[i] * deviation[i]);
        }

        let betas = borrow(&mut memory, layout.steps);
        numeric::exp_into(&params[layout.betas()..layout.psi()], betas);
        let mut sum = 0.0;
        for beta in betas.iter_mut() {
            sum += *beta;
            *beta = sum;
        }
        betas.iter_mut().for_each(|beta| *beta /= sum);

        let sigmoid = numeric::scalar::sigmoid;
        let factor = if slope == Slope::Plain { 1.0 } else { longest };
        let (mean, rest) = params[..layout.base].split_at(d);
        let triangle = if shape == Shape::Lower { rest } else { &[] };
        let chain = Chain {
            base: base::View { shape, mean, scales, inverse, triangle },
            step_size: longest * sigmoid(params[layout.base]),
            kappa: factor * params[layout.base + 1],
            longest,
            gamma: sigmoid(params[layout.base + 2].clamp(-LOGIT, LOGIT)),
            betas,
            inverse_mass,
            deviation,
            precision,
        };
        Constrained { chain, derivatives }
    }

    /// Adds the derivatives in lambda that belong to those of step size, kappa and gamma, and to those in `memory`; psi apart.
    fn pull_back(
        &self,
        constrained: &Constrained<'_>,
        (step_size, kappa, gamma): (f64, f64, f64),
        mut memory: &mut [f64],
        gradient: &mut [f64],
    ) {
        let &Self { shape, longest, law, slope, .. } = self;
        let (layout, Constrained { chain, derivatives }) = (self.layout(), constrained);
        let d = layout.dim;
        let [scales, inverse_mass, deviation] = [(); 3].map(|()| borrow(&mut memory, d));
        let betas = borrow(&mut memory, layout.steps);
        // dM/d(log M) = M, and M ds/dM is s / 2 or s.
        let share = if law == Mass::Variance { 0.5 } else { 1.0 };
        for i in 0..d {
            gradient[d + rho_at(shape, d, i)] += scales[i] * derivatives[i];
            let mass = &mut gradient[layout.mass() + i];
            *mass += share * chain.deviation[i] * deviation[i] - chain.inverse_mass[i] * inverse_mass[i];
        }
        gradient[layout.base] += step_size * chain.step_size * (1.0 - chain.step_size / longest);
        gradient[layout.base + 1] += if slope == Slope::Plain { kappa } else { kappa * longest };
        // Beyond the cut of its logit gamma is constant.
        if chain.gamma.max(1.0 - chain.gamma) < numeric::scalar::sigmoid(LOGIT) {
            gradient[layout.base + 2] += gamma * chain.gamma * (1.0 - chain.gamma);
        }
        let mean: f64 = numeric::dot(chain.betas, betas);
        let mut later = 0.0;
        for j in (0..layout.steps).rev() {
            later += betas[j];
            let before = if j == 0 { 0.0 } else { chain.betas[j - 1] };
            gradient[layout.betas() + j] += (chain.betas[j] - before) * (later - mean);
        }
    }

    fn layout(&self) -> Layout {
        let dim = self.surrogate.sizes().dim;
        let base = match self.shape {
            Shape::Diagonal => MeanField::new(dim).num_params(),
            Shape::Lower => FullRank::new(dim).num_params(),
        };
        Layout { dim, base, steps: self.steps }
    }

    fn tape_len(&self) -> usize {
        Tape::len(&self.surrogate, self.steps)
    }

    /// Simulates the path of each column of noise; `accept` has its index, its end and `log q`. Returns the chain and the tapes.
    fn simulate<'a, 'w: 'a>(
        &self,
        params: &'a [f64],
        noise: MatRef<'_, f64>,
        work: &mut &'w mut [f64],
        mut accept: impl FnMut(usize, &[f64], f64),
    ) -> (Constrained<'a>, &'w mut [f64]) {
        assert_eq!(noise.nrows(), self.noise_dim(), "the noise of a path");
        let (constrained, len) = (self.constrained(params, work), self.tape_len());
        let (psi, tapes) = (&params[self.layout().psi()..], borrow(work, len * noise.ncols()));
        for (j, tape) in tapes.chunks_exact_mut(len).enumerate() {
            let mut tape = Tape::of(&self.surrogate, self.steps, tape);
            let noise = Noise::split(noise.column(j), self.dim(), self.steps);
            let log_q = constrained.chain.simulate(&self.surrogate, psi, noise, &mut tape, work);
            accept(j, &tape.points[self.steps * self.dim()..], log_q);
        }
        (constrained, tapes)
    }

    /// Adds the gradient of `cotangent . z_K + weight * log q` for each column.
    fn add_gradients(
        &self,
        (constrained, tapes): (Constrained<'_>, &mut [f64]),
        params: &[f64],
        noise: MatRef<'_, f64>,
        (cotangents, weights): (MatRef<'_, f64>, &[f64]),
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let shape = (self.dim(), weights.len());
        assert_eq!((cotangents.nrows(), cotangents.ncols()), shape, "a cotangent per column");
        assert_eq!((gradient.len(), noise.ncols()), (params.len(), weights.len()), "a gradient per param");
        let layout = self.layout();
        let bars_memory = borrow(&mut work, layout.bars_len());
        let (gradient, psi_bar) = gradient.split_at_mut(layout.psi());
        let (psi, chain) = (&params[layout.psi()..], &constrained.chain);
        for (j, (tape, &weight)) in tapes.chunks_exact_mut(self.tape_len()).zip(weights).enumerate() {
            let tape = Tape::of(&self.surrogate, self.steps, tape);
            let noise = Noise::split(noise.column(j), layout.dim, self.steps);
            let mut bars = layout.bars(gradient, self.shape, bars_memory);
            let bar = (cotangents.column(j), weight);
            chain.add_gradient(&self.surrogate, psi, noise, bar, &tape, &mut bars, psi_bar, work);
            let scalars = (bars.step_size, bars.kappa, bars.gamma);
            self.pull_back(&constrained, scalars, bars_memory, gradient);
        }
    }
}

impl<S: Surrogate> Parametric for Annealed<S> {
    fn config(&self) -> String {
        let Self { surrogate, shape, steps, longest, law, slope } = self;
        let surrogate = surrogate.config();
        format!("Annealed {{ {surrogate}, {shape:?}, {steps} steps up to {longest:?}, {law:?}, {slope:?} }}")
    }

    fn dim(&self) -> usize {
        self.surrogate.sizes().dim
    }

    fn num_params(&self) -> usize {
        self.layout().psi() + self.surrogate.sizes().params
    }

    fn work_len(&self, columns: usize) -> usize {
        let reverse = self.layout().bars_len() + Chain::work_len(&self.surrogate);
        self.layout().constrained_len()
            + columns.max(1) * self.tape_len()
            + reverse.max(self.surrogate.sizes().work).max(self.dim())
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        let layout = self.layout();
        positive("largest step size", self.longest)?;
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)?;
        let base = &params[..layout.base];
        match self.shape {
            Shape::Diagonal => MeanField::new(layout.dim).with_link(Link::Exp).check(base)?,
            Shape::Lower => FullRank::new(layout.dim).with_link(Link::Exp).check(base)?,
        }
        Link::Exp
            .check(&params[layout.mass()..layout.psi()])
            .map_err(|error| error.within("mass and temperatures"))
    }
}

impl<S: Surrogate> Pushforward for Annealed<S> {
    fn noise_dim(&self) -> usize {
        (1 + self.steps) * self.surrogate.sizes().dim + self.surrogate.sizes().noise
    }

    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        mut work: &mut [f64],
    ) {
        let shape = (self.dim(), log_q.len(), log_q.len());
        assert_eq!((z.nrows(), z.ncols(), noise.ncols()), shape, "point and density per column");
        self.simulate(params, noise, &mut work, |j, end, of_path| {
            z.column_mut(j).copy_from_slice(end);
            log_q[j] = of_path;
        });
    }

    fn add_push_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let simulated = self.simulate(params, noise, &mut work, |_, _, _| ());
        self.add_gradients(simulated, params, noise, (cotangents, weights), gradient, work);
    }

    fn push_and_add_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        mut cotangents: MatMut<'_, f64>,
        pull: &mut Backprop<'_>,
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        assert_eq!(noise.ncols(), log_q.len(), "a density per column");
        let simulated = self.simulate(params, noise, &mut work, |j, end, of_path| {
            z.column_mut(j).copy_from_slice(end);
            log_q[j] = of_path;
        });
        if pull(z.as_ref(), log_q, cotangents.rb_mut()) {
            self.add_gradients(simulated, params, noise, (cotangents.as_ref(), log_q), gradient, work);
        }
    }

    fn sample_reverse_into(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        lanes: &mut [Stream],
        noise: MatMut<'_, f64>,
        log_q: &mut [f64],
        mut work: &mut [f64],
    ) -> bool {
        assert_eq!((z.nrows(), z.ncols()), (self.dim(), log_q.len()), "an end per density");
        let momenta = self.steps * self.dim();
        let mut noise = noise.subrows_mut(0, momenta + self.surrogate.sizes().noise);
        each_column(lanes, noise.rb_mut(), |lane, _, noise| lane.normals_into(noise));
        let (chain, tape) = (self.constrained(params, &mut work).chain, borrow(&mut work, self.tape_len()));
        let (mut tape, psi) = (Tape::of(&self.surrogate, self.steps, tape), &params[self.layout().psi()..]);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let (end, noise) = (z.column(j), noise.as_ref().column(j).split_at(momenta));
            *log_q = chain.simulate_back(&self.surrogate, psi, end, noise, &mut tape, work);
        }
        true
    }

    fn step_sizes(&self, params: &[f64], mut work: &mut [f64]) -> StepSizes {
        self.constrained(params, &mut work).chain.step_sizes()
    }
}

/// Layout of lambda, `[base; u; kappa; w; log M; b; psi]`.
#[derive(Debug, Clone, Copy)]
struct Layout {
    dim: usize,
    base: usize,
    steps: usize,
}

impl Layout {
    /// Index of the first log mass.
    const fn mass(self) -> usize {
        self.base + 3
    }

    /// Index of the first temperature.
    const fn betas(self) -> usize {
        self.mass() + self.dim
    }

    /// Index of the first entry of psi.
    const fn psi(self) -> usize {
        self.betas() + self.steps
    }

    const fn constrained_len(self) -> usize {
        6 * self.dim + self.steps
    }

    /// Length of the memory of [`bars`](Self::bars).
    const fn bars_len(self) -> usize {
        3 * self.dim + self.steps
    }

    /// Derivatives: of mean and triangle in place in the gradient of lambda, of the rest, which is zeroed, in `memory`.
    fn bars<'a>(self, gradient: &'a mut [f64], shape: Shape, mut memory: &'a mut [f64]) -> Bars<'a> {
        memory.fill(0.0);
        let (mean, rest) = gradient[..self.base].split_at_mut(self.dim);
        let triangle = if shape == Shape::Lower { rest } else { &mut [] };
        Bars {
            base: base::Bars { mean, scales: borrow(&mut memory, self.dim), triangle },
            step_size: 0.0,
            kappa: 0.0,
            gamma: 0.0,
            inverse_mass: borrow(&mut memory, self.dim),
            deviation: borrow(&mut memory, self.dim),
            betas: borrow(&mut memory, self.steps),
        }
    }
}

/// Constrained values at one lambda.
#[derive(Debug)]
struct Constrained<'a> {
    chain: Chain<'a>,
    /// `d scale / d rho`.
    derivatives: &'a [f64],
}

/// Index of `rho_i` behind the mean, in the lambda of a mean-field or full-rank base.
fn rho_at(shape: Shape, dim: usize, i: usize) -> usize {
    if shape == Shape::Diagonal { i } else { packed::start(dim, i) }
}
