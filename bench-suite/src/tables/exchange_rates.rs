//! Log evidence for each currency (MSC, Fig. 3).

use super::Sheet;
use crate::catalog::{First, Target};
use crate::evidence::{Evidence, Series};
use crate::look;

/// A row for each currency: log evidence at the last theta, with its Monte Carlo error and its spread over fits.
pub fn exchange_rates(evidence: &Evidence) -> Vec<Sheet> {
    let row = |series: &Series<'_>| {
        let Target::FxVolatility { data, series: currency, first } = series.target() else { return None };
        let first = if *first == First::Level { "level" } else { "0" };
        let score = |name: &str| {
            let values = series.last(name);
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let filters = series.last(&format!("{name}_error"));
            let filters = filters.iter().map(|error| error * error).sum::<f64>() / count;
            match values.is_empty() {
                true => "–".to_owned(),
                false => {
                    format!("{mean:.2} ± {:.2} (fits {:.2})", filters.sqrt(), (square / (count - 1.0)).sqrt())
                }
            }
        };
        let method = look::name(series.method().kind()).to_owned();
        Some(vec![
            data.clone(),
            currency.clone(),
            first.to_owned(),
            method,
            score("log_z"),
            score("log_z_as_published"),
        ])
    };
    let head = ["Data", "Currency", "First state", "Method", "log Z, same filter", "log Z, as published"];
    vec![Sheet {
        name: "evidence",
        title: "Evidence at what was learned".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: evidence.series().iter().filter_map(row).collect(),
        note: "In nats: mean over fits, after ± the Monte Carlo error of one fit's estimate, in brackets the standard deviation of \
               fits from different seeds."
            .to_owned(),
    }]
}
