//! Claims of SL-DAIS, on linear Gaussian models. The available text lacks its displayed equations; the statements are
//! reconstructed from its sentences.

use std::fmt;
use std::sync::OnceLock;

use faer::{Mat, Side};
use mcsa_core::numeric::quadrature::integrate;
use mcsa_core::{Seed, Stream};
use mcsa_optim::deterministic::Lbfgs;

use super::case::tuple;
use super::{Bound, Claim, Domain, Numbers, Searchable, Sides, Statement};
use crate::dais::{Gap, LinearDais, Normal, Quadratic};

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    [one_surrogate(), batches(), parts(), best_chains()].into_iter().flatten().collect()
}

/// Method of the claims whose sides are sums of closed forms.
const LINEAR: &str = "closed form, linear Gaussian";
const MATRIX: &str = "closed form, linear Gaussian in 1, 2 and 3 dimensions";
const MIXTURE: &str = "closed form and quadrature, linear Gaussian";
const SUBSETS: &str = "closed form over all batches, linear regression on four data";

/// Prior, likelihood, error of the surrogate and step size in one dimension, once per number of steps `K`.
fn linear_settings(steps: &[usize]) -> Vec<Numbers> {
    let variables = [
        ("prior mean", Domain::Between(-2.0, 2.0), 1),
        ("prior precision", Domain::Between(1.0, 3.0), 1),
        ("a", Domain::Between(-3.0, 3.0), 1),
        ("B", Domain::Between(0.0, 3.0), 1),
        ("da", Domain::Between(-2.0, 2.0), 1),
        ("dB", Domain::Between(-0.25, 2.0), 1),
        ("eta", Domain::Between(0.05, 0.8), 1),
    ];
    Numbers::settings(&variables, steps)
}

/// Model, surrogate and chain of any kind in d dimensions, once per pair of dimension and number of steps `K`.
fn matrix_settings(shapes: &[(usize, usize)]) -> Vec<Numbers> {
    let one = |&(d, steps): &(usize, usize)| {
        let variables = [
            ("prior mean", Domain::Between(-1.0, 1.0), d),
            ("a", Domain::Between(-3.0, 3.0), d),
            ("B", Domain::Between(-1.0, 1.0), d * d),
            ("da", Domain::Between(-1.0, 1.0), d),
            ("dB", Domain::Between(-0.3, 0.3), d * d),
            ("base mean", Domain::Between(-1.0, 1.0), d),
            ("base scale", Domain::Between(-0.4, 0.4), d * d),
            ("eta", Domain::Between(0.0, 0.3), 1),
            ("kappa", Domain::Between(-0.3, 0.3), 1),
            ("gamma", Domain::Between(0.0, 0.95), 1),
            ("beta weight", Domain::Between(0.2, 1.0), steps),
            ("mass", Domain::Between(0.7, 1.5), d),
            ("deviation", Domain::Between(0.7, 1.5), d),
        ];
        Numbers::settings(&variables, &[steps])
    };
    shapes.iter().flat_map(one).collect()
}

/// Shapes of the cases: dimension and number of steps.
const SHAPES: [(usize, usize); 4] = [(1, 4), (2, 1), (2, 3), (3, 2)];

/// `K^(-1/4)`.
fn slow(steps: usize) -> f64 {
    (steps as f64).powf(-0.25)
}

/// Cumulative sums of the weights, divided by their total.
fn schedule(weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    let next = |so_far: &mut f64, weight: &f64| {
        *so_far += weight / total;
        Some(*so_far)
    };
    weights.iter().scan(0.0, next).collect()
}

fn prior(case: &Numbers) -> Normal {
    let (mean, precision) = (case.number("prior mean"), case.number("prior precision"));
    Normal::scalar(mean, 1.0 / precision).expect("the domains are bounded")
}

fn linear_likelihood(case: &Numbers) -> Quadratic {
    Quadratic::scalar(case.number("a"), case.number("B"))
}

/// The matrix of a variable.
fn matrix(case: &Numbers, name: &str) -> Mat<f64> {
    let d = case.of("a").len();
    Mat::from_fn(d, d, |i, j| case.of(name)[i * d + j])
}

/// Likelihood of curvature `B^T B`.
fn matrix_likelihood(case: &Numbers) -> Quadratic {
    let factor = matrix(case, "B");
    Quadratic { slope: case.of("a").to_vec(), curvature: factor.transpose() * &factor, constant: 0.0 }
}

/// Difference of the surrogate from the likelihood, of curvature `(dB + dB^T) / 2`.
fn error(case: &Numbers) -> Quadratic {
    let bend = matrix(case, "dB");
    let curvature = Mat::from_fn(bend.nrows(), bend.nrows(), |i, j| 0.5 * (bend[(i, j)] + bend[(j, i)]));
    Quadratic { slope: case.of("da").to_vec(), curvature, constant: 0.0 }
}

/// The chain of a case, from a base with any factor to the surrogate posterior of a prior with unit precision.
fn matrix_chain(case: &Numbers) -> Option<LinearDais> {
    let d = case.of("a").len();
    let scale = matrix(case, "base scale");
    let entry = |i: usize, j: usize| if i == j { 0.8 + scale[(i, i)] } else { scale[(i, j)] };
    let factor = Mat::from_fn(d, d, |i, j| if i < j { 0.0 } else { entry(i, j) });
    Some(LinearDais {
        prior: Normal::diagonal(case.of("prior mean").to_vec(), &vec![1.0; d]).ok()?,
        base: Normal::new(case.of("base mean").to_vec(), &factor * factor.transpose()).ok()?,
        surrogate: matrix_likelihood(case).plus(&error(case)),
        step_size: case.number("eta"),
        kappa: case.number("kappa"),
        longest: 0.4,
        gamma: case.number("gamma"),
        betas: schedule(case.of("beta weight")),
        mass: case.of("mass").to_vec(),
        deviation: case.of("deviation").to_vec(),
    })
}

/// Chain, likelihood and posterior of a case, of [`linear_settings`] or [`matrix_settings`].
struct Model {
    chain: LinearDais,
    likelihood: Quadratic,
    posterior: Normal,
    log_evidence: f64,
}

