//! Claims of MSC.

use std::fmt;

use mcsa_core::Stream;

use super::case::{logits, normalised, softmax, tuple};
use super::{Atoms, Claim, Domain, Numbers, Searchable, Setting, Sides, Statement, few};
use crate::fixed_point::SkewNormal;
use crate::{Instance, Square};

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    [candidates(), ascent(), minibatches(), skew_normal()].into_iter().flatten().collect()
}

/// Importance resampling among the fresh candidates alone, which leaves out the retained point.
fn forgetful(case: &Atoms) -> Square<f64> {
    let problem = &case.problem;
    let chosen = |y: usize| {
        let indicator: Vec<f64> = (0..problem.atoms()).map(|z| f64::from(u8::from(z == y))).collect();
        problem.with_statistic(&indicator).snis(case.samples - 1).mean
    };
    let row: Vec<f64> = (0..problem.atoms()).map(chosen).collect();
    Square::from_fn(problem.atoms(), |_, y| row[y])
}

/// Claims on the invariance of conditional importance sampling (MSC, Sec. 3).
fn candidates() -> Vec<Claim> {
    let settings = Setting::grid(&[2, 3], &[2, 3, 5], &[1]);
    fn kept(case: &Atoms, law: &[f64]) -> Option<Sides> {
        Sides::farthest(law.iter().zip(case.problem.pi()).map(|(found, p)| Sides::equal(*found, *p)))
    }
    fn flows(case: &Atoms, kernel: &Square<f64>) -> Option<Sides> {
        let flow = |z: usize, y: usize| case.problem.pi()[z] * kernel.row(z)[y];
        let pairs = (0..case.problem.atoms()).flat_map(|z| (0..z).map(move |y| (z, y)));
        Sides::farthest(pairs.map(|(z, y)| Sides::equal(flow(z, y), flow(y, z))))
    }
    vec![
        Atoms::bound("p K = p", &settings, |case| {
            kept(case, &case.problem.cis(case.samples).transition.push(case.problem.pi()))
        })
        .twin("chosen among the fresh points alone", |case| kept(case, forgetful(case).row(0)))
        .claim("002-CIS", "Algorithm 2")
        .assuming("CIS, S candidates with the retained one"),
        Atoms::bound("p(z) K(z, y) = p(y) K(y, z)", &settings, |case| {
            flows(case, &case.problem.cis(case.samples).transition)
        })
        .twin("chosen among the fresh points alone", |case| flows(case, &forgetful(case)))
        .claim("002-CIS-REVERSIBLE", "Algorithm 2")
        .assuming("CIS, S candidates with the retained one"),
    ]
}

/// `KL(p || q)` after an Euler step along `direction` times the mean score of a softmax, `p - q`, against that before, less a
/// multiple of the squared norm of that mean score times the step size.
fn step(case: &Atoms, direction: f64, gain: f64) -> Option<Sides> {
    const STEP: f64 = 0.1;
    let (p, q) = (case.problem.pi(), case.problem.q());
    let drift: Vec<f64> = p.iter().zip(q).map(|(p, q)| p - q).collect();
    let logits: Vec<f64> = q.iter().zip(&drift).map(|(q, g)| q.ln() + STEP * direction * g).collect();
    let moved = Instance::new(p, &normalised(&logits), case.problem.s()).ok()?;
    let square: f64 = drift.iter().map(|g| g * g).sum();
    let bound = case.problem.kl() - gain * (STEP * square);
    Some(Sides::at_most(moved.kl(), bound)).filter(|_| square > 1e-6)
}

/// Claims on the differential equation that approximates the ascent (MSC, App. A).
fn ascent() -> Vec<Claim> {
    let method = "an Euler step of 0.1 on a softmax";
    vec![
        Statement::not_checkable(
            "lambda_k -> lambda* almost surely",
            "a limit theorem on stochastic approximation (Gu and Kong): no two sides that are numbers",
        )
        .claim("002-P1", "Proposition 1")
        .assuming("C1-C6: a stable differential equation, uniform ergodicity, moments")
        .remark("for a skew normal target w* is infinite under a Gaussian that is too narrow"),
        Atoms::bound("KL(p || q) falls along d lambda/dt = E_p[-s]", &few(), |case| step(case, -1.0, 0.0))
            .example(Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[0.0, 0.0]))
            .by(method)
            .claim("002-ODE", "eq. 16")
            .assuming("q a softmax")
            .remark("the sign: the optimum repels; for q = N(lambda, 1), p = N(0, 1) it reads d lambda/dt = lambda")
            .corrected(
                Atoms::bound("KL(p || q) falls along d lambda/dt = E_p[s]", &few(), |case| step(case, 1.0, 0.0))
                    .by(method)
                    .twin("by more than |E_p s|^2 per time", |case| step(case, 1.0, 1.05)),
            ),
    ]
}

