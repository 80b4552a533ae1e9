//! Claims on running moments, the natural-gradient ascent without a learning rate: statements of this workspace, not of a paper.

use std::fmt;

use mcsa_core::Stream;

use super::case::{softmax, tuple};
use super::{Atoms, Claim, Searchable, Setting, Sides, few, half};
use crate::{Instance, Square, dot};

/// All claims on running moments.
pub(super) fn all() -> Vec<Claim> {
    [fixed_point(), ascent(), convergence()].into_iter().flatten().collect()
}

/// Target on atoms of the line, and location and scale of an approximation.
#[derive(Debug, Clone)]
struct Line {
    positions: Vec<f64>,
    target: Vec<f64>,
    location: f64,
    scale: f64,
    /// Degrees of freedom of the approximation; none for a Gaussian.
    dof: Option<f64>,
}

impl Line {
    /// `E_p[f]`.
    fn mean(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.positions.iter().zip(&self.target).map(|(z, p)| p * f(*z)).sum()
    }

    /// Mean and deviation of the target, if it is not nearly a point.
    fn moments(&self) -> Option<(f64, f64)> {
        let mean = self.mean(|z| z);
        let deviation = self.mean(|z| (z - mean).powi(2)).sqrt();
        (deviation > 0.05).then_some((mean, deviation))
    }

    /// Independent Metropolis-Hastings between the atoms, guided by the Gaussian with these moments.
    fn chain(&self, location: f64, scale: f64) -> Option<Square<f64>> {
        let logits: Vec<f64> =
            self.positions.iter().map(|z| -0.5 * ((z - location) / scale).powi(2)).collect();
        let zeros = vec![0.0; logits.len()];
        Some(Instance::new(&self.target, &softmax(&logits), &zeros).ok()?.imh())
    }

    /// Equal probabilities of all atoms.
    fn uniform(&self) -> Vec<f64> {
        vec![1.0 / self.target.len() as f64; self.target.len()]
    }

    /// Weight of a point in the step, `u = (nu + 1)/(nu + r^2)`, and 1 for a Gaussian, from the squared radius.
    fn weight(&self, square: f64) -> f64 {
        self.dof.map_or(1.0, |nu| (nu + 1.0) / (nu + square))
    }

    fn square(&self, z: f64) -> f64 {
        ((z - self.location) / self.scale).powi(2)
    }

    /// Log density, up to a constant of the family.
    fn log_density(&self, z: f64) -> f64 {
        let fall = match self.dof {
            Some(nu) => (nu + 1.0) * (self.square(z) / nu).ln_1p(),
            None => self.square(z),
        };
        -self.scale.ln() - 0.5 * fall
    }

    /// `E_q[f(r^2)]` by the trapezoidal rule: for a t on the logit of `nu / (nu + r^2)`, which is Beta(nu/2, 1/2).
    fn expectation(&self, f: impl Fn(f64) -> f64) -> f64 {
        let (mut total, mut sum) = (0.0, 0.0);
        for k in -400..=400 {
            let x = 0.25 * f64::from(k);
            let (mass, square) = match self.dof {
                Some(nu) => {
                    let log_mass = -0.5 * nu * (-x).exp().ln_1p() - 0.5 * x.exp().ln_1p();
                    (log_mass.exp(), nu * (-x).exp())
                }
                None => ((-0.5 * x * x).exp(), x * x),
            };
            if mass > 0.0 {
                total += mass;
                sum += mass * f(square);
            }
        }
        sum / total
    }
}

/// Number of atoms and degrees of freedom.
type Sizes = (usize, Option<f64>);

impl Searchable for Line {
    type Setting = Sizes;

    fn draw(&(atoms, dof): &Sizes, stream: &mut Stream) -> Self {
        let spread = [0.3, 1.0, 3.0][(3.0 * stream.uniform()) as usize];
        let coordinates: Vec<f64> = (0..2 * atoms + 2).map(|_| spread * stream.normal()).collect();
        let sized = Self { positions: vec![0.0; atoms], target: vec![], location: 0.0, scale: 1.0, dof };
        sized.at(&coordinates)
    }

    fn coordinates(&self) -> Vec<f64> {
        let logits = self.target.iter().map(|p| p.ln());
        self.positions.iter().copied().chain(logits).chain([self.location, self.scale.ln()]).collect()
    }

