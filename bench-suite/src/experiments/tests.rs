//! The checks of every experiment on synthetic results: they hold, fail and abstain.

use super::*;
use crate::catalog::{Ansatz, Case, FamilyConfig, Target};
use crate::claims::Verdict::{Agree, Disagree, TooLittle};
use crate::claims::tests::{checks, entry, results, verdicts};
use crate::experiment::PresetName::{Default, Paper, Quick};
use crate::metric::Vector;
use crate::results::Series;
use crate::task::Task;

/// Costs are `times` the minimal number of evaluations in every step.
#[test]
fn costs() {
    let verdicts = |times: f64| {
        let mut results = results("pmcsa/tab-cost", Quick, |_, _, _| Vec::new());
        for outcome in results.outcomes.iter_mut().filter(|_| times > 0.0) {
            let [p, q, draws, gradients, scores] = pmcsa::tabulated(outcome.job.task.method())[0].unwrap();
            let is_noise = matches!(outcome.job.task.method().kind(), "elbo" | "stl");
            let q = if is_noise { q } else { q - draws };
            let names = ["p_evaluations", "q_evaluations", "q_draws", "p_gradients", "q_scores"];
            let counts = names.into_iter().zip([p, q, draws, gradients, scores]);
            outcome.ended.counts =
                counts.map(|(name, count)| (name.to_owned(), (1e4 * times * count).round() as u64)).collect();
        }
        verdicts(&results)
    };
    assert_eq!(verdicts(1.0), [Agree, Agree, Disagree]);
    assert_eq!(verdicts(2.0), [Disagree; 3]);
    assert_eq!(verdicts(0.0), [TooLittle; 3]);
}

/// Divergences are `best` above the floor within `reach` decades of 0.03, and large outside.
#[test]
fn step_sizes() {
    let verdicts = |preset, best: fn(&str) -> f64, reach: fn(&str, &str) -> f64| {
        checks("pmcsa/fig-stepsize", preset, |task, _, _| {
            let series = Series { task, outcomes: Vec::new() };
            let (kind, rule) = (task.method().kind(), series.fit().map_or("", |fit| fit.optimizer.kind()));
            let is_near = (pmcsa::rate(&series).unwrap() / 0.03).log10().abs() < reach(rule, kind);
            vec![("kl_floor", 4.4), ("kl", 4.4 + if is_near { best(kind) } else { 50.0 })]
        })
    };
    let best = |kind: &str| if kind == "pmcsa" { 2.0 } else { 3.0 };
    let reach = |rule: &str, kind: &str| match (rule, kind) {
        (_, "pmcsa") => 1.3,
        ("adam", _) => 0.9,
        _ => 0.3,
    };
    assert_eq!(verdicts(Paper, best, reach), [Agree; 4]);
    let opposite = |rule: &str, kind: &str| match (rule, kind) {
        ("adam", _) => 0.1,
        (_, "pmcsa") => 0.3,
        _ => 1.0,
    };
    let worst = |kind: &str| if kind == "pmcsa" { 12.0 } else { 11.0 };
    assert_eq!(verdicts(Paper, worst, opposite)[..3], [Disagree; 3]);
    assert_eq!(verdicts(Paper, worst, reach)[2..], [Disagree; 2]);
    assert_eq!(verdicts(Quick, best, reach), [TooLittle; 4]);
    assert_eq!(verdicts(Paper, |_| f64::NAN, reach), [TooLittle; 4]);
}

#[test]
fn variances() {
    let verdicts = |variance: fn(&str, f64) -> f64, bias: fn(&str) -> f64| {
        checks("mcmc-se/fig3-variance", Quick, |task, _, step| {
            let (kind, n) = (task.method().kind(), task.method().budget() as f64);
            let variance = variance(kind, n);
            let bias = ("bias", bias(kind));
            vec![("kl", step as f64), ("variance", variance), ("pooled_variance", variance), bias]
        })
    };
    let published = |kind: &str, n: f64| if kind == "pmcsa" { 2.0 / n } else { 2.0 };
    assert_eq!(verdicts(published, |_| 0.1), [Agree; 5]);
    let opposite = |kind: &str, n: f64| if kind == "pmcsa" { 20.0 } else { 2.0 / n };
    let biased = |kind: &str| if kind == "pmcsa" { 9.0 } else { 0.1 };
    assert_eq!(verdicts(opposite, biased), [Disagree; 5]);
    assert_eq!(verdicts(|_, _| f64::NAN, |_| 0.1), [TooLittle; 5]);
}

