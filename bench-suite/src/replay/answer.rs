//! Bound, gradient and points of one path, as JSON.

use mcsa_annealed::dais::{Base, Dais, DaisGradient, Mass, Shape};
use mcsa_core::{Error, StepSizes};
use serde_json::{Map, Value, json};

use super::question::{
    Algorithm, BaseForm, Case, Convention, Kind, Params, Problem, Question, indices, length, matrix, needed,
    positive,
};
use super::regression::{Rows, Terms};
use super::surrogate::{Joint, Likelihood, Prior};

/// Bound of one path, with its derivatives.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// Log weight of the path, an estimate of the bound.
    pub elbo: f64,
    /// Derivatives by the names of the parameters, shaped as they are.
    pub grad: Map<String, Value>,
    /// Points `z_0 .. z_K`.
    pub z: Vec<Vec<f64>>,
    /// Numbers of clipped step sizes.
    pub step_sizes: StepSizes,
}

/// Replays the path of a JSON text.
///
/// # Errors
/// If the text is not understood; the place is named.
pub fn answer(text: &str) -> Result<Replay, Error> {
    Replay::of(&Question::read(text)?)
}

impl Replay {
    /// Replays a path.
    ///
    /// # Errors
    /// If a parameter that the method needs is missing, has the wrong shape or lies outside its range.
    pub fn of(question: &Question) -> Result<Self, Error> {
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
    pub fn json(&self) -> String {
        json!({"elbo": self.elbo, "grad": self.grad, "z": self.z}).to_string()
    }

    /// Report of clipped step sizes, if any.
    pub fn note(&self) -> Option<String> {
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
