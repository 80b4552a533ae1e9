//! Claims of pMCSA. `|s| <= L` throughout; candidates include the retained one.

use super::case::normalised;
use super::{
    Atoms, Claim, Domain, Numbers, Searchable, Setting, Sides, Statement, few, half, largest_weight,
    second_weight,
};
use crate::bounds::{pmcsa as bounds, rate};
use crate::{Instance, Square, dot, total_variation};

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    let sections = [
        objective(),
        closed_form(),
        lemmas(),
        candidates(),
        averaged_candidates(),
        sequential_rates(),
        sequential_moments(),
        covariances(),
        parallel(),
        unprinted(),
    ];
    sections.into_iter().flatten().collect()
}

/// Uniform guide and target, scores of both signs.
fn even(candidates: usize) -> Atoms {
    Atoms::new(&[0.5, 0.5], &[0.5, 0.5], &[1.0, -1.0]).samples(candidates)
}

/// Claims on the objective and the weights (pMCSA, Sec. 2 and 3).
fn objective() -> Vec<Claim> {
    fn cross_entropy(case: &Atoms) -> f64 {
        -case.problem.pi().iter().zip(case.problem.q()).map(|(p, q)| p * q.ln()).sum::<f64>()
    }
    let entropy =
        |case: &Atoms| -case.problem.pi().iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum::<f64>();
    /// Slope of the divergence in the logit of the start, by a difference of fourth order, whose error here is below 1e-11.
    fn slope(case: &Atoms) -> f64 {
        let h = 2e-3;
        let at = |width: f64| {
            let mut logits: Vec<f64> = case.problem.q().iter().map(|q| q.ln()).collect();
            logits[case.start] += width;
            let moved = Instance::new(case.problem.pi(), &normalised(&logits), case.problem.s());
            moved.map_or(f64::NAN, |moved| moved.kl())
        };
        let pair = |k: f64| at(k * h) - at(-k * h);
        (8.0 * pair(1.0) - pair(2.0)) / (12.0 * h)
    }
    fn weight_variance(case: &Atoms) -> f64 {
        let (q, w) = (case.problem.q(), case.problem.w());
        let mean = dot(q, w);
        q.iter().zip(w).map(|(q, w)| q * (w - mean) * (w - mean)).sum()
    }
    vec![
        Atoms::bound("E_Pi f = KL(p||q)", &few(), move |case| {
            Sides::equal(cross_entropy(case) - entropy(case), case.problem.kl())
        })
        .twin("without the entropy", |case| Sides::equal(cross_entropy(case), case.problem.kl()))
        .claim("001-PK", "Proposition 1, value")
        .assuming("Pi has the marginals p"),
        Atoms::bound("E_Pi[-grad log q] = grad KL(p||q)", &few(), |case| {
            Sides::equal(case.problem.q()[case.start] - case.problem.pi()[case.start], slope(case))
        })
        .by("differences of fourth order")
        .twin("under q instead of p", |case| Sides::equal(0.0, slope(case)))
        .claim("001-PK-GRAD", "Proposition 1, gradient")
        .assuming("q by its logits"),
        Atoms::bound("exp KL(p||q) < w*", &few(), |case| {
            Sides::below(case.problem.kl().exp(), case.w_star())
        })
        .example(even(1))
        .example(Atoms::new(&[1.0, 0.0], &[0.5, 0.5], &[1.0, -1.0]))
        .claim("001-W", "Section 3, on w*")
        .remark("Equal at p = q, and where q is p among other atoms.")
        .corrected(largest_weight().twin_times(0.95)),
        Atoms::bound("V_q w = chi^2(p||q)", &few(), |case| {
            Sides::equal(weight_variance(case), case.problem.pearson())
        })
        .twin("with E_q w^2", |case| Sides::equal(weight_variance(case), case.problem.pearson() + 1.0))
        .claim("001-IWVAR", "proof of Theorem 2, variance of weights"),
        second_weight("exp KL(p||q) - 1 <= chi^2(p||q)")
            .twin_times(0.95)
            .claim("001-CHI-KL", "Section 3, on divergences")
            .remark("By Jensen's inequality."),
    ]
}

/// Rejection probability by eq. 6 as printed, with the integral over the target.
fn rejection_as_printed(p: &Instance<f64>, v: f64) -> f64 {
    let each = p.pi().iter().zip(p.w()).filter(|(_, w)| **w <= v);
    each.map(|(pi, w)| pi * (1.0 - w / v)).sum()
}

fn rejection(p: &Instance<f64>, v: f64) -> f64 {
    p.rejection_at(&v)
}

