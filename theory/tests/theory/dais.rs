//! Closed form of annealed chains on linear Gaussian models, against the chains of `mcsa-annealed`, right or with a mistake.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use faer::Mat;
use mcsa_annealed::dais::{Base, Dais, DaisGradient, Mass, Shape};
use mcsa_annealed::{Along, PathPoint, Sizes, Surrogate};
use mcsa_core::{Seed, Stream};
use mcsa_theory::dais::{LinearDais, Normal, Quadratic};

/// A random chain with a random model; every choice of shape comes from `index`.
#[derive(Clone)]
struct Case {
    /// Parameters of the chain, of which [`Case::chain`] makes one.
    mean: Vec<f64>,
    /// Lower-triangular factor of the base; only its diagonal if `full` is false.
    scale: Mat<f64>,
    full: bool,
    step_size: f64,
    kappa: f64,
    gamma: f64,
    betas: Vec<f64>,
    mass: Vec<f64>,
    /// True for a momentum of standard deviation M instead of variance M.
    numpyro: bool,
    slope: Vec<f64>,
    curvature: Mat<f64>,
    prior: Normal,
    likelihood: Quadratic,
}

const LONGEST: f64 = 0.5;

/// `F F^T / d + share I` with normal entries.
fn positive(d: usize, share: f64, stream: &mut Stream) -> Mat<f64> {
    let factor = Mat::from_fn(d, d, |_, _| stream.normal());
    let square = &factor * factor.transpose();
    Mat::from_fn(d, d, |i, j| square[(i, j)] / d as f64 + if i == j { share } else { 0.0 })
}

impl Case {
    fn new(index: usize) -> Self {
        let mut random = Seed::new(11).stream(0, index as u64);
        let stream = &mut random;
        let (d, steps) = (1 + index % 4, (index / 4) % 6);
        let (full, numpyro) = ((index / 24).is_multiple_of(2), (index / 48).is_multiple_of(2));
        let mut vector = |scale: f64| -> Vec<f64> { (0..d).map(|_| scale * stream.normal()).collect() };
        let (mean, slope, prior_mean, likelihood_slope) =
            (vector(1.0), vector(1.0), vector(0.5), vector(1.5));
        let mass: Vec<f64> = vector(0.4).iter().map(|x| x.exp()).collect();
        let deviations: Vec<f64> = vector(0.3).iter().map(|x| 0.5 * x.exp()).collect();
        let off = |i: usize, j: usize, x: f64| if full && i > j { 0.3 * x } else { 0.0 };
        let scale =
            Mat::from_fn(d, d, |i, j| if i == j { deviations[i] } else { off(i, j, stream.normal()) });
        let mut betas: Vec<f64> = (0..steps).map(|_| (0.3 * stream.normal()).exp()).collect();
        let total: f64 = betas.iter().sum();
        let mut so_far = 0.0;
        for beta in &mut betas {
            so_far += *beta / total;
            *beta = so_far;
        }
        // Some step sizes are clipped at one end or the other; none is so near that a difference would cross the end.
        let (step_size, kappa) = loop {
            let (step_size, kappa) = (0.05 + 0.3 * stream.uniform(), 0.4 * stream.normal());
            let near = |beta: &f64| {
                let eta = step_size + kappa * beta;
                eta.abs().min((eta - LONGEST).abs()) < 0.01
            };
            if !betas.iter().any(near) {
                break (step_size, kappa);
            }
        };
        Self {
            mean,
            scale,
            full,
            step_size,
            kappa,
            gamma: 0.3 + 0.65 * stream.uniform(),
            betas,
            mass,
            numpyro,
            slope,
            curvature: positive(d, 0.3, stream),
            prior: Normal::new(prior_mean, positive(d, 0.5, stream)).unwrap(),
            likelihood: Quadratic {
                slope: likelihood_slope,
                curvature: positive(d, 0.3, stream),
                constant: stream.normal(),
            },
        }
    }