impl Model {
    fn of(case: &Numbers) -> Option<Self> {
        let (chain, likelihood) = if case.has("prior precision") {
            let (slope, curvature) =
                (case.number("a") + case.number("da"), case.number("B") + case.number("dB"));
            let surrogate = Quadratic::scalar(slope, curvature);
            let chain = LinearDais::from_prior(&prior(case), &surrogate, case.count, case.number("eta"));
            (chain, linear_likelihood(case))
        } else {
            (matrix_chain(case)?, matrix_likelihood(case))
        };
        let (posterior, log_evidence) = chain.prior.posterior(&likelihood).ok()?;
        Some(Self { chain, likelihood, posterior, log_evidence })
    }

    /// The parts of the gap.
    fn gap(case: &Numbers) -> Option<Gap> {
        let Self { chain, likelihood, .. } = Self::of(case)?;
        Gap::of(&chain, &likelihood).ok()
    }
}

// Claims on one surrogate for all data (SL-DAIS, Lemma 1, Props. 1 and 3).

/// The mean weight is the evidence.
fn weight(id: &'static str, formula: &str, settings: &[Numbers], method: &'static str) -> Claim {
    fn sides(case: &Numbers, complete: bool) -> Option<Sides> {
        let Model { chain, likelihood, log_evidence, .. } = Model::of(case)?;
        Some(Sides::equal(chain.log_mean_weight(&likelihood, complete)?, log_evidence))
    }
    let bound = Numbers::bound(formula, settings, |case| sides(case, true)).by(method);
    bound.twin("without the momenta", |case| sides(case, false)).claim(id, "Lemma 1")
}

/// The last distribution is at most as far from the posterior as the bound from the evidence.
fn end(id: &'static str, formula: &str, settings: &[Numbers], method: &'static str) -> Claim {
    let bound = Numbers::bound(formula, settings, |case| {
        let Model { chain, posterior, .. } = Model::of(case)?;
        let far = chain.end().law().ok()?.divergence(&posterior);
        Some(Sides::at_most(far, chain.gap(&posterior))).filter(|sides| sides.rhs > 1e-6)
    });
    let claim = bound.by(method).twin_times(0.95).claim(id, "Proposition 1");
    claim.assuming("one surrogate for all samples")
}

/// The bound, against that of the base, `log p(D) - KL(q_0 || p)`, with the step sizes moved by `shift` times eta.
fn still(case: &Numbers, shift: f64) -> Option<Sides> {
    let Model { chain, posterior, .. } = Model::of(case)?;
    // eta_0 + kappa beta_k is below zero for every k.
    let least = chain.betas.iter().copied().fold(1.0, f64::min);
    let kappa = -(chain.step_size + chain.kappa.abs()) / least;
    let moved = LinearDais { step_size: (1.0 + shift) * chain.step_size, kappa, ..chain };
    if shift == 0.0 && moved.step_sizes().any(|eta| eta > 0.0) {
        return None;
    }
    Some(Sides::equal(moved.gap(&posterior), moved.base.divergence(&posterior)))
}

/// The gap with step sizes times c and a mass times c^2, against that with neither.
fn scaled(case: &Numbers, momentum: Momentum) -> Option<Sides> {
    let Model { chain, posterior, .. } = Model::of(case)?;
    let gap = |c: f64| {
        let mass: Vec<f64> = chain.mass.iter().map(|m| c * c * m).collect();
        LinearDais {
            step_size: c * chain.step_size,
            kappa: c * chain.kappa,
            longest: c * chain.longest,
            deviation: mass.iter().map(|&m| momentum(m)).collect(),
            mass,
            ..chain.clone()
        }
        .gap(&posterior)
    };
    Some(Sides::equal(gap(0.5 + case.number("gamma")), gap(1.0)))
}

fn one_surrogate() -> Vec<Claim> {
    let (short, all) = (linear_settings(&[1, 2, 5]), linear_settings(&[1, 2, 5, 20]));
    let any = matrix_settings(&SHAPES);
    vec![
        weight("004-L1", "E[exp W] = p(D) for any potentials", &short, LINEAR)
            .assuming("volume-preserving, reversible steps"),
        Numbers::bound("exp L <= p(D) for any potentials", &all, |case| {
            let Model { chain, posterior, .. } = Model::of(case)?;
            Some(Sides::at_most((-chain.gap(&posterior)).exp(), 1.0))
        })
        .by(LINEAR)
        .twin_times(0.95)
        .claim("004-L1-BOUND", "Lemma 1")
        .assuming("volume-preserving, reversible steps"),
        end("004-P1", "KL(q(z_K) || p(z | D)) <= log p(D) - L", &all, LINEAR),
        weight(
            "004-L1-ANY",
            "E[exp W] = p(D) for any base, schedule, refreshment, mass M and momentum N(0, S^2)",
            &any,
            MATRIX,
        )
        .assuming("diagonal M and S")
        .remark("M and S need not agree: the bound of numpyro, with S = M, is one too"),
        end("004-P1-ANY", "KL(q(z_K) || p(z | D)) <= log p(D) - L for any chain", &any, MATRIX),
        Numbers::bound(
            "log p(D) - L = KL(q_0 || p) for any kappa, gamma, beta, M and surrogate, if every eta_k is clipped at 0",
            &any,
            |case| still(case, 0.0),
        )
        .by(MATRIX)
        .twin("with a first step", |case| still(case, 1.0))
        .claim("004-STILL", "Section 3, step sizes")
        .remark("so all parameters of the chain have derivative zero, and an ascent that comes there stays there"),
        Numbers::bound("L(c eta, c^2 M) = L(eta, M) for every c > 0, v ~ N(0, M)", &any, |case| {
            scaled(case, VARIANCE)
        })
        .by(MATRIX)
        .twin("v ~ N(0, M^2)", |case| scaled(case, DEVIATION))
        .claim("004-SCALE", "Section 3, mass matrix")
        .assuming("step sizes that are not clipped, or an eta_max that scales too")
        .remark("the size of M matters only against eta_max; with v ~ N(0, M^2) it is a parameter of its own"),
    ]
}

