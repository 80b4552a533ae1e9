//! Errors of draws in Python, by the definitions of `docs/anchors.md`.

use std::path::Path;
use std::process::Command;

const DRAWS: usize = 200;

/// Draws of two coordinates, and their weights.
fn draws() -> (Vec<[f64; 2]>, Vec<f64>) {
    let draw = |j: usize| [(0.7 * j as f64).sin() + 0.01 * j as f64, 3.0 * (1.3 * j as f64 + 0.4).cos()];
    let weights: Vec<f64> = (0..DRAWS).map(|j| 1.0 + (0.3 * j as f64).sin()).collect();
    let total: f64 = weights.iter().sum();
    ((0..DRAWS).map(draw).collect(), weights.iter().map(|weight| weight / total).collect())
}

/// Mean error, sd error and Wasserstein distance against means 0.5 and 0, sds 1 and 2, and quantiles `mean + sd (level - 0.5)`.
fn expected(weights: &[f64], weighted: bool) -> [f64; 3] {
    let (draws, _) = draws();
    let mut found = [0.0_f64; 3];
    for (i, (mean, sd)) in [(0.5, 1.0), (0.0, 2.0)].into_iter().enumerate() {
        let average =
            |f: &dyn Fn(f64) -> f64| draws.iter().zip(weights).map(|(z, w)| w * f(z[i])).sum::<f64>();
        let centre = average(&|z| z);
        let spread = average(&|z| (z - centre).powi(2)).sqrt();
        found[0] = found[0].max((centre - mean).abs() / sd);
        found[1] = found[1].max((spread / sd).ln().abs());
        let mut order: Vec<(f64, f64)> = draws.iter().zip(weights).map(|(z, w)| (z[i], *w)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        for k in 1..20 {
            let level = 0.05 * f64::from(k);
            let quantile = if weighted {
                let mut sum = 0.0;
                let at = order.iter().find(|(_, w)| {
                    sum += w;
                    sum >= level
                });
                at.expect("a level below one").0
            } else {
                let place = level * (DRAWS - 1) as f64;
                let below = order[place as usize].0;
                below + place.fract() * (order[place as usize + 1].0 - below)
            };
            found[2] += (quantile - mean - sd * (level - 0.5)).abs() / sd / 38.0;
        }
    }
    found
}

#[test]
fn errors_in_python_are_those_of_the_definitions() {
    let python = std::env::var("MCSA_PYTHON").unwrap_or_else(|_| "python3".into());
    let has_numpy = Command::new(&python).args(["-c", "import numpy"]).output();
    if !has_numpy.is_ok_and(|output| output.status.success()) {
        return;
    }
    let script = "import types, numpy as np, measures\n\
                  j = np.arange(200.0)\n\
                  draws = np.stack([np.sin(0.7 * j) + 0.01 * j, 3 * np.cos(1.3 * j + 0.4)], 1)\n\
                  weights = 1 + np.sin(0.3 * j)\n\
                  means, sds, levels = np.array([0.5, 0.0]), np.array([1.0, 2.0]), 0.05 * np.arange(1, 20)\n\
                  quantiles = means[:, None] + sds[:, None] * (levels - 0.5)\n\
                  known = types.SimpleNamespace(means=means, sds=sds, levels=levels, quantiles=quantiles)\n\
                  for w in (None, weights / weights.sum()):\n    \
                      print(*measures.errors(draws, known, w).values())\n";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("anchors");
    let mut command = Command::new(&python);
    let output =
        command.current_dir(folder).env("PYTHONDONTWRITEBYTECODE", "1").args(["-c", script]).output();
    let output = output.expect("it ran before");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).expect("numbers");
    let equal = vec![1.0 / DRAWS as f64; DRAWS];
    for (line, (weights, weighted)) in said.lines().zip([(equal.clone(), false), (draws().1, true)]) {
        let found: Vec<f64> = line.split(' ').map(|number| number.parse().expect("a number")).collect();
        let known = expected(&weights, weighted);
        for (found, known) in found.iter().zip(known) {
            assert!((found - known).abs() < 1e-12, "{line}: {known}");
        }
        // The twin without weights is caught.
        assert!(!weighted || (found[0] - expected(&equal, false)[0]).abs() > 1e-3);
    }
    assert_eq!(said.lines().count(), 2);
}
