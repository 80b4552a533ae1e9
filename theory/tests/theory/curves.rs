//! Charts of the papers' claims: the values stated in their captions.

use mcsa_theory::claims::{self, Standing};
use mcsa_theory::curves::{self, Chart};

fn chart(name: &str) -> Chart {
    curves::all().into_iter().find(|chart| chart.name == name).unwrap_or_else(|| panic!("no chart {name}"))
}

fn value(chart: &Chart, label: &str, x: f64) -> f64 {
    chart.curve(label).and_then(|curve| curve.at(x)).unwrap_or_else(|| panic!("{label} at {x}"))
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn each_is_about_a_claim_and_can_be_drawn() {
    let charts = curves::all();
    assert_eq!(charts.len(), 12);
    let claims = claims::all();
    for chart in &charts {
        assert!(claims.iter().any(|claim| claim.id == chart.claim), "{}", chart.claim);
        for curve in &chart.curves {
            assert!(curve.points.len() > 5, "{} {}", chart.name, curve.label);
            assert!(curve.points.iter().all(|(x, y)| x.is_finite() && y.is_finite()), "{}", chart.name);
        }
        assert!(chart.caption(Standing::Violated).starts_with(&format!("{} (VIOLATED). ", chart.claim)));
    }
}

#[test]
fn values_are_the_known_ones() {
    let accepted = chart("accepted");
    assert!(near(value(&accepted, "exact", 2.0), 0.75) && near(value(&accepted, "printed", 2.0), 0.5));
    assert!(near(value(&accepted, "corrected", 7.0), value(&accepted, "exact", 7.0)));
    assert!(near(value(&chart("mean-after"), "printed", 3.0), 7.0 / 8.0));
    let weighted = chart("weighted");
    assert!(
        near(value(&weighted, "exact", 64.0), 1.0 / 64.0)
            && near(value(&weighted, "printed", 64.0), 16.0 / 4096.0)
    );
    let path = chart("path");
    assert!(near(value(&path, "to independent copies", 1.0), 5.0 / 16.0));
    assert!(near(value(&path, "to independent copies", 10.0), 0.25));
    assert!(near(value(&path, "printed", 2.0), 3.0 / 16.0));
    let adapted = chart("adapted");
    assert!(
        near(value(&adapted, "exact", 3.0), 5.0 / 32.0) && near(value(&adapted, "printed", 3.0), 1.0 / 8.0)
    );
    let pairs = chart("pairs");
    assert!(near(value(&pairs, "exact", 2.0), 0.75) && near(value(&pairs, "printed", 2.0), 11.0 / 16.0));
    let moment = chart("second-moment");
    assert!(
        near(value(&moment, "exact", 4.0), 7.0 / 16.0) && near(value(&moment, "printed", 4.0), 3.0 / 8.0)
    );
    assert!(near(value(&chart("sequential-ratio"), "w* = 2", 2.0), 1.5));
}

/// Corrected bounds are above the exact values at all points of the charts, printed ones below at some.
#[test]
fn printed_bounds_are_crossed_and_corrected_ones_are_not() {
    for (name, exact) in
        [("accepted", "exact"), ("mean-after", "exact"), ("weighted", "exact"), ("second-moment", "exact")]
    {
        let chart = chart(name);
        let points = &chart.curve(exact).unwrap().points;
        assert!(points.iter().all(|&(x, y)| y <= value(&chart, "corrected", x) + 1e-12), "{name}");
        assert!(points.iter().any(|&(x, y)| y > value(&chart, "printed", x) + 1e-12), "{name}");
    }
    let gap = chart("jensen-gap");
    let crossed = |label| {
        gap.curve(label).unwrap().points.iter().filter(|(bound, gap)| *gap > bound * (1.0 + 1e-9)).count()
    };
    assert!(crossed("printed") > 10 && crossed("corrected") == 0);
}