// Claims on a surrogate drawn anew for every sample: the likelihood of a minibatch (SL-DAIS, Props. 1 and 2).

/// `KL(equal mixture of distributions || other)` by quadrature.
fn mixture_divergence(laws: &[Normal], other: &dyn Fn(f64) -> f64) -> f64 {
    let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
    for law in laws {
        let (mean, reach) = (law.mean()[0], 10.0 * law.covariance()[(0, 0)].sqrt());
        ends = (ends.0.min(mean - reach), ends.1.max(mean + reach));
    }
    let integrand = |z: f64| {
        let log_density = mixture_log_density(laws, z);
        log_density.exp() * (log_density - other(z))
    };
    integrate(ends.0, ends.1, 1e-9, integrand).value
}

/// Log density of an equal mixture.
fn mixture_log_density(laws: &[Normal], z: f64) -> f64 {
    // Relative to the largest term so far.
    let (mut top, mut total) = (f64::NEG_INFINITY, 0.0);
    for log_density in laws.iter().map(|law| law.log_density(&[z])) {
        if log_density > top {
            total = 1.0 + total * (top - log_density).exp();
            top = log_density;
        } else {
            total += (log_density - top).exp();
        }
    }
    top + (total / laws.len() as f64).ln()
}

/// A model, and the likelihood and posterior of every batch, scaled to all data.
struct Batches {
    prior: Normal,
    posterior: Normal,
    batches: Vec<(Quadratic, Normal)>,
}

impl Batches {
    fn new(prior: Normal, likelihood: &Quadratic, batches: Vec<Quadratic>) -> Option<Self> {
        let own = |batch: Quadratic| prior.posterior(&batch).ok().map(|(own, _)| (batch, own));
        let batches = batches.into_iter().map(own).collect::<Option<Vec<_>>>()?;
        let (posterior, _) = prior.posterior(likelihood).ok()?;
        Some(Self { prior, posterior, batches })
    }

    /// Two equally likely batches in one dimension, whose mean is the likelihood of all data; `da` and `dB` are their differences
    /// from it.
    fn two(case: &Numbers) -> Option<Self> {
        let (slope, curvature) = (case.number("a"), case.number("B"));
        // A batch has no negative curvature.
        let (by, bend) = (case.number("da"), case.number("dB").clamp(-curvature, curvature));
        let batch = |sign: f64| Quadratic::scalar(slope + sign * by, curvature + sign * bend);
        Self::new(prior(case), &linear_likelihood(case), vec![batch(1.0), batch(-1.0)])
    }

    /// Every batch of `size` of the four data of a linear regression with unit noise.
    fn of(case: &Numbers, size: u32) -> Option<Self> {
        let (y, d) = (case.of("y"), case.of("x").len() / 4);
        let x = Mat::from_fn(4, d, |n, i| case.of("x")[n * d + i]);
        let likelihood = |weights: &[f64]| Quadratic::regression(&x, y, weights, 1.0);
        let scale = 4.0 / f64::from(size);
        let weight = |batch: u32, n: u32| if batch >> n & 1 == 1 { scale } else { 0.0 };
        let weights = |batch: u32| (0..4).map(|n| weight(batch, n)).collect::<Vec<f64>>();
        let of_size = (0u32..16).filter(|batch| batch.count_ones() == size);
        let batches = of_size.map(|batch| likelihood(&weights(batch))).collect();
        let prior = Normal::diagonal(vec![0.0; d], &vec![1.0; d]).ok()?;
        Self::new(prior, &likelihood(&[1.0; 4]), batches)
    }

    /// Mean over the batches.
    fn mean(&self, f: impl Fn(&Quadratic, &Normal) -> f64) -> f64 {
        let total: f64 = self.batches.iter().map(|(likelihood, own)| f(likelihood, own)).sum();
        total / self.batches.len() as f64
    }

    /// The mean gap of chains guided by the batches.
    fn gap(&self, steps: usize, step_size: f64) -> f64 {
        self.mean(|batch, _| {
            LinearDais::from_prior(&self.prior, batch, steps, step_size).gap(&self.posterior)
        })
    }

    /// Divergence from the mixture of the distributions of `z_K` to the posterior, or to the mixture of the batches' posteriors.
    fn far(&self, steps: usize, step_size: f64, to_posterior: bool) -> Option<f64> {
        let end = |(batch, _): &(Quadratic, Normal)| {
            LinearDais::from_prior(&self.prior, batch, steps, step_size).end().law().ok()
        };
        let ends = self.batches.iter().map(end).collect::<Option<Vec<Normal>>>()?;
        let own: Vec<Normal> = self.batches.iter().map(|(_, own)| own.clone()).collect();
        Some(mixture_divergence(&ends, &|z| match to_posterior {
            true => self.posterior.log_density(&[z]),
            false => mixture_log_density(&own, z),
        }))
    }

    /// `1 + E_J KL(p(z) || p(z | D_J))`, the size of the way from the prior.
    fn way(&self) -> f64 {
        1.0 + self.mean(|_, own| self.prior.divergence(own))
    }

    /// The divergence after `steps` steps of size `K^(-1/4)`, against the way from the prior over `sqrt(K)`.
    fn limit(&self, steps: usize, to_posterior: bool) -> Option<Sides> {
        let far = self.far(steps, slow(steps), to_posterior)?;
        Some(Sides::at_most(far, self.way() / (steps as f64).sqrt()))
    }

    /// Distance of the mean gap from a limit, against twice the way from the prior times `K^(-1/4)`.
    fn gap_limit(&self, steps: usize, limit: f64) -> Sides {
        Sides::at_most((self.gap(steps, slow(steps)) - limit).abs(), 2.0 * self.way() * slow(steps))
    }
}

/// Linear regression on four data in d dimensions, once per number of steps `K` or size `B` of a batch.
fn subsets_settings(d: usize, counts: &[usize]) -> Vec<Numbers> {
    let variables = [
        ("x", Domain::Between(-1.5, 1.5), 4 * d),
        ("y", Domain::Between(-2.0, 2.0), 4),
        ("direction", Domain::Real, d),
    ];
    Numbers::settings(&variables, counts)
}