/// A prior on a few atoms, the likelihoods of `n` data on them, and the batch size `m`.
#[derive(Debug, Clone, PartialEq)]
struct Batches {
    /// The prior.
    prior: Vec<f64>,
    /// Likelihood of each datum at every atom.
    likelihoods: Vec<Vec<f64>>,
    /// Batch size `m`.
    size: usize,
}

impl Batches {
    /// All sequences of `m` data, with or without repetition of a datum.
    fn sequences(&self, replaced: bool) -> Vec<Vec<usize>> {
        let n = self.likelihoods.len();
        let sequence = |k: usize| (0..self.size).map(|j| k / n.pow(j as u32) % n).collect::<Vec<_>>();
        let distinct = |batch: &[usize]| (0..batch.len()).all(|j| !batch[..j].contains(&batch[j]));
        (0..n.pow(self.size as u32)).map(sequence).filter(|batch| replaced || distinct(batch)).collect()
    }

    /// All sets (or multisets) of `m` data, each once.
    fn sets(&self, replaced: bool) -> Vec<Vec<usize>> {
        self.sequences(replaced).into_iter().filter(|batch| batch.is_sorted()).collect()
    }

    /// `n / m`.
    fn power(&self) -> f64 {
        self.likelihoods.len() as f64 / self.size as f64
    }

    /// Mean over batches of `p(z) p(x_M | z)^power` at every atom.
    fn mean(&self, batches: &[Vec<usize>], power: f64) -> Vec<f64> {
        let likelihood =
            |batch: &[usize], z: usize| batch.iter().map(|&i| self.likelihoods[i][z]).product::<f64>();
        let mut mean = vec![0.0; self.prior.len()];
        for batch in batches {
            for (z, mean) in mean.iter_mut().enumerate() {
                *mean += self.prior[z] * likelihood(batch, z).powf(power) / batches.len() as f64;
            }
        }
        mean
    }
}

impl Searchable for Batches {
    /// Number of atoms, number of data, batch size.
    type Setting = (usize, usize, usize);

    fn draw(&(atoms, data, size): &Self::Setting, stream: &mut Stream) -> Self {
        let spread = if stream.uniform() < 0.5 { 0.5 } else { 2.0 };
        let mut law = || softmax(&(0..atoms).map(|_| spread * stream.normal()).collect::<Vec<_>>());
        Self { prior: law(), likelihoods: (0..data).map(|_| law()).collect(), size }
    }

    fn coordinates(&self) -> Vec<f64> {
        logits(std::iter::once(&self.prior).chain(&self.likelihoods).flatten())
    }

    fn at(&self, coordinates: &[f64]) -> Self {
        let mut laws = coordinates.chunks(self.prior.len()).map(softmax);
        let prior = laws.next().unwrap_or_default();
        Self { prior, likelihoods: laws.collect(), size: self.size }
    }
}

impl fmt::Display for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "prior {}", tuple(&self.prior))?;
        for (i, likelihood) in (1..).zip(&self.likelihoods) {
            write!(f, ", l_{i} = {}", tuple(likelihood))?;
        }
        write!(f, ", m = {}", self.size)
    }
}

/// Largest absolute component of the mean step at the softmax guide of these masses, over all sequences of data and all draws of
/// the guide, each with its weight `p(z) p(x_M | z)^(n/m) / q(z)`; relative to the mean weight, and against 0.
fn mean_step(case: &Batches, replaced: bool, masses: Vec<f64>) -> Option<Sides> {
    let total: f64 = masses.iter().sum();
    let guide: Vec<f64> = masses.iter().map(|x| x / total).collect();
    if guide.iter().any(|q| !(*q > 1e-12)) {
        return None;
    }
    let joint = case.mean(&case.sequences(replaced), case.power());
    let mut direction = vec![0.0; guide.len()];
    for (z, q) in guide.iter().enumerate() {
        let weight = joint[z] / q;
        for (k, direction) in direction.iter_mut().enumerate() {
            let score = f64::from(u8::from(k == z)) - guide[k];
            *direction += q * weight * score;
        }
    }
    let total: f64 = joint.iter().sum();
    let largest = direction.iter().fold(0.0, |worst: f64, d| worst.max(d.abs()));
    Some(Sides::equal(largest / total, 0.0))
}