    fn chain(&self) -> LinearDais {
        let deviation = |m: &f64| if self.numpyro { *m } else { m.sqrt() };
        LinearDais {
            prior: self.prior.clone(),
            base: Normal::new(self.mean.clone(), &self.scale * self.scale.transpose()).unwrap(),
            surrogate: Quadratic {
                slope: self.slope.clone(),
                curvature: self.curvature.clone(),
                constant: 0.0,
            },
            step_size: self.step_size,
            kappa: self.kappa,
            longest: LONGEST,
            gamma: self.gamma,
            betas: self.betas.clone(),
            mass: self.mass.clone(),
            deviation: self.mass.iter().map(deviation).collect(),
        }
    }

    fn bound(&self) -> f64 {
        self.chain().bound(&self.likelihood).unwrap()
    }

    /// Moves parameter `index`, in the order of [`Code::gradient`]; false if there is none.
    fn moved(&mut self, mut index: usize, by: f64) -> bool {
        let half: Vec<(usize, usize)> = lower(self.mean.len()).collect();
        let lists = self.mean.iter_mut().chain(&mut self.betas).chain(&mut self.mass).chain(&mut self.slope);
        let numbers = lists.chain([&mut self.step_size, &mut self.kappa, &mut self.gamma]);
        let mut numbers: Vec<&mut f64> = numbers.collect();
        if let Some(x) = numbers.get_mut(index) {
            **x += by;
            return true;
        }
        index -= numbers.len();
        if let Some(&(i, j)) = half.get(index) {
            self.curvature[(i, j)] += by;
            self.curvature[(j, i)] = self.curvature[(i, j)];
            return true;
        }
        let entry = half.iter().filter(|(i, j)| self.full || i == j).nth(index - half.len());
        entry.is_some_and(|&at| {
            self.scale[at] += by;
            true
        })
    }
}