/// Variance along a direction under the posterior, and under the mixture of the batches' posteriors.
fn wide(case: &Numbers) -> Option<Sides> {
    let all = Batches::of(case, case.count as u32)?;
    let u = case.of("direction");
    let along = |z: &[f64]| u[0] * z[0] + u[1] * z[1];
    let variance = |law: &Normal| {
        let c = law.covariance();
        u[0] * u[0] * c[(0, 0)] + 2.0 * u[0] * u[1] * c[(0, 1)] + u[1] * u[1] * c[(1, 1)]
    };
    let centre = all.mean(|_, own| along(own.mean()));
    let mixed = all.mean(|_, own| variance(own) + (along(own.mean()) - centre).powi(2));
    Some(Sides::at_most(variance(&all.posterior), mixed)).filter(|sides| sides.lhs > 1e-6)
}

fn batches() -> Vec<Claim> {
    vec![
        Numbers::bound("KL(E_J q_J(z_K) || p(z | D)) <= log p(D) - E_J L_J", &linear_settings(&[1, 2, 5, 20]), |case| {
            let (all, eta) = (Batches::two(case)?, case.number("eta"));
            let (far, gap) = (all.far(case.count, eta, true)?, all.gap(case.count, eta));
            Some(Sides::at_most(far, gap)).filter(|_| gap > 1e-4)
        })
        .by(MIXTURE)
        .twin_times(0.95)
        .claim("004-P1-BATCH", "Proposition 1")
        .assuming("a batch for each sample, all data in the last term"),
        Numbers::bound(
            "KL(E_J q_J(z_K) || E_J p(z | D_J)) <= (1 + E_J KL(p(z) || p(z | D_J))) / sqrt(K)",
            &linear_settings(&[256, 1024, 4096]),
            |case| Batches::two(case)?.limit(case.count, false),
        )
        .by(MIXTURE)
        .twin("to the posterior", |case| Batches::two(case)?.limit(case.count, true))
        .claim("004-P2", "Proposition 2")
        .assuming("a batch for each sample, kept for all steps, eta = K^(-1/4)")
        .remark("a limit, given a constant here; the aggregate of the batches' posteriors is wider than the posterior"),
        Numbers::bound(
            "KL(E_J q_J(z_K) || E_J p_J) <= (1 + E_J KL(p(z) || p_J)) / sqrt(K), p_J = p(z | D_J)^(N/B)",
            &subsets_settings(1, &[16, 64]),
            |case| Batches::of(case, 2)?.limit(case.count, false),
        )
        .by("closed form and quadrature over all batches, four data")
        .twin("to the posterior", |case| Batches::of(case, 2)?.limit(case.count, true))
        .claim("004-P2-SUBSETS", "Proposition 2")
        .assuming("two of four data in a batch, kept for all steps, eta = K^(-1/4)")
        .remark("a limit, given a constant here; p_J has the likelihood of a batch to the power N/B"),
        Numbers::bound(
            "Var_p u'z <= Var_(E_J p_J) u'z = E_J Var_J u'z + Var_J E_J u'z for every u",
            &subsets_settings(2, &[1, 2, 3]),
            wide,
        )
        .by(SUBSETS)
        .twin_times(0.95)
        .claim("004-P2-WIDE", "Proposition 2")
        .assuming("one, two or three of four data in a batch")
        .remark("the mean precision is that of the posterior, and the inverse is convex; the centres add to it"),
        Numbers::bound(
            "|log p(D) - E_J L_J - E_J KL(p_J || p)| <= 2 (1 + E_J KL(p(z) || p_J)) K^(-1/4), p_J = p(z | D_J)^(N/B)",
            &subsets_settings(2, &[16, 64, 256]),
            |case| {
                let all = Batches::of(case, 2)?;
                let limit = all.mean(|_, own| own.divergence(&all.posterior));
                Some(all.gap_limit(case.count, limit))
            },
        )
        .by(SUBSETS)
        .twin("a gap that vanishes", |case| Some(Batches::of(case, 2)?.gap_limit(case.count, 0.0)))
        .claim("004-P2-GAP", "Proposition 2")
        .assuming("two of four data in a batch, all data in the last term, eta = K^(-1/4)")
        .remark("a limit, given a constant here; more steps do not mend what a batch misses"),
    ]
}

// Logistic regression in one dimension: the parts of the gap by quadrature over the noise.

/// Log posterior of a logistic regression with weighted rows and a standard normal prior, without the evidence.
struct Logistic<'a> {
    x: &'a [f64],
    weights: &'a [f64],
}

impl Logistic<'_> {
    /// Log likelihood of labels 1, `-sum_n weight_n log(1 + exp(-x_n z))`, and its slope.
    fn log_likelihood(&self, z: f64) -> (f64, f64) {
        let (mut value, mut slope) = (0.0, 0.0);
        for (x, weight) in self.x.iter().zip(self.weights) {
            let t = x * z;
            let tail = (-t.abs()).exp();
            value -= weight * (tail.ln_1p() + (-t).max(0.0));
            slope += weight * x * if t > 0.0 { tail } else { 1.0 } / (1.0 + tail);
        }
        (value, slope)
    }

    fn log_joint(&self, z: f64) -> f64 {
        log_normal(z) + self.log_likelihood(z).0
    }
}

fn log_normal(z: f64) -> f64 {
    -0.5 * (z * z + std::f64::consts::TAU.ln())
}

/// `sum_i f(z_i) step` over equal steps on both sides of 0. The rule converges geometrically for analytic integrands.
fn integral(reach: f64, step: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    let count = (reach / step) as i64;
    (-count..=count).map(|i| f(i as f64 * step)).sum::<f64>() * step
}

/// Calls `f(e, N(e) step)` at equal steps, the nodes of a quadrature for the standard normal distribution N.
fn each_node(step: f64, mut f: impl FnMut(f64, f64)) {
    integral(7.0, step, |e| {
        f(e, step * log_normal(e).exp());
        0.0
    });
}

/// Chain on a logistic regression, with surrogate weights of its rows.
struct Chain<'a> {
    surrogate: &'a Logistic<'a>,
    mean: f64,
    deviation: f64,
    eta: f64,
    gamma: f64,
    betas: &'a [f64],
}

