//! Closed form of annealed chains on linear Gaussian models, against the chains of `mcsa-families`.

mod code;
mod expectation;

use code::{Code, Mistake, lower};
use expectation::{expected, expected_gradient};
use faer::Mat;
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
