//! Claims of pMCSA. `|s| <= L` throughout; candidates include the retained one.

use faer::Mat;

use crate::bounds::pmcsa as bounds;
use crate::claims::case::normalised;
use crate::claims::{AtWeight, Atoms, Bound, Claim, Domain, Numbers, Searchable, Setting, Sides, Statement};
use crate::{Instance, Spectrum, Square, dot, total_variation};

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    vec![
        objective(),
        gradient(),
        smallest_weight(),
        weight_variance(),
        divergences(),
        kernel(),
        rejection(),
        rejection_below(),
        rejection_above(),
        accepted(),
        mean_after(),
        mean_after_one(),
        rectangles(),
        any_sets(),
        averages_second_moment(),
        averages_bias(),
        candidates_mixing(),
        spectrum(),
        candidates_variance(),
        looser_rate(),
        error(),
        rao_blackwellised_second_moment(),
        rao_blackwellised_bias(),
        product_kernel(),
        sequential_mixing(),
        power(),
        sum(),
        limit(),
        diagonal(),
        diagonal_limit(),
        sequential_second_moment(),
        second_moment_by_sum(),
        covariance(),
        pair(),
        parallel_mixing(),
        parallel_variance(),
        parallel_second_moment(),
        tail(),
        concavity(),
        score(),
        convergence(),
        repository_mixing(),
    ]
}

/// Two atoms of weights 2 and 2/3, where `r = 1/2`.
fn small() -> Atoms {
    Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0])
}

// Joint distributions of several states; the first state is the lowest digit of the index.