impl Chain<'_> {
    /// `z_K` and `-log q_0(z_0) + sum_k (v_{k-1}^2 - v^_k^2) / 2` of the path of noise `e` and `nu`.
    fn path(&self, e: f64, nu: &[f64]) -> (f64, f64) {
        let (mut z, mut v) = (self.mean + self.deviation * e, nu[0]);
        let mut weight = self.deviation.ln() - log_normal(e);
        for (k, beta) in self.betas.iter().enumerate() {
            if k > 0 {
                v = self.gamma * v + (1.0 - self.gamma * self.gamma).sqrt() * nu[k];
            }
            z += 0.5 * self.eta * v;
            weight += 0.5 * v * v;
            let base = (self.mean - z) / (self.deviation * self.deviation);
            let guide = self.surrogate.log_likelihood(z).1 - z;
            v += self.eta * ((1.0 - beta) * base + beta * guide);
            weight -= 0.5 * v * v;
            z += 0.5 * self.eta * v;
        }
        (z, weight)
    }

    /// Calls `f` with `z_K`, the log weight and the probability of each path of a quadrature.
    fn each_path(&self, step: f64, mut f: impl FnMut(f64, f64, f64)) {
        let mut at = |e: f64, nu: &[f64], probability: f64| {
            let (z, weight) = self.path(e, nu);
            f(z, weight, probability);
        };
        each_node(step, |e, p| {
            each_node(step, |nu, q| match self.betas.len() {
                1 => at(e, &[nu], p * q),
                _ => each_node(step, |fresh, r| at(e, &[nu, fresh], p * q * r)),
            });
        });
    }
}

/// Parts of the gap of a case, by quadrature.
fn logistic_gap(case: &Numbers) -> Gap {
    let (x, beta) = (case.of("x"), [case.number("beta"), 1.0]);
    let likelihood = Logistic { x, weights: &[1.0; 3] };
    let surrogate = Logistic { x, weights: case.of("omega") };
    let chain = Chain {
        surrogate: &surrogate,
        mean: case.number("base mean"),
        deviation: case.number("base deviation"),
        eta: case.number("eta"),
        gamma: case.number("gamma"),
        betas: &beta[2 - case.count..],
    };
    let total = |f: &dyn Fn(f64) -> f64| integral(12.0, 0.25, f);
    let log_evidence = |model: &Logistic<'_>| total(&|z| model.log_joint(z).exp()).ln();
    let (log_p, log_p_s) = (log_evidence(&likelihood), log_evidence(&surrogate));
    let posterior = |z: f64| (surrogate.log_joint(z) - log_p_s).exp();
    let error = |z: f64| likelihood.log_likelihood(z).0 - surrogate.log_likelihood(z).0;
    let log_ratio = |z: f64| surrogate.log_joint(z) - log_p_s - likelihood.log_joint(z) + log_p;
    let (mut bound, mut own, mut error_at_end) = (0.0, 0.0, 0.0);
    chain.each_path(0.85, |z, weight, probability| {
        let (right, wrong) = (likelihood.log_likelihood(z).0, surrogate.log_likelihood(z).0);
        let rest = log_normal(z) + weight;
        bound += probability * (rest + right);
        own += probability * (rest + wrong);
        error_at_end += probability * (right - wrong);
    });
    Gap {
        whole: log_p - bound,
        divergence: total(&|z| posterior(z) * log_ratio(z)),
        own: log_p_s - own,
        error: total(&|z| posterior(z) * error(z)) - error_at_end,
    }
}

// Claims on the parts of the gap (SL-DAIS, Prop. 3).

/// The gap is the sum of its parts.
fn sum_of_parts(
    formula: &str,
    settings: &[Numbers],
    method: &'static str,
    gap: fn(&Numbers) -> Option<Gap>,
) -> Bound<Numbers> {
    let whole = Numbers::bound(formula, settings, move |case| {
        gap(case).map(|gap| Sides::equal(gap.whole, gap.sum()))
    });
    whole.by(method).twin("without the last term", move |case| {
        gap(case).map(|gap| Sides::equal(gap.whole, gap.divergence + gap.own))
    })
}

/// `KL(surrogate posterior || posterior)`, against a multiple of its second order in the errors, if these are small.
fn quadratic(case: &Numbers, factor: f64) -> Option<Sides> {
    let posterior = Model::of(case)?.posterior;
    let variance = posterior.covariance()[(0, 0)];
    let curvature = case.number("dB") * variance;
    let shift = case.number("da") - case.number("dB") * posterior.mean()[0];
    let rhs = 0.5 * shift * shift * variance + 0.25 * curvature * curvature;
    let limit = Model::gap(case)?.divergence;
    Some(Sides::at_most(limit, factor * rhs)).filter(|_| curvature.abs() < 0.1 && rhs > 1e-7)
}

/// The gap of a chain for its own surrogate at 16 times the steps, against a multiple of that at `K`.
fn own(case: &Numbers, factor: f64) -> Option<Sides> {
    let chain = Model::of(case)?.chain;
    let (surrogate, _) = chain.prior.posterior(&chain.surrogate).ok()?;
    let gap = |steps: usize| {
        LinearDais::from_prior(&chain.prior, &chain.surrogate, steps, slow(steps)).gap(&surrogate)
    };
    let (short, long) = (gap(case.count), gap(16 * case.count));
    Some(Sides::at_most(long, factor * short)).filter(|_| short > 1e-6)
}

/// The gap at four times the steps, against that at `K`.
fn more_steps(case: &Numbers, is_exact: bool) -> Option<Sides> {
    let Model { chain, likelihood, posterior, .. } = Model::of(case)?;
    let surrogate = if is_exact { &likelihood } else { &chain.surrogate };
    let gap =
        |steps: usize| LinearDais::from_prior(&chain.prior, surrogate, steps, slow(steps)).gap(&posterior);
    Some(Sides::at_most(gap(4 * case.count), gap(case.count))).filter(|sides| sides.rhs > 1e-6)
}

