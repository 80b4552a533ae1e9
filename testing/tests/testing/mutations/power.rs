//! Power of the invariance tests with default settings, against the power they state.

use mcsa_core::{Kernel, Seed};
use mcsa_models::Gaussian;
use mcsa_testing::{Invariance, Matrix, Report, judge};

use super::kernels::{Gibbs, Independent, Noise, Powered, PseudoMarginal, Slip, Walk};
use super::{CHAINS, MEANS};

/// Invariance test with default settings, on a standard normal in three dimensions.
fn by_default<K: Kernel<Gaussian>>(kernel: &K) -> Report {
    judge(1e-4).of(kernel, &Gaussian::standard(3))
}

/// Slightly wrong kernels, and kernels wrong only as an ensemble, each with the law that must detect it, at default settings.
/// The test needs six reports of about a second each.
#[test]
fn subtle_mutants_are_caught_at_defaults() {
    let walk = |noise| by_default(&Walk { noise });
    let list = [
        ("stale log q", MEANS, by_default(&Independent::with(Slip::StaleLogQ))),
        ("walk, ratio to the power 0.98", MEANS, by_default(&Powered { power: 0.98 })),
        ("gibbs, one variance 5% too large", MEANS, by_default(&Gibbs { variances: vec![1.0, 1.05] })),
        ("walks share the first stream", CHAINS, walk(Noise::First)),
        ("walks share a mixture of streams", CHAINS, walk(Noise::Mixed)),
        ("estimate, starts fresh", MEANS, by_default(&PseudoMarginal { starts_fresh: true })),
    ];
    let mut matrix = Matrix::default();
    for (name, check, report) in &list {
        matrix.add(name, report);
        assert!(matrix.catches(name, check), "{name}: {report}");
    }
    println!("{matrix}");
    assert!(!matrix.catches("walks share a mixture of streams", "labels"));
}

/// Correct kernels; the false-alarm probability is 1e-4 for all. Four reports of about a second each.
#[test]
fn right_kernels_hold_at_defaults() {
    let target = Gaussian::standard(3);
    let share = || judge(1e-4).share(4);
    let reports = [
        share().of(&Powered { power: 1.0 }, &target),
        share().of(&Gibbs { variances: vec![] }, &target),
        share().of(&Walk { noise: Noise::Own }, &target),
        share().of(&PseudoMarginal { starts_fresh: false }, &target),
    ];
    for report in &reports {
        println!("{report}");
        assert!(report.holds(), "{report}");
    }
}

/// Gibbs sampling whose first coordinate has a standard deviation of `1 + error`.
fn wide_by(error: f64) -> Gibbs {
    Gibbs { variances: vec![(1.0 + error).powi(2)] }
}

/// Stated power against simulation. A stated error is detected with a probability of at least 0.9, because other statistics
/// shift too: for 100 seeds at least 78 times, 4 standard errors fewer. Half the error is detected clearly less often, and with
/// four times the draws the stated error is half as large.
#[test]
fn stated_power_is_kept() {
    let target = Gaussian::standard(2);
    let small = |seed: u64| {
        Invariance { draws: 1_024, steps: 8, path: 1, level: 0.01, ..judge(0.01) }
            .not_reversible()
            .seed(Seed::new(21).child(seed))
    };
    let stated = |judge: Invariance| {
        judge
            .of(&wide_by(0.0), &target)
            .on(MEANS)
            .and_then(|means| means.power.as_ref())
            .expect("a power")
            .size
    };
    let error = stated(small(1_000));
    let seen = |error: f64| {
        let found =
            (0..100).filter(|seed| small(*seed).of(&wide_by(error), &target).on(MEANS).unwrap().fails());
        found.count()
    };
    let (whole, half) = (seen(error), seen(0.5 * error));
    println!("stated {error:.4}: seen {whole} of 100, half of it {half}");
    assert!(whole >= 78 && half <= 60, "{error}: {whole}, {half}");
    let more = stated(small(1_001).draws(4_096));
    assert!((more / error - 0.5).abs() < 0.06, "{more} {error}");
}

/// The number of draws follows from the error to be detected.
#[test]
fn draws_follow_from_the_error() {
    let target = Gaussian::standard(2);
    let stated = |error: f64| {
        let report = judge(1e-4).steps(8).seeing(error).of(&wide_by(0.0), &target);
        assert!(report.holds(), "{report}");
        report.on(MEANS).and_then(|means| means.power.as_ref()).expect("a power").size
    };
    for error in [0.06, 0.03] {
        let found = stated(error);
        assert!((found / error - 1.0).abs() < 0.15, "{found} for {error}");
    }
    assert!(!judge(1e-4).seeing(0.0).of(&wide_by(0.0), &target).holds());
}