/// Claims on the fixed point of the ascent on minibatches (MSC, Prop. 2).
fn minibatches() -> Vec<Claim> {
    let settings = [(2, 3, 2), (3, 3, 2), (3, 4, 2)];
    let formula = "E[step] = 0 at q ∝ p(z) sum_M p(x_M | z)^(n/m)";
    // The fixed point is the mean over sets or sequences, with or without repetition.
    let at_sets = |settings: &[(usize, usize, usize)], replaced: bool| {
        Batches::bound(formula, settings, move |case| {
            mean_step(case, replaced, case.mean(&case.sets(replaced), case.power()))
        })
    };
    vec![
        at_sets(&settings, false)
            .twin("at the posterior of all data", |case| {
                let whole = Batches { size: case.likelihoods.len(), ..case.clone() };
                mean_step(case, false, whole.mean(&whole.sets(false), whole.power()))
            })
            .claim("002-P2", "Proposition 2")
            .assuming("batches without replacement, fixed lambda, the estimator of eq. 10, not normalised"),
        at_sets(&[(2, 3, 2), (3, 3, 2), (3, 4, 2), (2, 2, 2)], true)
            .example(Batches {
                prior: vec![0.5, 0.5],
                likelihoods: vec![vec![0.5, 0.25], vec![1.0, 0.25]],
                size: 2,
            })
            .claim("002-P2-REPLACED", "Proposition 2")
            .assuming("batches with replacement, M in the set of all batches")
            .remark("a batch of different data is drawn more often than one of equal data")
            .corrected(
                Batches::bound(
                    "E[step] = 0 at q ∝ p(z) sum_M multiplicity(M) p(x_M | z)^(n/m)",
                    &settings,
                    |case| mean_step(case, true, case.mean(&case.sequences(true), case.power())),
                )
                .twin("without the power n/m", |case| {
                    mean_step(case, true, case.mean(&case.sequences(true), 1.0))
                }),
            ),
        Batches::bound(
            "for m = n, E[step] = 0 at q = p(z | x)",
            &[(2, 2, 2), (2, 3, 3), (3, 3, 3)],
            |case| {
                let likelihood = |z: usize| case.likelihoods.iter().map(|l| l[z]).product::<f64>();
                let posterior = (0..case.prior.len()).map(|z| case.prior[z] * likelihood(z));
                mean_step(case, false, posterior.collect())
            },
        )
        .twin("at the prior", |case| mean_step(case, false, case.prior.clone()))
        .claim("002-P2-WHOLE", "Proposition 2")
        .assuming("one batch of all data"),
    ]
}

/// Claims on the example with a skew-normal target (MSC, Fig. 1). Doubling the 100 quadrature points changes no comparison.
fn skew_normal() -> Vec<Claim> {
    let shapes = Numbers::settings(&[("shape", Domain::Between(0.5, 8.0), 1)], &[1]);
    fn narrow(case: &Numbers, factor: f64) -> Option<Sides> {
        let target = SkewNormal { shape: case.number("shape") };
        Some(Sides::below(target.pairwise(100)?.deviation, factor * target.moments().deviation))
    }
    fn biased(case: &Numbers, least: f64) -> Option<Sides> {
        let target = SkewNormal { shape: case.number("shape") };
        Some(Sides::below(target.pairwise(100)?.mean, target.moments().mean - least))
    }
    let method = "quadrature over two draws, Newton's method";
    vec![
        Numbers::bound("SNIS, S = 2: the fitted deviation is below the target's", &shapes, |case| {
            narrow(case, 1.0)
        })
        .by(method)
        .twin("below 0.9 of it", |case| narrow(case, 0.9))
        .claim("002-FIG1", "Figure 1")
        .assuming("a skew normal target, a Gaussian guide"),
        Numbers::bound("SNIS, S = 2: the fitted mean is short of the target's", &shapes, |case| {
            biased(case, 0.0)
        })
        .by(method)
        .twin("by more than 0.05", |case| biased(case, 0.05))
        .claim("002-FIG1-MEAN", "Figure 1")
        .assuming("a skew normal target, a Gaussian guide"),
    ]
}