/// Claims on the closed form of independent Metropolis-Hastings (pMCSA, eqs. 5 and 6; App. C).
fn closed_form() -> Vec<Claim> {
    fn kernel(case: &Atoms, rejection: fn(&Instance<f64>, f64) -> f64) -> Option<Sides> {
        let (p, z) = (&case.problem, case.start);
        let (power, v) = (p.imh().power(case.steps), p.w()[z]);
        Sides::farthest((0..p.atoms()).filter_map(|y| {
            let stays = if y == z { rejection(p, v).powi(case.steps as i32) } else { 0.0 };
            let moved = p.t_n(case.steps, &p.w()[y].max(v))? * p.pi()[y];
            Some(Sides::equal(power.row(z)[y], moved + stays))
        }))
    }
    let rejects = |formula: &str, rejection: fn(&Instance<f64>, f64) -> f64| {
        Atoms::bound(formula, &few(), move |case| {
            let (p, z) = (&case.problem, case.start);
            Sides::equal(p.imh_rejections()[z], rejection(p, p.w()[z]))
        })
    };
    fn above(case: &Atoms) -> Option<Sides> {
        Some(Sides::at_most(case.problem.rejection_at(&case.weight?), case.rate_to(1)?))
    }
    let accepted = |formula: &str, bound: fn(f64, f64, usize) -> f64| {
        let settings = Setting::with_weights(&Setting::grid(&[2, 3], &[1], &[1, 2, 3, 5]));
        Atoms::bound(formula, &settings, move |case| {
            let (n, w_star, v) = (case.steps, case.w_star(), case.weight?);
            case.rate_to(n)?;
            let found = case.problem.t_n(n, &v).filter(|_| v <= w_star)?;
            Some(Sides::at_most(found, bound(v, w_star, n)))
        })
    };
    // Both sides of Lemma 3 for `f = |s|`, with the means of f under the target and the guide, f at the start, w* and n.
    let mean = |formula: &str, settings: &[Setting], bound: fn(f64, f64, f64, f64, usize) -> f64| {
        Atoms::bound(formula, settings, move |case| {
            let (p, n) = (&case.problem, case.steps);
            case.rate_to(n)?;
            let f: Vec<f64> = p.s().iter().map(|s| s.abs()).collect();
            let found = dot(p.imh().power(n).row(case.start), &f);
            Some(Sides::at_most(
                found,
                bound(dot(p.pi(), &f), dot(p.q(), &f), f[case.start], case.w_star(), n),
            ))
        })
    };
    let lemma_3 = |settings: &[Setting]| {
        mean("E_{K^n(z)} f <= n r^(n-1) E_q f + r^n f(z)", settings, |_, under_guide, at_start, w_star, n| {
            bounds::mean_after_as_printed(under_guide, at_start, w_star, n)
        })
    };
    let several = Setting::grid(&[2, 3], &[1], &[1, 2, 3, 8]);
    let weights = Setting::with_weights(&few());
    vec![
        Atoms::bound(
            "K^n(z, .) = T_n(max(w, w(z))) p + lambda(w(z))^n delta_z",
            &Setting::grid(&[2, 3, 4], &[1], &[1, 2, 3, 5]),
            |case| kernel(case, rejection),
        )
        .twin("with lambda as printed in eq. 6", |case| kernel(case, rejection_as_printed))
        .claim("001-KER", "eq. 5")
        .assuming("IMH; lambda an integral over q")
        .remark("Smith & Tierney (1996)."),
        rejects("rejection rate at w = int_{w' <= w} (1 - w'/w) p(dz')", rejection_as_printed)
            .example(half())
            .claim("001-LAM-DEF", "eq. 6")
            .assuming("IMH, w the weight of an atom")
            .remark("The target stands where the guide belongs.")
            .corrected(rejects("rejection rate at w = int_{w' <= w} (1 - w'/w) q(dz')", rejection)),
        Atoms::bound("max(1 - 1/v, 0) <= lambda(v)", &weights, |case| {
            let v = case.weight?;
            Some(Sides::at_most((1.0 - 1.0 / v).max(0.0), case.problem.rejection_at(&v)))
        })
        .twin_times(0.95)
        .claim("001-L1-LOW", "Lemma 1, lower bound")
        .assuming("every v > 0"),
        Atoms::bound("lambda(v) <= 1 - 1/w*", &weights, above)
            .example(half().weight(4.0))
            .claim("001-L1-UP", "Lemma 1, upper bound")
            .assuming("every v > 0: Lemma 2 integrates beyond w*")
            .remark("Beyond w* it is 1 - 1/v.")
            .corrected(
                Atoms::bound("lambda(v) <= 1 - 1/w* for v <= w*", &weights, |case| {
                    above(case).filter(|_| case.weight <= Some(case.w_star()))
                })
                .twin_times(0.95),
            ),
        accepted("T_n(w) <= (n/w) r^(n-1)", bounds::accepted_as_printed)
            .example(half().steps(2).weight(2.0))
            .claim("001-L2", "Lemma 2")
            .assuming("IMH, w <= w*")
            .remark("True for n = 1, false at w* for every n >= 2: T_n tends to 1, the bound to 0.")
            .corrected(
                accepted("T_n(w) <= 1 - r^n + n r^(n-1) (1/w - 1/w*)", bounds::accepted).twin_times(0.95),
            ),
        lemma_3(&several)
            .example(Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, 1.0]).steps(3))
            .example(Atoms::new(&[0.5, 0.5], &[1.0 / 3.0, 2.0 / 3.0], &[1.0, 1.0]).steps(2))
            .claim("001-L3", "Lemma 3")
            .assuming("IMH, f = |s| >= 0")
            .remark("Rests on Lemma 2. The right side vanishes with n, the left tends to E_p f.")
            .corrected(
                mean(
                    "E_{K^n(z)} f <= (1 - r^n - n r^(n-1)/w*) E_p f + n r^(n-1) E_q f + r^n f(z)",
                    &several,
                    bounds::mean_after,
                )
                .twin_times(0.95),
            ),
        lemma_3(&few()).twin_times(0.95).claim("001-L3-ONE", "Lemma 3, n = 1").assuming("IMH, f = |s| >= 0"),
    ]
}

// Joint distributions of several states; the first state is the lowest digit of the index.

/// Joint distribution of independent states, from the distribution of each.
fn product<'a>(laws: impl IntoIterator<Item = &'a [f64]>) -> Vec<f64> {
    laws.into_iter()
        .fold(vec![1.0], |joint, law| law.iter().flat_map(|p| joint.iter().map(move |q| p * q)).collect())
}

/// Joint distribution of `samples` independent draws of the target.
fn independent(case: &Atoms) -> Vec<f64> {
    product(std::iter::repeat_n(case.problem.pi(), case.samples))
}

/// Joint distribution of `samples` successive states of one chain, of which the first has the distribution `first`.
fn path(first: &[f64], kernel: &Square<f64>, samples: usize) -> Vec<f64> {
    let atoms = first.len();
    let mut joint = first.to_vec();
    for _ in 1..samples {
        let highest = joint.len() / atoms;
        let next =
            |y: usize| joint.iter().enumerate().map(move |(path, p)| p * kernel.row(path / highest)[y]);
        joint = (0..atoms).flat_map(next).collect();
    }
    joint
}

/// Distribution after the steps, from the start, and its distance from the target.
fn reached(case: &Atoms) -> (Vec<f64>, f64) {
    let law = case.problem.imh().power(case.steps).row(case.start).to_vec();
    let distance = total_variation(&law, case.problem.pi());
    (law, distance)
}