/// The divergence of the surrogate posterior to second order, with the factor by which it can be off.
fn second_order(case: &Numbers, power: i32) -> Option<Sides> {
    let (likelihood, error) = (matrix_likelihood(case), error(case));
    let prior = matrix_chain(case)?.prior;
    let (posterior, _) = prior.posterior(&likelihood).ok()?;
    // The surrogate's error shrinks to a curvature of at most a tenth of the posterior's.
    let d = likelihood.slope.len();
    let bent = |x: &Quadratic| posterior.covariance() * &x.curvature;
    let norm = |x: &Mat<f64>| (x * x).diagonal().column_vector().iter().sum::<f64>().sqrt();
    let scale = 0.1 * case.number("eta") / (0.3 * norm(&bent(&error)).max(1e-3));
    let shrunk = error.times(scale);
    let exact = prior.posterior(&likelihood.plus(&shrunk)).ok()?.0.divergence(&posterior);
    let mean = posterior.mean();
    let pull = |i: usize| -> f64 { (0..d).map(|j| shrunk.curvature[(i, j)] * mean[j]).sum() };
    let e: Vec<f64> = (0..d).map(|i| shrunk.slope[i] - pull(i)).collect();
    let covariance = posterior.covariance();
    let shift: f64 = (0..d * d).map(|k| e[k / d] * covariance[(k / d, k % d)] * e[k % d]).sum();
    let r = norm(&bent(&shrunk));
    let quadratic = 0.5 * shift + 0.25 * r * r;
    let bound = ((1.0 - r).powi(-power) - 1.0) * quadratic;
    Some(Sides::at_most((exact - quadratic).abs(), bound)).filter(|_| r > 1e-3 && quadratic > 1e-4)
}

fn parts() -> Vec<Claim> {
    let variables = [
        ("x", Domain::Between(-2.0, 2.0), 3),
        ("omega", Domain::Between(0.0, 3.0), 3),
        ("base mean", Domain::Between(-1.0, 1.0), 1),
        ("base deviation", Domain::Between(0.4, 1.0), 1),
        ("eta", Domain::Between(0.0, 0.4), 1),
        ("gamma", Domain::Between(0.0, 0.95), 1),
        ("beta", Domain::Between(0.0, 1.0), 1),
    ];
    vec![
        Statement::not_checkable(
            "log p(D) - L <= O(K^(-1/2)) + terms in da, dB",
            "the right-hand side is not in the text at hand",
        )
        .claim("004-P3", "Proposition 3")
        .remark("the gap goes to KL(p_S || p), second order in the surrogate's errors; more steps cannot mend it")
        .corrected(sum_of_parts(
            "log p(D) - L = KL(p_S || p) + gap_S(K) + (E_(p_S) - E_(z_K))[log l - log l_S]",
            &linear_settings(&[1, 2, 5, 20]),
            LINEAR,
            Model::gap,
        ))
        .corrected(
            Numbers::bound(
                "KL(p_S || p) <= 1.25 (e^2/L + (dB/L)^2/2)/2, e = da - dB E_p z, for |dB| < L/10, L = 1/V_p z",
                &linear_settings(&[1]),
                |case| quadratic(case, 1.25),
            )
            .by(LINEAR)
            .twin("0.9 of it", |case| quadratic(case, 0.9)),
        )
        .corrected(
            Numbers::bound("gap_S(16 K) <= gap_S(K) / 2 at eta = K^(-1/4)", &linear_settings(&[64, 256, 1024]), |case| {
                own(case, 0.5)
            })
            .by(LINEAR)
            .twin("a quarter, the rate K^(-1/2)", |case| own(case, 0.25)),
        ),
        sum_of_parts(
            "log p(D) - L = KL(p_S || p) + gap_S(K) + (E_(p_S) - E_(z_K))[log l - log l_S] for any chain",
            &matrix_settings(&SHAPES),
            MATRIX,
            Model::gap,
        )
        .claim("004-P3-ANY", "Proposition 3")
        .remark("with the surrogate posterior p_S, and the gap gap_S(K) of the chain as one for the surrogate itself"),
        sum_of_parts(
            "log p(D) - L = KL(p_S || p) + gap_S(K) + (E_(p_S) - E_(z_K))[log l - log l_S] for logistic regression",
            &Numbers::settings(&variables, &[1, 1, 1, 2]),
            "quadrature over the noise of one or two steps",
            |case| Some(logistic_gap(case)),
        )
        .claim("004-P3-LOGISTIC", "Proposition 3")
        .assuming("three data in one dimension, a surrogate of their weights"),
        Numbers::bound(
            "|KL(p_S || p) - Q| <= ((1 - r)^-2 - 1) Q, Q = e'V e/2 + r^2/4, e = da - dB E_p z, r^2 = tr(V dB V dB), \
             V = Cov_p z",
            &matrix_settings(&[(1, 1), (2, 1), (3, 1)]),
            |case| second_order(case, 2),
        )
        .by(MATRIX)
        .twin("1 - r in place of (1 - r)^2", |case| second_order(case, 1))
        .claim("004-P3-SECOND", "Proposition 3")
        .assuming("r < 1/10")
        .remark("good to 5 % up to r = 0.024; the dropped orders matter for a poor surrogate"),
        Numbers::bound(
            "gap(4 K) <= gap(K) at eta = K^(-1/4), if the surrogate is the likelihood",
            &linear_settings(&[16, 64, 256]),
            |case| more_steps(case, true),
        )
        .by(LINEAR)
        .twin("for any surrogate", |case| more_steps(case, false))
        .claim("004-P3-STEPS", "Proposition 3")
        .assuming("Assumption 1: base and prior agree, full refreshment, beta = k / K")
        .remark("with a poor surrogate few steps can have the smaller gap"),
    ]
}

// Claims on the best chains of four steps for a linear regression: the mass, and a surrogate on a quarter of the data.

const STEPS: usize = 4;
const DIM: usize = 3;
/// Number of data.
const ROWS: usize = 40;
/// Number of moments `sum_n x_n x_n^T` and `sum_n x_n y_n`.
const MOMENTS: usize = DIM * (DIM + 3) / 2;
/// `eta_max` of the paper.
const LONGEST: f64 = 0.25;