/// Joint distribution of independent states, from the distribution of each.
fn product<'a>(laws: impl IntoIterator<Item = &'a [f64]>) -> Vec<f64> {
    laws.into_iter()
        .fold(vec![1.0], |joint, law| law.iter().flat_map(|p| joint.iter().map(move |q| p * q)).collect())
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

// Claims on the objective and the weights (pMCSA, Sec. 2).

fn objective() -> Claim {
    fn cross_entropy(case: &Atoms) -> f64 {
        -case.problem.pi().iter().zip(case.problem.q()).map(|(p, q)| p * q.ln()).sum::<f64>()
    }
    fn entropy(case: &Atoms) -> f64 {
        -case.problem.pi().iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum::<f64>()
    }
    let printed = Atoms::bound("E_Pi f = KL(p||q)", Setting::atoms(&[2, 3, 4]), |case| {
        Some(Sides::equal(cross_entropy(case) - entropy(case), case.problem.kl()))
    })
    .twin("without the entropy", |case| Some(Sides::equal(cross_entropy(case), case.problem.kl())));
    Claim::new("001-PK", "Proposition 1, value", printed).assuming("Pi has the marginals p")
}

/// `E_Pi g = grad KL`, by finite differences in the logits of q (pMCSA, Prop. 1).
fn gradient() -> Claim {
    fn divergence_at(case: &Atoms, atom: usize, width: f64) -> f64 {
        let mut logits: Vec<f64> = case.problem.q().iter().map(|q| q.ln()).collect();
        logits[atom] += width;
        let q = normalised(&logits);
        Instance::new(case.problem.pi(), &q, case.problem.s()).map_or(f64::NAN, |moved| moved.kl())
    }
    /// Fourth-order finite difference, whose error here is below 1e-11.
    fn slope(case: &Atoms, atom: usize) -> f64 {
        let h = 2e-3;
        let pair = |k: f64| divergence_at(case, atom, k * h) - divergence_at(case, atom, -k * h);
        (8.0 * pair(1.0) - pair(2.0)) / (12.0 * h)
    }
    let printed = Atoms::bound("E_Pi[-grad log q] = grad KL(p||q)", Setting::atoms(&[2, 3, 4]), |case| {
        let atom = case.start;
        Some(Sides::equal(case.problem.q()[atom] - case.problem.pi()[atom], slope(case, atom)))
    })
    .by("differences of fourth order")
    .twin("under q instead of p", |case| Some(Sides::equal(0.0, slope(case, case.start))));
    Claim::new("001-PK-GRAD", "Proposition 1, gradient", printed).assuming("q by its logits")
}

fn smallest_weight() -> Claim {
    let printed = Atoms::bound("exp KL(p||q) < w*", Setting::atoms(&[2, 3, 4]), |case| {
        Some(Sides::below(case.problem.kl().exp(), case.w_star()))
    })
    .example(even(1))
    .example(Atoms::new(&[1.0, 0.0], &[0.5, 0.5], &[1.0, -1.0]));
    Claim::new("001-W", "Section 3, on w*", printed)
        .remark("Equal at p = q, and where q is p among other atoms.")
        .corrected(super::largest_weight().twin_times(0.95))
}

fn weight_variance() -> Claim {
    fn variance(case: &Atoms) -> f64 {
        let (q, w) = (case.problem.q(), case.problem.w());
        let mean = dot(q, w);
        q.iter().zip(w).map(|(q, w)| q * (w - mean) * (w - mean)).sum()
    }
    let printed = Atoms::bound("V_q w = chi^2(p||q)", Setting::atoms(&[2, 3, 4]), |case| {
        Some(Sides::equal(variance(case), case.problem.pearson()))
    })
    .twin("with E_q w^2", |case| Some(Sides::equal(variance(case), case.problem.pearson() + 1.0)));
    Claim::new("001-IWVAR", "proof of Theorem 2, variance of weights", printed)
}

fn divergences() -> Claim {
    let printed = super::second_weight("exp KL(p||q) - 1 <= chi^2(p||q)");
    Claim::new("001-CHI-KL", "Section 3, on divergences", printed.twin_times(0.95))
        .remark("By Jensen's inequality.")
}

// Claims on the closed form of independent Metropolis-Hastings (pMCSA, eqs. 5 and 6; App. C).

/// Rejection probability by eq. 6 as printed, with the integral over the target.
fn rejection_as_printed(p: &Instance<f64>, v: f64) -> f64 {
    let each = p.pi().iter().zip(p.w()).filter(|(_, w)| **w <= v);
    each.map(|(pi, w)| pi * (1.0 - w / v)).sum()
}

fn kernel() -> Claim {
    fn sides(case: &Atoms, rejection: fn(&Instance<f64>, f64) -> f64) -> Option<Sides> {
        let (p, z) = (&case.problem, case.start);
        let (power, v) = (p.imh().power(case.steps), p.w()[z]);
        Sides::farthest((0..p.len()).filter_map(|y| {
            let stays = if y == z { rejection(p, v).powi(case.steps as i32) } else { 0.0 };
            let moved = p.t_n(case.steps, &p.w()[y].max(v))? * p.pi()[y];
            Some(Sides::equal(power.row(z)[y], moved + stays))
        }))
    }
    let settings = Setting::grid(&[2, 3, 4], &[1], &[1, 2, 3, 5]);
    let formula = "K^n(z, .) = T_n(max(w, w(z))) p + lambda(w(z))^n delta_z";
    let printed = Atoms::bound(formula, settings, |case| sides(case, |p, v| p.rejection_at(&v)))
        .twin("with lambda as printed in eq. 6", |case| sides(case, rejection_as_printed));
    Claim::new("001-KER", "eq. 5", printed)
        .assuming("IMH; lambda an integral over q")
        .remark("Smith & Tierney (1996).")
}

fn rejection() -> Claim {
    let settings = Setting::atoms(&[2, 3, 4]);
    let formula = "rejection rate at w = int_{w' <= w} (1 - w'/w) p(dz')";
    let printed = Atoms::bound(formula, settings.clone(), |case| {
        let (p, v) = (&case.problem, case.problem.w()[case.start]);
        Some(Sides::equal(p.imh_rejections()[case.start], rejection_as_printed(p, v)))
    });
    let corrected = Atoms::bound("rejection rate at w = int_{w' <= w} (1 - w'/w) q(dz')", settings, |case| {
        let (p, v) = (&case.problem, case.problem.w()[case.start]);
        Some(Sides::equal(p.imh_rejections()[case.start], p.rejection_at(&v)))
    });
    Claim::new("001-LAM-DEF", "eq. 6", printed.example(small()))
        .assuming("IMH, w the weight of an atom")
        .remark("The target stands where the guide belongs.")
        .corrected(corrected)
}

fn rejection_below() -> Claim {
    let printed = AtWeight::bound("max(1 - 1/v, 0) <= lambda(v)", Setting::atoms(&[2, 3, 4]), |case| {
        Some(Sides::at_most((1.0 - 1.0 / case.v).max(0.0), case.atoms.problem.rejection_at(&case.v)))
    });
    Claim::new("001-L1-LOW", "Lemma 1, lower bound", printed.twin_times(0.95)).assuming("every v > 0")
}

fn rejection_above() -> Claim {
    fn sides(case: &AtWeight) -> Option<Sides> {
        let rate = case.atoms.rate_to(1)?;
        Some(Sides::at_most(case.atoms.problem.rejection_at(&case.v), rate))
    }
    let printed = AtWeight::bound("lambda(v) <= 1 - 1/w*", Setting::atoms(&[2, 3, 4]), sides)
        .example(AtWeight { atoms: small(), v: 4.0 });
    let corrected =
        AtWeight::bound("lambda(v) <= 1 - 1/w* for v <= w*", Setting::atoms(&[2, 3, 4]), |case| {
            sides(case).filter(|_| case.v <= case.atoms.w_star())
        });
    Claim::new("001-L1-UP", "Lemma 1, upper bound", printed)
        .assuming("every v > 0: Lemma 2 integrates beyond w*")
        .remark("Beyond w* it is 1 - 1/v.")
        .corrected(corrected.twin_times(0.95))
}

fn accepted() -> Claim {
    let settings = || Setting::grid(&[2, 3], &[1], &[1, 2, 3, 5]);
    fn sides(case: &AtWeight, bound: fn(f64, f64, usize) -> f64) -> Option<Sides> {
        let (n, w_star) = (case.atoms.steps, case.atoms.w_star());
        case.atoms.rate_to(n)?;
        let found = case.atoms.problem.t_n(n, &case.v).filter(|_| case.v <= w_star)?;
        Some(Sides::at_most(found, bound(case.v, w_star, n)))
    }
    let printed = AtWeight::bound("T_n(w) <= (n/w) r^(n-1)", settings(), |case| {
        sides(case, bounds::accepted_as_printed)
    });
    let at_mode = small().steps(2);
    let formula = "T_n(w) <= 1 - r^n + n r^(n-1) (1/w - 1/w*)";
    let corrected = AtWeight::bound(formula, settings(), |case| sides(case, bounds::accepted));
    Claim::new("001-L2", "Lemma 2", printed.example(AtWeight { atoms: at_mode, v: 2.0 }))
        .assuming("IMH, w <= w*")
        .remark("True for n = 1, false at w* for every n >= 2: T_n tends to 1, the bound to 0.")
        .corrected(corrected.twin_times(0.95))
}

/// Both sides of Lemma 3 for `f = |s|`.
fn mean_sides(case: &Atoms, with_target: bool) -> Option<Sides> {
    let (p, n) = (&case.problem, case.steps);
    case.rate_to(n)?;
    let f: Vec<f64> = p.s().iter().map(|s| s.abs()).collect();
    let found = dot(p.imh().power(n).row(case.start), &f);
    let (under_target, under_guide, at_start) = (dot(p.pi(), &f), dot(p.q(), &f), f[case.start]);
    let bound = if with_target {
        bounds::mean_after(under_target, under_guide, at_start, case.w_star(), n)
    } else {
        bounds::mean_after_as_printed(under_guide, at_start, case.w_star(), n)
    };
    Some(Sides::at_most(found, bound))
}

const LEMMA_3: &str = "E_{K^n(z)} f <= n r^(n-1) E_q f + r^n f(z)";

fn mean_after() -> Claim {
    let settings = || Setting::grid(&[2, 3], &[1], &[1, 2, 3, 8]);
    let printed = Atoms::bound(LEMMA_3, settings(), |case| mean_sides(case, false))
        .example(Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, 1.0]).steps(3))
        .example(Atoms::new(&[0.5, 0.5], &[1.0 / 3.0, 2.0 / 3.0], &[1.0, 1.0]).steps(2));
    let formula = "E_{K^n(z)} f <= (1 - r^n - n r^(n-1)/w*) E_p f + n r^(n-1) E_q f + r^n f(z)";
    let corrected = Atoms::bound(formula, settings(), |case| mean_sides(case, true));
    Claim::new("001-L3", "Lemma 3", printed)
        .assuming("IMH, f = |s| >= 0")
        .remark("Rests on Lemma 2. The right side vanishes with n, the left tends to E_p f.")
        .corrected(corrected.twin_times(0.95))
}

fn mean_after_one() -> Claim {
    let printed = Atoms::bound(LEMMA_3, Setting::atoms(&[2, 3, 4]), |case| mean_sides(case, false));
    Claim::new("001-L3-ONE", "Lemma 3, n = 1", printed.twin_times(0.95)).assuming("IMH, f = |s| >= 0")
}

// Lemmas shared by the proofs: products of distributions, second moments, bias by distance (pMCSA, Lemmas 4 to 6).