/// Lemmas shared by the proofs: products of distributions, second moments, bias by distance (pMCSA, Lemmas 4 to 6).
fn lemmas() -> Vec<Claim> {
    let unit = Domain::Between(0.0, 1.0);
    let of = |n: usize| Numbers::settings(&[("a", unit, n), ("b", unit, n)], &[n]);
    let pairs: Vec<Numbers> = [2, 3, 4].into_iter().flat_map(of).collect();
    let sum_of_differences =
        |case: &Numbers| -> f64 { case.of("a").iter().zip(case.of("b")).map(|(a, b)| (a - b).abs()).sum() };
    let vectors = Setting::with_dims(&Setting::grid(&[2, 3], &[1], &[1, 2]), &[1, 2, 3]);
    let second_moment = |case: &Atoms| {
        let (law, _) = reached(case);
        // Euclidean norm of the scores' means.
        let norm = |law: &[f64]| case.scores().map(|s| dot(law, s).powi(2)).sum::<f64>().sqrt();
        let second: f64 = (0..law.len()).map(|z| law[z] * case.norm(z).powi(2)).sum();
        let variance = second - norm(&law).powi(2);
        let mean = norm(case.problem.pi());
        Sides::at_most(second, bounds::second_moment(variance, case.bias_under(&law), mean))
    };
    let mean_distance = |case: &Atoms| {
        let (law, distance) = reached(case);
        let means: Vec<f64> = case.scores().map(|s| dot(case.problem.pi(), s)).collect();
        let off =
            |z: usize| case.scores().zip(&means).map(|(s, mean)| (s[z] - mean).powi(2)).sum::<f64>().sqrt();
        let found = (0..law.len()).map(|z| law[z] * off(z)).sum();
        Sides::at_most(found, (means.len() as f64).sqrt() * bounds::bias(case.largest_norm(), distance))
    };
    vec![
        Numbers::bound("|prod p_i(A) - prod q_i(A)| <= sum |p_i(A) - q_i(A)|", &pairs, move |case| {
            let product = |name: &str| case.of(name).iter().product::<f64>();
            Sides::at_most((product("a") - product("b")).abs(), sum_of_differences(case))
        })
        .twin_times(0.95)
        .claim("001-L4", "Lemma 4")
        .assuming("a_i = p_i(A), b_i = q_i(A)")
        .remark("Says something of rectangles alone; it is used for all sets, where it holds too."),
        Numbers::bound("TV(prod p_i, prod q_i) <= sum TV(p_i, q_i)", &pairs, move |case| {
            let joint = |name: &str| {
                let laws: Vec<[f64; 2]> = case.of(name).iter().map(|&p| [p, 1.0 - p]).collect();
                product(laws.iter().map(|law| &law[..]))
            };
            Sides::at_most(total_variation(&joint("a"), &joint("b")), sum_of_differences(case))
        })
        .twin_times(0.95)
        .claim("001-L4-TV", "Lemma 4, as it is used")
        .assuming("laws (a_i, 1 - a_i) and (b_i, 1 - b_i)"),
        Atoms::bound("E|g|^2 <= V[g] + B^2 + 2 B |mu| + |mu|^2", &vectors, second_moment)
            .twin_times(0.95)
            .claim("001-L5", "Lemma 5")
            .assuming("B = |E g - mu|")
            .remark("The proofs of Theorems 2 to 4 write it with an equality sign."),
        Atoms::bound("E|g - mu| <= 2 sqrt(D) L TV(law of z, p)", &vectors, mean_distance)
            .example(even(1))
            .claim("001-L6", "Lemma 6")
            .assuming("|s| <= L; Bias defined as E|g - E_p g|")
            .remark("A mean distance is no bias: it does not vanish under p itself. The root of D is superfluous.")
            .corrected(
                Atoms::bound("|E g - mu| <= 2 L TV(law of z, p)", &vectors, |case| {
                    let (law, distance) = reached(case);
                    Sides::at_most(case.bias_under(&law), bounds::bias(case.largest_norm(), distance))
                })
                .twin_times(0.95),
            ),
    ]
}

/// Claims on conditional importance sampling with one selected candidate (pMCSA, Thm. 1).
fn candidates() -> Vec<Claim> {
    let mixing = |case: &Atoms| {
        case.rate_to(case.steps)?;
        let power = case.problem.cis(case.samples).transition.power(case.steps);
        let distance = total_variation(power.row(case.start), case.problem.pi());
        let rate = bounds::cis_rate(case.w_star(), case.samples);
        Some(Sides::at_most(distance, rate.powi(case.steps as i32)))
    };
    let eigenvalue = |formula: &str, candidates: &[usize], rate: fn(f64, usize) -> f64| {
        Atoms::bound(formula, &Setting::grid(&[2, 3], candidates, &[1]), move |case| {
            case.rate_to(1)?;
            let moduli = case.problem.cis(case.samples).transition.spectrum(case.problem.pi()).ok()?;
            Some(Sides::at_most(moduli.get(1).copied().unwrap_or(0.0), rate(case.w_star(), case.samples)))
        })
    };
    let second_moment = |case: &Atoms| {
        let kernel = case.problem.cis(case.samples).transition;
        let second = (0..kernel.atoms()).map(|y| kernel.row(case.start)[y] * case.norm(y).powi(2)).sum();
        Sides::at_most(second, case.largest_norm().powi(2))
    };
    let grid = Setting::grid(&[2, 3], &[2, 3, 4, 6], &[1, 3]);
    let vectors = Setting::with_dims(&Setting::grid(&[2, 3], &[2, 4], &[1]), &[1, 2]);
    vec![
        Atoms::bound("TV(K^k(z, .), p) <= (1 - (N-1)/(2 w* + N - 2))^k", &grid, mixing)
            .twin_times(0.95)
            .claim("001-T-MSC-MIX", "Theorem 1, rate")
            .assuming("CIS with N candidates"),
        eigenvalue("|second eigenvalue| <= 1 - (N-1)/(2 w* + N - 2)", &[2, 3, 4], bounds::cis_rate)
            .twin_times(0.95)
            .claim("001-T-MSC-EIG", "Theorem 1, asymptotic rate")
            .assuming("CIS with N candidates"),
        Atoms::bound("E[|g|^2 | z] <= L^2", &vectors, second_moment)
            .twin_times(0.95)
            .claim("001-T-MSC-VAR", "Theorem 1, second moment")
            .assuming("|s| <= L")
            .remark("Equality where |s| = L everywhere."),
        eigenvalue("|second eigenvalue| <= 2 w*/(2 w* + N - 2)", &[3, 4, 6], bounds::cis_rate_as_printed)
            .twin_times(0.95)
            .claim("001-GAMMA", "Theorem 2, gamma")
            .assuming("CIS with N candidates")
            .remark("Always above the rate of Theorem 1, (2 w* - 1)/(2 w* + N - 2); equal to it in the limit of large w*."),
    ]
}