#[test]
fn scales() {
    let verdicts = |preset, log_scale: fn(&str, &str) -> f64| {
        let experiment = entry("msc/tab1-probit").experiment().unwrap();
        verdicts(&Results::with_vectors(experiment, preset, |task, replicate, _| {
            let noise = 0.0005 * (replicate % 3) as f64;
            let scale = log_scale(task.target().label(), task.method().kind());
            (Vec::new(), vec![(Vector::LogScales, vec![scale, scale + noise, 2.0 * scale])])
        }))
    };
    let published = |set: &str, kind: &str| match (set, kind) {
        (_, "ep") => 0.0,
        ("pima", "snis") => 0.5,
        (_, "snis") => -0.5,
        ("pima", _) => 0.1,
        _ => -0.1,
    };
    let reversed = |set: &str, kind: &str| match (set, kind) {
        (_, "ep") => 0.0,
        (_, "snis") => 0.01,
        ("pima", _) => 0.2,
        _ => -0.2,
    };
    assert_eq!(verdicts(Default, published), [Agree; 4]);
    assert_eq!(verdicts(Default, reversed), [Disagree; 4]);
    assert_eq!(verdicts(Quick, published), [TooLittle; 4]);
    assert_eq!(verdicts(Default, |_, _| f64::NAN), [TooLittle; 4]);
}

#[test]
fn candidates() {
    let verdicts = |preset, mean: fn(&str, usize) -> f64| {
        let experiment = entry("msc/fig2-candidates").experiment().unwrap();
        verdicts(&Results::with_vectors(experiment, preset, |task, replicate, _| {
            let (kind, size) = (task.method().kind(), task.method().budget());
            let noise = if kind == "ep" { 0.0 } else { 1e-4 * (replicate % 3) as f64 };
            let means = vec![mean(kind, size) + noise; 3];
            (Vec::new(), vec![(Vector::Means, means), (Vector::LogScales, vec![0.0, 0.1, 0.2])])
        }))
    };
    let published = |kind: &str, size: usize| if kind == "snis" { 1.0 / size as f64 } else { 0.0 };
    assert_eq!(verdicts(Default, published), [Agree; 3]);
    let opposite = |kind: &str, size: usize| if kind == "msc-rb" { 1.0 / size as f64 } else { 0.0 };
    assert_eq!(verdicts(Default, opposite), [Disagree; 3]);
    assert_eq!(verdicts(Quick, published), [TooLittle; 3]);
    assert_eq!(verdicts(Default, |_, _| f64::NAN), [TooLittle; 3]);
}

/// Fits of one currency vary as much as currencies do.
#[test]
fn exchange_rates() {
    let verdicts = |preset, gain: f64, noise: f64| {
        checks("msc/fig3-exchange-rates", preset, |task, replicate, _| {
            let Target::FxVolatility { series, .. } = task.target() else { panic!("a currency") };
            let spread = series.bytes().map(u64::from).sum::<u64>() % 5 + replicate % 5;
            let is_msc = task.method().kind() == "msc";
            let value = if is_msc { gain + noise * (spread as f64 - 4.0) } else { 0.0 };
            vec![("log_z", value), ("log_z_as_published", value), ("log_z_error", 0.05)]
        })
    };
    assert_eq!(verdicts(Default, 1.0, 0.1), [Agree; 7]);
    assert_eq!(verdicts(Default, -1.0, 0.1), [Disagree; 7]);
    assert_eq!(verdicts(Quick, 1.0, 0.1), [TooLittle; 7]);
    assert_eq!(verdicts(Default, f64::NAN, 0.1), [TooLittle; 7]);
    assert_eq!(verdicts(Default, 0.1, 3.0)[0], TooLittle);
    // Fits that differ by more than their filters err are clear one by one, and not together.
    assert_eq!(verdicts(Default, 0.1, 3.0)[2..4], [Disagree, Agree]);
    // Values 1 and 3: mean 2, standard error 1.
    assert_eq!(msc::in_errors(&[1.0, 3.0]), 2.0);
}

