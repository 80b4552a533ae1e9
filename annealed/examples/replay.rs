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

use faer::{Mat, MatRef};
use mcsa_annealed::Surrogate;
use mcsa_annealed::dais::{Dais, DaisGradient, Mass, Shape};
use mcsa_annealed::surrogate::{LogisticSurrogate, QuadraticSurrogate};
use mcsa_core::{Error, Gradient, LogDensity, Minibatch, StepSizes, Subsampled, numeric::dot};
use mcsa_families::Normal;
use mcsa_models::{LinearRegression, LogisticRegression};
use serde::Deserialize;
use serde_json::{Value, json};

fn main() -> Result<(), String> {
    let text = std::io::read_to_string(std::io::stdin()).map_err(|error| error.to_string())?;
    let replay = answer(&text).map_err(|error| error.to_string())?;
    println!("{}", replay.json());
    replay.note().into_iter().for_each(|note| eprintln!("{note}"));
    Ok(())
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
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    problem: Problem,
    case: Case,
    params: Params,
}

/// Kind of a regression.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Logistic,
    Linreg,
}

/// Data and prior of a regression.
#[derive(Debug, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BaseForm {
    Mf,
    Mvn,
}

/// Law of the momentum.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Convention {
    Paper,
    Numpyro,
}

/// Method, sizes and random numbers of one path.
#[derive(Debug, Deserialize)]
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
#[derive(Debug, Deserialize)]
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
    /// Checks the shapes that the library does not check; the place of a fault is named.
    fn check(&self) -> Result<(), Error> {
        let Self { problem, case, params } = self;
        let (n, d, steps) = (problem.rows, problem.dim, case.steps);
        for (place, list, expected) in [
            ("problem.y", &problem.y, n),
            ("case.eps0", &case.eps0, d),
            ("params.mu", &params.mu, d),
            ("params.M", &params.mass, d),
            ("params.beta", &params.beta, steps),
        ] {
            length(place, list, expected)?;
        }
        matrix("problem.X", &problem.x, n, d)?;
        matrix("case.nu", &case.nu, steps, d)?;
        for (place, rows) in [("case.J", &case.guide_rows), ("case.surr_idx", &case.surr_idx)] {
            if let Some((k, row)) = rows.iter().flatten().enumerate().find(|(_, row)| **row >= n) {
                return Err(Error::invalid(format!("{place}[{k}] is {row}, expected less than {n}")));
            }
        }
        match &problem.prior_mean {
            Some(_) if problem.kind == Kind::Logistic => {
                Err(Error::invalid("problem.prior_mean: the prior of a logistic problem has mean 0"))
            }
            mean => length("problem.prior_mean", mean.as_ref().unwrap_or(&params.mu), d),
        }
    }

    fn replay(&self) -> Result<Replay, Error> {
        let Self { case, .. } = self;
        let (dais, (guide, psi)) = (self.dais()?, self.guide()?);
        let noise = [&case.eps0[..], &case.nu.concat()].concat();
        let path = dais.path(&*guide, &psi, &noise);
        let (log_joint, slope, of_deviation) = self.end(path.end())?;
        let gradient = dais.gradient(&*guide, &psi, &noise, &slope, -1.0);
        let grad = self.named(&gradient, of_deviation)?;
        Ok(Replay { elbo: log_joint - path.log_q, grad, z: path.points, step_sizes: dais.step_sizes() })
    }

    fn dais(&self) -> Result<Dais, Error> {
        let Self { problem, case, params } = self;
        let d = problem.dim;
        let (shape, factor) = match case.base {
            BaseForm::Mf => {
                let scales = needed("params.sigma", &params.sigma)?;
                length("params.sigma", scales, d)?;
                (Shape::Diagonal, Mat::from_fn(d, d, |i, k| if i == k { scales[i] } else { 0.0 }))
            }
            BaseForm::Mvn => (Shape::Lower, matrix("params.L", needed("params.L", &params.factor)?, d, d)?),
        };
        if (0..d).any(|k| (0..k).any(|i| factor[(i, k)] != 0.0)) {
            return Err(Error::invalid("params.L: expected zero above the diagonal"));
        }
        let base = Normal::from_factor(params.mu.clone(), factor).map_err(|error| error.within("params"))?;
        let dais = Dais {
            base,
            shape,
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

    /// Rows whose likelihood guides the path, with their weights.
    fn rows(&self) -> Result<(Vec<usize>, Vec<f64>), Error> {
        let Self { problem, case, params } = self;
        Ok(match case.algo {
            Algorithm::Ns => {
                let rows = needed("case.J", &case.guide_rows)?.clone();
                let weights = vec![problem.rows as f64 / rows.len() as f64; rows.len()];
                (rows, weights)
            }
            Algorithm::SlRand => {
                let rows = needed("case.surr_idx", &case.surr_idx)?.clone();
                let weights = needed("params.omega", &params.omega)?.clone();
                length("params.omega", &weights, rows.len())?;
                (rows, weights)
            }
            _ => ((0..problem.rows).collect(), vec![1.0; problem.rows]),
        })
    }

    /// The surrogate posterior that guides the path, and its parameters.
    fn guide(&self) -> Result<(Box<dyn Surrogate>, Vec<f64>), Error> {
        let Self { problem, case, params } = self;
        let (d, scale) = (problem.dim, problem.prior_scale);
        let quadratic = |a: &[f64], b: MatRef<'_, f64>| -> Result<(Box<dyn Surrogate>, Vec<f64>), Error> {
            let mean = problem.prior_mean.clone().unwrap_or_else(|| vec![0.0; d]);
            let surrogate = QuadraticSurrogate::new(a, b, mean, scale)?;
            let psi = surrogate.initial();
            Ok((Box::new(surrogate), psi))
        };
        let surrogate = match (case.algo, problem.kind) {
            (Algorithm::SlQuad, _) => {
                let a = needed("params.a", &params.a)?;
                let b = matrix("params.B", needed("params.B", &params.b)?, d, d)?;
                return quadratic(a, b.as_ref());
            }
            (Algorithm::SlPmFix | Algorithm::SlPmLearn, Kind::Linreg) => {
                return Err(Error::invalid("case.algo: weights for both labels need a logistic problem"));
            }
            (_, Kind::Linreg) => {
                let ((rows, weights), precision) = (self.rows()?, self.deviation()?.powi(-2));
                let sum = |of: &dyn Fn(usize) -> f64| -> f64 {
                    rows.iter().zip(&weights).map(|(&n, weight)| weight * precision * of(n)).sum()
                };
                let x = &problem.x;
                let a: Vec<f64> = (0..d).map(|k| sum(&|n| problem.y[n] * x[n][k])).collect();
                let b = Mat::from_fn(d, d, |i, k| sum(&|n| x[n][i] * x[n][k]));
                return quadratic(&a, b.as_ref());
            }
            (Algorithm::SlPmFix | Algorithm::SlPmLearn, Kind::Logistic) => {
                let learns = case.algo == Algorithm::SlPmLearn;
                let (place, x) =
                    if learns { ("params.x_surr", &params.x_surr) } else { ("case.x_surr", &case.x_surr) };
                let x = needed(place, x)?;
                let positive = needed("params.omega_pos", &params.omega_pos)?;
                let negative = needed("params.omega_neg", &params.omega_neg)?;
                let x = matrix(place, x, x.len(), d)?;
                let surrogate = LogisticSurrogate::from_points(x.as_ref(), positive, negative, scale)?;
                if learns { surrogate.with_learned_points() } else { surrogate }
            }
            (_, Kind::Logistic) => {
                let (rows, weights) = self.rows()?;
                let x = Mat::from_fn(rows.len(), d, |n, k| problem.x[rows[n]][k]);
                let labels: Vec<f64> = rows.iter().map(|&n| problem.y[n]).collect();
                let surrogate = LogisticSurrogate::from_rows(x.as_ref(), &labels, &weights, scale)?;
                if case.algo == Algorithm::SlRand { surrogate } else { surrogate.with_fixed_weights() }
            }
        };
        let psi = surrogate.initial();
        Ok((Box::new(surrogate), psi))
    }

    /// Standard deviation of the responses.
    fn deviation(&self) -> Result<f64, Error> {
        needed("sigma_obs", &self.params.sigma_obs.or(self.problem.sigma_obs)).copied()
    }

    /// Log joint density of the final rows at the end of the path, its gradient, and its derivative for the deviation of a linear
    /// regression.
    fn end(&self, z: &[f64]) -> Result<(f64, Vec<f64>, f64), Error> {
        fn of(target: &impl Subsampled, rows: &[usize], z: &[f64]) -> Result<(f64, Vec<f64>), Error> {
            let target = Minibatch::new(target, rows).map_err(|error| error.within("case.I"))?;
            let (mut slope, mut work) = (vec![0.0; z.len()], vec![0.0; target.work_len(1)]);
            Ok((target.gradient_into(z, &mut slope, &mut work), slope))
        }
        let (Problem { x, y, prior_scale, .. }, rows) = (&self.problem, &self.case.end_rows);
        let features = matrix("problem.X", x, self.problem.rows, self.problem.dim)?;
        if self.problem.kind == Kind::Logistic {
            let target = LogisticRegression::new(features.as_ref(), y, *prior_scale)?;
            let (log_joint, slope) = of(&target, rows, z)?;
            return Ok((log_joint, slope, 0.0));
        }
        // The density of z is that of its distance from the mean of the prior, given what is left of the responses.
        let mean = self.problem.prior_mean.clone().unwrap_or_else(|| vec![0.0; z.len()]);
        let rest: Vec<f64> = y.iter().zip(x).map(|(y, x)| y - dot(x, &mean)).collect();
        let apart: Vec<f64> = z.iter().zip(&mean).map(|(z, mean)| z - mean).collect();
        let deviation = self.deviation()?;
        let target = LinearRegression::new(features.as_ref(), &rest, deviation, *prior_scale)?;
        let (log_joint, slope) = of(&target, rows, &apart)?;
        let term = |&n: &usize| ((y[n] - dot(&x[n], z)) / deviation).powi(2) - 1.0;
        let share = y.len() as f64 / rows.len() as f64;
        Ok((log_joint, slope, share * rows.iter().map(term).sum::<f64>() / deviation))
    }

    /// Derivatives for the parameters by their names; that of the end for the deviation is given.
    fn named(&self, gradient: &DaisGradient, of_deviation: f64) -> Result<Value, Error> {
        let Self { problem, case, params } = self;
        let (d, psi) = (problem.dim, &gradient.psi[..]);
        let square = |flat: &[f64]| json!(flat.chunks(d).collect::<Vec<_>>());
        // Derivatives for weights, from those for their logarithms.
        let raw = |slopes: &[f64], weights: &Option<Vec<f64>>| -> Value {
            json!(slopes.iter().zip(weights.iter().flatten()).map(|(s, w)| s / w).collect::<Vec<f64>>())
        };
        let mut grad = json!({
            "mu": gradient.mean, "eta0": gradient.step_size, "kappa": gradient.kappa, "gamma": gradient.gamma,
            "M": gradient.mass, "beta": gradient.betas,
        });
        match case.base {
            BaseForm::Mf => grad["sigma"] = json!(gradient.scale),
            BaseForm::Mvn => grad["L"] = square(&gradient.scale),
        }
        let mut of_deviation = of_deviation;
        match (case.algo, problem.kind) {
            (Algorithm::SlQuad, _) => (grad["a"], grad["B"]) = (json!(psi[..d]), square(&psi[d..])),
            (Algorithm::SlPmFix | Algorithm::SlPmLearn, _) => {
                let n = params.omega_pos.as_ref().map_or(0, Vec::len);
                grad["omega_pos"] = raw(psi, &params.omega_pos);
                grad["omega_neg"] = raw(&psi[n..], &params.omega_neg);
                if case.algo == Algorithm::SlPmLearn {
                    let of_row = |row: usize| (0..d).map(|k| psi[(2 + k) * n + row]).collect::<Vec<_>>();
                    grad["x_surr"] = json!((0..n).map(of_row).collect::<Vec<_>>());
                }
            }
            (Algorithm::SlRand, Kind::Logistic) => grad["omega"] = raw(psi, &params.omega),
            (_, Kind::Logistic) => {}
            (_, Kind::Linreg) => {
                // a and B are sums over rows, each with its weight and the precision.
                let ((rows, weights), deviation) = (self.rows()?, self.deviation()?);
                let of_weight = |&n: &usize| {
                    let bent: Vec<f64> =
                        psi[d..].chunks(d).map(|column| dot(column, &problem.x[n])).collect();
                    let slope = problem.y[n] * dot(&psi[..d], &problem.x[n]) + dot(&bent, &problem.x[n]);
                    slope / (deviation * deviation)
                };
                let of_weights: Vec<f64> = rows.iter().map(of_weight).collect();
                of_deviation -= 2.0 / deviation * dot(&weights, &of_weights);
                if case.algo == Algorithm::SlRand {
                    grad["omega"] = json!(of_weights);
                }
            }
        }
        if params.sigma_obs.is_some() && problem.kind == Kind::Linreg {
            grad["sigma_obs"] = json!(of_deviation);
        }
        Ok(grad)
    }
}

fn length(place: &str, list: &[f64], expected: usize) -> Result<(), Error> {
    if list.len() == expected {
        return Ok(());
    }
    Err(Error::invalid(format!("{place} has length {}, expected {expected}", list.len())))
}

fn matrix(place: &str, rows: &[Vec<f64>], count: usize, d: usize) -> Result<Mat<f64>, Error> {
    if rows.len() != count {
        return Err(Error::invalid(format!("{place} has {} rows, expected {count}", rows.len())));
    }
    for (n, row) in rows.iter().enumerate() {
        length(&format!("{place}[{n}]"), row, d)?;
    }
    Ok(Mat::from_fn(count, d, |n, k| rows[n][k]))
}

/// The value of a key that this method needs.
fn needed<'a, T>(place: &str, value: &'a Option<T>) -> Result<&'a T, Error> {
    value.as_ref().ok_or_else(|| Error::invalid(format!("{place} is missing")))
}