/// Claims on conditional importance sampling with all candidates averaged (pMCSA, Thm. 2). On two atoms the count of one
/// determines that of the other, so that many candidates are cheap.
fn averaged_candidates() -> Vec<Claim> {
    let error = |formula: &str, bound: fn(f64, f64, f64, usize) -> f64| {
        Atoms::bound(formula, &Setting::grid(&[2], &[2, 8, 17, 64, 400], &[1]), move |case| {
            let (p, step) = (&case.problem, case.problem.cis(case.samples));
            let squared = step.weighted_variances[case.start] + (step.means[case.start] - p.mean()).powi(2);
            Sides::at_most(squared, bound(case.largest_norm(), p.pearson(), case.w_star(), case.samples))
        })
    };
    let second_moment = |formula: &str, bound: fn(f64, f64, f64, usize) -> f64| {
        Atoms::bound(formula, &Setting::grid(&[2], &[2, 8, 64, 400], &[1]), move |case| {
            let (p, step) = (&case.problem, case.problem.cis(case.samples));
            let found = step.weighted_variances[case.start] + step.means[case.start].powi(2);
            let excess = bound(case.largest_norm(), p.pearson(), case.w_star(), case.samples);
            Sides::at_most(found, excess + p.mean().powi(2))
        })
    };
    let bias = |case: &Atoms| {
        let (p, t) = (&case.problem, case.steps);
        let later = p.cis(case.samples).transition.power(t);
        let bound =
            bounds::rao_blackwellised_bias(case.largest_norm(), p.pearson(), case.w_star(), case.samples, t);
        Sides::at_most(case.bias_under(later.row(case.start)), bound)
    };
    vec![
        error(
            "MSE <= 4 L^2 [(1 + e^2) chi^2/(N-1) + (1 + e^-2) (1 + w*)^2/N^2], every e",
            bounds::rao_blackwellised_error_as_printed,
        )
        .example(even(17))
        .claim("001-T-MSCRB-MSE", "proof of Theorem 2, mean squared error")
        .assuming("given the retained state; two atoms")
        .remark("V_q w stands where E_q w^2 is needed: no average of N draws is exact because q = p.")
        .corrected(
            error(
                "MSE <= 4 L^2 [(1 + e^2) (1 + chi^2)/(N-1) + (1 + e^-2) (1 + w*)^2/N^2], every e",
                bounds::rao_blackwellised_error,
            )
            .twin_times(0.15),
        ),
        second_moment(
            "E[|g|^2 | z] <= 4 L^2 [(1 + e^2) chi^2/(N-1) + (1 + e^-2) (1 + w*)^2/N^2] + |mu|^2, e^2 = (N-1)^(-1/2)",
            |norm, chi_squared, w_star, candidates| {
                let n = candidates as f64;
                let eps = (n - 1.0).powf(-0.5);
                let leading = (1.0 + eps) * chi_squared / (n - 1.0);
                let rest = (1.0 + 1.0 / eps) * ((1.0 + w_star) / n).powi(2);
                4.0 * norm.powi(2) * (leading + rest)
            },
        )
        .example(even(400))
        .claim("001-T-MSCRB", "Theorem 2, second moment")
        .assuming("given the retained state, t large; two atoms")
        .remark("As the error of the proof. Given the past the bias does not decay with t; 2 L Bias is 8 L^2/(N-1), printed 4.")
        .corrected(
            second_moment(
                "E[|g|^2 | z] <= 4 L^2 (sqrt((1 + chi^2)/(N-1)) + (1 + w*)/N)^2 + 8 L^2 (chi^2 + 1 + w*)/(N-1) + |mu|^2",
                |norm, chi_squared, w_star, n| {
                    let error = bounds::rao_blackwellised_error(norm, chi_squared, w_star, n);
                    error + 2.0 * norm * bounds::rao_blackwellised_bias(norm, chi_squared, w_star, n, 1)
                },
            )
            .twin_times(0.5),
        ),
        Atoms::bound(
            "|E g_t - mu| <= 4 L/(N-1) (chi^2 + 1 + w*) gamma^(t-1)",
            &Setting::grid(&[2, 3], &[2, 4, 6], &[1, 3]),
            bias,
        )
        .twin_times(0.15)
        .claim("001-BIAS-RB", "Theorem 2, bias")
        .assuming("CIS with N candidates, fixed start, gamma = 2 w*/(2 w* + N - 2)"),
    ]
}

/// Distribution of the `n`-th state of update `k`, counted from 1.
fn marginal(kernel: &Square<f64>, case: &Atoms, n: usize) -> Vec<f64> {
    kernel.power(case.samples * (case.steps - 1) + n).row(case.start).to_vec()
}