    /// Positions and location are kept within 20, and the log scale within 3.
    fn at(&self, coordinates: &[f64]) -> Self {
        let bounded = |x: f64, most: f64| if x.is_nan() { 0.0 } else { x.clamp(-most, most) };
        let (positions, rest) = coordinates.split_at(self.positions.len());
        let (logits, rest) = rest.split_at(self.positions.len());
        Self {
            positions: positions.iter().map(|z| bounded(*z, 20.0)).collect(),
            target: softmax(logits),
            location: bounded(rest[0], 20.0),
            scale: bounded(rest[1], 3.0).exp(),
            dof: self.dof,
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (positions, target) = (tuple(&self.positions), tuple(&self.target));
        write!(f, "p = {target} at z = {positions}, m = {:.5}, s = {:.5}", self.location, self.scale)?;
        self.dof.map_or(Ok(()), |nu| write!(f, ", nu = {nu}"))
    }
}

/// Identity of two vectors, by the pair of entries that differ most.
fn equal(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Sides> {
    Sides::farthest(pairs.into_iter().map(|(lhs, rhs)| Sides::equal(lhs, rhs)))
}

/// Expected mean of `z` and `z^2` after a transition from this law of the chain, against those of the Gaussian with the target's
/// moments.
fn rest(case: &Line, law: &[f64]) -> Option<Sides> {
    let (m, s) = case.moments()?;
    let after = case.chain(m, s)?.push(law);
    let first = dot(&after, &case.positions);
    let second: f64 = after.iter().zip(&case.positions).map(|(p, z)| p * z * z).sum();
    equal([(first, m), (second, m * m + s * s)])
}

/// Excess of `E_p[log q]` at the location and scale of the case over that at `(m, s)`, against 0.
fn excess(case: &Line, (m, s): (f64, f64)) -> Sides {
    let best = Line { location: m, scale: s, ..case.clone() };
    Sides::at_most(case.mean(|z| case.log_density(z) - best.log_density(z)), 0.0)
}

/// Expected step of the statistic, `E[a (T(z') - mean)]`, with `a` one for an accepted move and zero for a chain that stays by
/// rejection, relative to `E[a]`. The mean is a function of the acceptance probabilities.
fn weighted_step(case: &Atoms, mean: impl Fn(&[f64]) -> f64) -> Option<Sides> {
    let p = &case.problem;
    let (pi, q, s, w) = (p.pi(), p.q(), p.s(), p.w());
    let alpha = |z: usize, y: usize| if w[z] > 0.0 { (w[y] / w[z]).min(1.0) } else { 1.0 };
    let accepts: Vec<f64> = (0..pi.len()).map(|z| (0..q.len()).map(|y| q[y] * alpha(z, y)).sum()).collect();
    let total = dot(pi, &accepts);
    let fixed = mean(&accepts);
    let step = |z: usize| (0..q.len()).map(|y| q[y] * alpha(z, y) * (s[y] - fixed)).sum::<f64>();
    let step: f64 = (0..pi.len()).map(|z| pi[z] * step(z)).sum();
    (total > 1e-6).then(|| Sides::equal(step / total, 0.0))
}

/// Claims on the fixed point of running moments.
fn fixed_point() -> Vec<Claim> {
    let settings = [(2, None), (3, None), (5, None)];
    vec![
        Line::bound(
            "E[T(z')] = E_q[T] at the mean and variance of p, T = (z, z^2), z' after a transition from p",
            &settings,
            |case| rest(case, &case.target),
        )
        .twin("from a uniform law of the chain", |case| rest(case, &case.uniform()))
        .claim("005-FIXED", "fixed point")
        .assuming("q Gaussian, independent Metropolis-Hastings guided by q, a gain that does not depend on the step"),
        Line::bound("E_p[log q] is largest at the mean and variance of p", &settings, |case| {
            Some(excess(case, case.moments()?))
        })
        .twin("at the mean absolute deviation", |case| {
            let (mean, _) = case.moments()?;
            Some(excess(case, (mean, case.mean(|z| (z - mean).abs()))))
        })
        .claim("005-OPTIMUM", "fixed point")
        .assuming("q Gaussian"),
        Atoms::bound("E[step] = 0 at E_p[T], gain in proportion to the acceptance of the same step", &few(), |case| {
            weighted_step(case, |_| case.problem.mean())
        })
        .example(half())
        .claim("005-GAIN", "gain")
        .assuming("one chain of independent Metropolis-Hastings at p, fixed guide")
        .remark("atoms from which the chain moves often count more; hence the gain uses earlier steps alone")
        .corrected(
            Atoms::bound("E[step] = 0 at E_p[a T] / E_p[a], a(z) the acceptance probability from z", &few(), |case| {
                weighted_step(case, |a| {
                    let weighted: Vec<f64> = case.problem.pi().iter().zip(a).map(|(p, a)| p * a).collect();
                    dot(&weighted, case.problem.s()) / weighted.iter().sum::<f64>()
                })
            })
            .twin("at E_q[T]", |case| weighted_step(case, |_| dot(case.problem.q(), case.problem.s()))),
        ),
    ]
}

/// The Fisher matrix times the direction of the step, and `(nu + 1)/(nu + 3)` times the mean score, in location and log scale.
/// `divided` is one if the sum of squares is divided by the sum of weights, as it is in the step.
fn directions(case: &Line, divided: f64) -> Option<Sides> {
    let (m, s) = (case.location, case.scale);
    let weight = |z: f64| case.weight(case.square(z));
    let pull = case.mean(|z| weight(z) * (z - m));
    let claim = case.mean(|z| weight(z) * case.square(z));
    let total = divided * case.mean(weight) + (1.0 - divided);
    let along_scale = 0.5 * (claim - total);
    let of_location = case.expectation(|r| case.weight(r).powi(2) * r) / (s * s);
    let of_scale = case.expectation(|r| (case.weight(r) * r - 1.0).powi(2));
    let length = case.dof.map_or(1.0, |nu| (nu + 1.0) / (nu + 3.0));
    // In units of the scale, so that both entries have the size of their scores.
    equal([(s * of_location * pull, length * pull / s), (of_scale * along_scale, length * (claim - 1.0))])
}

/// Fall of `E_p[log q]` in a step of gain one; with `weighs` false all points weigh one.
fn fall(case: &Line, weighs: bool) -> Option<Sides> {
    let weight = |z: f64| if weighs { case.weight(case.square(z)) } else { 1.0 };
    let total = case.mean(weight);
    let location = case.mean(|z| weight(z) * z) / total;
    let scale = (case.mean(|z| weight(z) * (z - location).powi(2)) / total).sqrt();
    // A target that is nearly a point leads out of the family.
    let after = Line { location, scale, ..case.clone() };
    let rise = case.mean(|z| after.log_density(z) - case.log_density(z));
    (scale > 1e-3 * case.scale && scale > 1e-3).then(|| Sides::at_most(-rise, 0.0))
}

/// Claims on the direction and the ascent of running moments, for a Gaussian and for a t with fixed degrees of freedom.
fn ascent() -> Vec<Claim> {
    let settings = [(2, None), (4, None), (2, Some(1.0)), (2, Some(8.0)), (4, Some(3.0)), (4, Some(40.0))];
    vec![
        Line::bound(
            "F step = (nu + 1)/(nu + 3) E_p[score], gain to 0, F the Fisher matrix; for a Gaussian the factor is 1",
            &settings,
            |case| directions(case, 1.0),
        )
        .by("quadrature under q")
        .twin("EM without division by the weights", |case| directions(case, 0.0))
        .claim("005-NATURAL", "direction")
        .assuming("m' = S_1/S_0, s'^2 = (S_2 - S_1^2/S_0)/S_0, S running means of u, u z, u z^2, u = (nu + 1)/(nu + r^2)")
        .remark("in d dimensions the factor is (nu + d)/(nu + d + 2), also for the step of nu"),
        Line::bound("a step of gain 1 with the weights of p does not decrease E_p[log q]", &settings, |case| {
            fall(case, true)
        })
        .twin("with u = 1", |case| fall(case, false))
        .claim("005-ASCENT", "ascent")
        .assuming("fixed degrees of freedom"),
    ]
}

/// Gain of step `t`, from 0, if one draw arrives per step and the start is worth `start` draws. The running mean keeps a half
/// of the steps, the default of the estimator.
fn gain(start: f64, t: usize) -> f64 {
    1.0 / (start + 0.5 * t as f64 + 1.0)
}

/// Mean squared error of the running mean of `s` after `steps` steps of a chain that starts at p; the start value is `s` at the
/// atom `start`, worth `samples` draws.
fn squared_error(case: &Atoms) -> f64 {
    let problem = &case.problem;
    let (pi, s, chain) = (problem.pi(), problem.s(), problem.imh());
    let error = |z: usize| s[z] - problem.mean();
    // E[e 1{z}] and E[e^2 1{z}] of the error e of the running mean, with the chain at z.
    let first = error(case.start);
    let mut once: Vec<f64> = pi.iter().map(|p| p * first).collect();
    let mut twice: Vec<f64> = pi.iter().map(|p| p * first * first).collect();
    for t in 0..case.steps {
        let rho = gain(case.samples as f64, t);
        let (moved_once, moved_twice) = (chain.push(&once), chain.push(&twice));
        for z in 0..pi.len() {
            let new = rho * error(z);
            once[z] = (1.0 - rho) * moved_once[z] + new * pi[z];
            let cross = 2.0 * new * (1.0 - rho) * moved_once[z];
            twice[z] = (1.0 - rho).powi(2) * moved_twice[z] + cross + new * new * pi[z];
        }
    }
    twice.iter().sum()
}

fn bounded(case: &Atoms, inflation: f64) -> Option<Sides> {
    // Squared share of the start, and the sum of the squared weights of the steps.
    let (left, squares) = (0..case.steps).fold((1.0, 0.0), |(left, squares), t| {
        let rho = gain(case.samples as f64, t);
        let kept = (1.0 - rho).powi(2);
        (left * kept, squares * kept + rho * rho)
    });
    let start = (case.problem.s()[case.start] - case.problem.mean()).powi(2);
    let bound = left * start + inflation * case.problem.variance() * squares;
    Some(Sides::at_most(squared_error(case), bound)).filter(|_| case.problem.variance() > 1e-6)
}

/// Expected running mean of `z` after three steps, from this law of the first state, against that of independent draws of p; the
/// guide follows the moments, or stays.
fn unbiased(case: &Line, first: &[f64], follows: bool) -> Option<Sides> {
    const STEPS: usize = 3;
    fn walk(case: &Line, z: usize, (m, v): (f64, f64), t: usize, follows: bool) -> Option<f64> {
        if t == STEPS {
            return Some(m);
        }
        let chain = if follows { case.chain(m, v.sqrt())? } else { case.chain(case.location, case.scale)? };
        let rho = gain(1.0, t);
        let mut mean = 0.0;
        for (y, probability) in chain.row(z).iter().enumerate() {
            let away = case.positions[y] - m;
            let moved = (m + rho * away, (1.0 - rho) * (v + rho * away * away));
            mean += probability * walk(case, y, moved, t + 1, follows)?;
        }
        Some(mean)
    }
    let start = (case.location, case.scale * case.scale);
    case.moments()?;
    let each = |z: usize| Some(first[z] * walk(case, z, start, 0, follows)?);
    let expected = (0..first.len()).map(each).sum::<Option<f64>>()?;
    let left: f64 = (0..STEPS).map(|t| 1.0 - gain(1.0, t)).product();
    Some(Sides::equal(expected, left * case.location + (1.0 - left) * case.mean(|z| z)))
}

/// Claims on the error of running moments after several steps, by recursion over the atoms.
fn convergence() -> Vec<Claim> {
    let settings = [(2, None), (3, None)];
    let steps = Setting::grid(&[2, 3], &[1, 5], &[1, 3, 12, 60]);
    vec![
        Atoms::bound(
            "MSE_t <= prod (1 - rho)^2 (M_0 - E_p T)^2 + (2 w* - 1) V_p[T] sum_s c_s^2, which goes to 0",
            &steps,
            |case| bounded(case, 2.0 * case.w_star() - 1.0),
        )
        .twin("as of independent draws, without w*", |case| bounded(case, 1.0))
        .claim("005-RATE", "convergence")
        .assuming("one chain of independent Metropolis-Hastings at p, fixed guide, rho_t = 1/(N + t/2 + 1), c_s the weight of step s")
        .remark("the weights of the start fall like t^-4 and the sum of squares like 4/(3 t)"),
        Line::bound(
            "E[M_t] = prod (1 - rho) M_0 + (1 - prod (1 - rho)) E_p[z], guide at the running moments",
            &settings,
            |case| unbiased(case, &case.target, true),
        )
        .example(Line {
            positions: vec![0.0, 1.0],
            target: vec![0.5, 0.5],
            location: 0.25,
            scale: 0.5,
            dof: None,
        })
        .claim("005-ADAPTED", "convergence")
        .assuming("one chain of independent Metropolis-Hastings at p, three steps, rho_t = 1/(t/2 + 2)")
        .remark("the guide has seen the state it moves next; the bias goes with the gain, and final answers come from a frozen q")
        .corrected(
            Line::bound("the same with a guide that stays", &settings, |case| unbiased(case, &case.target, false))
                .twin("from a uniform law of the chain", |case| unbiased(case, &case.uniform(), false)),
        ),
    ]
}