/// Deviation of the momentum as a function of the diagonal mass M: `v ~ N(0, M)`, or `v ~ N(0, M^2)`.
type Momentum = fn(f64) -> f64;
const VARIANCE: Momentum = f64::sqrt;
const DEVIATION: Momentum = |m| m;

/// Linear regression on 40 data in three correlated dimensions of different scale.
struct Problem {
    covariates: Mat<f64>,
    responses: Vec<f64>,
    prior: Normal,
    posterior: Normal,
}

/// Nonnegative weights, at most as many of them positive as there are `moments` of each row, for which the weighted sums of the
/// moments are those of unit weights (Caratheodory's theorem).
fn caratheodory(moments: &Mat<f64>) -> Option<Vec<f64>> {
    let (rows, few) = moments.shape();
    let mut weights = vec![1.0; rows];
    loop {
        let kept: Vec<usize> = (0..rows).filter(|&n| weights[n] > 0.0).collect();
        if kept.len() <= few {
            return Some(weights);
        }
        // A combination of few + 1 rows that vanishes: the right singular vector of their smallest singular value, zero.
        let kept = &kept[..=few];
        let gram = Mat::from_fn(few + 1, few + 1, |a, b| {
            (0..few).map(|k| moments[(kept[a], k)] * moments[(kept[b], k)]).sum::<f64>()
        });
        let null = gram.self_adjoint_eigen(Side::Lower).ok()?.U().col(0).to_owned();
        // The longest way along it that leaves all weights nonnegative ends where one of them is zero.
        let reach = |a: usize| if null[a] > 0.0 { weights[kept[a]] / null[a] } else { f64::INFINITY };
        let first = (0..=few).min_by(|&a, &b| reach(a).total_cmp(&reach(b)))?;
        let step = reach(first);
        if !step.is_finite() {
            return None;
        }
        for (a, &n) in kept.iter().enumerate() {
            weights[n] -= step * null[a];
        }
        weights[kept[first]] = 0.0;
    }
}

impl Problem {
    fn seeded(seed: u64) -> Option<Self> {
        let stream = &mut Seed::new(seed).named("linear regression").stream(0, 0);
        let mut covariates = Mat::zeros(ROWS, DIM);
        let mut responses = Vec::new();
        for n in 0..ROWS {
            let common = stream.normal();
            for (i, scale) in [0.5, 1.0, 2.0].into_iter().enumerate() {
                covariates[(n, i)] = scale * (0.6 * common + 0.8 * stream.normal());
            }
            responses.push(0.7 * covariates[(n, 0)] - 0.4 * covariates[(n, 2)] + stream.normal());
        }
        let prior = Normal::diagonal(vec![0.0; DIM], &[1.0; DIM]).ok()?;
        let likelihood = Quadratic::regression(&covariates, &responses, &[1.0; ROWS], 1.0);
        let (posterior, _) = prior.posterior(&likelihood).ok()?;
        Some(Self { covariates, responses, prior, posterior })
    }

    /// Weights of the data, at most nine of them positive, that keep their moments.
    fn few(&self) -> Option<Vec<f64>> {
        let moment = |n: usize, k: usize| {
            let (i, j) = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2), (0, 3), (1, 3), (2, 3)][k];
            self.covariates[(n, i)] * if j < DIM { self.covariates[(n, j)] } else { self.responses[n] }
        };
        caratheodory(&Mat::from_fn(ROWS, MOMENTS, moment))
    }

    /// The chain with unconstrained parameters: mean and log deviation of the base, step size, kappa, gamma, log increments of the
    /// temperatures and log mass; the data have these weights in its guide.
    fn chain(&self, momentum: Momentum, point: &[f64], weights: &[f64]) -> Option<LinearDais> {
        let exp = |x: &[f64]| x.iter().map(|x| x.exp()).collect::<Vec<f64>>();
        let (base, rest) = point.split_at(2 * DIM);
        let (steps, log_mass) = rest.split_at(3 + STEPS);
        let mass = exp(log_mass);
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        Some(LinearDais {
            prior: self.prior.clone(),
            base: Normal::diagonal(base[..DIM].to_vec(), &exp(&base[DIM..])).ok()?,
            surrogate: Quadratic::regression(&self.covariates, &self.responses, weights, 1.0),
            step_size: LONGEST * sigmoid(steps[0]),
            kappa: LONGEST * steps[1],
            longest: LONGEST,
            gamma: sigmoid(steps[2]),
            betas: schedule(&exp(&steps[3..])),
            deviation: mass.iter().map(|m| momentum(*m)).collect(),
            mass,
        })
    }

    fn gap(&self, momentum: Momentum, point: &[f64], weights: &[f64]) -> Option<f64> {
        Some(self.chain(momentum, point, weights)?.gap(&self.posterior)).filter(|gap| gap.is_finite())
    }

    /// Start of a climb: effective steps `eta / sqrt(M)` of the size of the posterior's deviations, or a mass of 1.
    fn start(&self, momentum: Momentum, step_size: f64) -> Vec<f64> {
        let precision = self.posterior.precision();
        let mut start = self.posterior.mean().to_vec();
        start.extend((0..DIM).map(|i| -0.5 * precision[(i, i)].ln()));
        start.extend([step_size, 0.0, 0.0]);
        start.extend([0.0; STEPS]);
        let share = if momentum(4.0) == 4.0 { 0.0 } else { 1.0 };
        start.extend((0..DIM).map(|i| share * (0.02 * precision[(i, i)]).ln()));
        start
    }

    /// The least gap that L-BFGS finds from a start, and its point.
    fn descend(&self, momentum: Momentum, start: &[f64]) -> Option<(f64, Vec<f64>)> {
        let mut moved = start.to_vec();
        let objective = |point: &[f64], gradient: &mut [f64]| {
            moved.copy_from_slice(point);
            let mut at = |i: usize, by: f64| {
                moved[i] = point[i] + by;
                let gap = self.gap(momentum, &moved, &[1.0; ROWS]).unwrap_or(f64::NAN);
                moved[i] = point[i];
                gap
            };
            for (i, slope) in gradient.iter_mut().enumerate() {
                *slope = (at(i, -1e-5) - at(i, 1e-5)) / 2e-5;
            }
            -self.gap(momentum, point, &[1.0; ROWS]).unwrap_or(f64::NAN)
        };
        let peak = Lbfgs::with(1e-7, 400, 10).ok()?.maximise(objective, start).ok()?;
        Some((-peak.value, peak.point))
    }

    /// The least gap from three starts.
    fn best(&self, momentum: Momentum) -> Option<(f64, Vec<f64>)> {
        let climb = |step_size: f64| self.descend(momentum, &self.start(momentum, step_size));
        [-1.0, 0.0, 1.0].into_iter().filter_map(climb).min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// A problem, the weights of nine of its data, and the best chains.
struct Found {
    problem: Problem,
    few: Vec<f64>,
    /// With `v ~ N(0, M)`.
    variance: (f64, Vec<f64>),
    /// With `v ~ N(0, M^2)`.
    deviation: (f64, Vec<f64>),
}

impl Found {
    fn of(seed: u64) -> Option<Self> {
        let problem = Problem::seeded(seed)?;
        let few = problem.few()?;
        let (variance, deviation) = (problem.best(VARIANCE)?, problem.best(DEVIATION)?);
        Some(Self { problem, few, variance, deviation })
    }
}

/// The best chains of one problem, sought when first needed.
fn found() -> Option<&'static Found> {
    static FOUND: OnceLock<Option<Found>> = OnceLock::new();
    FOUND.get_or_init(|| Found::of(3)).as_ref()
}