/// Claims on JSA, several states of one chain per update: rates and sums (pMCSA, Thm. 3).
fn sequential_rates() -> Vec<Claim> {
    let settings = Setting::grid(&[2, 3], &[2, 3], &[1, 2, 3]);
    // Distance of a joint law of the states of an update from another, for the kernel of a case.
    type Joint = fn(&Atoms, &Square<f64>) -> Vec<f64>;
    let far = |formula: &str, laws: [Joint; 2], bound: fn(f64, usize, usize) -> f64| {
        Atoms::bound(formula, &settings, move |case| {
            case.rate_to(case.samples * case.steps)?;
            let kernel = case.problem.imh();
            let [found, target] = laws.map(|law| law(case, &kernel));
            let bound = bound(case.w_star(), case.samples, case.steps);
            Some(Sides::at_most(total_variation(&found, &target), bound))
        })
    };
    let jsa: Joint = |case, kernel| path(&marginal(kernel, case, 1), kernel, case.samples);
    let apart: Joint = |case, kernel| {
        let laws: Vec<Vec<f64>> = (1..=case.samples).map(|n| marginal(kernel, case, n)).collect();
        product(laws.iter().map(Vec::as_slice))
    };
    let power =
        Atoms::bound("first state: (K)^2 = K^(N+1)", &Setting::grid(&[2, 3], &[2, 3], &[1]), |case| {
            let kernel = case.problem.imh();
            let (twice, printed) = (kernel.power(2), kernel.power(case.samples + 1));
            Sides::equal(twice.row(case.start)[case.start], printed.row(case.start)[case.start])
        });
    let formula = "state n of update k: K^(N(k-1)+n), along the path from the last state of update k-1";
    let right_power = Atoms::bound(formula, &settings, |case| {
        let kernel = case.problem.imh();
        let mut first = kernel.row(case.start).to_vec();
        let mut last = first.clone();
        for update in 1..=case.steps {
            if update > 1 {
                first = kernel.push(&last);
            }
            // The highest digit of a path's index is its last state.
            let joint = path(&first, &kernel, case.samples);
            last = joint.chunks(joint.len() / first.len()).map(|paths| paths.iter().sum()).collect();
        }
        Sides::equal(total_variation(&last, &marginal(&kernel, case, case.samples)), 0.0)
    })
    .twin("K^(N k + 1)", |case| {
        let kernel = case.problem.imh();
        let last = marginal(&kernel, case, case.samples);
        Sides::equal(total_variation(&last, &kernel.push(&last)), 0.0)
    });
    vec![
        far(
            "TV((x)_n K^(N(k-1)+n), p^N) <= r (1 - r^N)/(r^N (1 - r)) r^(k N)",
            [apart, |case, _| independent(case)],
            bounds::sequential_distance_as_printed,
        )
        .twin_times(0.95)
        .claim("001-T-JSA-PRODUCT", "Theorem 3, rate, of the product that is printed")
        .assuming("IMH at a fixed lambda")
        .remark("True of the printed kernel, which is not that of JSA."),
        far(
            "TV(law of z_1..z_N at update k, p^N) <= r (1 - r^N)/(r^N (1 - r)) r^(k N)",
            [jsa, |case, _| independent(case)],
            bounds::sequential_distance_as_printed,
        )
        .example(half().samples(2).steps(2))
        .example(half().samples(2).steps(5))
        .example(half().samples(2).steps(10))
        .claim("001-T-JSA", "Theorem 3, rate")
        .assuming("IMH at a fixed lambda, n = k")
        .remark("Neighbours stay dependent: p^N is not invariant. The gradient under the path law is still that of KL.")
        .corrected(
            far(
                "TV(law of z_1..z_N at update k, p (x) K (x) .. (x) K) <= r^(N(k-1)+1)",
                [jsa, |case, kernel| path(case.problem.pi(), kernel, case.samples)],
                bounds::sequential_path_distance,
            )
            .twin_times(0.95),
        ),
        power
            .example(half().samples(2))
            .claim("001-T-JSA-POWER", "Theorem 3, P^k as a power of P")
            .assuming("the printed P = (x)_n K^n, which starts every state from its own predecessor")
            .remark("With a moving lambda, K^(N(k-1)+n) is a product of the kernels of all updates.")
            .corrected(right_power),
    ]
    .into_iter()
    .chain(sums())
    .collect()
}

/// Claims on the sum of rates, up to values of `w*` at which the closed forms keep their digits.
fn sums() -> [Claim; 2] {
    let domain = |highest: f64| ("w*", Domain::Between(1.0, highest), 1);
    let weights = |highest: f64| Numbers::settings(&[domain(highest)], &[1, 2, 3, 5, 10]);
    fn against(case: &Numbers, closed: fn(f64, usize) -> f64) -> Sides {
        let w_star = case.number("w*");
        Sides::equal(bounds::sum_of_rates(w_star, case.count), closed(w_star, case.count))
    }
    let limit = |case: &Numbers| {
        let (w_star, n) = (case.number("w*"), case.count as f64);
        let gap = 0.5 * n * n + 1.5 * n - bounds::sum_of_rates(w_star, case.count);
        let bound = n * (n + 1.0) * (2.0 * n + 1.0) / (6.0 * w_star);
        // A gap below zero violates the left inequality.
        Sides::at_most(if gap < -1e-9 { f64::NAN } else { gap }, bound)
    };
    let formula = "sum_n (n r^(n-1) + r^n) = w*^2 + w* - 1 - r^N (w*^2 + w* - 1 + N w*)";
    let corrected =
        Numbers::bound(formula, &weights(50.0), |case| against(case, bounds::sum_of_rates_closed))
            .twin("with a head of w*^2 + w*", |case| against(case, bounds::sum_of_rates_as_printed));
    [
        Numbers::bound(
            "sum_n (n r^(n-1) + r^n) = w*^2 + w* - r^N (w*^2 + w* + N w*)",
            &weights(50.0),
            |case| against(case, bounds::sum_of_rates_as_printed),
        )
        .example(Numbers { variables: vec![("w*", Domain::Between(1.0, 50.0), vec![2.0])], count: 1 })
        .by("closed form")
        .claim("001-JSA-SUM", "proof of Theorem 3, sum")
        .remark("The printed sum is 1 - r^N too large.")
        .corrected(corrected.by("closed form")),
        Numbers::bound(
            "0 <= N^2/2 + 3N/2 - sum_n (n r^(n-1) + r^n) <= N(N+1)(2N+1)/(6 w*)",
            &weights(1e4),
            limit,
        )
        .twin_times(0.95)
        .by("closed form")
        .claim("001-JSA-LAURENT", "proof of Theorem 3, limit of the sum")
        .assuming("the remainder O(1/w*) with its exact constant")
        .remark("The constant is of order N^3: the remainder is not uniform in N."),
    ]
}