/// Two vectors of `N` probabilities, for several `N`.
fn pairs() -> Vec<Numbers> {
    let unit = Domain::Between(0.0, 1.0);
    let of = |n: usize| Numbers::settings(&[("a", unit, n), ("b", unit, n)], &[n]);
    [2, 3, 4].into_iter().flat_map(of).collect()
}

fn sum_of_differences(case: &Numbers) -> f64 {
    case.of("a").iter().zip(case.of("b")).map(|(a, b)| (a - b).abs()).sum()
}

fn rectangles() -> Claim {
    let printed = Numbers::bound("|prod p_i(A) - prod q_i(A)| <= sum |p_i(A) - q_i(A)|", pairs(), |case| {
        let product = |name: &str| case.of(name).iter().product::<f64>();
        Some(Sides::at_most((product("a") - product("b")).abs(), sum_of_differences(case)))
    });
    Claim::new("001-L4", "Lemma 4", printed.twin_times(0.95))
        .assuming("a_i = p_i(A), b_i = q_i(A)")
        .remark("Says something of rectangles alone; it is used for all sets, where it holds too.")
}

fn any_sets() -> Claim {
    let printed = Numbers::bound("TV(prod p_i, prod q_i) <= sum TV(p_i, q_i)", pairs(), |case| {
        let joint = |name: &str| {
            let laws: Vec<[f64; 2]> = case.of(name).iter().map(|&p| [p, 1.0 - p]).collect();
            product(laws.iter().map(|law| &law[..]))
        };
        Some(Sides::at_most(total_variation(&joint("a"), &joint("b")), sum_of_differences(case)))
    });
    Claim::new("001-L4-TV", "Lemma 4, as it is used", printed.twin_times(0.95))
        .assuming("laws (a_i, 1 - a_i) and (b_i, 1 - b_i)")
}

/// Cases with vector scores, for one or two steps of independent Metropolis-Hastings.
fn vectors() -> Vec<Setting> {
    Setting::with_dims(&Setting::grid(&[2, 3], &[1], &[1, 2]), &[1, 2, 3])
}

/// Distribution after the steps, from the start.
fn reached(case: &Atoms) -> Vec<f64> {
    case.problem.imh().power(case.steps).row(case.start).to_vec()
}

/// Euclidean norm of the scores' means under `law`.
fn mean_norm(case: &Atoms, law: &[f64]) -> f64 {
    case.scores().map(|s| dot(law, s).powi(2)).sum::<f64>().sqrt()
}

fn averages_second_moment() -> Claim {
    let formula = "E|g|^2 <= V[g] + B^2 + 2 B |mu| + |mu|^2";
    let printed = Atoms::bound(formula, vectors(), |case| {
        let law = reached(case);
        let second: f64 = (0..law.len()).map(|z| law[z] * case.norm(z).powi(2)).sum();
        let variance = second - mean_norm(case, &law).powi(2);
        let mean = mean_norm(case, case.problem.pi());
        Some(Sides::at_most(second, bounds::second_moment(variance, case.bias_under(&law), mean)))
    });
    Claim::new("001-L5", "Lemma 5", printed.twin_times(0.95))
        .assuming("B = |E g - mu|")
        .remark("The proofs of Theorems 2 to 4 write it with an equality sign.")
}

fn averages_bias() -> Claim {
    let printed = Atoms::bound("E|g - mu| <= 2 sqrt(D) L TV(law of z, p)", vectors(), |case| {
        let law = reached(case);
        let means: Vec<f64> = case.scores().map(|s| dot(case.problem.pi(), s)).collect();
        let off =
            |z: usize| case.scores().zip(&means).map(|(s, mean)| (s[z] - mean).powi(2)).sum::<f64>().sqrt();
        let found = (0..law.len()).map(|z| law[z] * off(z)).sum();
        let roots = (means.len() as f64).sqrt();
        Some(Sides::at_most(
            found,
            roots * bounds::bias(case.largest_norm(), total_variation(&law, case.problem.pi())),
        ))
    });
    let corrected = Atoms::bound("|E g - mu| <= 2 L TV(law of z, p)", vectors(), |case| {
        let law = reached(case);
        let distance = total_variation(&law, case.problem.pi());
        Some(Sides::at_most(case.bias_under(&law), bounds::bias(case.largest_norm(), distance)))
    });
    Claim::new("001-L6", "Lemma 6", printed.example(even(1)))
        .assuming("|s| <= L; Bias defined as E|g - E_p g|")
        .remark(
            "A mean distance is no bias: it does not vanish under p itself. The root of D is superfluous.",
        )
        .corrected(corrected.twin_times(0.95))
}

// Claims on conditional importance sampling with one selected candidate (pMCSA, Thm. 1).

fn candidates_mixing() -> Claim {
    let settings = Setting::grid(&[2, 3], &[2, 3, 4, 6], &[1, 3]);
    let printed = Atoms::bound("TV(K^k(z, .), p) <= (1 - (N-1)/(2 w* + N - 2))^k", settings, |case| {
        case.rate_to(case.steps)?;
        let power = case.problem.cis(case.samples).transition.power(case.steps);
        let rate = bounds::cis_rate(case.w_star(), case.samples);
        Some(Sides::at_most(
            total_variation(power.row(case.start), case.problem.pi()),
            rate.powi(case.steps as i32),
        ))
    });
    Claim::new("001-T-MSC-MIX", "Theorem 1, rate", printed.twin_times(0.95)).assuming("CIS with N candidates")
}

/// Second eigenvalue of conditional importance sampling.
fn second_eigenvalue(case: &Atoms) -> Option<f64> {
    let kernel = case.problem.cis(case.samples).transition;
    let matrix = Mat::from_fn(kernel.len(), kernel.len(), |z, y| kernel.row(z)[y]);
    Spectrum::new(&matrix, case.problem.pi()).ok().map(|spectrum| spectrum.second())
}

fn eigenvalue_against(case: &Atoms, rate: fn(f64, usize) -> f64) -> Option<Sides> {
    case.rate_to(1)?;
    Some(Sides::at_most(second_eigenvalue(case)?, rate(case.w_star(), case.samples)))
}

fn spectrum() -> Claim {
    let settings = Setting::grid(&[2, 3], &[2, 3, 4], &[1]);
    let printed = Atoms::bound("|second eigenvalue| <= 1 - (N-1)/(2 w* + N - 2)", settings, |case| {
        eigenvalue_against(case, bounds::cis_rate)
    });
    Claim::new("001-T-MSC-EIG", "Theorem 1, asymptotic rate", printed.twin_times(0.95))
        .assuming("CIS with N candidates")
}

