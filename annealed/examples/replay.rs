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

use mcsa_annealed::Surrogate;
use mcsa_annealed::dais::{Base, Dais, DaisGradient, Mass, Shape};
use mcsa_core::numeric::dot;
use mcsa_core::numeric::scalar::{log_sigmoid, sigmoid};
use mcsa_core::{Error, StepSizes};
use serde::Deserialize;
use serde_json::{Map, Value, json};

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
    pub(crate) grad: Map<String, Value>,
    /// Points `z_0 .. z_K`.
    pub(crate) z: Vec<Vec<f64>>,
    /// Numbers of clipped step sizes.
    pub(crate) step_sizes: StepSizes,
}

/// Replays the path of a JSON text.
///
/// # Errors
/// If the text is not understood; the place is named.
pub(crate) fn answer(text: &str) -> Result<Replay, Error> {
    Replay::of(&Question::read(text)?)
}

impl Replay {
    /// Replays a path.
    ///
    /// # Errors
    /// If a parameter that the method needs is missing, has the wrong shape or lies outside its range.
    pub(crate) fn of(question: &Question) -> Result<Self, Error> {
        let Question { problem, case, params } = question;
        let dais = dais(case, params)?;
        let guide = Joint { prior: prior(problem), likelihood: guide(problem, case, params)? };
        let share = problem.rows as f64 / case.end_rows.len() as f64;
        let weights = vec![share; case.end_rows.len()];
        let end = rows(problem, params, &case.end_rows, &weights)?;
        let target = Joint { prior: prior(problem), likelihood: Likelihood::Rows(end) };
        let noise = [&case.eps0[..], &case.nu.concat()].concat();
        let path = dais.path(&guide, &guide.own(), &noise);
        let (mut slope, mut of_target) = (vec![0.0; problem.dim], [0.0]);
        let elbo = target.value_and_gradient(path.end(), &mut slope, &mut of_target) - path.log_q;
        let gradient = dais.gradient(&guide, &guide.own(), &noise, &slope, -1.0);
        let grad = named(question, &guide.likelihood, &gradient, of_target[0]);
        if let Some((name, _)) = params.optional().iter().find(|(name, is)| *is && !grad.contains_key(*name))
        {
            return Err(Error::invalid(format!(
                "params.{name} is not a parameter of this problem and method"
            )));
        }
        Ok(Self { elbo, grad, z: path.points, step_sizes: dais.step_sizes() })
    }

    /// JSON with the keys `elbo`, `grad` and `z`; null stands for a number that is not finite.
    pub(crate) fn json(&self) -> String {
        json!({"elbo": self.elbo, "grad": self.grad, "z": self.z}).to_string()
    }

    /// Report of clipped step sizes, if any.
    pub(crate) fn note(&self) -> Option<String> {
        let StepSizes { zero, longest, .. } = self.step_sizes;
        (zero + longest > 0).then(|| self.step_sizes.to_string())
    }
}

fn prior(problem: &Problem) -> Prior {
    let mean = problem.prior_mean.clone().unwrap_or_else(|| vec![0.0; problem.dim]);
    Prior { mean, scale: problem.prior_scale }
}