/// A chain with `v ~ N(0, M^2)` near the best of its kind.
#[derive(Clone)]
struct Near(Vec<f64>);

impl Searchable for Near {
    type Setting = ();

    /// Normal steps from the best chain, small or large.
    fn draw((): &(), stream: &mut Stream) -> Self {
        let spread = [0.01, 0.1, 1.0][(3.0 * stream.uniform()) as usize];
        let centre = found().map_or(&[][..], |found| &found.deviation.1);
        Self(centre.iter().map(|x| x + spread * stream.normal()).collect())
    }

    fn coordinates(&self) -> Vec<f64> {
        self.0.clone()
    }

    fn at(&self, coordinates: &[f64]) -> Self {
        Self(coordinates.to_vec())
    }
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unconstrained parameters {}", tuple(&self.0))
    }
}

fn best_chains() -> Vec<Claim> {
    fn guided(case: &Near, weights: impl Fn(&Found) -> Vec<f64>) -> Option<Sides> {
        let found = found()?;
        let gap = |weights: &[f64]| found.problem.gap(VARIANCE, &case.0, weights);
        Some(Sides::equal(gap(&weights(found))?, gap(&[1.0; ROWS])?))
    }
    vec![
        Near::bound(
            "5 min gap with v ~ N(0, M) <= gap of any chain with v ~ N(0, M^2), K = 4",
            &[()],
            |case| {
                let found = found()?;
                let gap = found.problem.gap(DEVIATION, &case.0, &[1.0; ROWS])?;
                Some(Sides::at_most(5.0 * found.variance.0, gap))
            },
        )
        .by(LINEAR)
        .twin_times(0.4)
        .claim("004-MASS", "Section 3, mass matrix")
        .assuming("one linear regression of 40 data on three covariates of different scale, mean-field base, drift v / M")
        .remark("the best of three climbs stands for the minimum; on other data v ~ N(0, M^2) can have the smaller gap"),
        Near::bound(
            "gap with a surrogate of d (d + 3) / 2 weighted rows = gap with the likelihood, for any chain",
            &[()],
            |case| guided(case, |found| found.few.clone()),
        )
        .by(LINEAR)
        .twin("ten rows of weight N / 10", |case| {
            guided(case, |_| (0..ROWS).map(|n| if n < 10 { 4.0 } else { 0.0 }).collect())
        })
        .claim("004-ROWS", "Section 7.1")
        .assuming("a linear regression of 40 data on three covariates, nine rows and weights by Caratheodory's theorem")
        .remark("so the best surrogate of few rows is at least as good as all data at the same number of steps"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lemma 1 for a model that is not Gaussian. The twin: the evidence is not that of the surrogate.
    #[test]
    fn mean_weight_is_the_evidence() {
        let x = [1.3, -0.8, 0.4];
        let likelihood = Logistic { x: &x, weights: &[1.0; 3] };
        let surrogate = Logistic { x: &x, weights: &[2.0, 0.5, 1.0] };
        let chain = Chain {
            surrogate: &surrogate,
            mean: 0.3,
            deviation: 0.9,
            eta: 0.3,
            gamma: 0.6,
            betas: &[0.4, 1.0],
        };
        let evidence = |model: &Logistic<'_>| integral(12.0, 0.25, |z| model.log_joint(z).exp());
        let mut found = 0.0;
        chain.each_path(0.5, |z, weight, probability| {
            found += probability * (likelihood.log_joint(z) + weight).exp();
        });
        assert!((found / evidence(&likelihood) - 1.0).abs() < 1e-6);
        assert!((found / evidence(&surrogate) - 1.0).abs() > 1e-2);
    }

    /// That the moments are kept is 004-ROWS.
    #[test]
    fn few_rows_are_few() {
        let few = Problem::seeded(3).unwrap().few().unwrap();
        let kept = few.iter().filter(|weight| **weight > 0.0).count();
        assert!(kept <= MOMENTS && few.iter().all(|weight| *weight >= 0.0));
    }

    /// Any chain is better than its base, and neither law of the momentum is better on all data; 004-MASS has others.
    #[test]
    fn either_momentum_can_have_the_smaller_gap() {
        let Found { problem: Problem { posterior, .. }, variance, deviation, .. } = Found::of(1).unwrap();
        let precision = posterior.precision();
        let scales: Vec<f64> = (0..DIM).map(|i| precision[(i, i)].powf(-0.5)).collect();
        let mean_field = Normal::diagonal(posterior.mean().to_vec(), &scales).unwrap();
        assert!(1.2 * deviation.0 < variance.0 && 5.0 * variance.0 < mean_field.divergence(&posterior));
    }
}