fn candidates_variance() -> Claim {
    let settings = Setting::with_dims(&Setting::grid(&[2, 3], &[2, 4], &[1]), &[1, 2]);
    let printed = Atoms::bound("E[|g|^2 | z] <= L^2", settings, |case| {
        let kernel = case.problem.cis(case.samples).transition;
        let second = (0..kernel.len()).map(|y| kernel.row(case.start)[y] * case.norm(y).powi(2)).sum();
        Some(Sides::at_most(second, case.largest_norm().powi(2)))
    });
    Claim::new("001-T-MSC-VAR", "Theorem 1, second moment", printed.twin_times(0.95))
        .assuming("|s| <= L")
        .remark("Equality where |s| = L everywhere.")
}

fn looser_rate() -> Claim {
    let settings = Setting::grid(&[2, 3], &[3, 4, 6], &[1]);
    let printed = Atoms::bound("|second eigenvalue| <= 2 w*/(2 w* + N - 2)", settings, |case| {
        eigenvalue_against(case, bounds::cis_rate_as_printed)
    });
    Claim::new("001-GAMMA", "Theorem 2, gamma", printed.twin_times(0.95))
        .assuming("CIS with N candidates")
        .remark("Always above the rate of Theorem 1, (2 w* - 1)/(2 w* + N - 2); equal to it in the limit of large w*.")
}

// Claims on conditional importance sampling with all candidates averaged (pMCSA, Thm. 2).

/// Settings with two atoms: the count of one determines that of the other, so that many candidates are cheap.
fn rao_blackwellised_settings() -> Vec<Setting> {
    Setting::grid(&[2], &[2, 8, 17, 64, 400], &[1])
}

/// Uniform guide and target, scores of both signs: the error is `1 / N`.
fn even(candidates: usize) -> Atoms {
    Atoms::new(&[0.5, 0.5], &[0.5, 0.5], &[1.0, -1.0]).samples(candidates)
}

/// Mean squared error `E[(g - mu)^2 | z]`.
fn squared_error(case: &Atoms) -> f64 {
    let step = case.problem.cis(case.samples);
    step.weighted_variances[case.start] + (step.means[case.start] - case.problem.mean()).powi(2)
}

fn error() -> Claim {
    let formula = "MSE <= 4 L^2 [(1 + e^2) chi^2/(N-1) + (1 + e^-2) (1 + w*)^2/N^2], every e";
    let printed = Atoms::bound(formula, rao_blackwellised_settings(), |case| {
        let p = &case.problem;
        let bound = bounds::rao_blackwellised_error_as_printed(
            case.largest_norm(),
            p.pearson(),
            case.w_star(),
            case.samples,
        );
        Some(Sides::at_most(squared_error(case), bound))
    });
    let formula = "MSE <= 4 L^2 [(1 + e^2) (1 + chi^2)/(N-1) + (1 + e^-2) (1 + w*)^2/N^2], every e";
    let corrected = Atoms::bound(formula, rao_blackwellised_settings(), |case| {
        let p = &case.problem;
        let bound =
            bounds::rao_blackwellised_error(case.largest_norm(), p.pearson(), case.w_star(), case.samples);
        Some(Sides::at_most(squared_error(case), bound))
    });
    Claim::new("001-T-MSCRB-MSE", "proof of Theorem 2, mean squared error", printed.example(even(17)))
        .assuming("given the retained state; two atoms")
        .remark("V_q w stands where E_q w^2 is needed: no average of N draws is exact because q = p.")
        .corrected(corrected.twin_times(0.15))
}

fn rao_blackwellised_second_moment() -> Claim {
    fn rao_blackwellised_settings() -> Vec<Setting> {
        Setting::grid(&[2], &[2, 8, 64, 400], &[1])
    }
    fn found(case: &Atoms) -> f64 {
        let step = case.problem.cis(case.samples);
        step.weighted_variances[case.start] + step.means[case.start].powi(2)
    }
    let formula = "E[|g|^2 | z] <= 4 L^2 [(1 + e^2) chi^2/(N-1) + (1 + e^-2) (1 + w*)^2/N^2] + |mu|^2, e^2 = (N-1)^(-1/2)";
    let printed = Atoms::bound(formula, rao_blackwellised_settings(), |case| {
        let (p, n) = (&case.problem, case.samples as f64);
        let eps = (n - 1.0).powf(-0.5);
        let leading = (1.0 + eps) * p.pearson() / (n - 1.0);
        let rest = (1.0 + 1.0 / eps) * ((1.0 + case.w_star()) / n).powi(2);
        let bound = 4.0 * case.largest_norm().powi(2) * (leading + rest) + p.mean().powi(2);
        Some(Sides::at_most(found(case), bound))
    });
    let formula = "E[|g|^2 | z] <= 4 L^2 (sqrt((1 + chi^2)/(N-1)) + (1 + w*)/N)^2 + 8 L^2 (chi^2 + 1 + w*)/(N-1) + |mu|^2";
    let corrected = Atoms::bound(formula, rao_blackwellised_settings(), |case| {
        let (p, n, norm) = (&case.problem, case.samples, case.largest_norm());
        let error = bounds::rao_blackwellised_error(norm, p.pearson(), case.w_star(), n);
        let cross = 2.0 * norm * bounds::rao_blackwellised_bias(norm, p.pearson(), case.w_star(), n, 1);
        Some(Sides::at_most(found(case), error + cross + p.mean().powi(2)))
    });
    Claim::new("001-T-MSCRB", "Theorem 2, second moment", printed.example(even(400)))
        .assuming("given the retained state, t large; two atoms")
        .remark(
            "As the error of the proof. Given the past the bias does not decay with t; 2 L Bias is 8 L^2/(N-1), printed 4.",
        )
        .corrected(corrected.twin_times(0.5))
}

fn rao_blackwellised_bias() -> Claim {
    let settings = Setting::grid(&[2, 3], &[2, 4, 6], &[1, 3]);
    let formula = "|E g_t - mu| <= 4 L/(N-1) (chi^2 + 1 + w*) gamma^(t-1)";
    let printed = Atoms::bound(formula, settings, |case| {
        let (p, t) = (&case.problem, case.steps);
        let later = p.cis(case.samples).transition.power(t);
        let bound =
            bounds::rao_blackwellised_bias(case.largest_norm(), p.pearson(), case.w_star(), case.samples, t);
        Some(Sides::at_most(case.bias_under(later.row(case.start)), bound))
    });
    Claim::new("001-BIAS-RB", "Theorem 2, bias", printed.twin_times(0.15))
        .assuming("CIS with N candidates, fixed start, gamma = 2 w*/(2 w* + N - 2)")
}

// Claims on JSA, several states of one chain per update: rates and sums (pMCSA, Thm. 3).

fn sequential_settings() -> Vec<Setting> {
    Setting::grid(&[2, 3], &[2, 3], &[1, 2, 3])
}

