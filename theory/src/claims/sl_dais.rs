//! Claims of SL-DAIS, on linear Gaussian models. The available text lacks its displayed equations; the statements are
//! reconstructed from its sentences.

use std::fmt;
use std::sync::{Arc, OnceLock};

use faer::{Mat, Side};
use mcsa_core::numeric::quadrature::integrate;
use mcsa_core::{Seed, Stream};
use mcsa_optim::deterministic::Lbfgs;

use crate::claims::case::tuple;
use crate::claims::{Bound, Claim, Domain, Numbers, Searchable, Sides, Statement};
use crate::dais::{Gap, LinearDais, Normal, Quadratic};

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    vec![
        surrogate_weight(),
        bound(),
        surrogate_divergence(),
        chains_weight(),
        chains_divergence(),
        still(),
        scale(),
        batch_divergence(),
        aggregate(),
        subsets_limit(),
        wide(),
        subsets_gap(),
        surrogate_limit(),
        chains_parts(),
        logistic_parts(),
        chains_second_order(),
        steps(),
        mass(),
        rows(),
    ]
}

// Linear Gaussian case: prior, likelihood and chain with a surrogate.

/// Method of the claims whose sides are sums of closed forms.
const LINEAR_METHOD: &str = "closed form, linear Gaussian";

/// Prior, likelihood, error of the surrogate and step size, once per number of steps `K`.
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

fn prior(case: &Numbers) -> Normal {
    let (mean, precision) = (case.number("prior mean"), case.number("prior precision"));
    Normal::scalar(mean, 1.0 / precision).expect("the domains are bounded")
}