/// Level of a method: the flow, then SL-DAIS, DAIS, NS-DAIS, the mean field, the Gaussian.
fn level(task: &Task) -> f64 {
    match task.fit().map(|fit| &fit.family) {
        Some(FamilyConfig::BlockNeural { .. }) => 5.0,
        Some(FamilyConfig::Annealed(annealed)) => match annealed.surrogate {
            Ansatz::Minibatch => 2.0,
            Ansatz::Posterior => 3.0,
            _ => 4.0,
        },
        Some(FamilyConfig::MeanField { .. }) => 1.0,
        _ => 0.0,
    }
}

/// All levels are multiplied, those of other priors by another number.
#[test]
fn ranks() {
    let found = |preset, factor: fn(u64) -> f64| {
        checks("sl-dais/fig2-ranks", preset, |task, replicate, _| {
            let factor = if task.target().label().contains("prior") { 1.0 } else { factor(replicate) };
            let level = if task.fit().is_none() { 4.0 } else { factor * level(task) };
            vec![("elbo", level), ("lpd", 0.01 * level), ("accuracy", 0.1 * level)]
        })
    };
    assert_eq!(found(Default, |_| 1.0), [Agree; 5]);
    assert_eq!(found(Default, |_| -1.0), [Disagree; 5]);
    assert_eq!(found(Quick, |_| 1.0), [TooLittle; 5]);
    let mixed = found(Default, |replicate| if replicate.is_multiple_of(2) { 1.0 } else { -1.0 });
    assert_eq!(mixed[..3], [TooLittle; 3]);
}

/// DAIS, which is expensive, has fewer replicates; the ranks are those of all splits nevertheless.
#[test]
fn all_splits_are_ranked() {
    let results = results("sl-dais/fig2-ranks", Default, |task, _, _| vec![("elbo", level(task))]);
    let dais = results.find(|series| level(series.task) == 3.0).unwrap();
    assert_eq!((dais.outcomes.len(), results.replicates()), (3, 5));
    let ranks = sl_dais::Ranking::of(&results).ranks("elbo");
    let expected = [
        ("mean field", 6.0),
        ("Gaussian", 7.0),
        ("B-NAF", 1.0),
        ("NS-DAIS 4", 4.5),
        ("SL-DAIS 4", 2.5),
        ("NS-DAIS 8", 4.5),
        ("SL-DAIS 8", 2.5),
    ];
    assert_eq!(ranks, expected.map(|(name, rank)| (name.to_owned(), vec![rank; 5])));
    // Equal values share their rank.
    let values = [3.0, 1.0, 3.0, 7.0];
    assert_eq!([0, 1, 2, 3].map(|place| sl_dais::rank(&values, place)), [2.5, 4.0, 2.5, 1.0]);
    assert_eq!(sl_dais::rank(&[2.0; 7], 3), 4.0);
}

/// Annealed paths gain `of(place)` in bound and accuracy, at a number of inducing points or the place of a set.
fn sparse(task: &Task, replicate: u64, of: fn(usize, u64) -> f64) -> Vec<(&'static str, f64)> {
    let Target::SparseProcess(config) = task.target() else { panic!("the files have nothing else") };
    let is_annealed = task.variant().contains("RAND");
    let gain = if is_annealed { of(config.inducing + config.data.len(), replicate) } else { 0.0 };
    vec![("elbo", 3.0 * replicate as f64 + gain), ("accuracy", 0.1 * replicate as f64 + gain)]
}