/// Distribution of the `n`-th state of update `k`, counted from 1.
fn marginal(kernel: &Square<f64>, case: &Atoms, n: usize) -> Vec<f64> {
    kernel.power(case.samples * (case.steps - 1) + n).row(case.start).to_vec()
}

fn product_kernel() -> Claim {
    let formula = "TV((x)_n K^(N(k-1)+n), p^N) <= r (1 - r^N)/(r^N (1 - r)) r^(k N)";
    let printed = Atoms::bound(formula, sequential_settings(), |case| {
        case.rate_to(case.samples * case.steps)?;
        let kernel = case.problem.imh();
        let laws: Vec<Vec<f64>> = (1..=case.samples).map(|n| marginal(&kernel, case, n)).collect();
        let found = product(laws.iter().map(Vec::as_slice));
        let target = product(std::iter::repeat_n(case.problem.pi(), case.samples));
        let bound = bounds::sequential_distance_as_printed(case.w_star(), case.samples, case.steps);
        Some(Sides::at_most(total_variation(&found, &target), bound))
    });
    Claim::new(
        "001-T-JSA-PRODUCT",
        "Theorem 3, rate, of the product that is printed",
        printed.twin_times(0.95),
    )
    .assuming("IMH at a fixed lambda")
    .remark("True of the printed kernel, which is not that of JSA.")
}

fn sequential_mixing() -> Claim {
    fn jsa(case: &Atoms) -> Vec<f64> {
        let kernel = case.problem.imh();
        path(&marginal(&kernel, case, 1), &kernel, case.samples)
    }
    let formula = "TV(law of z_1..z_N at update k, p^N) <= r (1 - r^N)/(r^N (1 - r)) r^(k N)";
    let printed = Atoms::bound(formula, sequential_settings(), |case| {
        case.rate_to(case.samples * case.steps)?;
        let target = product(std::iter::repeat_n(case.problem.pi(), case.samples));
        let bound = bounds::sequential_distance_as_printed(case.w_star(), case.samples, case.steps);
        Some(Sides::at_most(total_variation(&jsa(case), &target), bound))
    });
    let formula = "TV(law of z_1..z_N at update k, p (x) K (x) .. (x) K) <= r^(N(k-1)+1)";
    let corrected = Atoms::bound(formula, sequential_settings(), |case| {
        case.rate_to(case.samples * case.steps)?;
        let stationary = path(case.problem.pi(), &case.problem.imh(), case.samples);
        let bound = bounds::sequential_path_distance(case.w_star(), case.samples, case.steps);
        Some(Sides::at_most(total_variation(&jsa(case), &stationary), bound))
    });
    let examples = [2, 5, 10].map(|k| small().samples(2).steps(k));
    let printed = examples.into_iter().fold(printed, Bound::example);
    Claim::new("001-T-JSA", "Theorem 3, rate", printed)
        .assuming("IMH at a fixed lambda, n = k")
        .remark("Neighbours stay dependent: p^N is not invariant. The gradient under the path law is still that of KL.")
        .corrected(corrected.twin_times(0.95))
}

fn power() -> Claim {
    let formula = "first state: (K)^2 = K^(N+1)";
    let printed = Atoms::bound(formula, Setting::grid(&[2, 3], &[2, 3], &[1]), |case| {
        let kernel = case.problem.imh();
        let (twice, printed) = (kernel.power(2), kernel.power(case.samples + 1));
        Some(Sides::equal(twice.row(case.start)[case.start], printed.row(case.start)[case.start]))
    });
    let formula = "state n of update k: K^(N(k-1)+n), along the path from the last state of update k-1";
    let corrected = Atoms::bound(formula, sequential_settings(), |case| {
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
        Some(Sides::equal(total_variation(&last, &marginal(&kernel, case, case.samples)), 0.0))
    })
    .twin("K^(N k + 1)", |case| {
        let kernel = case.problem.imh();
        let last = marginal(&kernel, case, case.samples);
        Some(Sides::equal(total_variation(&last, &kernel.push(&last)), 0.0))
    });
    Claim::new("001-T-JSA-POWER", "Theorem 3, P^k as a power of P", printed.example(small().samples(2)))
        .assuming("the printed P = (x)_n K^n, which starts every state from its own predecessor")
        .remark("With a moving lambda, K^(N(k-1)+n) is a product of the kernels of all updates.")
        .corrected(corrected)
}

/// Values of `w*` up to `highest`, so that the closed forms keep their digits.
fn weights(highest: f64) -> Vec<Numbers> {
    Numbers::settings(&[("w*", Domain::Between(1.0, highest), 1)], &[1, 2, 3, 5, 10])
}

fn sum() -> Claim {
    fn against(case: &Numbers, closed: fn(f64, usize) -> f64) -> Option<Sides> {
        let w_star = case.number("w*");
        Some(Sides::equal(bounds::sum_of_rates(w_star, case.count), closed(w_star, case.count)))
    }
    let formula = "sum_n (n r^(n-1) + r^n) = w*^2 + w* - r^N (w*^2 + w* + N w*)";
    let printed =
        Numbers::bound(formula, weights(50.0), |case| against(case, bounds::sum_of_rates_as_printed));
    let formula = "sum_n (n r^(n-1) + r^n) = w*^2 + w* - 1 - r^N (w*^2 + w* - 1 + N w*)";
    let corrected = Numbers::bound(formula, weights(50.0), |case| against(case, bounds::sum_of_rates_closed))
        .twin("with a head of w*^2 + w*", |case| against(case, bounds::sum_of_rates_as_printed));
    let example = Numbers::example(&[("w*", Domain::Between(1.0, 50.0), &[2.0])], 1);
    Claim::new("001-JSA-SUM", "proof of Theorem 3, sum", printed.example(example).by("closed form"))
        .remark("The printed sum is 1 - r^N too large.")
        .corrected(corrected.by("closed form"))
}

fn limit() -> Claim {
    let formula = "0 <= N^2/2 + 3N/2 - sum_n (n r^(n-1) + r^n) <= N(N+1)(2N+1)/(6 w*)";
    let printed = Numbers::bound(formula, weights(1e4), |case| {
        let (w_star, n) = (case.number("w*"), case.count as f64);
        let gap = 0.5 * n * n + 1.5 * n - bounds::sum_of_rates(w_star, case.count);
        let bound = n * (n + 1.0) * (2.0 * n + 1.0) / (6.0 * w_star);
        // A gap below zero violates the left inequality.
        Some(Sides::at_most(if gap < -1e-9 { f64::NAN } else { gap }, bound))
    });
    Claim::new(
        "001-JSA-LAURENT",
        "proof of Theorem 3, limit of the sum",
        printed.twin_times(0.95).by("closed form"),
    )
    .assuming("the remainder O(1/w*) with its exact constant")
    .remark("The constant is of order N^3: the remainder is not uniform in N.")
}

