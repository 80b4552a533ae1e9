//! Claims of MSC.

use std::fmt;

use mcsa_core::Stream;

use crate::claims::case::{normalised, softmax, tuple};
use crate::claims::{Atoms, Claim, Domain, Numbers, Searchable, Setting, Sides, Statement};
use crate::fixed_point::SkewNormal;
use crate::{Instance, Square};

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    vec![
        invariant(),
        reversible(),
        convergence(),
        descent(),
        distinct(),
        replaced(),
        whole(),
        narrow(),
        biased(),
    ]
}

// Claims on the invariance of conditional importance sampling (MSC, Sec. 3).

fn candidates() -> Vec<Setting> {
    Setting::grid(&[2, 3], &[2, 3, 5], &[1])
}

/// The pair of entries of two lists that differs most.
fn farthest(found: Vec<f64>, expected: &[f64]) -> Sides {
    let pairs = found.into_iter().zip(expected).map(|(a, b)| Sides::equal(a, *b));
    Sides::farthest(pairs).unwrap_or(Sides::equal(0.0, 0.0))
}

/// Importance resampling among the fresh candidates alone, which leaves out the retained point: distribution of the result.
fn forgetful(problem: &Instance<f64>, fresh: usize) -> Vec<f64> {
    let chosen = |y: usize| {
        let indicator: Vec<f64> = (0..problem.len()).map(|z| f64::from(u8::from(z == y))).collect();
        problem.with_statistic(&indicator).snis(fresh).mean
    };
    (0..problem.len()).map(chosen).collect()
}

fn invariant() -> Claim {
    let printed = Atoms::bound("p K = p", candidates(), |case| {
        let kernel = case.problem.cis(case.samples).transition;
        Some(farthest(kernel.push(case.problem.pi()), case.problem.pi()))
    });
    let twin = |case: &Atoms| Some(farthest(forgetful(&case.problem, case.samples - 1), case.problem.pi()));
    Claim::new("002-CIS", "Algorithm 2", printed.twin("chosen among the fresh points alone", twin))
        .assuming("CIS, S candidates with the retained one")
}

fn reversible() -> Claim {
    fn flows(case: &Atoms, kernel: &Square<f64>) -> Option<Sides> {
        let n = case.problem.len();
        let flow = |z: usize, y: usize| case.problem.pi()[z] * kernel.row(z)[y];
        let pairs = || (0..n).flat_map(|z| (0..z).map(move |y| (z, y)));
        let back: Vec<f64> = pairs().map(|(z, y)| flow(y, z)).collect();
        Some(farthest(pairs().map(|(z, y)| flow(z, y)).collect(), &back))
    }
    let formula = "p(z) K(z, y) = p(y) K(y, z)";
    let printed =
        Atoms::bound(formula, candidates(), |case| flows(case, &case.problem.cis(case.samples).transition));
    let twin = |case: &Atoms| {
        let row = forgetful(&case.problem, case.samples - 1);
        flows(case, &Square::from_fn(case.problem.len(), |_, y| row[y]))
    };
    let printed = printed.twin("chosen among the fresh points alone", twin);
    Claim::new("002-CIS-REVERSIBLE", "Algorithm 2", printed)
        .assuming("CIS, S candidates with the retained one")
}

// Claims on the differential equation that approximates the ascent (MSC, App. A).

fn convergence() -> Claim {
    let reason = "a limit theorem on stochastic approximation (Gu and Kong): no two sides that are numbers";
    let printed = Statement::not_checkable("lambda_k -> lambda* almost surely", reason);
    Claim::new("002-P1", "Proposition 1", printed)
        .assuming("C1-C6: a stable differential equation, uniform ergodicity, moments")
        .remark("for a skew normal target w* is infinite under a Gaussian that is too narrow")
}

/// `KL(p || q)` before and after an Euler step along `direction` times the mean score of a softmax, `p - q`, and the
/// squared norm of that mean score times the step size.
fn step(case: &Atoms, direction: f64) -> Option<(f64, f64, f64)> {
    const STEP: f64 = 0.1;
    let (p, q) = (case.problem.pi(), case.problem.q());
    let drift: Vec<f64> = p.iter().zip(q).map(|(p, q)| p - q).collect();
    let logits: Vec<f64> = q.iter().zip(&drift).map(|(q, g)| q.ln() + STEP * direction * g).collect();
    let moved = Instance::new(p, &normalised(&logits), case.problem.s()).ok()?;
    let square: f64 = drift.iter().map(|g| g * g).sum();
    Some((case.problem.kl(), moved.kl(), STEP * square)).filter(|_| square > 1e-6)
}

