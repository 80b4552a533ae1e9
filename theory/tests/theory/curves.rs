//! Charts of the papers' claims: the values stated in their captions.

use mcsa_theory::claims;
use mcsa_theory::curves::{self, Chart};

fn chart(name: &str) -> Chart {
    curves::all().into_iter().find(|chart| chart.name == name).unwrap_or_else(|| panic!("no chart {name}"))
}

fn points<'a>(chart: &'a Chart, label: &str) -> &'a [(f64, f64)] {
    &chart.curves.iter().find(|curve| curve.label == label).expect(label).points
}

fn value(chart: &Chart, label: &str, x: f64) -> f64 {
    points(chart, label).iter().find(|point| point.0 == x).unwrap_or_else(|| panic!("{label} at {x}")).1
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
    }
}

#[test]
fn values_are_the_known_ones() {
    for (name, label, x, known) in [
        ("accepted", "exact", 2.0, 3.0 / 4.0),
        ("accepted", "printed", 2.0, 1.0 / 2.0),
        ("accepted", "corrected", 7.0, value(&chart("accepted"), "exact", 7.0)),
        ("mean-after", "printed", 3.0, 7.0 / 8.0),
        ("weighted", "exact", 64.0, 1.0 / 64.0),
        ("weighted", "printed", 64.0, 16.0 / 4096.0),
        ("path", "to independent copies", 1.0, 5.0 / 16.0),
        ("path", "to independent copies", 10.0, 1.0 / 4.0),
        ("path", "printed", 2.0, 3.0 / 16.0),
        ("adapted", "exact", 3.0, 5.0 / 32.0),
        ("adapted", "printed", 3.0, 1.0 / 8.0),
        ("pairs", "exact", 2.0, 3.0 / 4.0),
        ("pairs", "printed", 2.0, 11.0 / 16.0),
        ("second-moment", "exact", 4.0, 7.0 / 16.0),
        ("second-moment", "printed", 4.0, 3.0 / 8.0),
        ("sequential-ratio", "*w*\\* = 2", 2.0, 3.0 / 2.0),
    ] {
        let found = value(&chart(name), label, x);
        assert!((found - known).abs() < 1e-12, "{name}, {label} at {x}: {found}");
    }
    let surrogate = chart("surrogate");
    let [wrong, right] = ["surrogate", "exact likelihood"]
        .map(|label| [256.0, 4096.0, 65536.0].map(|k| value(&surrogate, label, k)));
    let limit = value(&surrogate, "limit", 4.0);
    assert!(wrong.windows(2).all(|pair| pair[1] < pair[0]) && wrong[2] > limit && limit > 1e-3);
    assert!(
        wrong[2] - limit < 0.3 * (wrong[1] - limit) && right[2] < 0.3 * right[1] && right[1] < 0.4 * right[0]
    );
}

/// Corrected bounds are above the exact values at all points of the charts, printed ones below at some.
#[test]
fn printed_bounds_are_crossed_and_corrected_ones_are_not() {
    for (name, exact) in
        [("accepted", "exact"), ("mean-after", "exact"), ("weighted", "exact"), ("second-moment", "exact")]
    {
        let chart = chart(name);
        let points = points(&chart, exact);
        assert!(points.iter().all(|&(x, y)| y <= value(&chart, "corrected", x) + 1e-12), "{name}");
        assert!(points.iter().any(|&(x, y)| y > value(&chart, "printed", x) + 1e-12), "{name}");
    }
    let gap = chart("jensen-gap");
    let crossed =
        |label| points(&gap, label).iter().filter(|(bound, gap)| *gap > bound * (1.0 + 1e-9)).count();
    assert!(crossed("printed") > 10 && crossed("corrected") == 0);
}