// Claims on JSA: variance and second moment (pMCSA, Thm. 3).

/// `1/N^2 sum_n V[s(z_n) | z_0]`.
fn diagonal_of(case: &Atoms) -> f64 {
    case.problem.sequential(&case.problem.imh(), case.samples).variances[case.start].diagonal
}

fn sequential_moment_settings() -> Vec<Setting> {
    Setting::grid(&[2, 3], &[2, 3, 5, 10], &[1])
}

fn diagonal() -> Claim {
    let formula = "(1/N^2) sum_n V[s(z_n)] <= L^2 S_N, S_N = (1/N^2) sum_n (n r^(n-1) + r^n)";
    let printed = Atoms::bound(formula, sequential_moment_settings(), |case| {
        let sum = bounds::sequential_sum(case.w_star(), case.samples);
        Some(Sides::at_most(diagonal_of(case), case.largest_norm().powi(2) * sum))
    });
    let corrected = Atoms::bound("(1/N^2) sum_n V[s(z_n)] <= L^2/N", sequential_moment_settings(), |case| {
        Some(Sides::at_most(diagonal_of(case), case.largest_norm().powi(2) / case.samples as f64))
    });
    Claim::new("001-JSA-VAR", "proof of Theorem 3, variance", printed.example(even(2)))
        .assuming("given the state before")
        .remark("Rests on Lemma 3. A floor of 1/2 under the variance is of the bound, not of JSA.")
        .corrected(corrected.twin_times(0.95))
}

fn diagonal_limit() -> Claim {
    let formula = "(1/N^2) sum_n V[s(z_n)] <= L^2 (1/2 + 3/(2N))";
    let printed = Atoms::bound(formula, sequential_moment_settings(), |case| {
        let n = case.samples as f64;
        Some(Sides::at_most(diagonal_of(case), case.largest_norm().powi(2) * (0.5 + 1.5 / n)))
    });
    Claim::new("001-JSA-VAR-LIMIT", "Theorem 3, variance for large w*", printed.twin_times(0.35))
        .assuming("given the state before")
        .remark("True, and above L^2/N for every N.")
}

/// `E[|g|^2 | z] - C_cov` of an update, against a bound in `L`, `|mu|`, `w*` and `N`.
fn moment_against(case: &Atoms, bound: fn(f64, f64, f64, usize) -> f64) -> Option<Sides> {
    let moments = case.problem.sequential(&case.problem.imh(), case.samples);
    let found = moments.variances[case.start].diagonal + moments.means[case.start].powi(2);
    let (norm, mean) = (case.largest_norm(), case.problem.mean().abs());
    Some(Sides::at_most(found, bound(norm, mean, case.w_star(), case.samples)))
}

/// Corrected bound on the second moment given the previous state.
fn moment_given_start() -> Bound<Atoms> {
    let formula = "E[|g|^2 | z] - C_cov <= L^2/N + (B + |mu|)^2, B = 2L (w*-1)(1-r^N)/N";
    let given = Atoms::bound(formula, sequential_moment_settings(), |case| {
        moment_against(case, |norm, mean, w_star, n| {
            bounds::sequential_second_moment(norm, mean, 0.0, w_star, n, 0)
        })
    });
    given.twin_times(0.8)
}

fn sequential_second_moment() -> Claim {
    let formula = "E[|g|^2 | z] - C_cov <= L^2 (1/2 + 3/(2N)) + |mu|^2";
    let printed = Atoms::bound(formula, sequential_moment_settings(), |case| {
        moment_against(case, |norm, mean, _, n| {
            bounds::sequential_second_moment_as_printed(norm, mean, 0.0, n)
        })
    });
    let slow = Atoms::new(&[0.5, 0.5], &[0.005, 0.995], &[1.0, -1.0]).samples(10);
    let formula = "E[|g_t|^2] - C_cov <= L^2/N + (B r^(N(t-1)) + |mu|)^2 from a fixed start";
    let from_start = Atoms::bound(formula, Setting::grid(&[2, 3], &[2, 3, 5], &[1, 2]), |case| {
        let before = case.samples * (case.steps - 1);
        let (diagonal, mean_found) = later(case, before);
        let (norm, mean) = (case.largest_norm(), case.problem.mean().abs());
        let bound = bounds::sequential_second_moment(norm, mean, 0.0, case.w_star(), case.samples, before);
        Some(Sides::at_most(diagonal + mean_found.powi(2), bound))
    });
    Claim::new("001-T-JSA-MOMENT", "Theorem 3, second moment", printed.example(slow))
        .assuming("given the state before, w* large and t long, so that no remainder is left")
        .remark("Given the past, the bias does not decay with t.")
        .corrected(moment_given_start())
        .corrected(from_start.twin_times(0.8))
}

