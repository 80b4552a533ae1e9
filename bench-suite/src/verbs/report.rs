//! What the verb `fit` writes and prints: JSON, the table of stages, and draws.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use faer::Mat;
use mcsa::posterior::{self, FitResult, FitState, Objection, Refinement, SamplerStart};
use mcsa_core::{Named, Record, Seed, batch_mut, counted};
use mcsa_estimators::{Draws, Outcome};
use serde_json::{Value, json};

use crate::catalog::{Posterior, Target};
use crate::jobs::Sums;
use crate::store::{Ended, Number, Row, numbers};
use crate::task::Fit;

fn columns(matrix: &Mat<f64>) -> Vec<Vec<Number>> {
    (0..matrix.ncols()).map(|j| numbers(matrix.col_as_slice(j))).collect()
}

/// Report of a fit by one method. Diagnostics and measures are there as far as they are known; the measures, on held-out data if there
/// are any, and the vectors are those of the end.
pub(super) fn of_fit(fit: &Fit, seed: u64, rows: &[Row], ended: &Ended, parameters: &[Value]) -> String {
    let outcome = match ended.outcome {
        // An outcome itself stores its numbers bit for bit.
        Some(Outcome::NonFinite { step, parameter, value }) => {
            json!({ "kind": "non-finite", "step": step, "parameter": parameter, "value": Number(value) })
        }
        ref outcome => json!(outcome),
    };
    let mut health = BTreeMap::new();
    if let Some(known) = &ended.health {
        known.record(&mut |metric, value| {
            health.insert(metric.name, Number(value));
        });
    }
    let last = rows.last().cloned().unwrap_or_default();
    let measures: BTreeMap<_, _> = last.values.iter().map(|(name, value)| (name, Number(*value))).collect();
    let vectors: BTreeMap<_, _> = last.vectors.iter().map(|(name, values)| (name, numbers(values))).collect();
    let report = json!({
        "outcome": outcome,
        "failure": ended.failure,
        "health": health,
        "fit": fit,
        "seed": seed,
        "parameters": parameters,
        "measures": measures,
        "vectors": vectors,
        "counts": ended.counts,
        "seconds": ended.seconds,
        "trace": rows,
    });
    format!("{report:#}\n")
}

/// Number of draws from q for moments of constrained parameters.
const DRAWS: usize = 4096;

/// Mean and standard deviation of every constrained parameter under q.
pub(super) fn parameters(fit: &Fit, seed: Seed, posterior: &dyn Posterior, lambda: &[f64]) -> Vec<Value> {
    let dim = posterior.dim();
    let Some(family) = fit.family.gaussian(dim) else { return Vec::new() };
    let (mut z, mut log_q, mut work) = (vec![0.0; dim], [0.0], vec![0.0; family.work_len(1)]);
    let mut lane = [seed.named("parameters").stream(0, 0)];
    let (mut named, mut sums) = (Named::default(), Sums::new(0));
    for draw in 0..DRAWS {
        family.sample_into(lambda, &mut lane, batch_mut(&mut z, dim, 1), &mut log_q, &mut work);
        named.next_point();
        posterior.constrain(&z, &mut named);
        if draw == 0 {
            sums = Sums::new(named.row().len());
        }
        sums.add(named.row());
    }
    let moments = sums.mean.iter().zip(&sums.square);
    let parameter = |(name, (mean, square)): (&String, (&f64, &f64))| json!({ "name": name, "mean": Number(*mean), "sd": Number((square / (DRAWS - 1) as f64).sqrt()) });
    named.names().iter().zip(moments).map(parameter).collect()
}

