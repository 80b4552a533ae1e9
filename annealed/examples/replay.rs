//! Value and gradient of one path of differentiable annealed importance sampling, with input and output in JSON.
//!
//! The input gives a regression, the random numbers of the path and all parameters; the answer holds the bound, its derivatives and
//! the points of the path (SL-DAIS, Sec. 3). It serves to compare another implementation with this one, digit for digit.
//!
//! ```sh
//! cargo run --release -p mcsa-annealed --example replay < path.json
//! ```
//!
//! The file holds `{"problem": {..}, "case": {..}, "params": {..}}`.
//!
//! * problem: `kind` (logistic with labels 0 and 1, or linreg), N, D, X (N rows), y, prior_scale; linreg: sigma_obs and, by
//!   default 0, prior_mean.
//! * case: `algo` is dais, ns (rows J guide), sl_rand (rows surr_idx), sl_pm_fix (covariates x_surr), sl_pm_learn or sl_quad
//!   (`a.z - z'Bz/2`); base is mf or mvn; convention is paper, `v ~ N(0, M)`, or numpyro, `v ~ N(0, M^2)`; K, eta_max; eps0 and nu
//!   (K rows) are the standard normal numbers of the path; I are the rows of the final likelihood, scaled by `N/|I|`. Rows count
//!   from 0.
//! * params: mu, sigma (mf) or L (mvn), eta0, kappa, gamma, M, beta (K values); sl_rand: omega; sl_pm: omega_pos, omega_neg and, if
//!   learned, x_surr; sl_quad: a, B; linreg may override sigma_obs.
//!
//! The answer holds elbo, grad (as params, on the constrained scale; temperatures count as free numbers) and z (`z_0` to `z_K`). A
//! note on the standard error stream counts step sizes that are clipped to 0 or eta_max.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its results")]

use std::io::Read;
use std::process::ExitCode;

use mcsa_annealed::dais::{Base, Dais, DaisGradient, Mass, Shape};
use mcsa_annealed::{Along, PathPoint, Surrogate};
use mcsa_core::numeric::dot;
use mcsa_core::numeric::scalar::{log_sigmoid, sigmoid};
use mcsa_core::{Error, StepSizes};
use serde::Deserialize;
use serde_json::{Value, json};

fn main() -> ExitCode {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    let answer = read.map_err(|error| Error::invalid(error.to_string())).and_then(|_| answer(&text));
    match answer {
        Ok(replay) => {
            println!("{}", replay.json());
            if let Some(note) = replay.note() {
                eprintln!("{note}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Bound of one path, with its derivatives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Replay {
    /// Log weight of the path, an estimate of the bound.
    pub(crate) elbo: f64,
    /// Derivatives by the names of the parameters, shaped as they are.
    pub(crate) grad: Value,
    /// Points `z_0 .. z_K`.
    pub(crate) z: Vec<Vec<f64>>,
    /// Numbers of clipped step sizes.
    step_sizes: StepSizes,
}

/// Replays the path of a JSON text.
///
/// # Errors
/// If the text is no replay, or a parameter that the method needs is missing, has the wrong shape or lies outside its range.
pub(crate) fn answer(text: &str) -> Result<Replay, Error> {
    let not_a_replay = |error| Error::invalid(format!("not a replay: {error}"));
    let question: Question = serde_json::from_str(text).map_err(not_a_replay)?;
    question.check()?;
    let replay = question.replay()?;
    let given: Value = serde_json::from_str(text).map_err(not_a_replay)?;
    match given["params"].as_object().into_iter().flatten().find(|(name, _)| replay.grad.get(name).is_none())
    {
        None => Ok(replay),
        Some((name, _)) => {
            let reason = "is not a parameter of this problem and method";
            Err(Error::invalid(format!("params.{name} {reason}")))
        }
    }
}

impl Replay {
    /// JSON with the keys `elbo`, `grad` and `z`; null stands for a number that is not finite.
    pub(crate) fn json(&self) -> Value {
        json!({"elbo": self.elbo, "grad": self.grad, "z": self.z})
    }

    /// Report of clipped step sizes, if any.
    pub(crate) fn note(&self) -> Option<String> {
        let StepSizes { zero, longest, .. } = self.step_sizes;
        (zero + longest > 0).then(|| self.step_sizes.to_string())
    }
}

/// A problem, the random numbers of one path, and the parameters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    problem: Problem,
    case: Case,
    params: Params,
}

/// Kind of a regression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Logistic,
    Linreg,
}

/// Data and prior of a regression.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Problem {
    kind: Kind,
    #[serde(rename = "N")]
    rows: usize,
    #[serde(rename = "D")]
    dim: usize,
    #[serde(rename = "X")]
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    prior_scale: f64,
    prior_mean: Option<Vec<f64>>,
    sigma_obs: Option<f64>,
}

/// Guide of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Algorithm {
    Dais,
    Ns,
    SlRand,
    SlPmFix,
    SlPmLearn,
    SlQuad,
}