fn second_moment_by_sum() -> Claim {
    let printed =
        Atoms::bound("E[|g|^2 | z] - C_cov <= L^2 S_N + |mu|^2", sequential_moment_settings(), |case| {
            moment_against(case, |norm, mean, w_star, n| {
                norm * norm * bounds::sequential_sum(w_star, n) + mean * mean
            })
        });
    let slow = Atoms::new(&[0.5, 0.5], &[0.05, 0.95], &[1.0, -1.0]).samples(5);
    Claim::new("001-T-JSA-MOMENT-SUM", "proof of Theorem 3, second moment", printed.example(slow))
        .assuming("given the state before, t long; S_N = (1/N^2) sum_n (n r^(n-1) + r^n)")
        .corrected(moment_given_start())
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

fn covariance() -> Claim {
    let settings = Setting::grid(&[3, 4], &[2, 3, 4, 8], &[1]);
    let printed = Atoms::bound("C_cov >= 0 given z", settings, |case| {
        let parts = &case.problem.sequential(&case.problem.imh(), case.samples).variances[case.start];
        (parts.diagonal > 1e-4).then(|| Sides::at_most(parts.diagonal - parts.covariance, parts.diagonal))
    })
    .twin("C_cov >= 1/50 of the diagonal", |case| {
        let parts = &case.problem.sequential(&case.problem.imh(), case.samples).variances[case.start];
        (parts.diagonal > 1e-4)
            .then(|| Sides::at_most(1.02 * parts.diagonal - parts.covariance, parts.diagonal))
    });
    Claim::new("001-CCOV", "Theorem 3, \"C_cov will be positive\"", printed)
        .assuming("given the state before")
        .remark("Never seen negative, and not proved. Compared are V - C and V, V the diagonal.")
}

fn pair() -> Claim {
    /// `V - Cov` and `V`, with `V` the variance of the earlier state.
    fn sides(case: &Atoms, lag: usize) -> Option<Sides> {
        // Without rejections there is no correlation, and a search would end there.
        let p = &case.problem;
        let kernel = case.rate_to(9).map(|_| p.imh())?;
        let (first, later) = (kernel.row(case.start), kernel.power(lag).apply(p.s()));
        let mean = dot(first, p.s());
        let weighted: Vec<f64> = first.iter().zip(p.s()).map(|(p, s)| p * (s - mean)).collect();
        let variance: f64 = dot(&weighted, p.s());
        (variance > 1e-4).then(|| Sides::at_most(variance - dot(&weighted, &later), variance))
    }
    let settings = Setting::grid(&[3, 4], &[1], &[2, 3, 4]);
    let printed =
        Atoms::bound("Cov(s(z_1), s(z_{1+n}) | z_0) >= 0", settings, |case| sides(case, case.steps));
    let known = Atoms::new(
        &[25.0 / 27.0, 1.0 / 54.0, 1.0 / 18.0],
        &[5.0 / 13.0, 3.0 / 13.0, 5.0 / 13.0],
        &[0.0, -1.0, 0.5],
    );
    let formula = "Cov(s(z_1), s(z_2) | z_0) >= 0";
    let corrected = Atoms::bound(formula, Setting::atoms(&[3, 4]), |case| sides(case, 1));
    Claim::new("001-CCOV-PAIR", "Theorem 3, covariances one by one", printed.example(known.start(1).steps(3)))
        .assuming("given the state before")
        .remark("Pairs further apart can be negatively correlated; neighbours were never seen to be. Compared are V - Cov and V.")
        .corrected(corrected.twin_times(0.95))
}

// Claims on parallel chains, one transition of `N` chains per update (pMCSA, Thm. 4).

fn parallel_mixing() -> Claim {
    let settings = Setting::grid(&[2, 3], &[1, 2, 4], &[1, 3]);
    let printed = Atoms::bound("TV((K^k)^N, p^N) <= N r^k", settings, |case| {
        case.rate_to(case.steps)?;
        let kernel = case.problem.imh().power(case.steps);
        let found = product(std::iter::repeat_n(kernel.row(case.start), case.samples));
        let target = product(std::iter::repeat_n(case.problem.pi(), case.samples));
        Some(Sides::at_most(
            total_variation(&found, &target),
            bounds::parallel_distance(case.w_star(), case.samples, case.steps),
        ))
    });
    Claim::new("001-T-pMCSA-MIX", "Theorem 4, rate", printed.twin_times(0.95))
        .assuming("IMH, a lambda that does not follow the chains")
}

/// `V[g | z]` with all chains at the start.
fn variance_of(case: &Atoms) -> f64 {
    case.problem.parallel(&case.problem.imh(), case.samples).variances[case.start].sum()
}

fn parallel_variance() -> Claim {
    let settings = Setting::grid(&[2, 3], &[1, 2, 4], &[1]);
    let printed = Atoms::bound("V[g | z] <= L^2/N (1 + r)", settings.clone(), |case| {
        let bound = bounds::parallel_variance_as_printed(case.largest_norm(), case.w_star(), case.samples);
        Some(Sides::at_most(variance_of(case), bound))
    });
    let sharper = Atoms::bound("V[g | z] <= L^2/N", settings, |case| {
        Some(Sides::at_most(variance_of(case), bounds::parallel_variance(case.largest_norm(), case.samples)))
    });
    Claim::new("001-T-pMCSA-VAR", "Theorem 4, variance", printed.twin_times(0.95))
        .assuming("given the chains' states")
        .remark("Tight as r vanishes; the factor 1 + r is not needed.")
        .corrected(sharper.twin_times(0.95))
}

fn parallel_second_moment() -> Claim {
    fn settings() -> Vec<Setting> {
        Setting::grid(&[2, 3], &[2, 4, 8], &[1, 2])
    }
    let formula = "E[|g|^2 | z] <= L^2/N (2 - 1/w*) + |mu|^2";
    let printed = Atoms::bound(formula, settings(), |case| {
        let moments = case.problem.parallel(&case.problem.imh(), case.samples);
        let mean = case.problem.mean().abs();
        let bound =
            bounds::parallel_second_moment_as_printed(case.largest_norm(), mean, case.w_star(), case.samples);
        Some(Sides::at_most(moments.second_moments()[case.start], bound))
    });
    let given = Atoms::bound("E[|g|^2 | z] <= L^2/N + (2 r L + |mu|)^2", settings(), |case| {
        let moments = case.problem.parallel(&case.problem.imh(), case.samples);
        let mean = case.problem.mean().abs();
        let bound = bounds::parallel_second_moment(case.largest_norm(), mean, case.w_star(), case.samples, 0);
        Some(Sides::at_most(moments.second_moments()[case.start], bound))
    });
    let formula = "E[|g_t|^2] <= L^2/N + (2 r^t L + |mu|)^2 from a fixed start";
    let from_start = Atoms::bound(formula, settings(), |case| {
        let kernel = case.problem.imh().power(case.steps);
        let moments = case.problem.parallel(&kernel, case.samples);
        let mean = case.problem.mean().abs();
        let before = case.steps - 1;
        let bound =
            bounds::parallel_second_moment(case.largest_norm(), mean, case.w_star(), case.samples, before);
        Some(Sides::at_most(moments.second_moments()[case.start], bound))
    });
    let slow = small().samples(4);
    Claim::new("001-T-pMCSA-MOMENT", "Theorem 4, second moment", printed.example(slow))
        .assuming("given the chains' states, t long, so that no remainder is left")
        .remark("Given the past, the bias does not decay with t and is common to all chains.")
        .corrected(given.twin_times(0.7))
        .corrected(from_start.twin_times(0.7))
}

// Claims in the LaTeX source of pMCSA that the paper does not print.

fn tail() -> Claim {
    let settings = || Setting::grid(&[2, 3], &[1], &[1, 2, 5, 20]);
    let printed = Atoms::bound("K^t(z, y)/p(y) <= (t/eps) r^(t-1)", settings(), |case| {
        let (p, t) = (&case.problem, case.steps);
        case.rate_to(t)?;
        let power = p.imh().power(t);
        let ratio = |y: usize| if p.pi()[y] > 0.0 { power.row(case.start)[y] / p.pi()[y] } else { 0.0 };
        let largest = (0..p.len()).map(ratio).fold(0.0, f64::max);
        Some(Sides::at_most(largest, t as f64 * case.w_star() * p.rate().powi(t as i32 - 1)))
    });
    let formula = "K^t(z, y)/p(y) <= 1 - r^t + t r^(t-1) (1/max(w(z), w(y)) - 1/w*), y not z";
    let corrected = Atoms::bound(formula, settings(), |case| {
        let (p, t) = (&case.problem, case.steps);
        case.rate_to(t)?;
        let power = p.imh().power(t);
        Sides::farthest((0..p.len()).filter(|&y| y != case.start && p.pi()[y] > 0.0).map(|y| {
            let bound = bounds::accepted(p.w()[y].max(p.w()[case.start]), case.w_star(), t);
            Sides::at_most(power.row(case.start)[y] / p.pi()[y], bound)
        }))
    });
    let example = small().steps(20);
    Claim::new("001-R-TAIL", "LaTeX source, tail of IMH", printed.example(example))
        .assuming("IMH, q >= eps p with eps = 1/w*, n = t")
        .remark("The ratio tends to 1, the bound to 0: the target is divided out twice.")
        .corrected(corrected.twin_times(0.95))
}

fn standard_normal(z: f64) -> f64 {
    (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt()
}

fn concavity() -> Claim {
    let (real, positive) = (Domain::Real, Domain::Positive);
    let variables = [("z", real, 1), ("m", real, 2), ("C", positive, 2)];
    let formula = "sqrt(q_1(z) q_2(z)) <= q(z) at the middle of (m, C)";
    let printed = Numbers::bound(formula, Numbers::settings(&variables, &[1]), |case| {
        let (z, m, c) = (case.number("z"), case.of("m"), case.of("C"));
        let density = |m: f64, c: f64| standard_normal((z - m) / c) / c;
        let ends = (density(m[0], c[0]) * density(m[1], c[1])).sqrt();
        Some(Sides::at_most(ends, density(0.5 * (m[0] + m[1]), 0.5 * (c[0] + c[1]))))
    });
    // Scales 1 and 2 around z: 1 / sqrt(2) against 2 / 3.
    let known =
        Numbers::example(&[("z", real, &[0.0]), ("m", real, &[0.0, 0.0]), ("C", positive, &[1.0, 2.0])], 1);
    let variables = [("z", real, 1), ("m/C", real, 2), ("1/C", positive, 2)];
    let formula = "sqrt(q_1(z) q_2(z)) <= q(z) at the middle of (m/C, 1/C)";
    let corrected = Numbers::bound(formula, Numbers::settings(&variables, &[1]), |case| {
        let (z, b, a) = (case.number("z"), case.of("m/C"), case.of("1/C"));
        let density = |b: f64, a: f64| standard_normal(z * a - b) * a;
        let ends = (density(b[0], a[0]) * density(b[1], a[1])).sqrt();
        Some(Sides::at_most(ends, density(0.5 * (b[0] + b[1]), 0.5 * (a[0] + a[1]))))
    });
    Claim::new(
        "001-R-CONCAVE",
        "LaTeX source, log-concavity in (m, C)",
        printed.example(known).by("closed form"),
    )
    .assuming("q normal with mean m and scale C, D = 1")
    .remark("At z = m the second derivative in C of log q is 1/C^2 > 0.")
    .corrected(corrected.twin_times(0.95).by("closed form"))
}

fn score() -> Claim {
    fn cases() -> Vec<Numbers> {
        Numbers::settings(&[("z", Domain::Real, 1), ("m", Domain::Real, 1), ("C", Domain::Positive, 1)], &[1])
    }
    /// Norm of the score in `(m, C)` of the Laplace distribution, whose log density has slope `L = 1`.
    fn score(case: &Numbers) -> f64 {
        let (z, m, c) = (case.number("z"), case.number("m"), case.number("C"));
        ((1.0 / c).powi(2) + (((z - m).abs() / c - 1.0) / c).powi(2)).sqrt()
    }
    let printed = Numbers::bound("|grad log q| <= D L M (|z| + |lambda| + 1)", cases(), |case| {
        let (z, m, c) = (case.number("z"), case.number("m"), case.number("C"));
        Some(Sides::at_most(score(case), (z.abs() + m.hypot(c) + 1.0) / (c * c)))
    });
    let known =
        [("z", Domain::Real, &[0.0][..]), ("m", Domain::Real, &[0.0]), ("C", Domain::Positive, &[9.0])];
    let printed = printed.example(Numbers::example(&known, 1));
    let formula = "|grad log q| <= L M (|z| + |m|) + (L + 1) sqrt(M)";
    let corrected = Numbers::bound(formula, cases(), |case| {
        let (z, m, c) = (case.number("z"), case.number("m"), case.number("C"));
        Some(Sides::at_most(score(case), (z.abs() + m.abs()) / (c * c) + 2.0 / c))
    });
    Claim::new("001-R-SCORE", "LaTeX source, bound of the score", printed.by("closed form"))
        .assuming("q Laplace with location m and scale C, D = L = 1, M = 1/C^2")
        .remark("-log|det C| is dropped, and sqrt(M) <= D M needs M >= 1/D^2.")
        .corrected(corrected.twin_times(0.6).by("closed form"))
}

fn convergence() -> Claim {
    let reason = "an order of growth without constants; its derivation gives log T, not sqrt(log T)";
    let printed = Statement::not_checkable("regret = O(sqrt(log T) / sqrt(T))", reason);
    Claim::new("001-R-RATE", "LaTeX source, convergence rate", printed)
}

fn repository_mixing() -> Claim {
    fn affinity(case: &Atoms) -> f64 {
        case.problem.pi().iter().zip(case.problem.q()).map(|(p, q)| (p * q).sqrt()).sum()
    }
    let printed = Atoms::bound("sum (sqrt p - sqrt q)^2 <= TV(p, q)", Setting::atoms(&[2, 3, 4]), |case| {
        Some(Sides::at_most(2.0 - 2.0 * affinity(case), total_variation(case.problem.pi(), case.problem.q())))
    });
    let corrected = Atoms::bound("1 - sum sqrt(p q) <= TV(p, q)", Setting::atoms(&[2, 3, 4]), |case| {
        Some(Sides::at_most(1.0 - affinity(case), total_variation(case.problem.pi(), case.problem.q())))
    });
    Claim::new(
        "001-R-MIXING",
        "LaTeX source, mixing time",
        printed.example(Atoms::new(&[1.0, 0.0], &[0.25, 0.75], &[1.0, -1.0])),
    )
    .remark("Needs the normalised Hellinger distance; the other can be twice the total variation.")
    .corrected(corrected.twin_times(0.95))
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

    /// A chain that never moves has all its mass on constant paths.
    #[test]
    fn a_path_that_stays_is_constant() {
        let path = path(&[0.25, 0.75], &Square::identity(2), 3);
        assert_eq!((path[0], path[7]), (0.25, 0.75));
        assert_eq!(path.iter().sum::<f64>(), 1.0);
    }
}
