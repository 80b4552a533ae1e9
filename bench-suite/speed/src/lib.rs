//! Benchmarks of the hot paths of all crates, `cargo xtask bench`: a package of its own, so that a test run does not build criterion.
//!
//! Here are the steps whose time and instructions are both followed.

use faer::Mat;
use mcsa_annealed::Minibatched;
use mcsa_annealed::dais::{Annealed, Shape};
use mcsa_annealed::surrogate::LogisticSurrogate;
use mcsa_core::{AllCores, Estimator, LogDensity, Optimizer, Seed};
use mcsa_estimators::{Ascent, FlowElbo, Moments, pmcsa, single};
use mcsa_families::{FullRank, Link, MeanField, MomentMatched};
use mcsa_kernels::Hmc;
use mcsa_models::{
    GaussianProcessClassification, HierarchicalLogistic, LogisticRegression, NeuralRegression,
    ProbitRegression, Radon, ScalePrior,
};
use mcsa_optim::{Adam, Sgd};

/// Reason why nothing here fails.
pub const GOOD: &str = "constants of this crate are valid";

/// Steps of a method on a target, as many as the argument says.
pub type Steps = Box<dyn FnMut(u64) + Send>;

/// Inputs drawn from a normal distribution, and labels that depend on the first two.
pub fn rows(rows: usize, columns: usize) -> (Mat<f64>, Vec<f64>) {
    let mut stream = Seed::new(1).stream(0, 0);
    let x = Mat::from_fn(rows, columns, |_, _| stream.normal());
    let labels = (0..rows)
        .map(|i| f64::from(u8::from(x[(i, 0)] - x[(i, columns.min(2) - 1)] + stream.normal() > 0.0)));
    let labels = labels.collect();
    (x, labels)
}

/// Standard normal numbers.
pub fn normals(length: usize) -> Vec<f64> {
    let mut normals = vec![0.0; length];
    Seed::new(3).stream(0, 0).normals_into(&mut normals);
    normals
}

/// A hierarchical logistic regression.
pub fn logistic(n: usize, d: usize) -> HierarchicalLogistic {
    let (inputs, labels) = rows(n, d);
    HierarchicalLogistic::new(inputs.as_ref(), &labels, ScalePrior::HalfNormal).expect(GOOD)
}

/// Counties and houses as many as those of Minnesota.
pub fn radon() -> Radon {
    let county = (0..919).map(|row| row % 85).collect();
    let floor = (0..919).map(|row| f64::from(u8::from(row % 6 == 0))).collect();
    Radon::new(85, county, floor, normals(919)).expect(GOOD)
}

/// Steps of an estimator, as made by the loop.
pub fn climb<'a, P, F, E, O>(
    target: &'a P,
    family: &'a F,
    estimator: E,
    optimizer: O,
    start: Vec<f64>,
) -> impl FnMut(u64) + use<'a, P, F, E, O>
where
    E: Estimator<P, F>,
    O: Optimizer,
{
    let ascent = Ascent { target, family, estimator, optimizer, seed: Seed::new(2) };
    let mut fit = ascent.start(start).expect(GOOD);
    move |steps| drop(ascent.run(&mut fit, steps).expect(GOOD))
}

/// The optimizer of most steps.
pub fn adam() -> Adam {
    Adam::new(0.01).expect(GOOD)
}

fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Steps of an estimator by Adam, from independent normals of scale one half.
pub fn steps<P, E>(target: P, estimator: E) -> Steps
where
    P: LogDensity + 'static,
    E: Estimator<P, MeanField> + Send + 'static,
    E::State: Send,
{
    let family = MeanField::new(target.dim());
    let start = family.at(&vec![0.0; target.dim()], &vec![0.5; target.dim()]).expect(GOOD);
    Box::new(climb(leaked(target), leaked(family), estimator, adam(), start))
}

/// Steps of running moments of ten chains on a hierarchical logistic regression.
pub fn moments<F: MomentMatched + 'static>(family: F, start: Vec<f64>) -> Steps {
    let (target, estimator) = (logistic(691, 8), Moments::new(pmcsa(10), 44.0));
    Box::new(climb(leaked(target), leaked(family), estimator, Sgd::new(1.0).expect(GOOD), start))
}