/// Claims on JSA: variance and second moment (pMCSA, Thm. 3).
fn sequential_moments() -> Vec<Claim> {
    let settings = Setting::grid(&[2, 3], &[2, 3, 5, 10], &[1]);
    let sequential = |case: &Atoms| case.problem.sequential(&case.problem.imh(), case.samples);
    // `1/N^2 sum_n V[s(z_n) | z_0]`, against a bound in `L^2`, `w*` and `N`.
    let diagonal = |formula: &str, bound: fn(f64, f64, usize) -> f64| {
        Atoms::bound(formula, &settings, move |case| {
            let found = sequential(case).variances[case.start].diagonal;
            Sides::at_most(found, bound(case.largest_norm().powi(2), case.w_star(), case.samples))
        })
    };
    // `E[|g|^2 | z] - C_cov` of an update, against a bound in `L`, `|mu|`, `w*` and `N`.
    let moment = |formula: &str, bound: fn(f64, f64, f64, usize) -> f64| {
        Atoms::bound(formula, &settings, move |case| {
            let moments = sequential(case);
            let found = moments.variances[case.start].diagonal + moments.means[case.start].powi(2);
            let (norm, mean) = (case.largest_norm(), case.problem.mean().abs());
            Sides::at_most(found, bound(norm, mean, case.w_star(), case.samples))
        })
    };
    let given_start = || {
        moment(
            "E[|g|^2 | z] - C_cov <= L^2/N + (B + |mu|)^2, B = 2L (w*-1)(1-r^N)/N",
            |norm, mean, w_star, n| bounds::sequential_second_moment(norm, mean, 0.0, w_star, n, 0),
        )
        .twin_times(0.8)
    };
    let formula = "E[|g_t|^2] - C_cov <= L^2/N + (B r^(N(t-1)) + |mu|)^2 from a fixed start";
    let from_start = Atoms::bound(formula, &Setting::grid(&[2, 3], &[2, 3, 5], &[1, 2]), |case| {
        let before = case.samples * (case.steps - 1);
        let (diagonal, mean_found) = later(case, before);
        let (norm, mean) = (case.largest_norm(), case.problem.mean().abs());
        let bound = bounds::sequential_second_moment(norm, mean, 0.0, case.w_star(), case.samples, before);
        Sides::at_most(diagonal + mean_found.powi(2), bound)
    });
    vec![
        diagonal(
            "(1/N^2) sum_n V[s(z_n)] <= L^2 S_N, S_N = (1/N^2) sum_n (n r^(n-1) + r^n)",
            |square, w_star, n| square * bounds::sequential_sum(w_star, n),
        )
        .example(even(2))
        .claim("001-JSA-VAR", "proof of Theorem 3, variance")
        .assuming("given the state before")
        .remark("Rests on Lemma 3. A floor of 1/2 under the variance is of the bound, not of JSA.")
        .corrected(
            diagonal("(1/N^2) sum_n V[s(z_n)] <= L^2/N", |square, _, n| square / n as f64).twin_times(0.95),
        ),
        diagonal("(1/N^2) sum_n V[s(z_n)] <= L^2 (1/2 + 3/(2N))", |square, _, n| {
            square * (0.5 + 1.5 / n as f64)
        })
        .twin_times(0.35)
        .claim("001-JSA-VAR-LIMIT", "Theorem 3, variance for large w*")
        .assuming("given the state before")
        .remark("True, and above L^2/N for every N."),
        moment("E[|g|^2 | z] - C_cov <= L^2 (1/2 + 3/(2N)) + |mu|^2", |norm, mean, _, n| {
            norm * norm * (0.5 + 1.5 / n as f64) + mean * mean
        })
        .example(Atoms::new(&[0.5, 0.5], &[0.005, 0.995], &[1.0, -1.0]).samples(10))
        .claim("001-T-JSA-MOMENT", "Theorem 3, second moment")
        .assuming("given the state before, w* large and t long, so that no remainder is left")
        .remark("Given the past, the bias does not decay with t.")
        .corrected(given_start())
        .corrected(from_start.twin_times(0.8)),
        moment("E[|g|^2 | z] - C_cov <= L^2 S_N + |mu|^2", |norm, mean, w_star, n| {
            norm * norm * bounds::sequential_sum(w_star, n) + mean * mean
        })
        .example(Atoms::new(&[0.5, 0.5], &[0.05, 0.95], &[1.0, -1.0]).samples(5))
        .claim("001-T-JSA-MOMENT-SUM", "proof of Theorem 3, second moment")
        .assuming("given the state before, t long; S_N = (1/N^2) sum_n (n r^(n-1) + r^n)")
        .corrected(given_start()),
    ]
}

/// Diagonal part of the variance, and the mean, of an update that begins `before` steps after the start.
fn later(case: &Atoms, before: usize) -> (f64, f64) {
    let p = &case.problem;
    let kernel = p.imh();
    let mut law = kernel.power(before).row(case.start).to_vec();
    let (mut diagonal, mut sum) = (0.0, 0.0);
    let n = case.samples as f64;
    for _ in 0..case.samples {
        law = kernel.push(&law);
        let mean = dot(&law, p.s());
        let square: f64 = law.iter().zip(p.s()).map(|(p, s)| p * s * s).sum();
        diagonal += (square - mean * mean) / (n * n);
        sum += mean / n;
    }
    (diagonal, sum)
}

