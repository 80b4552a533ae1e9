//! Claims in the LaTeX source of pMCSA that the paper does not print.

use crate::claims::{Atoms, Bound, Claim, Domain, Numbers, PMCSA, Setting, Sides, Statement};
use crate::total_variation;

pub(super) fn claims() -> Vec<Claim> {
    vec![tail(), concavity(), score(), convergence(), mixing()]
}

/// Density of `K^t` with respect to the target.
fn tail() -> Claim {
    let settings = || Setting::grid(&[2, 3], &[1], &[1, 2, 5, 20]);
    let printed = Bound::<Atoms>::new("K^t(z, y)/p(y) <= (t/eps) r^(t-1)", settings(), |case| {
        let (p, t) = (&case.problem, case.steps);
        case.rate_to(t)?;
        let power = p.imh().power(t);
        let ratio = |y: usize| if p.pi()[y] > 0.0 { power.row(case.start)[y] / p.pi()[y] } else { 0.0 };
        let largest = (0..p.len()).map(ratio).fold(0.0, f64::max);
        Some(Sides::at_most(largest, t as f64 * case.w_star() * p.rate().powi(t as i32 - 1)))
    });
    let formula = "K^t(z, y)/p(y) <= 1 - r^t + t r^(t-1) (1/max(w(z), w(y)) - 1/w*), y not z";
    let corrected = Bound::<Atoms>::new(formula, settings(), |case| {
        let (p, t) = (&case.problem, case.steps);
        case.rate_to(t)?;
        let power = p.imh().power(t);
        let moved = (0..p.len()).filter(|&y| y != case.start && p.pi()[y] > 0.0).map(|y| {
            let v = p.w()[y].max(p.w()[case.start]);
            let bound = crate::bounds::pmcsa::accepted(v, case.w_star(), t);
            Sides::at_most(power.row(case.start)[y] / p.pi()[y], bound)
        });
        moved.max_by(|a, b| a.badness().total_cmp(&b.badness()))
    });
    let example = Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]).steps(20);
    Claim::new("001-R-TAIL", PMCSA, "LaTeX source, tail of IMH", printed.example(example))
        .assuming("IMH, q >= eps p with eps = 1/w*, n = t")
        .remark("The ratio tends to 1, the bound to 0: the target is divided out twice.")
        .corrected(corrected.twin_times(0.95))
}

fn standard_normal(z: f64) -> f64 {
    (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt()
}

/// Log-concavity of a location-scale family in its parameters.
fn concavity() -> Claim {
    let (real, positive) = (Domain::Real, Domain::Positive);
    let variables = [("z", real, 1), ("m", real, 2), ("C", positive, 2)];
    let formula = "sqrt(q_1(z) q_2(z)) <= q(z) at the middle of (m, C)";
    let printed = Bound::<Numbers>::new(formula, Numbers::settings(&variables, &[1]), |case| {
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
    let corrected = Bound::<Numbers>::new(formula, Numbers::settings(&variables, &[1]), |case| {
        let (z, b, a) = (case.number("z"), case.of("m/C"), case.of("1/C"));
        let density = |b: f64, a: f64| standard_normal(z * a - b) * a;
        let ends = (density(b[0], a[0]) * density(b[1], a[1])).sqrt();
        Some(Sides::at_most(ends, density(0.5 * (b[0] + b[1]), 0.5 * (a[0] + a[1]))))
    });
    Claim::new(
        "001-R-CONCAVE",
        PMCSA,
        "LaTeX source, log-concavity in (m, C)",
        printed.example(known).by("closed form"),
    )
    .assuming("q normal with mean m and scale C, D = 1")
    .remark("At z = m the second derivative in C of log q is 1/C^2 > 0.")
    .corrected(corrected.twin_times(0.95).by("closed form"))
}

/// Bound on the score of a location-scale family, with `M` the largest squared singular value of `C^-1`.
fn score() -> Claim {
    fn cases() -> Vec<Numbers> {
        Numbers::settings(&[("z", Domain::Real, 1), ("m", Domain::Real, 1), ("C", Domain::Positive, 1)], &[1])
    }
    /// Norm of the score in `(m, C)` of the Laplace distribution, whose log density has slope `L = 1`.
    fn score(case: &Numbers) -> f64 {
        let (z, m, c) = (case.number("z"), case.number("m"), case.number("C"));
        ((1.0 / c).powi(2) + (((z - m).abs() / c - 1.0) / c).powi(2)).sqrt()
    }
    let printed = Bound::<Numbers>::new("|grad log q| <= D L M (|z| + |lambda| + 1)", cases(), |case| {
        let (z, m, c) = (case.number("z"), case.number("m"), case.number("C"));
        Some(Sides::at_most(score(case), (z.abs() + m.hypot(c) + 1.0) / (c * c)))
    });
    let known =
        [("z", Domain::Real, &[0.0][..]), ("m", Domain::Real, &[0.0]), ("C", Domain::Positive, &[9.0])];
    let printed = printed.example(Numbers::example(&known, 1));
    let formula = "|grad log q| <= L M (|z| + |m|) + (L + 1) sqrt(M)";
    let corrected = Bound::<Numbers>::new(formula, cases(), |case| {
        let (z, m, c) = (case.number("z"), case.number("m"), case.number("C"));
        Some(Sides::at_most(score(case), (z.abs() + m.abs()) / (c * c) + 2.0 / c))
    });
    Claim::new("001-R-SCORE", PMCSA, "LaTeX source, bound of the score", printed.by("closed form"))
        .assuming("q Laplace with location m and scale C, D = L = 1, M = 1/C^2")
        .remark("-log|det C| is dropped, and sqrt(M) <= D M needs M >= 1/D^2.")
        .corrected(corrected.twin_times(0.6).by("closed form"))
}

fn convergence() -> Claim {
    let reason = "an order of growth without constants; its derivation gives log T, not sqrt(log T)";
    let printed = Statement::not_checkable("regret = O(sqrt(log T) / sqrt(T))", reason);
    Claim::new("001-R-RATE", PMCSA, "LaTeX source, convergence rate", printed)
}

/// Mixing times in terms of the Hellinger distance.
fn mixing() -> Claim {
    fn affinity(case: &Atoms) -> f64 {
        case.problem.pi().iter().zip(case.problem.q()).map(|(p, q)| (p * q).sqrt()).sum()
    }
    let printed =
        Bound::<Atoms>::new("sum (sqrt p - sqrt q)^2 <= TV(p, q)", Setting::atoms(&[2, 3, 4]), |case| {
            Some(Sides::at_most(
                2.0 - 2.0 * affinity(case),
                total_variation(case.problem.pi(), case.problem.q()),
            ))
        });
    let corrected =
        Bound::<Atoms>::new("1 - sum sqrt(p q) <= TV(p, q)", Setting::atoms(&[2, 3, 4]), |case| {
            Some(Sides::at_most(1.0 - affinity(case), total_variation(case.problem.pi(), case.problem.q())))
        });
    Claim::new(
        "001-R-MIXING",
        PMCSA,
        "LaTeX source, mixing time",
        printed.example(Atoms::new(&[1.0, 0.0], &[0.25, 0.75], &[1.0, -1.0])),
    )
    .remark("Needs the normalised Hellinger distance; the other can be twice the total variation.")
    .corrected(corrected.twin_times(0.95))
}