/// Steps of running moments with a dense Gaussian.
pub fn dense_moments() -> Steps {
    let half = Mat::from_fn(11, 11, |i, k| if i == k { 0.5 } else { 0.0 });
    let family = FullRank::new(11);
    let start = family.at(&[0.0; 11], half.as_ref()).expect(GOOD);
    moments(family, start)
}

/// Steps of SL-DAIS: 50,000 rows with 18 columns, 8 steps of a path, 256 surrogate points, minibatches of 256.
pub fn sl_dais() -> Steps {
    const DIM: usize = 18;
    let (x, labels) = rows(50_000, DIM);
    let target = LogisticRegression::new(x.as_ref(), &labels, 1.0).expect(GOOD);
    let base = MeanField::new(DIM).with_link(Link::Exp).at(&[0.0; DIM], &[0.01; DIM]).expect(GOOD);
    let mut lane = Seed::new(4).stream(0, 0);
    let surrogate = LogisticSurrogate::rand(x.as_ref(), &labels, 256, 1.0, &mut lane).expect(GOOD);
    let psi = surrogate.initial();
    let family = Annealed::new(surrogate, Shape::Diagonal, 8);
    let start = family.at(&base, 1e-3, &psi).expect(GOOD);
    let estimator = Minibatched::new(256, FlowElbo::new(1));
    Box::new(climb(leaked(target), leaked(family), estimator, adam(), start))
}

/// Densities of a target at ten fixed points: what no step of ten chains can do without.
fn densities<P: LogDensity + Send + 'static>(target: P) -> Steps {
    let mut stream = Seed::new(6).stream(0, 0);
    let z = Mat::from_fn(target.dim(), 10, |_, _| 0.1 * stream.normal());
    let (mut out, mut work) = ([0.0; 10], vec![0.0; target.work_len(10)]);
    Box::new(move |steps| (0..steps).for_each(|_| target.log_densities(z.as_ref(), &mut out, &mut work)))
}

/// Steps whose time and instructions are followed.
#[derive(Debug)]
pub struct Path {
    /// What the steps are of.
    pub name: &'static str,
    /// Number of steps that shows their instructions.
    pub steps: u64,
    /// Makes the steps.
    pub start: fn() -> Steps,
    /// Makes the evaluations of such a step, of pMCSA with ten chains.
    pub densities: Option<fn() -> Steps>,
}

/// The steps by name: pMCSA with ten chains on targets of the papers' shapes, and others.
pub fn paths() -> Vec<Path> {
    fn network(n: usize, d: usize) -> NeuralRegression {
        NeuralRegression::new(rows(n, d).0.as_ref(), &normals(n), 50).expect(GOOD)
    }
    fn process(n: usize) -> GaussianProcessClassification {
        let (x, labels) = rows(n, 5);
        GaussianProcessClassification::new(x.as_ref(), &labels).expect(GOOD)
    }
    fn probit() -> ProbitRegression {
        let (x, labels) = rows(500, 10);
        ProbitRegression::new(x.as_ref(), &labels, 1.0).expect(GOOD)
    }
    macro_rules! ten_chains {
        ($name:literal, $steps:literal, $target:expr) => {
            Path {
                name: $name,
                steps: $steps,
                start: || steps($target, pmcsa(10)),
                densities: Some(|| densities($target)),
            }
        };
    }
    let other = |name, steps, start| Path { name, steps, start, densities: None };
    vec![
        ten_chains!("pima", 200, logistic(691, 8)),
        ten_chains!("german", 100, logistic(900, 24)),
        ten_chains!("heart", 400, logistic(243, 13)),
        ten_chains!("probit", 200, probit()),
        ten_chains!("radon", 200, radon()),
        ten_chains!("network boston", 10, network(455, 13)),
        ten_chains!("network boston, all cores", 10, AllCores(network(455, 13))),
        ten_chains!("network concrete", 10, network(927, 8)),
        ten_chains!("network concrete, all cores", 10, AllCores(network(927, 8))),
        ten_chains!("process 315", 1, process(315)),
        ten_chains!("process 315, all cores", 1, AllCores(process(315))),
        other("hmc", 100, || steps(logistic(691, 8), single(Hmc::new(0.02, 16).expect(GOOD)))),
        other("moments", 200, dense_moments),
        other("sl-dais", 100, sl_dais),
    ]
}