fn linear_likelihood(case: &Numbers) -> Quadratic {
    Quadratic::scalar(case.number("a"), case.number("B"))
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
fn weight(id: &'static str, formula: &str, settings: Vec<Numbers>, method: &'static str) -> Claim {
    fn sides(case: &Numbers, complete: bool) -> Option<Sides> {
        let Model { chain, likelihood, log_evidence, .. } = Model::of(case)?;
        Some(Sides::equal(chain.log_mean_weight(&likelihood, complete)?, log_evidence))
    }
    let printed = Numbers::bound(formula, settings, |case| sides(case, true)).by(method);
    Claim::new(id, "Lemma 1", printed.twin("without the momenta", |case| sides(case, false)))
}

/// The last distribution is at most as far from the posterior as the bound from the evidence.
fn end(id: &'static str, formula: &str, settings: Vec<Numbers>, method: &'static str) -> Claim {
    let printed = Numbers::bound(formula, settings, |case| {
        let Model { chain, posterior, .. } = Model::of(case)?;
        let far = chain.end().law().ok()?.divergence(&posterior);
        Some(Sides::at_most(far, chain.gap(&posterior))).filter(|sides| sides.rhs > 1e-6)
    });
    Claim::new(id, "Proposition 1", printed.by(method).twin_times(0.95))
        .assuming("one surrogate for all samples")
}

/// The gap is the sum of its parts.
fn parts(formula: &str, settings: Vec<Numbers>, method: &'static str) -> Bound<Numbers> {
    let whole = Numbers::bound(formula, settings, |case| {
        Model::gap(case).map(|gap| Sides::equal(gap.whole, gap.sum()))
    });
    whole.by(method).twin("without the last term", |case| {
        Model::gap(case).map(|gap| Sides::equal(gap.whole, gap.divergence + gap.own))
    })
}

fn surrogate_weight() -> Claim {
    weight("004-L1", "E[exp W] = p(D) for any potentials", linear_settings(&[1, 2, 5]), LINEAR_METHOD)
        .assuming("volume-preserving, reversible steps")
}

fn bound() -> Claim {
    let formula = "exp L <= p(D) for any potentials";
    let printed = Numbers::bound(formula, linear_settings(&[1, 2, 5, 20]), |case| {
        let Model { chain, posterior, .. } = Model::of(case)?;
        Some(Sides::at_most((-chain.gap(&posterior)).exp(), 1.0))
    });
    Claim::new("004-L1-BOUND", "Lemma 1", printed.by(LINEAR_METHOD).twin_times(0.95))
        .assuming("volume-preserving, reversible steps")
}

fn surrogate_divergence() -> Claim {
    let formula = "KL(q(z_K) || p(z | D)) <= log p(D) - L";
    end("004-P1", formula, linear_settings(&[1, 2, 5, 20]), LINEAR_METHOD)
}

/// `KL(surrogate posterior || posterior)` to second order in the errors.
fn surrogate_second_order(case: &Numbers, posterior: &Normal) -> f64 {
    let variance = posterior.covariance()[(0, 0)];
    let curvature = case.number("dB") * variance;
    let shift = case.number("da") - case.number("dB") * posterior.mean()[0];
    0.5 * shift * shift * variance + 0.25 * curvature * curvature
}

fn surrogate_limit() -> Claim {
    let lost = "the right-hand side is not in the text at hand";
    let printed = Statement::not_checkable("log p(D) - L <= O(K^(-1/2)) + terms in da, dB", lost);
    let formula = "log p(D) - L = KL(p_S || p) + gap_S(K) + (E_(p_S) - E_(z_K))[log l - log l_S]";
    let exact = parts(formula, linear_settings(&[1, 2, 5, 20]), LINEAR_METHOD);
    fn small(case: &Numbers, factor: f64) -> Option<Sides> {
        let posterior = Model::of(case)?.posterior;
        let relative = (case.number("dB") * posterior.covariance()[(0, 0)]).abs();
        let (limit, rhs) = (Model::gap(case)?.divergence, surrogate_second_order(case, &posterior));
        Some(Sides::at_most(limit, factor * rhs)).filter(|_| relative < 0.1 && rhs > 1e-7)
    }
    let formula =
        "KL(p_S || p) <= 1.25 (e^2/L + (dB/L)^2/2)/2, e = da - dB E_p z, for |dB| < L/10, L = 1/V_p z";
    let quadratic = Numbers::bound(formula, linear_settings(&[1]), |case| small(case, 1.25));
    let quadratic = quadratic.by(LINEAR_METHOD).twin("0.9 of it", |case| small(case, 0.9));
    fn own(case: &Numbers, factor: f64) -> Option<Sides> {
        let chain = Model::of(case)?.chain;
        let (surrogate, _) = chain.prior.posterior(&chain.surrogate).ok()?;
        let gap = |steps: usize| {
            let step_size = (steps as f64).powf(-0.25);
            LinearDais::from_prior(&chain.prior, &chain.surrogate, steps, step_size).gap(&surrogate)
        };
        let (short, long) = (gap(case.count), gap(16 * case.count));
        Some(Sides::at_most(long, factor * short)).filter(|_| short > 1e-6)
    }
    let formula = "gap_S(16 K) <= gap_S(K) / 2 at eta = K^(-1/4)";
    let falls = Numbers::bound(formula, linear_settings(&[64, 256, 1024]), |case| own(case, 0.5));
    let falls = falls.by(LINEAR_METHOD).twin("a quarter, the rate K^(-1/2)", |case| own(case, 0.25));
    Claim::new("004-P3", "Proposition 3", printed)
        .remark(
            "the gap goes to KL(p_S || p), second order in the surrogate's errors; more steps cannot mend it",
        )
        .corrected(exact)
        .corrected(quadratic)
        .corrected(falls)
}

fn steps() -> Claim {
    fn sides(case: &Numbers, is_exact: bool) -> Option<Sides> {
        let Model { chain, likelihood, posterior, .. } = Model::of(case)?;
        let surrogate = if is_exact { &likelihood } else { &chain.surrogate };
        let gap = |steps: usize| {
            let step_size = (steps as f64).powf(-0.25);
            LinearDais::from_prior(&chain.prior, surrogate, steps, step_size).gap(&posterior)
        };
        Some(Sides::at_most(gap(4 * case.count), gap(case.count))).filter(|sides| sides.rhs > 1e-6)
    }
    let formula = "gap(4 K) <= gap(K) at eta = K^(-1/4), if the surrogate is the likelihood";
    let printed = Numbers::bound(formula, linear_settings(&[16, 64, 256]), |case| sides(case, true));
    let printed = printed.by(LINEAR_METHOD).twin("for any surrogate", |case| sides(case, false));
    Claim::new("004-P3-STEPS", "Proposition 3", printed)
        .assuming("Assumption 1: base and prior agree, full refreshment, beta = k / K")
        .remark("with a poor surrogate few steps can have the smaller gap")
}

// Chains of any kind on linear Gaussian models in d dimensions: Lemma 1, Prop. 1, and step sizes that are all zero.

const MATRIX_METHOD: &str = "closed form, linear Gaussian in 1, 2 and 3 dimensions";

/// Model, surrogate and chain, once per pair of dimension and number of steps `K`.
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
    let (likelihood, error) = (matrix_likelihood(case), error(case));
    let total: f64 = case.of("beta weight").iter().sum();
    let mut so_far = 0.0;
    let mut beta = |weight: &f64| {
        so_far += weight / total;
        so_far
    };
    Some(LinearDais {
        prior: Normal::diagonal(case.of("prior mean").to_vec(), &vec![1.0; d]).ok()?,
        base: Normal::new(case.of("base mean").to_vec(), &factor * factor.transpose()).ok()?,
        surrogate: Quadratic {
            slope: likelihood.slope.iter().zip(&error.slope).map(|(a, da)| a + da).collect(),
            curvature: likelihood.curvature + error.curvature,
            constant: 0.0,
        },
        step_size: case.number("eta"),
        kappa: case.number("kappa"),
        longest: 0.4,
        gamma: case.number("gamma"),
        betas: case.of("beta weight").iter().map(&mut beta).collect(),
        mass: case.of("mass").to_vec(),
        deviation: case.of("deviation").to_vec(),
    })
}