#[test]
fn sparse_processes() {
    // Growth with the number of inducing points is judged for learned and for fixed hyperparameters.
    for (id, claims) in [("sl-dais/tab3-gp-regression", 2), ("sl-dais/tab4-gp-classification", 1)] {
        let found = |preset, of| checks(id, preset, |task, replicate, _| sparse(task, replicate, of));
        let grows = |place, replicate| place as f64 + 0.001 * replicate as f64;
        let falls = |place, replicate| -1.0 - place as f64 + 0.001 * replicate as f64;
        let noisy =
            |place, replicate: u64| if replicate.is_multiple_of(2) { place as f64 } else { -(place as f64) };
        assert_eq!(found(Default, grows), vec![Agree; claims], "{id}");
        assert_eq!(found(Default, falls), vec![Disagree; claims], "{id}");
        assert_eq!(found(Quick, grows), vec![TooLittle; claims], "{id}");
        assert_eq!(found(Default, noisy), vec![TooLittle; claims], "{id}");
    }
}

/// Sixteen steps close this share of a gap of 10 nats.
#[test]
fn local_latents() {
    let found = |preset, share: f64| {
        checks("sl-dais/tab5-local-latents", preset, |task, replicate, _| {
            let gain = match task.fit().map(|fit| &fit.family) {
                Some(FamilyConfig::SemiAnnealed(semi)) => share * 10.0 * semi.steps as f64 / 16.0,
                _ => 10.0,
            };
            vec![("elbo", 3.0 * replicate as f64 + gain)]
        })
    };
    assert_eq!(found(Default, 0.55), [Agree]);
    assert_eq!(found(Default, 0.7), [Disagree]);
    assert_eq!(found(Quick, 0.55), [TooLittle]);
}

/// Divergence, acceptance and largest weight of a flow or another family on a target, at a fraction of all steps.
#[test]
fn families() {
    type Course = fn(bool, &str, f64) -> [f64; 3];
    let verdicts = |preset, course: Course| {
        checks("ours/flow-families", preset, |task, _, step| {
            let Task::Fit(fit) = task else { panic!("the file has nothing else") };
            let is_flow = ours::FLOWS.contains(&fit.family.kind());
            let [kl, acceptance, bound] = course(is_flow, fit.target.label(), step as f64 / fit.steps as f64);
            vec![("kl", kl), ("acceptance", acceptance), ("log_weight_bound", bound)]
        })
    };
    let as_claimed: Course = |is_flow, _, part| if is_flow { [0.005, part, -part] } else { [4.5, 0.1, 1.0] };
    // A flow with a smaller divergence although its chains accept less is worse than both.
    let otherwise: Course = |is_flow, target, part| match (is_flow, target) {
        (true, "banana") => [0.95, 0.1 - part, part],
        (true, _) => [3.5, 0.1 - part, part],
        (false, "banana") => [1.0, 0.9, 1.0],
        (false, _) => [3.0, 0.9, 1.0],
    };
    assert_eq!(verdicts(Default, as_claimed), [Agree; 9]);
    assert_eq!(verdicts(Default, otherwise), [Disagree; 9]);
    assert_eq!(verdicts(Quick, as_claimed), [TooLittle; 9]);
}

#[test]
fn lost_modes() {
    let found = |share, k_hat| {
        checks("ours/flow-directions", Default, |_, _, _| vec![("share", share), ("k_hat", k_hat)])
    };
    assert_eq!(found(0.0, 0.3), [Agree]);
    assert_eq!(found(0.0, 0.9), [Disagree]);
    assert_eq!(found(0.3, 0.3), [TooLittle]);
}

/// Even ranks are uniform; those of a prior that is too wide gather at the ends. Few noes leave them as they are.
#[test]
fn calibrations() {
    let found = |preset, power: fn(f64) -> f64| {
        let experiment = entry("ours/calibration").experiment().unwrap();
        verdicts(&Results::with_vectors(experiment, preset, |task, replicate, step| {
            let (Task::Judgement(judgement), Some(Case::Simulated { model, prior })) =
                (task, task.target().case())
            else {
                panic!("{}", task.title())
            };
            let quantities = calibration::names(*model).unwrap().len();
            let place = ((20 * (step - 1) + replicate) as f64 + 0.5) / (20 * judgement.runs) as f64;
            let rank =
                0.5 + 0.5 * (2.0 * place - 1.0).signum() * (2.0 * place - 1.0).abs().powf(power(*prior));
            let yes = if step == 1 && replicate == 0 { 0.0 } else { 1.0 };
            (vec![("yes", yes)], vec![(Vector::Ranks, vec![rank; quantities])])
        }))
    };
    assert_eq!(found(Paper, |prior| prior.powi(-2)), [Agree; 2]);
    assert_eq!(found(Paper, |prior| if prior == 1.0 { 0.4 } else { 1.0 }), [Disagree; 2]);
    assert_eq!(found(Quick, |_| 1.0), [TooLittle; 2]);
}