fn descent() -> Claim {
    let (settings, method) = (Setting::atoms(&[2, 3, 4]), "an Euler step of 0.1 on a softmax");
    let printed = "KL(p || q) falls along d lambda/dt = E_p[-s]";
    let printed = Atoms::bound(printed, settings.clone(), |case| {
        let (before, after, _) = step(case, -1.0)?;
        Some(Sides::at_most(after, before))
    });
    let corrected = "KL(p || q) falls along d lambda/dt = E_p[s]";
    let corrected = Atoms::bound(corrected, settings, |case| {
        let (before, after, _) = step(case, 1.0)?;
        Some(Sides::at_most(after, before))
    });
    let twin = |case: &Atoms| {
        let (before, after, gain) = step(case, 1.0)?;
        Some(Sides::at_most(after, before - 1.05 * gain))
    };
    let example = Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[0.0, 0.0]);
    Claim::new("002-ODE", "eq. 16", printed.example(example).by(method))
        .assuming("q a softmax")
        .remark(
            "the sign: the optimum repels; for q = N(lambda, 1), p = N(0, 1) it reads d lambda/dt = lambda",
        )
        .corrected(corrected.by(method).twin("by more than |E_p s|^2 per time", twin))
}

// Cases with minibatches of data.

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

    /// `p(z) p(x_M | z)^power` at every atom.
    fn joint(&self, batch: &[usize], power: f64) -> Vec<f64> {
        let likelihood = |z: usize| batch.iter().map(|&i| self.likelihoods[i][z]).product::<f64>();
        self.prior.iter().enumerate().map(|(z, prior)| prior * likelihood(z).powf(power)).collect()
    }

    /// Mean over batches of `p(z) p(x_M | z)^(n/m)`.
    fn mean(&self, batches: &[Vec<usize>]) -> Vec<f64> {
        self.mean_to(batches, self.likelihoods.len() as f64 / self.size as f64)
    }

    /// Mean over batches of `p(z) p(x_M | z)^power`.
    fn mean_to(&self, batches: &[Vec<usize>], power: f64) -> Vec<f64> {
        let mut mean = vec![0.0; self.prior.len()];
        for batch in batches {
            let joint = self.joint(batch, power);
            mean.iter_mut().zip(joint).for_each(|(m, x)| *m += x / batches.len() as f64);
        }
        mean
    }
}