/// Claims on the covariances of JSA (pMCSA, Thm. 3).
fn covariances() -> Vec<Claim> {
    /// `V - C` and `V` times `factor`, with the diagonal part `V` of the variance.
    fn covariance(case: &Atoms, factor: f64) -> Option<Sides> {
        let parts = &case.problem.sequential(&case.problem.imh(), case.samples).variances[case.start];
        (parts.diagonal > 1e-4)
            .then(|| Sides::at_most(factor * parts.diagonal - parts.covariance, parts.diagonal))
    }
    /// `V - Cov` and `V`, with `V` the variance of the earlier state.
    fn pair(case: &Atoms, lag: usize) -> Option<Sides> {
        // Without rejections there is no correlation, and a search would end there.
        let p = &case.problem;
        let kernel = case.rate_to(9).map(|_| p.imh())?;
        let (first, later) = (kernel.row(case.start), kernel.power(lag).apply(p.s()));
        let mean = dot(first, p.s());
        let weighted: Vec<f64> = first.iter().zip(p.s()).map(|(p, s)| p * (s - mean)).collect();
        let variance: f64 = dot(&weighted, p.s());
        (variance > 1e-4).then(|| Sides::at_most(variance - dot(&weighted, &later), variance))
    }
    let known = Atoms::new(
        &[25.0 / 27.0, 1.0 / 54.0, 1.0 / 18.0],
        &[5.0 / 13.0, 3.0 / 13.0, 5.0 / 13.0],
        &[0.0, -1.0, 0.5],
    );
    vec![
        Atoms::bound("C_cov >= 0 given z", &Setting::grid(&[3, 4], &[2, 3, 4, 8], &[1]), |case| {
            covariance(case, 1.0)
        })
        .twin("C_cov >= 1/50 of the diagonal", |case| covariance(case, 1.02))
        .claim("001-CCOV", "Theorem 3, \"C_cov will be positive\"")
        .assuming("given the state before")
        .remark("Never seen negative, and not proved. Compared are V - C and V, V the diagonal."),
        Atoms::bound("Cov(s(z_1), s(z_{1+n}) | z_0) >= 0", &Setting::grid(&[3, 4], &[1], &[2, 3, 4]), |case| {
            pair(case, case.steps)
        })
        .example(known.start(1).steps(3))
        .claim("001-CCOV-PAIR", "Theorem 3, covariances one by one")
        .assuming("given the state before")
        .remark("Pairs further apart can be negatively correlated; neighbours were never seen to be. Compared are V - Cov and V.")
        .corrected(
            Atoms::bound("Cov(s(z_1), s(z_2) | z_0) >= 0", &Setting::atoms(&[3, 4]), |case| pair(case, 1))
                .twin_times(0.95),
        ),
    ]
}

/// Claims on parallel chains, one transition of `N` chains per update (pMCSA, Thm. 4).
fn parallel() -> Vec<Claim> {
    let mixing = |case: &Atoms| {
        case.rate_to(case.steps)?;
        let kernel = case.problem.imh().power(case.steps);
        let found = product(std::iter::repeat_n(kernel.row(case.start), case.samples));
        let bound = case.samples as f64 * rate(case.w_star()).powi(case.steps as i32);
        Some(Sides::at_most(total_variation(&found, &independent(case)), bound))
    };
    let variance = |formula: &str, bound: fn(f64, f64, usize) -> f64| {
        Atoms::bound(formula, &Setting::grid(&[2, 3], &[1, 2, 4], &[1]), move |case| {
            let found = case.problem.parallel(&case.problem.imh(), case.samples);
            let bound = bound(case.largest_norm(), case.w_star(), case.samples);
            Sides::at_most(found.variances[case.start].sum(), bound)
        })
    };
    // The second moment of an update from a common start, against a bound in `L`, `|mu|`, `w*`, `N` and the number of updates before;
    // there are none if the start is given.
    let moment = |formula: &str, given: bool, bound: fn(f64, f64, f64, usize, usize) -> f64| {
        Atoms::bound(formula, &Setting::grid(&[2, 3], &[2, 4, 8], &[1, 2]), move |case| {
            let steps = if given { 1 } else { case.steps };
            let found = case.problem.parallel(&case.problem.imh().power(steps), case.samples);
            let (norm, mean) = (case.largest_norm(), case.problem.mean().abs());
            let bound = bound(norm, mean, case.w_star(), case.samples, steps - 1);
            Sides::at_most(found.second_moments()[case.start], bound)
        })
    };
    let corrected = bounds::parallel_second_moment;
    vec![
        Atoms::bound("TV((K^k)^N, p^N) <= N r^k", &Setting::grid(&[2, 3], &[1, 2, 4], &[1, 3]), mixing)
            .twin_times(0.95)
            .claim("001-T-pMCSA-MIX", "Theorem 4, rate")
            .assuming("IMH, a lambda that does not follow the chains"),
        variance("V[g | z] <= L^2/N (1 + r)", bounds::parallel_variance_as_printed)
            .twin_times(0.95)
            .claim("001-T-pMCSA-VAR", "Theorem 4, variance")
            .assuming("given the chains' states")
            .remark("Tight as r vanishes; the factor 1 + r is not needed.")
            .corrected(
                variance("V[g | z] <= L^2/N", |norm, _, n| bounds::parallel_variance(norm, n))
                    .twin_times(0.95),
            ),
        moment("E[|g|^2 | z] <= L^2/N (2 - 1/w*) + |mu|^2", true, |norm, mean, w_star, n, _| {
            bounds::parallel_second_moment_as_printed(norm, mean, w_star, n)
        })
        .example(half().samples(4))
        .claim("001-T-pMCSA-MOMENT", "Theorem 4, second moment")
        .assuming("given the chains' states, t long, so that no remainder is left")
        .remark("Given the past, the bias does not decay with t and is common to all chains.")
        .corrected(moment("E[|g|^2 | z] <= L^2/N + (2 r L + |mu|)^2", true, corrected).twin_times(0.7))
        .corrected(
            moment("E[|g_t|^2] <= L^2/N + (2 r^t L + |mu|)^2 from a fixed start", false, corrected)
                .twin_times(0.7),
        ),
    ]
}

