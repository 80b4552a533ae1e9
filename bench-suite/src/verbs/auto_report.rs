//! Report, table of stages and draws of `fit --auto`.

use std::fmt::Write;
use std::path::Path;

use faer::Mat;
use mcsa::posterior::{Evaluations, FitResult, FitState, Objection, Options, SamplerStart};
use mcsa_core::{Error, Named, counted};
use mcsa_estimators::Draws;
use serde::Serialize;

use crate::catalog::{Posterior, Target};
use crate::number::Number;

#[derive(Debug, Serialize)]
struct Report<'a> {
    model: &'a Target,
    /// True if the gradient was used.
    gradient: bool,
    options: &'a Options,
    verdict: Verdict<'a>,
    /// Posterior of each parameter on its own scale, by the weighted draws.
    parameters: Vec<Parameter<'a>>,
    evidence: Evidence,
    draws: Sample<'a>,
    family: Family,
    evaluations: Evaluations,
    stages: Stages,
    handover: Option<Start>,
}

#[derive(Debug, Serialize)]
struct Verdict<'a> {
    /// `yes` or `no`.
    answer: &'static str,
    objections: Vec<Said<'a>>,
}

/// An objection with its numbers, and in words.
#[derive(Debug, Serialize)]
struct Said<'a> {
    #[serde(flatten)]
    objection: &'a Objection,
    says: String,
}

#[derive(Debug, Serialize)]
struct Parameter<'a> {
    name: &'a str,
    mean: Number,
    /// Monte Carlo standard error of the mean.
    error: Number,
    sd: Number,
    /// Quantiles at 5, 50 and 95 %.
    quantiles: [Number; 3],
}

/// Log evidence, its standard error, and bounds.
#[derive(Debug, Serialize)]
struct Evidence {
    log: Number,
    error: Number,
    lower: Number,
    upper: Number,
}

#[derive(Debug, Serialize)]
struct Sample<'a> {
    count: usize,
    effective: Number,
    k_hat: Number,
    k_hat_limit: Number,
    non_finite: usize,
    file: Option<&'a Path>,
}

#[derive(Debug, Serialize)]
struct Family {
    shape: String,
    params: Vec<Number>,
}

#[derive(Debug, Serialize)]
struct Stages {
    /// Number of ascents.
    starts: usize,
    /// ModeSearch that ended at no maximum.
    unfinished: usize,
    /// Starts without a finite density nearby.
    outside: usize,
    modes: Vec<Mode>,
    climbs: Vec<Climb>,
    witness: Witness,
}

#[derive(Debug, Serialize)]
struct Mode {
    point: Vec<Number>,
    log_evidence: Number,
    reached: usize,
}

#[derive(Debug, Serialize)]
struct Climb {
    family: String,
    rounds: Vec<Round>,
}

#[derive(Debug, Serialize)]
struct Round {
    steps: u64,
    share: Number,
    k_hat: Number,
}

/// Chains of another kernel.
#[derive(Debug, Serialize)]
struct Witness {
    r_hat: Number,
    log_weights: Vec<Number>,
}

/// Start of a sampler: points, one list each, and a metric, row by row.
#[derive(Debug, Serialize)]
struct Start {
    starts: Vec<Vec<Number>>,
    mean: Vec<Number>,
    covariance: Vec<Vec<Number>>,
}

fn numbers(values: &[f64]) -> Vec<Number> {
    values.iter().copied().map(Number).collect()
}

fn columns(matrix: &Mat<f64>) -> Vec<Vec<Number>> {
    (0..matrix.ncols()).map(|j| numbers(matrix.col_as_slice(j))).collect()
}

/// Text of the report.
pub(super) fn report(
    model: &Target,
    fitting: &FitState,
    fitted: &FitResult,
    file: Option<&Path>,
    gradient: bool,
) -> Result<String, Error> {
    let said = |objection| Said { objection, says: objection.to_string() };
    let parameters = fitted.parameters.iter().map(|of| Parameter {
        name: &of.name,
        mean: Number(of.mean),
        error: Number(of.error),
        sd: Number(of.sd),
        quantiles: of.quantiles.map(Number),
    });
    let modes = fitting.ascents.modes.iter().map(|mode| Mode {
        point: numbers(&mode.point),
        log_evidence: Number(mode.log_evidence),
        reached: mode.reached,
    });
    let round = |round: &mcsa::posterior::Round| Round {
        steps: round.steps,
        share: Number(round.share),
        k_hat: Number(round.shape),
    };
    let climb = |climb: &mcsa::posterior::Refinement| Climb {
        family: climb.shape.to_string(),
        rounds: climb.rounds.iter().map(round).collect(),
    };
    let start = |SamplerStart { starts, mean, covariance, .. }: SamplerStart| Start {
        starts: columns(&starts),
        mean: numbers(&mean),
        covariance: columns(&covariance),
    };
    let (evidence, draws) = (fitted.evidence, &fitted.draws);
    let report = Report {
        model,
        gradient,
        options: &fitting.options,
        verdict: Verdict {
            answer: if fitted.verdict.is_yes() { "yes" } else { "no" },
            objections: fitted.verdict.objections.iter().map(said).collect(),
        },
        parameters: parameters.collect(),
        evidence: Evidence {
            log: Number(evidence.log),
            error: Number(evidence.error),
            lower: Number(evidence.lower),
            upper: Number(evidence.upper),
        },
        draws: Sample {
            count: draws.len(),
            effective: Number(draws.sample_size),
            k_hat: Number(draws.shape),
            k_hat_limit: Number(draws.shape_threshold),
            non_finite: draws.non_finite,
            file,
        },
        family: Family { shape: fitted.shape.to_string(), params: numbers(&fitted.params) },
        evaluations: fitted.evaluations,
        stages: Stages {
            starts: fitting.ascents.made,
            unfinished: fitting.ascents.unfinished,
            outside: fitting.ascents.outside,
            modes: modes.collect(),
            climbs: fitting.climbs.iter().map(climb).collect(),
            witness: Witness {
                r_hat: Number(fitted.chains.r_hat),
                log_weights: numbers(&fitted.chains.log_weights),
            },
        },
        handover: fitted.sampler_start().ok().map(start),
    };
    let text = serde_json::to_string_pretty(&report);
    let text = text.map_err(|error| Error::invalid(format!("cannot be written as JSON: {error}")))?;
    Ok(text + "\n")
}

/// The stages in words.
pub(super) fn stages(fitting: &FitState) -> String {
    let of = &fitting.ascents;
    let mut text = format!(
        "start: {}, {} without end, {}",
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
