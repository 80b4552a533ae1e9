//! Chains of any kind on linear Gaussian models in d dimensions: Lemma 1, Prop. 1, and step sizes that are all zero.

use faer::Mat;

use crate::claims::{Bound, Claim, Domain, Numbers, SL_DAIS, Sides};
use crate::dais::{Gap, LinearDais, Normal, Quadratic};

const METHOD: &str = "closed form, linear Gaussian in 1, 2 and 3 dimensions";

/// Model, surrogate and chain, once per pair of dimension and number of steps `K`.
pub(super) fn settings(shapes: &[(usize, usize)]) -> Vec<Numbers> {
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
pub(super) fn likelihood(case: &Numbers) -> Quadratic {
    let factor = matrix(case, "B");
    Quadratic { slope: case.of("a").to_vec(), curvature: factor.transpose() * &factor, constant: 0.0 }
}

/// Difference of the surrogate from the likelihood, of curvature `(dB + dB^T) / 2`.
pub(super) fn error(case: &Numbers) -> Quadratic {
    let bend = matrix(case, "dB");
    let curvature = Mat::from_fn(bend.nrows(), bend.nrows(), |i, j| 0.5 * (bend[(i, j)] + bend[(j, i)]));
    Quadratic { slope: case.of("da").to_vec(), curvature, constant: 0.0 }
}

/// The chain of a case, from a base with any factor to the surrogate posterior of a prior with unit precision.
pub(super) fn chain(case: &Numbers) -> Option<LinearDais> {
    let d = case.of("a").len();
    let scale = matrix(case, "base scale");
    let entry = |i: usize, j: usize| if i == j { 0.8 + scale[(i, i)] } else { scale[(i, j)] };
    let factor = Mat::from_fn(d, d, |i, j| if i < j { 0.0 } else { entry(i, j) });
    let (likelihood, error) = (likelihood(case), error(case));
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
pub(super) const SHAPES: [(usize, usize); 4] = [(1, 4), (2, 1), (2, 3), (3, 2)];

pub(super) fn claims() -> Vec<Claim> {
    vec![weight(), divergence(), still(), scale()]
}

fn weight() -> Claim {
    fn sides(case: &Numbers, complete: bool) -> Option<Sides> {
        let (chain, likelihood) = (chain(case)?, likelihood(case));
        let found = chain.log_mean_weight(&likelihood, complete)?;
        Some(Sides::equal(found, chain.prior.posterior(&likelihood).ok()?.1))
    }
    let formula = "E[exp W] = p(D) for any base, schedule, refreshment, mass M and momentum N(0, S^2)";
    let printed = Bound::<Numbers>::new(formula, settings(&SHAPES), |case| sides(case, true));
    let printed = printed.by(METHOD).twin("without the momenta", |case| sides(case, false));
    Claim::new("004-L1-ANY", SL_DAIS, "Lemma 1", printed)
        .assuming("diagonal M and S")
        .remark("M and S need not agree: the bound of numpyro, with S = M, is one too")
}

fn divergence() -> Claim {
    let formula = "KL(q(z_K) || p(z | D)) <= log p(D) - L for any chain";
    let printed = Bound::<Numbers>::new(formula, settings(&SHAPES), |case| {
        let chain = chain(case)?;
        let (posterior, _) = chain.prior.posterior(&likelihood(case)).ok()?;
        let far = chain.end().law().ok()?.divergence(&posterior);
        Some(Sides::at_most(far, chain.gap(&posterior))).filter(|sides| sides.rhs > 1e-6)
    });
    Claim::new("004-P1-ANY", SL_DAIS, "Proposition 1", printed.by(METHOD).twin_times(0.95))
        .assuming("one surrogate for all samples")
}

fn still() -> Claim {
    /// The bound, and that of the base, `log p(D) - KL(q_0 || p)`, with the step sizes moved by `shift` times eta.
    fn sides(case: &Numbers, shift: f64) -> Option<Sides> {
        let chain = chain(case)?;
        let (posterior, _) = chain.prior.posterior(&likelihood(case)).ok()?;
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
    let printed = Bound::<Numbers>::new(formula, settings(&SHAPES), |case| sides(case, 0.0));
    let printed = printed.by(METHOD).twin("with a first step", |case| sides(case, 1.0));
    Claim::new("004-STILL", SL_DAIS, "Section 3, step sizes", printed).remark(
        "so all parameters of the chain have derivative zero, and an ascent that comes there stays there",
    )
}

fn scale() -> Claim {
    fn sides(case: &Numbers, momentum: fn(f64) -> f64) -> Option<Sides> {
        let chain = chain(case)?;
        let (posterior, _) = chain.prior.posterior(&likelihood(case)).ok()?;
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
    let printed = Bound::<Numbers>::new(formula, settings(&SHAPES), |case| sides(case, f64::sqrt));
    let printed = printed.by(METHOD).twin("v ~ N(0, M^2)", |case| sides(case, |m| m));
    Claim::new("004-SCALE", SL_DAIS, "Section 3, mass matrix", printed)
        .assuming("step sizes that are not clipped, or an eta_max that scales too")
        .remark("the size of M matters only against eta_max; with v ~ N(0, M^2) it is a parameter of its own")
}

/// The gap in its parts.
pub(super) fn parts() -> Claim {
    fn gap(case: &Numbers) -> Option<Gap> {
        Gap::of(&chain(case)?, &likelihood(case)).ok()
    }
    let formula =
        "log p(D) - L = KL(p_S || p) + gap_S(K) + (E_(p_S) - E_(z_K))[log l - log l_S] for any chain";
    let exact = Bound::<Numbers>::new(formula, settings(&SHAPES), |case| {
        gap(case).map(|gap| Sides::equal(gap.whole, gap.sum()))
    });
    let exact = exact.by(METHOD).twin("without the last term", |case| {
        gap(case).map(|gap| Sides::equal(gap.whole, gap.divergence + gap.own))
    });
    Claim::new("004-P3-ANY", SL_DAIS, "Proposition 3", exact).remark(
        "with the surrogate posterior p_S, and the gap gap_S(K) of the chain as one for the surrogate itself",
    )
}

/// The divergence of the surrogate posterior to second order, with the factor by which it can be off.
pub(super) fn second_order() -> Claim {
    fn sides(case: &Numbers, power: i32) -> Option<Sides> {
        let (likelihood, error) = (likelihood(case), error(case));
        let prior = chain(case)?.prior;
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
    let bound = Bound::<Numbers>::new(formula, settings(&[(1, 1), (2, 1), (3, 1)]), |case| sides(case, 2));
    let bound = bound.by(METHOD).twin("1 - r in place of (1 - r)^2", |case| sides(case, 1));
    Claim::new("004-P3-SECOND", SL_DAIS, "Proposition 3", bound)
        .assuming("r < 1/10")
        .remark("good to 5 % up to r = 0.024; the dropped orders matter for a poor surrogate")
}
