//! Claims on chains guided by a random batch of the data, by enumeration of all batches (SL-DAIS, Prop. 2).

use faer::Mat;

use super::batch::{mixture_divergence, mixture_log_density};
use crate::claims::{Bound, Claim, Domain, Numbers, SL_DAIS, Sides};
use crate::dais::{LinearDais, Normal, Quadratic};

const METHOD: &str = "closed form over all batches, linear regression on four data";

/// Linear regression on four data with unit noise, in d dimensions, once per number of steps `K` or size `B` of a batch.
fn settings(d: usize, counts: &[usize]) -> Vec<Numbers> {
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

pub(super) fn claims() -> Vec<Claim> {
    vec![limit(), wide(), gap()]
}

fn limit() -> Claim {
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
    let printed = Bound::<Numbers>::new(formula, settings(1, &[16, 64]), |case| sides(case, false));
    let printed = printed.by("closed form and quadrature over all batches, four data");
    Claim::new(
        "004-P2-SUBSETS",
        SL_DAIS,
        "Proposition 2",
        printed.twin("to the posterior", |case| sides(case, true)),
    )
    .assuming("two of four data in a batch, kept for all steps, eta = K^(-1/4)")
    .remark("a limit, given a constant here; p_J has the likelihood of a batch to the power N/B")
}

fn wide() -> Claim {
    let formula = "Var_p u'z <= Var_(E_J p_J) u'z = E_J Var_J u'z + Var_J E_J u'z for every u";
    let printed = Bound::<Numbers>::new(formula, settings(2, &[1, 2, 3]), |case| {
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
    Claim::new("004-P2-WIDE", SL_DAIS, "Proposition 2", printed.by(METHOD).twin_times(0.95))
        .assuming("one, two or three of four data in a batch")
        .remark(
            "the mean precision is that of the posterior, and the inverse is convex; the centres add to it",
        )
}

fn gap() -> Claim {
    fn sides(case: &Numbers, limit: fn(&Batches) -> f64) -> Option<Sides> {
        let all = Batches::of(case, 2)?;
        let gap = all.mean(|likelihood, _| all.chain(likelihood, case.count).gap(&all.posterior));
        let rate = (case.count as f64).powf(-0.25);
        Some(Sides::at_most((gap - limit(&all)).abs(), 2.0 * all.way() * rate))
    }
    let formula = "|log p(D) - E_J L_J - E_J KL(p_J || p)| <= 2 (1 + E_J KL(p(z) || p_J)) K^(-1/4), p_J = p(z | D_J)^(N/B)";
    let printed = Bound::<Numbers>::new(formula, settings(2, &[16, 64, 256]), |case| {
        sides(case, |all| all.mean(|_, own| own.divergence(&all.posterior)))
    });
    let printed = printed.by(METHOD).twin("a gap that vanishes", |case| sides(case, |_| 0.0));
    Claim::new("004-P2-GAP", SL_DAIS, "Proposition 2", printed)
        .assuming("two of four data in a batch, all data in the last term, eta = K^(-1/4)")
        .remark("a limit, given a constant here; more steps do not mend what a batch misses")
}