/// Form of the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BaseForm {
    Mf,
    Mvn,
}

/// Law of the momentum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Convention {
    Paper,
    Numpyro,
}

/// Method, sizes and random numbers of one path.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    base: BaseForm,
    algo: Algorithm,
    convention: Convention,
    #[serde(rename = "K")]
    steps: usize,
    eta_max: f64,
    eps0: Vec<f64>,
    nu: Vec<Vec<f64>>,
    #[serde(rename = "I")]
    end_rows: Vec<usize>,
    #[serde(rename = "J")]
    guide_rows: Option<Vec<usize>>,
    surr_idx: Option<Vec<usize>>,
    x_surr: Option<Vec<Vec<f64>>>,
}

/// Parameters on their constrained scale.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    mu: Vec<f64>,
    sigma: Option<Vec<f64>>,
    #[serde(rename = "L")]
    factor: Option<Vec<Vec<f64>>>,
    eta0: f64,
    kappa: f64,
    gamma: f64,
    #[serde(rename = "M")]
    mass: Vec<f64>,
    beta: Vec<f64>,
    omega: Option<Vec<f64>>,
    omega_pos: Option<Vec<f64>>,
    omega_neg: Option<Vec<f64>>,
    x_surr: Option<Vec<Vec<f64>>>,
    a: Option<Vec<f64>>,
    #[serde(rename = "B")]
    b: Option<Vec<Vec<f64>>>,
    sigma_obs: Option<f64>,
}

impl Question {
    /// Checks the shapes that all methods share; the place of a fault is named.
    fn check(&self) -> Result<(), Error> {
        let Self { problem, case, params } = self;
        let d = problem.dim;
        if d == 0 || problem.rows == 0 {
            return Err(Error::invalid("problem: N and D are at least 1"));
        }
        matrix("problem.X", &problem.x, problem.rows, d)?;
        length("problem.y", &problem.y, problem.rows)?;
        positive("problem.prior_scale", problem.prior_scale)?;
        length("case.eps0", &case.eps0, d)?;
        matrix("case.nu", &case.nu, case.steps, d)?;
        indices("case.I", &case.end_rows, problem.rows)?;
        length("params.mu", &params.mu, d)?;
        length("params.M", &params.mass, d)?;
        length("params.beta", &params.beta, case.steps)?;
        if let Some(mean) = &problem.prior_mean {
            length("problem.prior_mean", mean, d)?;
        }
        let labels = |y: &f64| *y == 0.0 || *y == 1.0;
        if problem.kind == Kind::Logistic && !problem.y.iter().all(labels) {
            return Err(Error::invalid("problem.y: labels are 0 or 1"));
        }
        Ok(())
    }