/// Report of `fit --auto`: the verdict with its objections, as numbers and in words; the posterior of each parameter on its own scale;
/// evidence, draws and family; evaluations and stages; and the start of a sampler, its covariance row by row.
pub(super) fn of_posterior(
    model: &Target,
    fitting: &FitState,
    fitted: &FitResult,
    file: Option<&Path>,
    gradient: bool,
) -> String {
    let (evidence, draws) = (fitted.evidence, &fitted.draws);
    let objection = |objection: &Objection| {
        let mut said = json!(objection);
        said["says"] = objection.to_string().into();
        said
    };
    let parameter = |of: &posterior::Parameter| {
        json!({
            "name": of.name,
            "mean": Number(of.mean),
            "error": Number(of.error),
            "sd": Number(of.sd),
            "quantiles": of.quantiles.map(Number),
        })
    };
    let mode = |mode: &posterior::Mode| {
        let log_evidence = Number(mode.log_evidence);
        json!({ "point": numbers(&mode.point), "log_evidence": log_evidence, "reached": mode.reached })
    };
    let round = |round: &posterior::Round| json!({ "steps": round.steps, "share": Number(round.share), "k_hat": Number(round.shape) });
    let climb = |climb: &Refinement| {
        let rounds: Vec<Value> = climb.rounds.iter().map(round).collect();
        json!({ "family": climb.shape.to_string(), "rounds": rounds })
    };
    let start = |SamplerStart { starts, mean, covariance, .. }: SamplerStart| json!({ "starts": columns(&starts), "mean": numbers(&mean), "covariance": columns(&covariance) });
    let report = json!({
        "model": model,
        "gradient": gradient,
        "options": fitting.options,
        "verdict": {
            "answer": if fitted.verdict.is_yes() { "yes" } else { "no" },
            "objections": fitted.verdict.objections.iter().map(objection).collect::<Vec<_>>(),
        },
        "parameters": fitted.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "evidence": {
            "log": Number(evidence.log),
            "error": Number(evidence.error),
            "lower": Number(evidence.lower),
            "upper": Number(evidence.upper),
        },
        "draws": {
            "count": draws.len(),
            "effective": Number(draws.sample_size),
            "k_hat": Number(draws.shape),
            "k_hat_limit": Number(draws.shape_threshold),
            "non_finite": draws.non_finite,
            "file": file.map(|path| path.display().to_string()),
        },
        "family": { "shape": fitted.shape.to_string(), "params": numbers(&fitted.params) },
        "evaluations": fitted.evaluations,
        "stages": {
            "starts": fitting.ascents.made,
            "unfinished": fitting.ascents.unfinished,
            "outside": fitting.ascents.outside,
            "modes": fitting.ascents.modes.iter().map(mode).collect::<Vec<_>>(),
            "climbs": fitting.climbs.iter().map(climb).collect::<Vec<_>>(),
            "witness": {
                "r_hat": Number(fitted.chains.r_hat),
                "log_weights": numbers(&fitted.chains.log_weights),
            },
        },
        "handover": fitted.sampler_start().ok().map(start),
    });
    format!("{report:#}\n")
}

pub(super) fn stages(fitting: &FitState) -> String {
    let of = &fitting.ascents;
    if of.made == 0 {
        return "start: no ascent was made\n".to_owned();
    }
    let mut text = format!(
        "start: {}, {} did not converge, {}",
        counted(of.made, "ascent"),
        of.unfinished,
        counted(of.modes.len(), "mode")
    );
    for mode in of.modes.iter().take(10) {
        let _ = write!(text, "\n  reached by {}, log evidence {:.3}", mode.reached, mode.log_evidence);
    }
    for climb in &fitting.climbs {
        let _ = write!(text, "\nclimb of {}:", climb.shape);
        for round in &climb.rounds {
            let (steps, share, shape) = (counted(round.steps, "step"), round.share, round.shape);
            let _ = write!(text, "\n  {steps}: effective share {share:.2}, k-hat {shape:.2}");
        }
    }
    text + "\n"
}

/// Weighted draws as CSV: parameters on their own scales, log p, log q, logarithm of the weight.
pub(super) fn draws(posterior: &dyn Posterior, draws: &Draws) -> String {
    let mut text = String::new();
    let mut named = Named::default();
    for j in 0..draws.len() {
        named.next_point();
        posterior.constrain(draws.points.col_as_slice(j), &mut named);
        if j == 0 {
            named.names().iter().for_each(|name| text += &format!("{},", quoted(name)));
            text += "log_p,log_q,log_weight\n";
        }
        let last = [draws.log_p[j], draws.log_q[j], draws.log_weights[j]];
        let values = named.row().iter().copied().chain(last);
        let words: Vec<String> = values.map(|value| value.to_string()).collect();
        text += &words.join(",");
        text.push('\n');
    }
    text
}

/// A field of CSV, in quotes if it needs them.
fn quoted(name: &str) -> String {
    match name.contains([',', '"', '\n']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}
