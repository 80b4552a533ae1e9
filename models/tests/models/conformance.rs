//! Conformance suite on regressions, hierarchical models and time series.

use faer::MatRef;
use mcsa_core::{AllCores, Error, LogDensity, Seed, Stream};
use mcsa_models::{
    Centring, EightSchools, GaussianProcessClassification, HierarchicalLogistic, LinearRegression,
    LocalRobustRegression, LogisticRegression, NeuralRegression, PoissonRegression, ProbitRegression, Radon,
    RobustGaussianProcess, ScalePrior, StockVolatility, StudentNoise, StudentRegression,
};
use mcsa_particles::{FirstState, FxVolatility, Theta};
use mcsa_testing::model::Case;
use mcsa_testing::model_suite;

use crate::{counts, features, labels, meter, meter_of_threads, responses, single};

/// Data and features per model: less than a register, one panel, more than a panel, more than a minibatch and more than a block.
const SIZES: [(usize, usize); 5] = [(3, 9), (16, 1), (45, 5), (300, 8), (2100, 3)];

/// Cases of a regression of these sizes, from features and the number of data; with fewer probes where there are many data.
fn cases<P: LogDensity>(
    sizes: &[(usize, usize)],
    build: impl Fn(MatRef<'_, f64>, usize) -> Result<P, Error>,
) -> Vec<Case<P>> {
    let case = |&(n, d): &(usize, usize)| {
        let case = Case::new(build(features(n, d).as_ref(), n).expect("good data"));
        Case { probes: if n > 1000 { 1024 } else { 1 << 14 }, ..case }
    };
    sizes.iter().map(case).collect()
}

fn narrow<P: LogDensity>(cases: Vec<Case<P>>, spread: f64, probes: usize) -> Vec<Case<P>> {
    cases
        .into_iter()
        .map(|case| Case { probes: probes.min(case.probes), ..case.with_spread(spread) })
        .collect()
}

fn hierarchical() -> Vec<Case<HierarchicalLogistic>> {
    let of = |scales| cases(&SIZES, |x, n| HierarchicalLogistic::new(x, &labels(n), scales));
    narrow([of(ScalePrior::HalfNormal), of(ScalePrior::InverseGamma)].concat(), 0.5, 1 << 14)
}

/// Features of half the size, and counts.
fn poisson() -> Vec<Case<PoissonRegression<f32>>> {
    let of = |x: MatRef<'_, f64>, n| PoissonRegression::new(single(x).as_ref(), &counts(n), 0.5);
    narrow(cases(&SIZES, of), 0.3, 1 << 14)
}

fn student() -> Vec<Case<StudentRegression>> {
    let of = |noise| cases(&SIZES, |x, n| StudentRegression::new(x, &responses(n), noise, 1.5));
    let known = StudentNoise::Known { scale: 0.7, freedom: 3.0 };
    narrow([of(known), of(StudentNoise::Latent)].concat(), 0.5, 1 << 14)
}

fn local() -> Vec<Case<LocalRobustRegression>> {
    narrow(cases(&SIZES, |x, n| LocalRobustRegression::new(x, &responses(n), 4.0, 1.5)), 0.5, 1024)
}

/// 320 rows run every blocked path of the factorisation, and a padded stride.
fn classification() -> Vec<Case<GaussianProcessClassification>> {
    let sizes = [(1, 1), (20, 3), (33, 2), (150, 5), (320, 4)];
    narrow(cases(&sizes, |x, n| GaussianProcessClassification::new(x, &labels(n))), 0.3, 128)
}

fn robust() -> Vec<Case<RobustGaussianProcess>> {
    let sizes = [(1, 1), (20, 3), (33, 2)];
    narrow(cases(&sizes, |x, n| RobustGaussianProcess::new(x, &responses(n))), 0.3, 1024)
}

/// Few data, features and hidden units, and points close to a centre: differences must not cross a kink of the rectifier.
fn neural() -> Vec<Case<NeuralRegression>> {
    let case = |(n, d, hidden): (usize, usize, usize)| {
        let target =
            NeuralRegression::new(features(n, d).as_ref(), &responses(n), hidden).expect("good data");
        let mut stream = Seed::new(4).stream(0, 0);
        let centre = (0..target.dim()).map(|_| stream.normal()).collect();
        Case::new(target).with_centre(centre).with_spread(1e-2)
    };
    [(5, 2, 3), (3, 1, 8), (4, 2, 11)].map(case).into()
}

model_suite!(
    logistic_regression,
    cases(&SIZES, |x, n| LogisticRegression::new(x, &labels(n), 2.0)),
    meter,
    gradient curvature separable subsampled
);
model_suite!(
    probit_regression,
    cases(&SIZES, |x, n| ProbitRegression::new(x, &labels(n), 1.0)),
    meter,
    gradient curvature separable subsampled
);
model_suite!(poisson_regression, poisson(), meter, gradient curvature separable subsampled);
model_suite!(
    on_all_cores,
    cases(&SIZES, |x, n| LogisticRegression::new(x, &labels(n), 2.0).map(AllCores)),
    meter_of_threads,
    gradient
);
model_suite!(hierarchical_logistic, hierarchical(), meter, gradient curvature separable subsampled);
model_suite!(
    linear_regression,
    cases(&SIZES, |x, n| LinearRegression::new(x, &responses(n), 0.7, 1.5)),
    meter,
    gradient curvature separable subsampled
);
model_suite!(student_regression, student(), meter, gradient curvature separable subsampled);
model_suite!(local_robust_regression, local(), meter, gradient);
model_suite!(neural_regression, neural(), meter, gradient separable);
model_suite!(gaussian_process_classification, classification(), meter, gradient);
model_suite!(robust_gaussian_process, robust(), meter, gradient);

fn schools() -> Vec<Case<EightSchools>> {
    let empty = EightSchools::new(vec![], vec![], Centring::Centred).expect("known");
    vec![
        Case::new(EightSchools::centred()),
        Case::new(EightSchools::non_centred()),
        Case::new(EightSchools::non_centred()).with_spread(3.0),
        Case::new(empty),
    ]
}

model_suite!(eight_schools, schools(), meter, gradient separable);

/// Houses drawn from the model, with some counties without houses and some with one floor only.
fn synthetic(counties: usize, rows: usize, stream: &mut Stream) -> Radon {
    let effects: Vec<(f64, f64)> =
        (0..counties).map(|_| (1.4 + 0.3 * stream.normal(), -0.6 + 0.3 * stream.normal())).collect();
    let (mut county, mut x, mut y) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rows {
        let c = ((stream.uniform() * counties as f64) as usize).min(counties - 1);
        let floor = if c.is_multiple_of(3) || stream.uniform() < 0.8 { 0.0 } else { 1.0 };
        county.push(c);
        x.push(floor);
        y.push(effects[c].0 + effects[c].1 * floor + 0.7 * stream.normal());
    }
    Radon::new(counties, county, x, y).expect("known")
}

fn radons() -> Vec<Case<Radon>> {
    let mut stream = Seed::new(7).stream(0, 0);
    [(1, 4), (7, 30), (8, 20), (21, 30), (85, 919)]
        .map(|(counties, rows)| Case::new(synthetic(counties, rows, &mut stream)).with_spread(0.5))
        .into()
}

model_suite!(radon, radons(), meter, gradient separable);

/// The Minnesota data, which are stored in `bench-suite`.
fn minnesota() -> Radon {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench-suite/data/radon_mn.csv");
    let text = std::fs::read_to_string(file).expect("the workspace carries the data of Minnesota");
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column = |name: &str| header.iter().position(|&h| h == name).expect("columns county, floor, y");
    let (county, floor, y) = (column("county"), column("floor"), column("y"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let numbers =
        |k: usize| rows.iter().map(|row| row[k].parse::<f64>().expect("a number")).collect::<Vec<_>>();
    let counties = numbers(county).into_iter().map(|c| c as usize - 1).collect();
    Radon::new(85, counties, numbers(floor), numbers(y)).expect("good data")
}

/// -1105.8713. A grid of the logarithms of scales that ends at -8 gives -1105.8717, one that ends at -5 gives -1105.878:
/// the posterior has mass at slopes that do not vary between counties. The reference value of MCMC-SE, -1115.6, is the evidence of
/// another model.
#[test]
fn the_evidence_of_minnesota() {
    let (log_evidence, change) = minnesota().log_evidence(1e-5);
    assert!((log_evidence + 1_105.871_333).abs() < 1e-4, "{log_evidence}");
    assert!(change < 1e-5, "{change:e}");
}

fn series(length: usize, stream: &mut Stream) -> Vec<f64> {
    let theta = Theta { mu: -0.3, atanh_phi: 0.95_f64.atanh(), log_sigma: -1.5, log_beta: 0.0 };
    let model = FxVolatility::new(vec![], theta).expect("finite");
    let (mut z, mut returns) = (vec![0.0; length + 1], vec![0.0; length]);
    model.simulate_into(stream, &mut z, &mut returns);
    returns
}

fn stocks() -> Vec<Case<StockVolatility>> {
    let mut stream = Seed::new(3).stream(0, 0);
    let mut case = |length, spread| {
        let case = Case::new(StockVolatility::new(series(length, &mut stream)).expect("finite"));
        Case { probes: if length > 1000 { 1024 } else { 1 << 14 }, ..case.with_spread(spread) }
    };
    vec![case(0, 1.0), case(1, 1.0), case(2, 1.0), case(9, 1.0), case(50, 0.5), case(2610, 0.2)]
}

model_suite!(stock, stocks(), meter, gradient separable);

fn fx() -> Vec<Case<FxVolatility>> {
    let mut stream = Seed::new(4).stream(0, 0);
    let mut case = |length, phi: f64| {
        let theta = Theta { mu: 0.4, atanh_phi: phi.atanh(), log_sigma: -0.7, log_beta: -1.0 };
        Case::new(FxVolatility::new(series(length, &mut stream), theta).expect("finite"))
    };
    let mut cases = vec![case(0, 0.5), case(1, -0.9), case(8, 0.0), case(119, 0.97), case(4, 0.6)];
    let printed = cases.pop().map(|case| Case::new(case.target.with_first(FirstState::Zero)));
    cases.extend(printed);
    cases
}

model_suite!(currency, fx(), meter, gradient curvature separable);
