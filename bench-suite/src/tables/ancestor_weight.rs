//! Moments of conditional SMC under three ancestor rules (MSC, Alg. 4).

use super::Sheet;
use crate::as_published::Ancestry;
use crate::claims::ancestor_weight::moments;
use crate::evidence::Evidence;

/// A row for each rule and number of particles.
pub fn ancestor_weight(_: &Evidence) -> Vec<Sheet> {
    let rules = [
        (Ancestry::Kept, "kept"),
        (Ancestry::Correct, "sampled, correct weight"),
        (Ancestry::Printed, "sampled, printed weight"),
    ];
    let mut rows = Vec::new();
    for particles in [2, 10] {
        for (ancestry, name) in rules {
            let found = moments(ancestry, particles);
            rows.push(vec![
                name.to_owned(),
                particles.to_string(),
                format!("{:.3}", found.mean),
                format!("{:.3} ± {:.3}", found.variance, found.error),
                format!("{:.3}", found.exact.0),
                format!("{:.3}", found.exact.1),
            ]);
        }
    }
    let head = ["Ancestor", "Particles", "Mean", "Variance", "Exact mean", "Exact variance"];
    vec![Sheet {
        name: "moments",
        title: "The first of two states".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows,
        note: "200 000 sweeps each; errors are standard errors.".to_owned(),
    }]
}