#[test]
fn climbs() {
    let found = |error, share| {
        checks("ours/fit-ladder", Default, |_, _, _| {
            vec![("answer_error", error), ("k_hat", 0.2), ("sample_share", share)]
        })
    };
    assert_eq!(found(0.04, 0.6), [Agree; 3]);
    assert_eq!(found(0.2, 0.6), [Disagree; 3]);
    assert_eq!(found(0.04, 0.1), [Disagree, Agree, Disagree]);
    assert_eq!(found(f64::NAN, 0.6), [TooLittle; 3]);
}

/// A wrong answer on every planted failure, a right one on every good target; `yes` of both, and their k-hat.
#[test]
fn verdicts_on_fits() {
    let found = |planted: f64, good: f64, k_hat: f64| {
        checks("ours/fit-verdict", Default, |task, _, _| {
            let is_planted = matches!(task.target(), Target::Case { case } if case.is_planted());
            let (error, yes, k_hat) = if is_planted { (9.0, planted, k_hat) } else { (0.0, good, 0.1) };
            let answer = [("answer_error", error), ("answer_stretch", 1.0), ("yes", yes)];
            [&answer[..], &[("k_hat", k_hat), ("start_share", 0.5)]].concat()
        })
    };
    assert_eq!(found(0.0, 1.0, 0.1), [Agree, Agree, Agree]);
    assert_eq!(found(1.0, 0.0, 0.9), [Disagree, Disagree, Disagree]);
    assert_eq!(found(0.0, 1.0, 0.9)[2], TooLittle);
}

/// The first replicate of each failure is wrong, passed, and missed by the starts; the others are right and refused, as are twins.
#[test]
fn answers_on_drawn_failures() {
    let found = results("ours/planted", Default, |task, replicate, _| {
        let is_missed = replicate == 0 && task.target().case().is_some_and(Case::is_planted);
        let of = |is: bool| if is { 1.0 } else { 0.0 };
        vec![
            ("answer_error", of(is_missed)),
            ("answer_stretch", 1.0),
            ("yes", of(is_missed)),
            ("start_share", of(!is_missed)),
        ]
    });
    let rows = &verdict::answers(&found)[0].rows;
    let of = |name: &str, class: &str| {
        let row = rows.iter().find(|row| row[0] == name && row[1] == class).unwrap();
        row[3..7].join(" ")
    };
    assert_eq!(of("box mode", "planted"), "0 0 3 0");
    assert_eq!(of("box mode", "planted, hidden"), "0 1 0 0");
    assert_eq!(of("box mode, healthy", "good"), "0 0 4 0");
    assert_eq!(of("All: planted, hidden", ""), "0 19 0 0");
}

/// Running moments are near from the budget `ours` on, all others from `theirs` on.
#[test]
fn budgets_to_a_distance() {
    let found = |ours: u64, theirs: u64| {
        checks("ours/scoreboard-zoo", Default, |task, _, budget| {
            let from = if task.method().kind() == "moments-student-t" { ours } else { theirs };
            vec![("wasserstein", if budget >= from { 0.01 } else { 1.0 }), ("failed", 0.0)]
        })
    };
    assert_eq!(found(1_000, 3_000), [Agree; 2]);
    assert_eq!(found(10_000, 3_000), [Disagree; 2]);
    assert_eq!(found(u64::MAX, 10_000), [Disagree; 2]);
    assert_eq!(found(3_000, 3_000), [TooLittle; 2]);
}