    fn replay(&self) -> Result<Replay, Error> {
        let Self { problem, case, params } = self;
        let dais = self.dais()?;
        let guide = Joint { problem, likelihood: self.guide()? };
        let end = self.rows(&case.end_rows, &vec![problem.share(&case.end_rows); case.end_rows.len()])?;
        let noise = [&case.eps0[..], &case.nu.concat()].concat();
        let path = dais.path(&guide, &vec![0.0; guide.num_params()], &noise);
        let mut slope = vec![0.0; problem.dim];
        let (log_joint, of_deviation) = end.log_joint(problem, path.end(), &mut slope);
        let gradient = dais.gradient(&guide, &vec![0.0; guide.num_params()], &noise, &slope, -1.0);
        let mut grad = self.named(&guide.likelihood, &gradient);
        if params.sigma_obs.is_some() && problem.kind == Kind::Linreg {
            let of_guide = match &guide.likelihood {
                Likelihood::Rows(rows) => rows.split(&gradient.psi)[2][0],
                Likelihood::Quadratic { .. } => 0.0,
            };
            grad["sigma_obs"] = json!(of_deviation + of_guide);
        }
        Ok(Replay { elbo: log_joint - path.log_q, grad, z: path.points, step_sizes: dais.step_sizes() })
    }

    fn dais(&self) -> Result<Dais, Error> {
        let Self { case, params, .. } = self;
        let d = params.mu.len();
        let (shape, scale) = match case.base {
            BaseForm::Mf => (Shape::Diagonal, needed("params.sigma", &params.sigma)?.clone()),
            BaseForm::Mvn => (Shape::Lower, matrix("params.L", needed("params.L", &params.factor)?, d, d)?),
        };
        let dais = Dais {
            base: Base::new(params.mu.clone(), shape, scale).map_err(|error| error.within("params"))?,
            step_size: params.eta0,
            kappa: params.kappa,
            longest: case.eta_max,
            gamma: params.gamma,
            betas: params.beta.clone(),
            mass: params.mass.clone(),
            law: if case.convention == Convention::Paper { Mass::Variance } else { Mass::Deviation },
        };
        dais.check().map_err(|error| error.within("params"))?;
        Ok(dais)
    }

    /// Likelihood of the rows of the data with the given indices and weights.
    fn rows(&self, chosen: &[usize], weights: &[f64]) -> Result<Rows, Error> {
        let Self { problem, params, .. } = self;
        let x = chosen.iter().flat_map(|&n| problem.x[n].iter().copied()).collect();
        let y: Vec<f64> = chosen.iter().map(|&n| problem.y[n]).collect();
        if problem.kind == Kind::Linreg {
            let deviation = *needed("sigma_obs", &params.sigma_obs.or(problem.sigma_obs))?;
            positive("sigma_obs", deviation)?;
            return Ok(Rows { x, first: weights.to_vec(), second: y, deviation: Some(deviation) });
        }
        let of = |label: f64| y.iter().zip(weights).map(|(y, w)| (1.0 - (y - label).abs()) * w).collect();
        Ok(Rows { x, first: of(1.0), second: of(0.0), deviation: None })
    }

    /// Likelihood that guides the path.
    fn guide(&self) -> Result<Likelihood, Error> {
        let Self { problem, case, params } = self;
        let d = problem.dim;
        let rows = match case.algo {
            Algorithm::Dais => {
                let all: Vec<usize> = (0..problem.rows).collect();
                self.rows(&all, &vec![1.0; all.len()])?
            }
            Algorithm::Ns => {
                let chosen = needed("case.J", &case.guide_rows)?;
                indices("case.J", chosen, problem.rows)?;
                self.rows(chosen, &vec![problem.share(chosen); chosen.len()])?
            }
            Algorithm::SlRand => {
                let chosen = needed("case.surr_idx", &case.surr_idx)?;
                indices("case.surr_idx", chosen, problem.rows)?;
                let weights = needed("params.omega", &params.omega)?;
                length("params.omega", weights, chosen.len())?;
                self.rows(chosen, weights)?
            }
            Algorithm::SlPmFix | Algorithm::SlPmLearn => {
                if problem.kind == Kind::Linreg {
                    let reason = "case.algo: weights for both labels need a logistic problem";
                    return Err(Error::invalid(reason));
                }
                let (place, covariates) = match case.algo {
                    Algorithm::SlPmFix => ("case.x_surr", &case.x_surr),
                    _ => ("params.x_surr", &params.x_surr),
                };
                let covariates = needed(place, covariates)?;
                let weights = |place: &str, weights: &Option<Vec<f64>>| -> Result<Vec<f64>, Error> {
                    let weights = needed(place, weights)?;
                    length(place, weights, covariates.len())?;
                    Ok(weights.clone())
                };
                let x = matrix(place, covariates, covariates.len(), d)?;
                let first = weights("params.omega_pos", &params.omega_pos)?;
                let second = weights("params.omega_neg", &params.omega_neg)?;
                Rows { x, first, second, deviation: None }
            }
            Algorithm::SlQuad => {
                let a = needed("params.a", &params.a)?.clone();
                length("params.a", &a, d)?;
                let b = matrix("params.B", needed("params.B", &params.b)?, d, d)?;
                return Ok(Likelihood::Quadratic { a, b });
            }
        };
        Ok(Likelihood::Rows(rows))
    }