/// Shapes of the cases: dimension and number of steps.
const SHAPES: [(usize, usize); 4] = [(1, 4), (2, 1), (2, 3), (3, 2)];

fn chains_weight() -> Claim {
    let formula = "E[exp W] = p(D) for any base, schedule, refreshment, mass M and momentum N(0, S^2)";
    weight("004-L1-ANY", formula, matrix_settings(&SHAPES), MATRIX_METHOD)
        .assuming("diagonal M and S")
        .remark("M and S need not agree: the bound of numpyro, with S = M, is one too")
}

fn chains_divergence() -> Claim {
    let formula = "KL(q(z_K) || p(z | D)) <= log p(D) - L for any chain";
    end("004-P1-ANY", formula, matrix_settings(&SHAPES), MATRIX_METHOD)
}

fn still() -> Claim {
    /// The bound, and that of the base, `log p(D) - KL(q_0 || p)`, with the step sizes moved by `shift` times eta.
    fn sides(case: &Numbers, shift: f64) -> Option<Sides> {
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
    let formula = "log p(D) - L = KL(q_0 || p) for any kappa, gamma, beta, M and surrogate, if every eta_k is clipped at 0";
    let printed = Numbers::bound(formula, matrix_settings(&SHAPES), |case| sides(case, 0.0));
    let printed = printed.by(MATRIX_METHOD).twin("with a first step", |case| sides(case, 1.0));
    Claim::new("004-STILL", "Section 3, step sizes", printed).remark(
        "so all parameters of the chain have derivative zero, and an ascent that comes there stays there",
    )
}

fn scale() -> Claim {
    fn sides(case: &Numbers, momentum: fn(f64) -> f64) -> Option<Sides> {
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
    let formula = "L(c eta, c^2 M) = L(eta, M) for every c > 0, v ~ N(0, M)";
    let printed = Numbers::bound(formula, matrix_settings(&SHAPES), |case| sides(case, f64::sqrt));
    let printed = printed.by(MATRIX_METHOD).twin("v ~ N(0, M^2)", |case| sides(case, |m| m));
    Claim::new("004-SCALE", "Section 3, mass matrix", printed)
        .assuming("step sizes that are not clipped, or an eta_max that scales too")
        .remark("the size of M matters only against eta_max; with v ~ N(0, M^2) it is a parameter of its own")
}

fn chains_parts() -> Claim {
    let formula =
        "log p(D) - L = KL(p_S || p) + gap_S(K) + (E_(p_S) - E_(z_K))[log l - log l_S] for any chain";
    let exact = parts(formula, matrix_settings(&SHAPES), MATRIX_METHOD);
    Claim::new("004-P3-ANY", "Proposition 3", exact).remark(
        "with the surrogate posterior p_S, and the gap gap_S(K) of the chain as one for the surrogate itself",
    )
}

/// The divergence of the surrogate posterior to second order, with the factor by which it can be off.
fn chains_second_order() -> Claim {
    fn sides(case: &Numbers, power: i32) -> Option<Sides> {
        let (likelihood, error) = (matrix_likelihood(case), error(case));
        let prior = matrix_chain(case)?.prior;
        let (posterior, _) = prior.posterior(&likelihood).ok()?;
        // The surrogate's error shrinks to a curvature of at most a tenth of the posterior's.
        let d = likelihood.slope.len();
        let bent = |x: &Quadratic| posterior.covariance() * &x.curvature;
        let norm = |x: &Mat<f64>| (x * x).diagonal().column_vector().iter().sum::<f64>().sqrt();
        let scale = 0.1 * case.number("eta") / (0.3 * norm(&bent(&error)).max(1e-3));
        let shrunk = Quadratic {
            slope: error.slope.iter().map(|x| scale * x).collect(),
            curvature: Mat::from_fn(d, d, |i, j| scale * error.curvature[(i, j)]),
            constant: 0.0,
        };
        let surrogate = Quadratic {
            slope: (0..d).map(|i| likelihood.slope[i] + shrunk.slope[i]).collect(),
            curvature: &likelihood.curvature + &shrunk.curvature,
            constant: 0.0,
        };
        let exact = prior.posterior(&surrogate).ok()?.0.divergence(&posterior);
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
    let formula = "|KL(p_S || p) - Q| <= ((1 - r)^-2 - 1) Q, Q = e'V e/2 + r^2/4, e = da - dB E_p z, r^2 = tr(V dB V dB), \
                   V = Cov_p z";
    let bound = Numbers::bound(formula, matrix_settings(&[(1, 1), (2, 1), (3, 1)]), |case| sides(case, 2));
    let bound = bound.by(MATRIX_METHOD).twin("1 - r in place of (1 - r)^2", |case| sides(case, 1));
    Claim::new("004-P3-SECOND", "Proposition 3", bound)
        .assuming("r < 1/10")
        .remark("good to 5 % up to r = 0.024; the dropped orders matter for a poor surrogate")
}

// Claims on a surrogate drawn anew for every sample: the likelihood of a minibatch (SL-DAIS, Prop. 2).

/// Two equally likely batches, whose mean is the likelihood of all data; `da` and `dB` are their differences from it.
fn batches(case: &Numbers, step_size: f64) -> [LinearDais; 2] {
    let (slope, curvature) = (case.number("a"), case.number("B"));
    // A batch has no negative curvature.
    let (by, bend) = (case.number("da"), case.number("dB").clamp(-curvature, curvature));
    [1.0, -1.0].map(|sign| {
        let surrogate = Quadratic::scalar(slope + sign * by, curvature + sign * bend);
        LinearDais::from_prior(&prior(case), &surrogate, case.count, step_size)
    })
}

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

/// Distributions of `z_K`.
fn laws([a, b]: &[LinearDais; 2]) -> Option<[Normal; 2]> {
    Some([a.end().law().ok()?, b.end().law().ok()?])
}

fn batch_divergence() -> Claim {
    let formula = "KL(E_J q_J(z_K) || p(z | D)) <= log p(D) - E_J L_J";
    let printed = Numbers::bound(formula, linear_settings(&[1, 2, 5, 20]), |case| {
        let chains = batches(case, case.number("eta"));
        let (posterior, _) = prior(case).posterior(&linear_likelihood(case)).ok()?;
        let far = mixture_divergence(&laws(&chains)?, &|z| posterior.log_density(&[z]));
        let gap = 0.5 * chains.iter().map(|chain| chain.gap(&posterior)).sum::<f64>();
        Some(Sides::at_most(far, gap)).filter(|_| gap > 1e-4)
    });
    let printed = printed.by("closed form and quadrature, linear Gaussian");
    Claim::new("004-P1-BATCH", "Proposition 1", printed.twin_times(0.95))
        .assuming("a batch for each sample, all data in the last term")
}

/// The divergences from the distribution after `K` steps to the mixture of the batches' posteriors and to the posterior, and
/// the mean divergence from the prior to the batches' posteriors.
fn ends(case: &Numbers) -> Option<(f64, f64, f64)> {
    let (prior, likelihood) = (prior(case), linear_likelihood(case));
    let chains = batches(case, (case.count as f64).powf(-0.25));
    let own = |chain: &LinearDais| prior.posterior(&chain.surrogate).ok().map(|(own, _)| own);
    let own = [own(&chains[0])?, own(&chains[1])?];
    let (posterior, _) = prior.posterior(&likelihood).ok()?;
    let ends = laws(&chains)?;
    let aggregate = mixture_divergence(&ends, &|z| mixture_log_density(&own, z));
    let way = 0.5 * own.iter().map(|own| prior.divergence(own)).sum::<f64>();
    Some((aggregate, mixture_divergence(&ends, &|z| posterior.log_density(&[z])), way))
}

fn aggregate() -> Claim {
    let formula = "KL(E_J q_J(z_K) || E_J p(z | D_J)) <= (1 + E_J KL(p(z) || p(z | D_J))) / sqrt(K)";
    let printed = Numbers::bound(formula, linear_settings(&[256, 1024, 4096]), |case| {
        let (aggregate, _, way) = ends(case)?;
        Some(Sides::at_most(aggregate, (1.0 + way) / (case.count as f64).sqrt()))
    });
    let printed = printed.by("closed form and quadrature, linear Gaussian");
    Claim::new("004-P2", "Proposition 2", printed.twin("to the posterior", |case| {
        let (_, posterior, way) = ends(case)?;
        Some(Sides::at_most(posterior, (1.0 + way) / (case.count as f64).sqrt()))
    }))
        .assuming("a batch for each sample, kept for all steps, eta = K^(-1/4)")
        .remark("a limit, given a constant here; the aggregate of the batches' posteriors is wider than the posterior")
}

// Claims on chains guided by a random batch of the data, by enumeration of all batches (SL-DAIS, Prop. 2).

const SUBSETS_METHOD: &str = "closed form over all batches, linear regression on four data";

/// Linear regression on four data with unit noise, in d dimensions, once per number of steps `K` or size `B` of a batch.
fn subsets_settings(d: usize, counts: &[usize]) -> Vec<Numbers> {
    let variables = [
        ("x", Domain::Between(-1.5, 1.5), 4 * d),
        ("y", Domain::Between(-2.0, 2.0), 4),
        ("direction", Domain::Real, d),
    ];
    Numbers::settings(&variables, counts)
}

/// A regression, its posterior, and the likelihood and posterior of every batch of `size` data, scaled to all of them.
struct Batches {
    prior: Normal,
    posterior: Normal,
    batches: Vec<(Quadratic, Normal)>,
}

impl Batches {
    fn of(case: &Numbers, size: u32) -> Option<Self> {
        let (y, d) = (case.of("y"), case.of("x").len() / 4);
        let x = Mat::from_fn(4, d, |n, i| case.of("x")[n * d + i]);
        let prior = Normal::diagonal(vec![0.0; d], &vec![1.0; d]).ok()?;
        let posterior = |weights: &[f64]| {
            let likelihood = Quadratic::regression(&x, y, weights, 1.0);
            prior.posterior(&likelihood).ok().map(|(posterior, _)| (likelihood, posterior))
        };
        let scale = 4.0 / f64::from(size);
        let weight = |batch: u32, n: u32| if batch >> n & 1 == 1 { scale } else { 0.0 };
        let weights = |batch: u32| (0..4).map(|n| weight(batch, n)).collect::<Vec<f64>>();
        let of_size = (0u32..16).filter(|batch| batch.count_ones() == size);
        let batches = of_size.map(|batch| posterior(&weights(batch))).collect::<Option<Vec<_>>>()?;
        let (_, posterior) = posterior(&[1.0; 4])?;
        Some(Self { prior, posterior, batches })
    }

    /// Mean over the batches.
    fn mean(&self, f: impl Fn(&Quadratic, &Normal) -> f64) -> f64 {
        let total: f64 = self.batches.iter().map(|(likelihood, own)| f(likelihood, own)).sum();
        total / self.batches.len() as f64
    }

    /// The chain of a batch with step size `K^(-1/4)`.
    fn chain(&self, likelihood: &Quadratic, steps: usize) -> LinearDais {
        LinearDais::from_prior(&self.prior, likelihood, steps, (steps as f64).powf(-0.25))
    }

    /// `1 + E_J KL(p(z) || p(z | D_J))`, the size of the way from the prior.
    fn way(&self) -> f64 {
        1.0 + self.mean(|_, own| self.prior.divergence(own))
    }
}

fn subsets_limit() -> Claim {
    fn sides(case: &Numbers, to_posterior: bool) -> Option<Sides> {
        let all = Batches::of(case, 2)?;
        let end = |(likelihood, _): &(Quadratic, Normal)| all.chain(likelihood, case.count).end().law().ok();
        let ends = all.batches.iter().map(end).collect::<Option<Vec<Normal>>>()?;
        let own: Vec<Normal> = all.batches.iter().map(|(_, own)| own.clone()).collect();
        let far = mixture_divergence(&ends, &|z| match to_posterior {
            true => all.posterior.log_density(&[z]),
            false => mixture_log_density(&own, z),
        });
        Some(Sides::at_most(far, all.way() / (case.count as f64).sqrt()))
    }
    let formula =
        "KL(E_J q_J(z_K) || E_J p_J) <= (1 + E_J KL(p(z) || p_J)) / sqrt(K), p_J = p(z | D_J)^(N/B)";
    let printed = Numbers::bound(formula, subsets_settings(1, &[16, 64]), |case| sides(case, false));
    let printed = printed.by("closed form and quadrature over all batches, four data");
    Claim::new("004-P2-SUBSETS", "Proposition 2", printed.twin("to the posterior", |case| sides(case, true)))
        .assuming("two of four data in a batch, kept for all steps, eta = K^(-1/4)")
        .remark("a limit, given a constant here; p_J has the likelihood of a batch to the power N/B")
}

fn wide() -> Claim {
    let formula = "Var_p u'z <= Var_(E_J p_J) u'z = E_J Var_J u'z + Var_J E_J u'z for every u";
    let printed = Numbers::bound(formula, subsets_settings(2, &[1, 2, 3]), |case| {
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
    });
    Claim::new("004-P2-WIDE", "Proposition 2", printed.by(SUBSETS_METHOD).twin_times(0.95))
        .assuming("one, two or three of four data in a batch")
        .remark(
            "the mean precision is that of the posterior, and the inverse is convex; the centres add to it",
        )
}

fn subsets_gap() -> Claim {
    fn sides(case: &Numbers, limit: fn(&Batches) -> f64) -> Option<Sides> {
        let all = Batches::of(case, 2)?;
        let gap = all.mean(|likelihood, _| all.chain(likelihood, case.count).gap(&all.posterior));
        let rate = (case.count as f64).powf(-0.25);
        Some(Sides::at_most((gap - limit(&all)).abs(), 2.0 * all.way() * rate))
    }
    let formula = "|log p(D) - E_J L_J - E_J KL(p_J || p)| <= 2 (1 + E_J KL(p(z) || p_J)) K^(-1/4), p_J = p(z | D_J)^(N/B)";
    let printed = Numbers::bound(formula, subsets_settings(2, &[16, 64, 256]), |case| {
        sides(case, |all| all.mean(|_, own| own.divergence(&all.posterior)))
    });
    let printed = printed.by(SUBSETS_METHOD).twin("a gap that vanishes", |case| sides(case, |_| 0.0));
    Claim::new("004-P2-GAP", "Proposition 2", printed)
        .assuming("two of four data in a batch, all data in the last term, eta = K^(-1/4)")
        .remark("a limit, given a constant here; more steps do not mend what a batch misses")
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
    likelihood: Logistic<'a>,
    surrogate: Logistic<'a>,
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

/// Parts of the gap, by quadrature.
fn parts_of(chain: &Chain<'_>) -> Gap {
    let Chain { likelihood, surrogate, .. } = chain;
    let total = |f: &dyn Fn(f64) -> f64| integral(12.0, 0.25, f);
    let log_evidence = |model: &Logistic<'_>| total(&|z| model.log_joint(z).exp()).ln();
    let (log_p, log_p_s) = (log_evidence(likelihood), log_evidence(surrogate));
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

fn logistic_gap(case: &Numbers) -> Gap {
    let x = case.of("x");
    let beta = [case.number("beta"), 1.0];
    parts_of(&Chain {
        likelihood: Logistic { x, weights: &[1.0; 3] },
        surrogate: Logistic { x, weights: case.of("omega") },
        mean: case.number("base mean"),
        deviation: case.number("base deviation"),
        eta: case.number("eta"),
        gamma: case.number("gamma"),
        betas: &beta[2 - case.count..],
    })
}

fn logistic_parts() -> Claim {
    let variables = [
        ("x", Domain::Between(-2.0, 2.0), 3),
        ("omega", Domain::Between(0.0, 3.0), 3),
        ("base mean", Domain::Between(-1.0, 1.0), 1),
        ("base deviation", Domain::Between(0.4, 1.0), 1),
        ("eta", Domain::Between(0.0, 0.4), 1),
        ("gamma", Domain::Between(0.0, 0.95), 1),
        ("beta", Domain::Between(0.0, 1.0), 1),
    ];
    let formula = "log p(D) - L = KL(p_S || p) + gap_S(K) + (E_(p_S) - E_(z_K))[log l - log l_S] for logistic regression";
    let settings = Numbers::settings(&variables, &[1, 1, 1, 2]);
    let exact = Numbers::bound(formula, settings, |case| {
        let gap = logistic_gap(case);
        Some(Sides::equal(gap.whole, gap.sum()))
    });
    let exact = exact.by("quadrature over the noise of one or two steps");
    let exact = exact.twin("without the last term", |case| {
        let gap = logistic_gap(case);
        Some(Sides::equal(gap.whole, gap.divergence + gap.own))
    });
    Claim::new("004-P3-LOGISTIC", "Proposition 3", exact)
        .assuming("three data in one dimension, a surrogate of their weights")
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

/// Law of the momentum, given the diagonal mass M.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Momentum {
    /// `v ~ N(0, M)`.
    Variance,
    /// `v ~ N(0, M^2)`.
    Deviation,
}

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
        let (schedule, log_mass) = rest.split_at(3 + STEPS);
        let mass = exp(log_mass);
        let increments = exp(&schedule[3..]);
        let total: f64 = increments.iter().sum();
        let mut so_far = 0.0;
        let mut beta = |d: &f64| {
            so_far += d / total;
            so_far
        };
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let deviation = |m: &f64| if momentum == Momentum::Variance { m.sqrt() } else { *m };
        Some(LinearDais {
            prior: self.prior.clone(),
            base: Normal::diagonal(base[..DIM].to_vec(), &exp(&base[DIM..])).ok()?,
            surrogate: Quadratic::regression(&self.covariates, &self.responses, weights, 1.0),
            step_size: LONGEST * sigmoid(schedule[0]),
            kappa: LONGEST * schedule[1],
            longest: LONGEST,
            gamma: sigmoid(schedule[2]),
            betas: increments.iter().map(&mut beta).collect(),
            deviation: mass.iter().map(deviation).collect(),
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
        let share = if momentum == Momentum::Deviation { 0.0 } else { 1.0 };
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
        let (variance, deviation) = (problem.best(Momentum::Variance)?, problem.best(Momentum::Deviation)?);
        Some(Self { problem, few, variance, deviation })
    }
}

/// The best chains of one problem, sought when first needed.
type Lazy = Arc<OnceLock<Option<Found>>>;

/// A chain with `v ~ N(0, M^2)` near the best of its kind.
#[derive(Clone)]
struct Near {
    found: Lazy,
    point: Vec<f64>,
}

impl Near {
    fn found(lazy: &Lazy) -> Option<&Found> {
        lazy.get_or_init(|| Found::of(3)).as_ref()
    }
}

impl Searchable for Near {
    type Setting = Lazy;

    /// Normal steps from the best chain, small or large.
    fn draw(found: &Lazy, stream: &mut Stream) -> Self {
        let spread = [0.01, 0.1, 1.0][(3.0 * stream.uniform()) as usize];
        let centre = Self::found(found).map_or(&[][..], |found| &found.deviation.1);
        let point = centre.iter().map(|x| x + spread * stream.normal()).collect();
        Self { found: found.clone(), point }
    }

    fn coordinates(&self) -> Vec<f64> {
        self.point.clone()
    }

    fn at(&self, coordinates: &[f64]) -> Self {
        Self { point: coordinates.to_vec(), ..self.clone() }
    }
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unconstrained parameters {}", tuple(&self.point))
    }
}

fn mass() -> Claim {
    let formula = "5 min gap with v ~ N(0, M) <= gap of any chain with v ~ N(0, M^2), K = 4";
    let printed = Near::bound(formula, vec![Lazy::default()], |case| {
        let found = Near::found(&case.found)?;
        let gap = found.problem.gap(Momentum::Deviation, &case.point, &[1.0; ROWS])?;
        Some(Sides::at_most(5.0 * found.variance.0, gap))
    });
    Claim::new("004-MASS", "Section 3, mass matrix", printed.by(LINEAR_METHOD).twin_times(0.4))
        .assuming("one linear regression of 40 data on three covariates of different scale, mean-field base, drift v / M")
        .remark("the best of three climbs stands for the minimum; on other data v ~ N(0, M^2) can have the smaller gap")
}

fn rows() -> Claim {
    fn sides(case: &Near, weights: impl Fn(&Found) -> Vec<f64>) -> Option<Sides> {
        let found = Near::found(&case.found)?;
        let gap = |weights: &[f64]| found.problem.gap(Momentum::Variance, &case.point, weights);
        Some(Sides::equal(gap(&weights(found))?, gap(&[1.0; ROWS])?))
    }
    let formula =
        "gap with a surrogate of d (d + 3) / 2 weighted rows = gap with the likelihood, for any chain";
    let printed = Near::bound(formula, vec![Lazy::default()], |case| sides(case, |found| found.few.clone()));
    let printed = printed.by(LINEAR_METHOD).twin("ten rows of weight N / 10", |case| {
        sides(case, |_| (0..ROWS).map(|n| if n < 10 { 4.0 } else { 0.0 }).collect())
    });
    Claim::new("004-ROWS", "Section 7.1", printed)
        .assuming("a linear regression of 40 data on three covariates, nine rows and weights by Caratheodory's theorem")
        .remark("so the best surrogate of few rows is at least as good as all data at the same number of steps")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lemma 1 for a model that is not Gaussian. The twin: the evidence is not that of the surrogate.
    #[test]
    fn mean_weight_is_the_evidence() {
        let x = [1.3, -0.8, 0.4];
        let chain = Chain {
            likelihood: Logistic { x: &x, weights: &[1.0; 3] },
            surrogate: Logistic { x: &x, weights: &[2.0, 0.5, 1.0] },
            mean: 0.3,
            deviation: 0.9,
            eta: 0.3,
            gamma: 0.6,
            betas: &[0.4, 1.0],
        };
        let evidence = |model: &Logistic<'_>| integral(12.0, 0.25, |z| model.log_joint(z).exp());
        let mut found = 0.0;
        chain.each_path(0.5, |z, weight, probability| {
            found += probability * (chain.likelihood.log_joint(z) + weight).exp();
        });
        assert!((found / evidence(&chain.likelihood) - 1.0).abs() < 1e-6);
        assert!((found / evidence(&chain.surrogate) - 1.0).abs() > 1e-2);
    }

    #[test]
    fn few_rows_keep_the_moments() {
        let problem = Problem::seeded(3).unwrap();
        let few = problem.few().unwrap();
        assert!(
            few.iter().filter(|weight| **weight > 0.0).count() <= MOMENTS && few.iter().all(|w| *w >= 0.0)
        );
        let of =
            |weights: &[f64]| Quadratic::regression(&problem.covariates, &problem.responses, weights, 1.0);
        let rest = of(&few).minus(&of(&[1.0; ROWS]));
        assert!(rest.slope.iter().all(|x| x.abs() < 1e-10) && rest.curvature.norm_max() < 1e-10);
    }

    /// Any chain is better than its base, and neither law of the momentum is better on all data.
    #[test]
    fn either_momentum_can_have_the_smaller_gap() {
        let gaps = |seed: u64| {
            let Found { problem: Problem { posterior, .. }, variance, deviation, .. } =
                Found::of(seed).unwrap();
            let precision = posterior.precision();
            let scales: Vec<f64> = (0..DIM).map(|i| precision[(i, i)].powf(-0.5)).collect();
            let mean_field = Normal::diagonal(posterior.mean().to_vec(), &scales).unwrap();
            (mean_field.divergence(&posterior), variance.0, deviation.0)
        };
        let (mean_field, by_variance, by_deviation) = gaps(3);
        assert!(5.0 * by_variance < by_deviation && 5.0 * by_deviation < mean_field);
        let (mean_field, by_variance, by_deviation) = gaps(1);
        assert!(1.2 * by_deviation < by_variance && 5.0 * by_variance < mean_field);
    }
}