/// The vector divided by its sum.
fn shares(mut x: Vec<f64>) -> Vec<f64> {
    let total: f64 = x.iter().sum();
    x.iter_mut().for_each(|x| *x /= total);
    x
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
        std::iter::once(&self.prior).chain(&self.likelihoods).flatten().map(|p| p.ln().max(-40.0)).collect()
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

// Claims on the fixed point of the ascent on minibatches (MSC, Prop. 2).

const SETTINGS: [(usize, usize, usize); 3] = [(2, 3, 2), (3, 3, 2), (3, 4, 2)];

/// Largest absolute component of the mean step at a softmax guide, over all sequences of data and all draws of the
/// guide, each with its weight `p(z) p(x_M | z)^(n/m) / q(z)`; relative to the mean weight.
fn mean_step(case: &Batches, replaced: bool, guide: &[f64]) -> f64 {
    let joint = case.mean(&case.sequences(replaced));
    let mut direction = vec![0.0; guide.len()];
    for (z, q) in guide.iter().enumerate() {
        let weight = joint[z] / q;
        for (k, direction) in direction.iter_mut().enumerate() {
            let score = f64::from(u8::from(k == z)) - guide[k];
            *direction += q * weight * score;
        }
    }
    let total: f64 = joint.iter().sum();
    direction.iter().fold(0.0, |worst: f64, d| worst.max(d.abs())) / total
}

fn standstill(case: &Batches, replaced: bool, joint: Vec<f64>) -> Option<Sides> {
    let guide = shares(joint);
    if guide.iter().any(|q| !(*q > 1e-12)) {
        return None;
    }
    Some(Sides::equal(mean_step(case, replaced, &guide), 0.0))
}

fn distinct() -> Claim {
    let formula = "E[step] = 0 at q ∝ p(z) sum_M p(x_M | z)^(n/m)";
    let printed = Batches::bound(formula, SETTINGS.to_vec(), |case| {
        standstill(case, false, case.mean(&case.sets(false)))
    });
    let twin = |case: &Batches| {
        let whole = Batches { size: case.likelihoods.len(), ..case.clone() };
        standstill(case, false, whole.mean(&whole.sets(false)))
    };
    Claim::new("002-P2", "Proposition 2", printed.twin("at the posterior of all data", twin))
        .assuming("batches without replacement, fixed lambda, the estimator of eq. 10, not normalised")
}

fn replaced() -> Claim {
    let mut settings = SETTINGS.to_vec();
    settings.push((2, 2, 2));
    let printed = "E[step] = 0 at q ∝ p(z) sum_M p(x_M | z)^(n/m)";
    let printed =
        Batches::bound(printed, settings, |case| standstill(case, true, case.mean(&case.sets(true))));
    let likelihoods = vec![vec![0.5, 0.25], vec![1.0, 0.25]];
    let example = Batches { prior: vec![0.5, 0.5], likelihoods, size: 2 };
    let corrected = "E[step] = 0 at q ∝ p(z) sum_M multiplicity(M) p(x_M | z)^(n/m)";
    let corrected = Batches::bound(corrected, SETTINGS.to_vec(), |case| {
        standstill(case, true, case.mean(&case.sequences(true)))
    });
    let twin = |case: &Batches| standstill(case, true, case.mean_to(&case.sequences(true), 1.0));
    Claim::new("002-P2-REPLACED", "Proposition 2", printed.example(example))
        .assuming("batches with replacement, M in the set of all batches")
        .remark("a batch of different data is drawn more often than one of equal data")
        .corrected(corrected.twin("without the power n/m", twin))
}

fn whole() -> Claim {
    let settings = vec![(2, 2, 2), (2, 3, 3), (3, 3, 3)];
    let printed = "for m = n, E[step] = 0 at q = p(z | x)";
    let printed = Batches::bound(printed, settings, |case| {
        let posterior = (0..case.prior.len()).map(|z| {
            case.prior[z] * case.likelihoods.iter().map(|likelihood| likelihood[z]).product::<f64>()
        });
        standstill(case, false, posterior.collect())
    });
    let twin = |case: &Batches| standstill(case, false, case.prior.clone());
    Claim::new("002-P2-WHOLE", "Proposition 2", printed.twin("at the prior", twin))
        .assuming("one batch of all data")
}

// Claims on the example with a skew-normal target (MSC, Fig. 1).

/// Number of quadrature points: doubling it changes no comparison.
const POINTS: usize = 100;

const METHOD: &str = "quadrature over two draws, Newton's method";

fn shapes() -> Vec<Numbers> {
    Numbers::settings(&[("shape", Domain::Between(0.5, 8.0), 1)], &[1])
}

fn narrow() -> Claim {
    fn sides(case: &Numbers, factor: f64) -> Option<Sides> {
        let target = SkewNormal { shape: case.number("shape") };
        let found = target.pairwise(POINTS)?;
        Some(Sides::below(found.deviation, factor * target.moments().deviation))
    }
    let formula = "SNIS, S = 2: the fitted deviation is below the target's";
    let printed = Numbers::bound(formula, shapes(), |case| sides(case, 1.0));
    Claim::new("002-FIG1", "Figure 1", printed.by(METHOD).twin("below 0.9 of it", |case| sides(case, 0.9)))
        .assuming("a skew normal target, a Gaussian guide")
}

fn biased() -> Claim {
    fn sides(case: &Numbers, least: f64) -> Option<Sides> {
        let target = SkewNormal { shape: case.number("shape") };
        Some(Sides::below(target.pairwise(POINTS)?.mean, target.moments().mean - least))
    }
    let formula = "SNIS, S = 2: the fitted mean is short of the target's";
    let printed = Numbers::bound(formula, shapes(), |case| sides(case, 0.0));
    Claim::new(
        "002-FIG1-MEAN",
        "Figure 1",
        printed.by(METHOD).twin("by more than 0.05", |case| sides(case, 0.05)),
    )
    .assuming("a skew normal target, a Gaussian guide")
}