    /// Derivatives for the parameters by their names, but for that of the standard deviation.
    fn named(&self, guide: &Likelihood, gradient: &DaisGradient) -> Value {
        let Self { problem, case, .. } = self;
        let square = |flat: &[f64]| json!(flat.chunks(problem.dim).collect::<Vec<_>>());
        let mut grad = json!({
            "mu": gradient.mean, "eta0": gradient.step_size, "kappa": gradient.kappa, "gamma": gradient.gamma,
            "M": gradient.mass, "beta": gradient.betas,
        });
        match case.base {
            BaseForm::Mf => grad["sigma"] = json!(gradient.scale),
            BaseForm::Mvn => grad["L"] = square(&gradient.scale),
        }
        let rows = match guide {
            Likelihood::Quadratic { a, .. } => {
                let (of_a, of_b) = gradient.psi.split_at(a.len());
                (grad["a"], grad["B"]) = (json!(of_a), square(of_b));
                return grad;
            }
            Likelihood::Rows(rows) => rows,
        };
        let [x, first, second] = rows.split(&gradient.psi);
        match (case.algo, &case.surr_idx) {
            (Algorithm::SlRand, Some(chosen)) if problem.kind == Kind::Logistic => {
                // A weight counts for the label of its row.
                let of_label =
                    |(k, &n): (usize, &usize)| if problem.y[n] == 1.0 { first[k] } else { second[k] };
                grad["omega"] = json!(chosen.iter().enumerate().map(of_label).collect::<Vec<f64>>());
            }
            (Algorithm::SlRand, _) => grad["omega"] = json!(first),
            (Algorithm::SlPmFix | Algorithm::SlPmLearn, _) => {
                (grad["omega_pos"], grad["omega_neg"]) = (json!(first), json!(second));
                if case.algo == Algorithm::SlPmLearn {
                    grad["x_surr"] = square(x);
                }
            }
            _ => {}
        }
        grad
    }
}

fn length(place: &str, list: &[f64], expected: usize) -> Result<(), Error> {
    if list.len() == expected {
        return Ok(());
    }
    Err(Error::invalid(format!("{place} has length {}, expected {expected}", list.len())))
}

/// Entries of a matrix, row after row.
fn matrix(place: &str, rows: &[Vec<f64>], count: usize, d: usize) -> Result<Vec<f64>, Error> {
    if rows.len() != count {
        return Err(Error::invalid(format!("{place} has {} rows, expected {count}", rows.len())));
    }
    for (n, row) in rows.iter().enumerate() {
        length(&format!("{place}[{n}]"), row, d)?;
    }
    Ok(rows.concat())
}

fn indices(place: &str, list: &[usize], rows: usize) -> Result<(), Error> {
    if list.is_empty() {
        return Err(Error::invalid(format!("{place} is empty")));
    }
    match list.iter().position(|n| *n >= rows) {
        Some(k) => Err(Error::invalid(format!("{place}[{k}] is {}, expected less than {rows}", list[k]))),
        None => Ok(()),
    }
}

fn positive(place: &str, x: f64) -> Result<(), Error> {
    if x > 0.0 && x.is_finite() {
        return Ok(());
    }
    Err(Error::invalid(format!("{place} is {x}, expected positive and finite")))
}