/// Claims in the LaTeX source of pMCSA that the paper does not print.
fn unprinted() -> Vec<Claim> {
    let steps = Setting::grid(&[2, 3], &[1], &[1, 2, 5, 20]);
    let tail = Atoms::bound("K^t(z, y)/p(y) <= (t/eps) r^(t-1)", &steps, |case| {
        let (p, t) = (&case.problem, case.steps);
        case.rate_to(t)?;
        let power = p.imh().power(t);
        let ratio = |y: usize| if p.pi()[y] > 0.0 { power.row(case.start)[y] / p.pi()[y] } else { 0.0 };
        let largest = (0..p.atoms()).map(ratio).fold(0.0, f64::max);
        Some(Sides::at_most(largest, t as f64 * case.w_star() * p.rate().powi(t as i32 - 1)))
    });
    let formula = "K^t(z, y)/p(y) <= 1 - r^t + t r^(t-1) (1/max(w(z), w(y)) - 1/w*), y not z";
    let right_tail = Atoms::bound(formula, &steps, |case| {
        let (p, t) = (&case.problem, case.steps);
        case.rate_to(t)?;
        let power = p.imh().power(t);
        Sides::farthest((0..p.atoms()).filter(|&y| y != case.start && p.pi()[y] > 0.0).map(|y| {
            let bound = bounds::accepted(p.w()[y].max(p.w()[case.start]), case.w_star(), t);
            Sides::at_most(power.row(case.start)[y] / p.pi()[y], bound)
        }))
    });
    let (real, positive) = (Domain::Real, Domain::Positive);
    // The geometric mean of two densities at z is at most the density at the middle of two variables.
    let concave = |formula: &str, names: [&'static str; 2], density: fn(f64, f64, f64) -> f64| {
        let variables = [("z", real, 1), (names[0], real, 2), (names[1], positive, 2)];
        Numbers::bound(formula, &Numbers::settings(&variables, &[1]), move |case| {
            let (z, b, a) = (case.number("z"), case.of(names[0]), case.of(names[1]));
            let ends = (density(z, b[0], a[0]) * density(z, b[1], a[1])).sqrt();
            Sides::at_most(ends, density(z, 0.5 * (b[0] + b[1]), 0.5 * (a[0] + a[1])))
        })
    };
    fn normal(z: f64) -> f64 {
        (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt()
    }
    // Scales 1 and 2 around z: 1 / sqrt(2) against 2 / 3.
    let scales = Numbers {
        variables: vec![("z", real, vec![0.0]), ("m", real, vec![0.0; 2]), ("C", positive, vec![1.0, 2.0])],
        count: 1,
    };
    // The norm of the score in `(m, C)` of the Laplace distribution, whose log density has slope `L = 1`, against a bound.
    let score = |formula: &str, bound: fn(f64, f64, f64) -> f64| {
        let settings = Numbers::settings(&[("z", real, 1), ("m", real, 1), ("C", positive, 1)], &[1]);
        Numbers::bound(formula, &settings, move |case| {
            let (z, m, c) = (case.number("z"), case.number("m"), case.number("C"));
            let norm = ((1.0 / c).powi(2) + (((z - m).abs() / c - 1.0) / c).powi(2)).sqrt();
            Sides::at_most(norm, bound(z, m, c))
        })
    };
    let nine = Numbers {
        variables: vec![("z", real, vec![0.0]), ("m", real, vec![0.0]), ("C", positive, vec![9.0])],
        count: 1,
    };
    let mixing = |formula: &str, of: fn(f64) -> f64| {
        Atoms::bound(formula, &few(), move |case| {
            let (p, q) = (case.problem.pi(), case.problem.q());
            let affinity: f64 = p.iter().zip(q).map(|(p, q)| (p * q).sqrt()).sum();
            Sides::at_most(of(affinity), total_variation(p, q))
        })
    };
    vec![
        tail.example(half().steps(20))
            .claim("001-R-TAIL", "LaTeX source, tail of IMH")
            .assuming("IMH, q >= eps p with eps = 1/w*, n = t")
            .remark("The ratio tends to 1, the bound to 0: the target is divided out twice.")
            .corrected(right_tail.twin_times(0.95)),
        concave("sqrt(q_1(z) q_2(z)) <= q(z) at the middle of (m, C)", ["m", "C"], |z, m, c| {
            normal((z - m) / c) / c
        })
        .example(scales)
        .by("closed form")
        .claim("001-R-CONCAVE", "LaTeX source, log-concavity in (m, C)")
        .assuming("q normal with mean m and scale C, D = 1")
        .remark("At z = m the second derivative in C of log q is 1/C^2 > 0.")
        .corrected(
            concave("sqrt(q_1(z) q_2(z)) <= q(z) at the middle of (m/C, 1/C)", ["m/C", "1/C"], |z, b, a| {
                normal(z * a - b) * a
            })
            .twin_times(0.95)
            .by("closed form"),
        ),
        score("|grad log q| <= D L M (|z| + |lambda| + 1)", |z, m, c| (z.abs() + m.hypot(c) + 1.0) / (c * c))
            .example(nine)
            .by("closed form")
            .claim("001-R-SCORE", "LaTeX source, bound of the score")
            .assuming("q Laplace with location m and scale C, D = L = 1, M = 1/C^2")
            .remark("-log|det C| is dropped, and sqrt(M) <= D M needs M >= 1/D^2.")
            .corrected(
                score("|grad log q| <= L M (|z| + |m|) + (L + 1) sqrt(M)", |z, m, c| {
                    (z.abs() + m.abs()) / (c * c) + 2.0 / c
                })
                .twin_times(0.6)
                .by("closed form"),
            ),
        Statement::not_checkable(
            "regret = O(sqrt(log T) / sqrt(T))",
            "an order of growth without constants; its derivation gives log T, not sqrt(log T)",
        )
        .claim("001-R-RATE", "LaTeX source, convergence rate"),
        mixing("sum (sqrt p - sqrt q)^2 <= TV(p, q)", |affinity| 2.0 - 2.0 * affinity)
            .example(Atoms::new(&[1.0, 0.0], &[0.25, 0.75], &[1.0, -1.0]))
            .claim("001-R-MIXING", "LaTeX source, mixing time")
            .remark("Needs the normalised Hellinger distance; the other can be twice the total variation.")
            .corrected(mixing("1 - sum sqrt(p q) <= TV(p, q)", |affinity| 1.0 - affinity).twin_times(0.95)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_independent_draws_is_a_product() {
        let (law, first) = ([0.2, 0.5, 0.3], [0.1, 0.1, 0.8]);
        let kernel = Square::from_fn(3, |_, y| law[y]);
        let (path, product) = (path(&first, &kernel, 3), product([&first[..], &law, &law]));
        assert!(path.len() == 27 && path.iter().zip(&product).all(|(a, b)| (a - b).abs() < 1e-16));
    }
}