/// Every answer is wrong; the verdict of `fit` is `yes`, R-hat and k-hat are given.
#[test]
fn warnings() {
    let found = |yes: f64, r_hat: f64, k_hat: f64| {
        checks("ours/scoreboard-planted", Default, |task, _, _| {
            let shown = match task.method().kind() {
                "fit" => ("yes", yes),
                "nuts" => ("r_hat", r_hat),
                _ => ("k_hat", k_hat),
            };
            vec![("answer_error", 9.0), ("spread_error", 0.0), ("failed", 0.0), shown]
        })
    };
    assert_eq!(found(0.0, 1.0, 0.1), [Agree; 2]);
    assert_eq!(found(1.0, 1.5, 0.9), [Disagree; 2]);
    assert_eq!(found(0.0, 1.5, 0.1), [TooLittle, Agree]);
    // A run that fails shows it, and a run without a verdict or a diagnostic shows nothing good.
    let verdicts = checks("ours/scoreboard-planted", Default, |task, _, _| {
        let failed = if task.method().kind() == "fit" { 1.0 } else { 0.0 };
        vec![("failed", failed), ("yes", 1.0), ("r_hat", 1.0), ("k_hat", 0.0)]
    });
    assert_eq!(verdicts, [Agree; 2]);
}

/// NUTS is the most accurate and exceeds its budget, a Student t is second, the first replicate of Pathfinder fails.
#[test]
fn the_winner_keeps_to_its_budget() {
    let results = results("ours/scoreboard-zoo", Default, |task, replicate, budget| {
        let (error, cost) = match task.method().kind() {
            "nuts" => (0.01, 2.0),
            "moments-student-t" => (0.02, 1.0),
            _ => (0.5, 1.0),
        };
        if task.method().kind() == "pathfinder" && replicate == 0 {
            return vec![("failed", 1.0), ("answer_error", f64::INFINITY)];
        }
        let cost = ("p_evaluations", cost * budget as f64);
        vec![("failed", 0.0), ("answer_error", error), cost, ("seconds", 1.0)]
    });
    let board = Scoreboard::of(&results);
    let last = *board.budgets.last().unwrap();
    for case in &board.cases {
        assert_eq!(board.winner(case, last, "answer_error"), Some("moments-student-t"));
        assert!(!board.cell(case, "nuts", last).unwrap().is_within());
        assert_eq!(board.cell(case, "pathfinder", last).unwrap().runs.failures(), 1);
    }
    let errors = &scoreboard::tables(&results)[0];
    assert!(errors.rows.iter().flatten().any(|cell| cell == "★ 0.020"), "{:?}", errors.rows);
    assert!(errors.rows.iter().flatten().any(|cell| cell == "(0.010)"), "{:?}", errors.rows);
    let all = methods(&[&board]);
    let row = all.rows.iter().find(|row| row[0] == "moments, Student t").unwrap();
    assert_eq!(row[board.budgets.len()], board.cases.len().to_string());
    let won = winners(&[("zoo", &board)]);
    let of = |name: &str| won.rows.iter().find(|row| row[0] == name).unwrap()[1].as_str();
    let wins = &*row[board.budgets.len()];
    assert_eq!((of("Targets"), of("moments, Student t"), of("NUTS")), (wins, wins, "0"));
}

#[test]
fn a_method_stops_where_its_error_grows() {
    let results = results("ours/scoreboard-ladder", Default, |task, _, budget| {
        let dim = match task.target() {
            Target::Case { case } => Case::dim(case).unwrap_or(0),
            _ => 0,
        };
        let error = if dim > 20 && task.method().kind() == "nuts" { 0.9 } else { 0.1 };
        vec![("failed", 0.0), ("answer_error", error), ("p_evaluations", budget as f64)]
    });
    let dimensions = &reach(&Scoreboard::of(&results));
    let row = |name: &str| dimensions.rows.iter().find(|row| row[0] == name).unwrap();
    assert_eq!(row("NUTS")[1], "20 (then 0.90)");
    assert_eq!(row("Pathfinder")[1], "100 or more");
}