/// The value of a key that this method needs.
fn needed<'a, T>(place: &str, value: &'a Option<T>) -> Result<&'a T, Error> {
    value.as_ref().ok_or_else(|| Error::invalid(format!("{place} is missing")))
}

impl Problem {
    /// Distance of z from the mean of the prior.
    fn deviations<'a>(&'a self, z: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        z.iter().enumerate().map(|(i, z)| z - self.prior_mean.as_ref().map_or(0.0, |mean| mean[i]))
    }

    /// `N/B`.
    fn share(&self, rows: &[usize]) -> f64 {
        self.rows as f64 / rows.len() as f64
    }
}

/// Prior of a problem and the log likelihood that guides the path.
struct Joint<'a> {
    problem: &'a Problem,
    likelihood: Likelihood,
}

/// Log likelihood, or a function in place of it.
enum Likelihood {
    /// Weighted rows.
    Rows(Rows),
    /// `a . z - z^T B z / 2`.
    Quadratic { a: Vec<f64>, b: Vec<f64> },
}

/// The parameters are those that the value itself holds, on their constrained scale; `psi` is not read.
impl Surrogate for Joint<'_> {
    fn dim(&self) -> usize {
        self.problem.dim
    }

    fn num_params(&self) -> usize {
        match &self.likelihood {
            Likelihood::Rows(rows) => rows.lengths().iter().sum(),
            Likelihood::Quadratic { a, b } => a.len() + b.len(),
        }
    }

    fn gradient_into(&self, at: PathPoint<'_>, gradient: &mut [f64], _: &mut [f64], _: &mut [f64]) {
        let precision = 1.0 / (self.problem.prior_scale * self.problem.prior_scale);
        gradient.iter_mut().zip(self.problem.deviations(at.z)).for_each(|(g, z)| *g = -precision * z);
        match &self.likelihood {
            Likelihood::Rows(rows) => rows.add_gradient(at.z, gradient, |_| ()),
            Likelihood::Quadratic { a, b } => {
                gradient.iter_mut().zip(a).for_each(|(g, a)| *g += a);
                add_symmetric(b, at.z, -1.0, gradient);
            }
        }
    }

    fn add_second(&self, along: Along<'_>, product: &mut [f64], params: &mut [f64], _: &mut [f64]) {
        let Along { at: PathPoint { z, .. }, u, scale, .. } = along;
        let precision = 1.0 / (self.problem.prior_scale * self.problem.prior_scale);
        product.iter_mut().zip(u).for_each(|(p, u)| *p -= scale * precision * u);
        match &self.likelihood {
            Likelihood::Rows(rows) => rows.add_second(z, u, scale, product, params),
            Likelihood::Quadratic { a, b } => {
                add_symmetric(b, u, -scale, product);
                let d = a.len();
                let (a_bar, b_bar) = params.split_at_mut(d);
                for i in 0..d {
                    a_bar[i] += scale * u[i];
                    for j in 0..d {
                        b_bar[i * d + j] -= 0.5 * scale * (u[i] * z[j] + z[i] * u[j]);
                    }
                }
            }
        }
    }
}

/// `out += scale * (B + B^T) x / 2`.
fn add_symmetric(b: &[f64], x: &[f64], scale: f64, out: &mut [f64]) {
    let d = x.len();
    for i in 0..d {
        let column: f64 = (0..d).map(|j| b[j * d + i] * x[j]).sum();
        out[i] += 0.5 * scale * (dot(&b[i * d..(i + 1) * d], x) + column);
    }
}

/// Log likelihood `sum_n l_n(x_n . z)` over rows.
struct Rows {
    /// Covariates, one row of length d after another.
    x: Vec<f64>,
    /// `w+`, or the weights of a linear regression.
    first: Vec<f64>,
    /// `w-`, or the responses.
    second: Vec<f64>,
    /// Standard deviation of a linear regression: `l_n = w_n log N(y_n; t, s^2)`. None: `l_n = w+_n log sg(t) + w-_n log sg(-t)`, where
    /// a row with label y and weight w has `w+ = w y` and `w- = w (1 - y)`.
    deviation: Option<f64>,
}

