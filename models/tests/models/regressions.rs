//! Conformance suite on the regression models.

use faer::Mat;
use mcsa_core::Seed;
use mcsa_models::{
    GaussianProcessClassification, HierarchicalLogistic, LinearRegression, LocalRobustRegression,
    LogisticRegression, NeuralRegression, ProbitRegression, RobustGaussianProcess, ScalePrior, StudentNoise,
    StudentRegression,
};
use mcsa_testing::model::Case;

fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

/// Data and features per model: less than a register, one panel, more than a panel, more than a minibatch and more than a block.
const SIZES: [(usize, usize); 5] = [(3, 9), (16, 1), (45, 5), (300, 8), (2100, 3)];

fn features(rows: usize, columns: usize) -> Mat<f64> {
    let mut stream = Seed::new(3).stream(0, 0);
    Mat::from_fn(rows, columns, |_, _| stream.normal())
}

fn labels(rows: usize) -> Vec<f64> {
    let mut stream = Seed::new(3).stream(1, 0);
    (0..rows).map(|_| f64::from(u8::from(stream.uniform() < 0.4))).collect()
}

fn responses(rows: usize) -> Vec<f64> {
    let mut stream = Seed::new(3).stream(2, 0);
    (0..rows).map(|_| stream.normal()).collect()
}

fn logistic() -> Vec<Case<LogisticRegression>> {
    SIZES
        .map(|(n, d)| LogisticRegression::new(features(n, d).as_ref(), &labels(n), 2.0).expect("good data"))
        .map(Case::new)
        .into()
}

mcsa_testing::model_suite!(logistic_regression, logistic(), meter, gradient curvature separable subsampled);

fn probit() -> Vec<Case<ProbitRegression>> {
    SIZES
        .map(|(n, d)| ProbitRegression::new(features(n, d).as_ref(), &labels(n), 1.0).expect("good data"))
        .map(Case::new)
        .into()
}

mcsa_testing::model_suite!(probit_regression, probit(), meter, gradient curvature separable subsampled);

fn hierarchical() -> Vec<Case<HierarchicalLogistic>> {
    let mut cases = Vec::new();
    for scales in [ScalePrior::HalfNormal, ScalePrior::InverseGamma] {
        for (n, d) in SIZES {
            let target = HierarchicalLogistic::new(features(n, d).as_ref(), &labels(n), scales);
            cases.push(Case::new(target.expect("good data")).with_spread(0.5));
        }
    }
    cases
}

mcsa_testing::model_suite!(hierarchical_logistic, hierarchical().into_iter().map(crate::printed), meter, gradient curvature separable subsampled constrained);

fn linear() -> Vec<Case<LinearRegression>> {
    SIZES
        .map(|(n, d)| {
            LinearRegression::new(features(n, d).as_ref(), &responses(n), 0.7, 1.5).expect("good data")
        })
        .map(Case::new)
        .into()
}

mcsa_testing::model_suite!(linear_regression, linear(), meter, gradient curvature separable subsampled);

fn student() -> Vec<Case<StudentRegression>> {
    let mut cases = Vec::new();
    for noise in [StudentNoise::Known { scale: 0.7, freedom: 3.0 }, StudentNoise::Latent] {
        for (n, d) in SIZES {
            let target = StudentRegression::new(features(n, d).as_ref(), &responses(n), noise, 1.5);
            cases.push(Case::new(target.expect("good data")).with_spread(0.5));
        }
    }
    cases
}

mcsa_testing::model_suite!(student_regression, student().into_iter().map(crate::printed), meter, gradient curvature separable subsampled constrained);

fn local() -> Vec<Case<LocalRobustRegression>> {
    SIZES
        .map(|(n, d)| {
            LocalRobustRegression::new(features(n, d).as_ref(), &responses(n), 4.0, 1.5).expect("good data")
        })
        .map(|target| Case::new(target).with_spread(0.5).with_probes(1024))
        .into()
}

mcsa_testing::model_suite!(local_robust_regression, local(), meter, gradient);

fn neural() -> Vec<Case<NeuralRegression>> {
    // Differences must not cross a kink of the rectifier: few data and units, points close to a centre away from all kinks.
    [(5, 2, 3), (3, 1, 8), (4, 2, 11)]
        .map(|(n, d, hidden)| {
            let target =
                NeuralRegression::new(features(n, d).as_ref(), &responses(n), hidden).expect("good data");
            let mut stream = Seed::new(4).stream(0, 0);
            let centre = (0..mcsa_core::LogDensity::dim(&target)).map(|_| stream.normal()).collect();
            Case::new(target).with_centre(centre).with_spread(1e-2)
        })
        .into()
}

mcsa_testing::model_suite!(neural_regression, neural().into_iter().map(crate::printed), meter, gradient separable constrained);

fn classification() -> Vec<Case<GaussianProcessClassification>> {
    // 320 rows run every blocked path of the factorisation, and a padded stride.
    [(1, 1), (20, 3), (33, 2), (150, 5), (320, 4)]
        .map(|(n, d)| {
            GaussianProcessClassification::new(features(n, d).as_ref(), &labels(n)).expect("good data")
        })
        .map(|target| Case::new(target).with_spread(0.3).with_probes(128))
        .into()
}

mcsa_testing::model_suite!(gaussian_process_classification, classification(), meter, gradient);

fn robust() -> Vec<Case<RobustGaussianProcess>> {
    [(1, 1), (20, 3), (33, 2)]
        .map(|(n, d)| RobustGaussianProcess::new(features(n, d).as_ref(), &responses(n)).expect("good data"))
        .map(|target| Case::new(target).with_spread(0.3).with_probes(1024))
        .into()
}

mcsa_testing::model_suite!(robust_gaussian_process, robust(), meter, gradient);