fn dais(case: &Case, params: &Params) -> Result<Dais, Error> {
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
fn rows(problem: &Problem, params: &Params, chosen: &[usize], weights: &[f64]) -> Result<Rows, Error> {
    let x = chosen.iter().flat_map(|&n| problem.x[n].iter().copied()).collect();
    let labels = || chosen.iter().map(|&n| problem.y[n]);
    let likelihood = match problem.kind {
        Kind::Logistic => Terms::Logistic {
            positive: labels().zip(weights).map(|(y, weight)| y * weight).collect(),
            negative: labels().zip(weights).map(|(y, weight)| (1.0 - y) * weight).collect(),
        },
        Kind::Linreg => {
            let deviation = *needed("sigma_obs", &params.sigma_obs.or(problem.sigma_obs))?;
            positive("sigma_obs", deviation)?;
            Terms::Normal { y: labels().collect(), weights: weights.to_vec(), deviation }
        }
    };
    Ok(Rows { x, likelihood })
}

/// Likelihood that guides the path.
fn guide(problem: &Problem, case: &Case, params: &Params) -> Result<Likelihood, Error> {
    let (all, d): (Vec<usize>, _) = ((0..problem.rows).collect(), problem.dim);
    let rows = match case.algo {
        Algorithm::Dais => rows(problem, params, &all, &vec![1.0; all.len()])?,
        Algorithm::Ns => {
            let chosen = needed("case.J", &case.guide_rows)?;
            indices("case.J", chosen, problem.rows)?;
            let share = problem.rows as f64 / chosen.len() as f64;
            rows(problem, params, chosen, &vec![share; chosen.len()])?
        }
        Algorithm::SlRand => {
            let chosen = needed("case.surr_idx", &case.surr_idx)?;
            indices("case.surr_idx", chosen, problem.rows)?;
            let weights = needed("params.omega", &params.omega)?;
            length("params.omega", weights, chosen.len())?;
            rows(problem, params, chosen, weights)?
        }
        Algorithm::SlPmFix | Algorithm::SlPmLearn => {
            if problem.kind == Kind::Linreg {
                return Err(Error::invalid("case.algo: weights for both labels need a logistic problem"));
            }
            let (place, covariates) = match case.algo {
                Algorithm::SlPmFix => ("case.x_surr", &case.x_surr),
                _ => ("params.x_surr", &params.x_surr),
            };
            let covariates = needed(place, covariates)?;
            let x = matrix(place, covariates, covariates.len(), d)?;
            let (positive, negative) = (
                needed("params.omega_pos", &params.omega_pos)?.clone(),
                needed("params.omega_neg", &params.omega_neg)?.clone(),
            );
            length("params.omega_pos", &positive, covariates.len())?;
            length("params.omega_neg", &negative, covariates.len())?;
            Rows { x, likelihood: Terms::Logistic { positive, negative } }
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

/// Derivatives for the parameters that the question names.
fn named(
    question: &Question,
    guide: &Likelihood,
    gradient: &DaisGradient,
    of_target: f64,
) -> Map<String, Value> {
    let Question { problem, case, params } = question;
    let d = problem.dim;
    let square = |flat: &[f64]| json!(flat.chunks(d).collect::<Vec<_>>());
    let mut grad = Map::new();
    let mut put = |name: &str, value: Value| drop(grad.insert(name.to_owned(), value));
    put("mu", json!(gradient.mean));
    match case.base {
        BaseForm::Mf => put("sigma", json!(gradient.scale)),
        BaseForm::Mvn => put("L", square(&gradient.scale)),
    }
    put("eta0", json!(gradient.step_size));
    put("kappa", json!(gradient.kappa));
    put("gamma", json!(gradient.gamma));
    put("M", json!(gradient.mass));
    put("beta", json!(gradient.betas));
    let mut deviation = of_target;
    let mut flat = gradient.psi.clone();
    match guide {
        Likelihood::Quadratic { .. } => {
            put("a", json!(flat[..d]));
            put("B", square(&flat[d..]));
        }
        Likelihood::Rows(rows) => {
            let bars = rows.params(&mut flat);
            if let Terms::Normal { .. } = rows.likelihood {
                deviation += bars.second[0];
            }
            match (case.algo, &case.surr_idx) {
                (Algorithm::SlRand, Some(chosen)) if problem.kind == Kind::Logistic => {
                    // A weight counts for the label of its row.
                    let of_label = |(k, &n): (usize, &usize)| {
                        if problem.y[n] == 1.0 { bars.first[k] } else { bars.second[k] }
                    };
                    put("omega", json!(chosen.iter().enumerate().map(of_label).collect::<Vec<f64>>()));
                }
                (Algorithm::SlRand, _) => put("omega", json!(bars.first)),
                (Algorithm::SlPmFix | Algorithm::SlPmLearn, _) => {
                    put("omega_pos", json!(bars.first));
                    put("omega_neg", json!(bars.second));
                    if case.algo == Algorithm::SlPmLearn {
                        put("x_surr", square(bars.x));
                    }
                }
                _ => {}
            }
        }
    }
    if params.sigma_obs.is_some() && problem.kind == Kind::Linreg {
        put("sigma_obs", json!(deviation));
    }
    grad
}

/// A problem, the random numbers of one path, and the parameters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
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

impl Params {
    /// Names of the parameters that only some methods have, and whether they are given.
    fn optional(&self) -> [(&'static str, bool); 9] {
        [
            ("sigma", self.sigma.is_some()),
            ("L", self.factor.is_some()),
            ("omega", self.omega.is_some()),
            ("omega_pos", self.omega_pos.is_some()),
            ("omega_neg", self.omega_neg.is_some()),
            ("x_surr", self.x_surr.is_some()),
            ("a", self.a.is_some()),
            ("B", self.b.is_some()),
            ("sigma_obs", self.sigma_obs.is_some()),
        ]
    }
}

impl Question {
    /// Parses JSON, and checks the shapes that all methods share.
    ///
    /// # Errors
    /// If the text is not such JSON, a key is unknown or missing, or a length is wrong; the place is named.
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        let question: Self =
            serde_json::from_str(text).map_err(|error| Error::invalid(format!("not a replay: {error}")))?;
        let Self { problem, case, params } = &question;
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
        Ok(question)
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

/// Prior `N(mean, scale^2 I)`.
#[derive(Debug, Clone, PartialEq)]
struct Prior {
    mean: Vec<f64>,
    scale: f64,
}

/// Prior and log likelihood of a path's guide or target.
#[derive(Debug, Clone, PartialEq)]
struct Joint {
    prior: Prior,
    likelihood: Likelihood,
}

/// Log likelihood, or a function in place of it.
#[derive(Debug, Clone, PartialEq)]
enum Likelihood {
    /// Weighted rows.
    Rows(Rows),
    /// `a . z - z^T B z / 2`.
    Quadratic { a: Vec<f64>, b: Vec<f64> },
}

/// The parameters are those that the value itself holds, on their constrained scale; `psi` is not read.
impl Surrogate for Joint {
    fn dim(&self) -> usize {
        self.prior.mean.len()
    }

    fn num_params(&self) -> usize {
        match &self.likelihood {
            Likelihood::Rows(rows) => rows.num_params(),
            Likelihood::Quadratic { a, b } => a.len() + b.len(),
        }
    }

    fn gradient_into(
        &self,
        _: &[f64],
        _: &[f64],
        z: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
        _: &mut [f64],
    ) {
        let precision = 1.0 / (self.prior.scale * self.prior.scale);
        for (g, (z, mean)) in gradient.iter_mut().zip(z.iter().zip(&self.prior.mean)) {
            *g = -precision * (z - mean);
        }
        match &self.likelihood {
            Likelihood::Rows(rows) => rows.add_gradient(z, gradient),
            Likelihood::Quadratic { a, b } => {
                gradient.iter_mut().zip(a).for_each(|(g, a)| *g += a);
                add_symmetric(b, z, -1.0, gradient);
            }
        }
    }

    fn add_second(
        &self,
        _: &[f64],
        _: &[f64],
        _: &[f64],
        z: &[f64],
        u: &[f64],
        scale: f64,
        product: &mut [f64],
        params: &mut [f64],
        _: &mut [f64],
    ) {
        let precision = 1.0 / (self.prior.scale * self.prior.scale);
        product.iter_mut().zip(u).for_each(|(p, u)| *p -= scale * precision * u);
        match &self.likelihood {
            Likelihood::Rows(rows) => rows.add_second(z, u, scale, product, &mut rows.params(params)),
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

impl Joint {
    /// Numbers in place of psi, which is not read.
    fn own(&self) -> Vec<f64> {
        vec![0.0; self.num_params()]
    }

    /// Log joint density with its gradient; `params` is its derivative for the deviation of a linear regression.
    fn value_and_gradient(&self, z: &[f64], gradient: &mut [f64], params: &mut [f64]) -> f64 {
        params.fill(0.0);
        let (scale, mean) = (self.prior.scale, &self.prior.mean);
        let squares: f64 = z.iter().zip(mean).map(|(z, mean)| (z - mean) * (z - mean)).sum();
        let log_scale = scale.ln() + 0.5 * std::f64::consts::TAU.ln();
        let log_prior = -0.5 * squares / (scale * scale) - z.len() as f64 * log_scale;
        match &self.likelihood {
            Likelihood::Rows(rows) => {
                for (g, (z, mean)) in gradient.iter_mut().zip(z.iter().zip(mean)) {
                    *g = -(z - mean) / (scale * scale);
                }
                log_prior + rows.add_value(z, gradient, params)
            }
            Likelihood::Quadratic { a, b } => {
                self.gradient_into(&[], &[], z, gradient, &mut [], &mut []);
                let d = z.len();
                let bent: f64 = (0..d).map(|i| z[i] * dot(&b[i * d..(i + 1) * d], z)).sum();
                log_prior + dot(a, z) - 0.5 * bent
            }
        }
    }
}

/// Log likelihood `sum_n l_n(x_n . z)` over rows.
#[derive(Debug, Clone, PartialEq)]
struct Rows {
    /// Covariates, one row of length d after another.
    x: Vec<f64>,
    likelihood: Terms,
}

/// Terms of a log likelihood in the predictor t.
#[derive(Debug, Clone, PartialEq)]
enum Terms {
    /// `l_n = w+_n log sg(t) + w-_n log sg(-t)`; a row with label y and weight w has `w+ = w y` and `w- = w (1 - y)`.
    Logistic { positive: Vec<f64>, negative: Vec<f64> },
    /// `l_n = w_n log N(y_n; t, s^2)`.
    Normal { y: Vec<f64>, weights: Vec<f64>, deviation: f64 },
}

/// Derivatives for the parameters of [`Rows`]: covariates, then `w+` and `w-`, or weights and deviation.
struct RowParams<'a> {
    x: &'a mut [f64],
    first: &'a mut [f64],
    second: &'a mut [f64],
}

impl Rows {
    /// Number of rows.
    fn len(&self) -> usize {
        match &self.likelihood {
            Terms::Logistic { positive, .. } => positive.len(),
            Terms::Normal { y, .. } => y.len(),
        }
    }

    /// Number of parameters.
    fn num_params(&self) -> usize {
        let second = if let Terms::Logistic { .. } = self.likelihood { self.len() } else { 1 };
        self.x.len() + self.len() + second
    }

    fn params<'a>(&self, flat: &'a mut [f64]) -> RowParams<'a> {
        let (x, rest) = flat.split_at_mut(self.x.len());
        let (first, second) = rest.split_at_mut(self.len());
        RowParams { x, first, second }
    }

    fn row(&self, n: usize, d: usize) -> &[f64] {
        &self.x[n * d..(n + 1) * d]
    }

    /// `l_n(t)`.
    fn value(&self, n: usize, t: f64) -> f64 {
        match &self.likelihood {
            Terms::Logistic { positive, negative } => {
                positive[n] * log_sigmoid(t) + negative[n] * log_sigmoid(-t)
            }
            Terms::Normal { y, weights, deviation } => {
                let e = (y[n] - t) / deviation;
                -weights[n] * (0.5 * e * e + deviation.ln() + 0.5 * std::f64::consts::TAU.ln())
            }
        }
    }

    /// `l_n'(t)` and `-l_n''(t)`.
    fn slope_and_curvature(&self, n: usize, t: f64) -> (f64, f64) {
        match &self.likelihood {
            Terms::Logistic { positive, negative } => {
                let (up, down) = (sigmoid(t), sigmoid(-t));
                (positive[n] * down - negative[n] * up, (positive[n] + negative[n]) * up * down)
            }
            Terms::Normal { y, weights, deviation } => {
                let precision = weights[n] / (deviation * deviation);
                (precision * (y[n] - t), precision)
            }
        }
    }

    /// Log likelihood; adds its gradient to `gradient`, and its derivative for the deviation to `deviation_bar`.
    fn add_value(&self, z: &[f64], gradient: &mut [f64], deviation_bar: &mut [f64]) -> f64 {
        let mut value = 0.0;
        for n in 0..self.len() {
            let t = dot(self.row(n, z.len()), z);
            value += self.value(n, t);
            if let (Terms::Normal { y, weights, deviation }, Some(bar)) =
                (&self.likelihood, deviation_bar.first_mut())
            {
                let e = (y[n] - t) / deviation;
                *bar += weights[n] * (e * e - 1.0) / deviation;
            }
        }
        self.add_gradient(z, gradient);
        value
    }

    /// `gradient += sum_n l_n'(t_n) x_n`.
    fn add_gradient(&self, z: &[f64], gradient: &mut [f64]) {
        for n in 0..self.len() {
            let x = self.row(n, z.len());
            let (slope, _) = self.slope_and_curvature(n, dot(x, z));
            gradient.iter_mut().zip(x).for_each(|(g, x)| *g += slope * x);
        }
    }

    /// Adds `scale` times the product of the second derivatives with u, and the derivatives of `scale * u . gradient`.
    fn add_second(&self, z: &[f64], u: &[f64], scale: f64, product: &mut [f64], bars: &mut RowParams<'_>) {
        let d = z.len();
        for n in 0..self.len() {
            let x = self.row(n, d);
            let (t, along) = (dot(x, z), dot(x, u));
            let (slope, curvature) = self.slope_and_curvature(n, t);
            for i in 0..d {
                product[i] -= scale * curvature * along * x[i];
                bars.x[n * d + i] += scale * (slope * u[i] - curvature * along * z[i]);
            }
            match &self.likelihood {
                Terms::Logistic { .. } => {
                    bars.first[n] += scale * sigmoid(-t) * along;
                    bars.second[n] -= scale * sigmoid(t) * along;
                }
                Terms::Normal { y, deviation, .. } => {
                    bars.first[n] += scale * (y[n] - t) / (deviation * deviation) * along;
                    bars.second[0] -= scale * 2.0 * slope / deviation * along;
                }
            }
        }
    }
}