/// One `l_n(t)` with its derivatives.
struct Term {
    value: f64,
    slope: f64,
    /// `-l_n''`.
    curvature: f64,
    /// Derivative of the slope in the first parameter, and in the second one or the deviation, as fractions.
    of_params: [(f64, f64); 2],
    /// `dl_n/ds`.
    of_deviation: f64,
}

impl Rows {
    /// Numbers of derivatives: for covariates, first parameters, and second ones or the deviation.
    fn lengths(&self) -> [usize; 3] {
        let count = self.first.len();
        [self.x.len(), count, if self.deviation.is_some() { 1 } else { count }]
    }

    fn split<'a>(&self, flat: &'a [f64]) -> [&'a [f64]; 3] {
        let [x, first, _] = self.lengths();
        [&flat[..x], &flat[x..x + first], &flat[x + first..]]
    }

    fn term(&self, n: usize, t: f64) -> Term {
        let (a, b) = (self.first[n], self.second[n]);
        let Some(s) = self.deviation else {
            let (up, down) = (sigmoid(t), sigmoid(-t));
            return Term {
                value: a * log_sigmoid(t) + b * log_sigmoid(-t),
                slope: a * down - b * up,
                curvature: (a + b) * up * down,
                of_params: [(down, 1.0), (-up, 1.0)],
                of_deviation: 0.0,
            };
        };
        let (e, precision) = ((b - t) / s, a / (s * s));
        let slope = precision * (b - t);
        Term {
            value: -a * (0.5 * e * e + s.ln() + 0.5 * std::f64::consts::TAU.ln()),
            slope,
            curvature: precision,
            of_params: [(b - t, s * s), (-2.0 * slope, s)],
            of_deviation: a * (e * e - 1.0) / s,
        }
    }

    /// `gradient += sum_n l_n'(t_n) x_n`; `accept` has each term.
    fn add_gradient(&self, z: &[f64], gradient: &mut [f64], mut accept: impl FnMut(&Term)) {
        for (n, x) in self.x.chunks_exact(z.len()).enumerate() {
            let term = self.term(n, dot(x, z));
            gradient.iter_mut().zip(x).for_each(|(g, x)| *g += term.slope * x);
            accept(&term);
        }
    }

    /// Log joint density with its gradient, and its derivative for the deviation of a linear regression.
    fn log_joint(&self, problem: &Problem, z: &[f64], gradient: &mut [f64]) -> (f64, f64) {
        let scale = problem.prior_scale;
        let squares: f64 = problem.deviations(z).map(|z| z * z).sum();
        let log_scale = scale.ln() + 0.5 * std::f64::consts::TAU.ln();
        let log_prior = -0.5 * squares / (scale * scale) - z.len() as f64 * log_scale;
        gradient.iter_mut().zip(problem.deviations(z)).for_each(|(g, z)| *g = -z / (scale * scale));
        let (mut value, mut of_deviation) = (0.0, 0.0);
        self.add_gradient(z, gradient, |term| {
            value += term.value;
            of_deviation += term.of_deviation;
        });
        (log_prior + value, of_deviation)
    }

    /// Adds `scale` times the product of the second derivatives with u, and the derivatives of `scale * u . gradient`.
    fn add_second(&self, z: &[f64], u: &[f64], scale: f64, product: &mut [f64], params: &mut [f64]) {
        let [covariates, count, _] = self.lengths();
        for (n, x) in self.x.chunks_exact(z.len()).enumerate() {
            let along = dot(x, u);
            let Term { slope, curvature, of_params, .. } = self.term(n, dot(x, z));
            for i in 0..z.len() {
                product[i] -= scale * curvature * along * x[i];
                params[n * z.len() + i] += scale * (slope * u[i] - curvature * along * z[i]);
            }
            let second = if self.deviation.is_some() { 0 } else { n };
            for (at, (top, bottom)) in [n, count + second].into_iter().zip(of_params) {
                params[covariates + at] += scale * top / bottom * along;
            }
        }
    }
}