/// Deliberate mistake of a chain.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mistake {
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
fn lower(d: usize) -> impl Iterator<Item = (usize, usize)> {
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
    fn sizes(&self) -> Sizes {
        let dim = self.slope.len();
        Sizes { dim, params: dim + dim * (dim + 1) / 2, ..Sizes::default() }
    }

    fn gradient_into(&self, at: PathPoint<'_>, gradient: &mut [f64], _: &mut [f64], _: &mut [f64]) {
        let PathPoint { psi, z, .. } = at;
        let factor = if self.calls.fetch_add(1, Relaxed) + 1 == self.twice_at { 2.0 } else { 1.0 };
        gradient.copy_from_slice(&self.gradient(&psi[..z.len()], z));
        gradient.iter_mut().for_each(|g| *g *= factor);
    }

    fn add_second(&self, along: Along<'_>, product: &mut [f64], psi_bar: &mut [f64], _: &mut [f64]) {
        let Along { at: PathPoint { z, .. }, u, scale, .. } = along;
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
struct Code {
    dais: Dais,
    guide: Joint,
    target: Joint,
    mistake: Mistake,
}

impl Code {
    fn of(case: &Case, mistake: Mistake) -> Self {
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

    fn noise_len(&self) -> usize {
        self.dais.noise_len(&self.guide)
    }

    /// Log weight of the path that the normal numbers `noise` draw.
    fn log_weight(&self, noise: &[f64]) -> f64 {
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
    fn gradient(&self, noise: &[f64]) -> Vec<f64> {
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

/// Mean of `f(x)`, quadratic in d standard normal numbers x: the average over the points `±sqrt(d) e_i`, which have the moments of
/// the normal distribution up to the third.
fn mean(dim: usize, mut f: impl FnMut(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let (mut point, mut total) = (vec![0.0; dim], Vec::new());
    for i in 0..dim {
        for sign in [1.0, -1.0] {
            point[i] = sign * (dim as f64).sqrt();
            let found = f(&point);
            total.resize(found.len(), 0.0);
            total.iter_mut().zip(&found).for_each(|(total, x)| *total += x / (2 * dim) as f64);
        }
        point[i] = 0.0;
    }
    total
}

/// Expected log weight of a chain.
fn expected(code: &Code) -> f64 {
    mean(code.noise_len(), |noise| vec![code.log_weight(noise)])[0]
}

/// Expected gradient of the log weight.
fn expected_gradient(code: &Code) -> Vec<f64> {
    mean(code.noise_len(), |noise| code.gradient(noise))
}

#[test]
fn quadratic_has_its_trace() {
    let f = |x: &[f64]| vec![3.0 + x[0] - 2.0 * x[1] + x[0] * x[1] + 0.5 * x[0] * x[0] + 2.0 * x[2] * x[2]];
    assert!((mean(3, f)[0] - 5.5).abs() < 1e-14);
    // The twin: a fourth power is not quadratic, and its mean of 3 is missed.
    assert!((mean(3, |x| vec![x[0].powi(4)])[0] - 3.0).abs() < 1e-14);
    assert!((mean(2, |x| vec![x[0].powi(4)])[0] - 3.0).abs() > 0.5);
}

/// Relative distance of two numbers.
fn apart(a: f64, b: f64) -> f64 {
    (a - b).abs() / a.abs().max(b.abs()).max(1.0)
}

#[test]
fn expected_log_weight_is_the_closed_form() {
    for index in 0..192 {
        let case = Case::new(index);
        let far = apart(case.bound(), expected(&Code::of(&case, Mistake::None)));
        assert!(far < 1e-10, "case {index}: {far:e}");
    }
}

/// The failing twins: chains with a mistake.
#[test]
fn mistaken_chains_are_told_apart() {
    for mistake in [Mistake::Refresh, Mistake::LastKick, Mistake::Mass, Mistake::Target] {
        // A short step hides a mistake; a single step has no refreshment.
        let is_concerned =
            |case: &Case| case.betas.len() > 1 && case.chain().step_sizes().all(|eta| eta > 0.03);
        for (index, case) in (0..192).map(Case::new).enumerate().filter(|(_, case)| is_concerned(case)) {
            let far = apart(case.bound(), expected(&Code::of(&case, mistake)));
            assert!(far > 1e-8, "case {index}, {mistake:?}: {far:e}");
        }
    }
}

/// Derivatives of the closed form by differences of order four, against the mean of the reverse sweep.
#[test]
fn expected_gradient_is_that_of_the_closed_form() {
    for index in 0..96 {
        let case = Case::new(index);
        let found = expected_gradient(&Code::of(&case, Mistake::None));
        for (parameter, found) in found.iter().enumerate() {
            let at = |by: f64| {
                let mut case = case.clone();
                assert!(case.moved(parameter, by));
                case.bound()
            };
            let h = 1e-3;
            let difference = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
            let far = apart(difference, *found);
            assert!(far < 1e-7, "case {index}, parameter {parameter}: {difference} {found}");
        }
        assert!(!case.clone().moved(found.len(), 0.0));
    }
}

/// The failing twin: the gradient of a chain with the other mass.
#[test]
fn gradient_of_another_chain_is_told_apart() {
    let case = Case::new(17);
    let (right, wrong) = (Code::of(&case, Mistake::None), Code::of(&case, Mistake::Mass));
    let far = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| apart(*x, *y)).fold(0.0, f64::max);
    assert!(far(&expected_gradient(&right), &expected_gradient(&wrong)) > 1e-3);
}

/// A chain all of whose step sizes are clipped at zero has the bound of its base, at a derivative of zero for every parameter of
/// the chain.
#[test]
fn chain_at_rest_has_no_gradient() {
    for index in (0..96).filter(|index| (index / 4) % 6 > 0) {
        let case = Case { step_size: 0.01, kappa: -1.0, ..Case::new(index) };
        if case.chain().step_sizes().any(|eta| eta > 0.0) {
            continue;
        }
        let (d, steps) = (case.mean.len(), case.betas.len());
        let gradient = expected_gradient(&Code::of(&case, Mistake::None));
        let of_chain = &gradient[d..][..steps + 2 * d + 3 + d * (d + 1) / 2];
        assert!(of_chain.iter().all(|x| x.abs() < 1e-12), "{of_chain:?}");
        let still = LinearDais { betas: Vec::new(), ..case.chain() };
        assert!(apart(still.bound(&case.likelihood).unwrap(), case.bound()) < 1e-14);
    }
}
