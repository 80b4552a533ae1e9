//! Negative controls of the laws: for each law a faulty mean-field Gaussian, which the law must detect.

use faer::{MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut, Error, Family, Parametric, Reparameterised, Stream, same_length};
use mcsa_families::{Link, MeanField};
use mcsa_testing::family::{self as laws, Case, Failure};

use crate::altered::{Alteration, Altered, meter};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    ScoreFactor,
    NoLogDeterminant,
    WrongLinkDerivative,
    Neighbours,
    StaleWork,
    ScoreReplaces,
    DrawsTooWide,
    DrawsMisjudged,
    LanesReversed,
    LaxCheck,
    MirrorOffCentre,
    LongCheck,
    LogProbsAllocate,
    TransportTooWide,
    PullbackFactor,
    SlopeFactor,
    SlopeReplaces,
    EntropyConstant,
    EntropyGradientFactor,
    TransportNeighbours,
    EntropyAllocates,
}
use Fault::*;

struct Twin(MeanField, Fault);

impl Twin {
    fn has(&self, fault: Fault) -> bool {
        self.1 == fault
    }

    fn log_determinant(&self, params: &[f64]) -> f64 {
        params[self.0.dim..].iter().map(|&rho| self.0.link.scale(rho).ln()).sum()
    }

    fn allocate(&self) {
        std::hint::black_box(vec![1.0]);
    }
}

impl Parametric for Twin {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn num_params(&self) -> usize {
        self.0.num_params()
    }
    fn work_len(&self, columns: usize) -> usize {
        self.0.work_len(columns)
    }
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        match self.1 {
            LaxCheck => same_length("params", self.num_params(), params.len()),
            LongCheck if params.len() > self.num_params() => self.0.check(&params[..self.num_params()]),
            _ => self.0.check(params),
        }
    }
}

impl Family for Twin {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]) {
        let stale = work[0];
        self.0.log_probs(params, z, log_q, work);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            match self.1 {
                NoLogDeterminant => *log_q += self.log_determinant(params),
                Neighbours if j > 0 => *log_q += 1e-15 * z[(0, j - 1)],
                StaleWork => *log_q += 0.0 * stale,
                _ => {}
            }
        }
        if self.has(LogProbsAllocate) {
            self.allocate();
        }
    }
    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        if self.has(LanesReversed) {
            lanes.reverse();
        }
        self.0.sample_into(params, lanes, z.as_mut(), log_q, work);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            if self.has(DrawsTooWide) {
                z.column_mut(j).iter_mut().zip(params).for_each(|(z, mean)| *z += 0.1 * (*z - mean));
                *log_q = self.0.log_prob(params, z.as_ref().column(j), work);
            }
            match self.1 {
                DrawsMisjudged => *log_q += 1e-8,
                NoLogDeterminant => *log_q += self.log_determinant(params),
                _ => {}
            }
        }
    }
    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        let before = gradient.to_vec();
        self.0.add_scores(params, z, weights, gradient, work);
        for (k, (gradient, before)) in gradient.iter_mut().zip(before).enumerate() {
            match self.1 {
                ScoreFactor => *gradient = before + (*gradient - before) * (1.0 + 1e-6),
                ScoreReplaces => *gradient -= before,
                WrongLinkDerivative if k >= self.0.dim => {
                    let ratio = Link::Exp.derivative(params[k]) / self.0.link.derivative(params[k]);
                    *gradient = before + (*gradient - before) * ratio;
                }
                _ => {}
            }
        }
    }
    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        self.0.reflect(params, z);
        z[0] += if self.has(MirrorOffCentre) { 1e-6 } else { 0.0 };
        true
    }
}

impl Reparameterised for Twin {
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        self.0.sample_noise_into(lanes, noise);
    }
    fn transport(&self, params: &[f64], noise: MatRef<'_, f64>, mut z: MatMut<'_, f64>, work: &mut [f64]) {
        self.0.transport(params, noise, z.as_mut(), work);
        for j in 0..z.ncols() {
            match self.1 {
                TransportTooWide => {
                    z.column_mut(j).iter_mut().zip(params).for_each(|(z, mean)| *z += 0.1 * (*z - mean));
                }
                TransportNeighbours if j > 0 => z[(0, j)] += 1e-14 * z[(0, j - 1)],
                _ => {}
            }
        }
    }
    fn add_pullbacks(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.0.add_pullbacks(params, noise, cotangents, gradient, work);
        if self.has(PullbackFactor) {
            gradient.iter_mut().for_each(|gradient| *gradient *= 1.0 + 1e-6);
        }
    }
    fn add_slopes(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        mut slopes: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        let weight = if self.has(SlopeFactor) { weight * (1.0 + 1e-6) } else { weight };
        if self.has(SlopeReplaces) {
            slopes.fill(0.0);
        }
        self.0.add_slopes(params, z, weight, slopes, work);
    }
    fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64 {
        if self.has(EntropyAllocates) {
            self.allocate();
        }
        self.0.entropy(params, work) + if self.has(EntropyConstant) { 1e-6 } else { 0.0 }
    }
    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], work: &mut [f64]) {
        let weight = if self.has(EntropyGradientFactor) { weight * (1.0 + 1e-6) } else { weight };
        self.0.add_entropy_gradient(params, weight, gradient, work);
    }
}

type Law = fn(&Case<Twin>) -> Result<(), Failure>;

fn allocates_nothing(case: &Case<Twin>) -> Result<(), Failure> {
    laws::allocates_nothing(case, &mut meter)
}

fn transport_allocates_nothing(case: &Case<Twin>) -> Result<(), Failure> {
    laws::transport_allocates_nothing(case, &mut meter)
}

const BROKEN: [(Fault, Law, &str); 23] = [
    (ScoreFactor, laws::score_is_gradient, "score_is_gradient"),
    (NoLogDeterminant, laws::density_integrates_to_one, "density_integrates_to_one"),
    (NoLogDeterminant, laws::score_is_gradient, "score_is_gradient"),
    (WrongLinkDerivative, laws::score_is_gradient, "score_is_gradient"),
    (Neighbours, laws::batch_equals_columns, "batch_equals_columns"),
    (StaleWork, laws::batch_equals_columns, "batch_equals_columns"),
    (ScoreReplaces, laws::batch_equals_columns, "batch_equals_columns"),
    (DrawsTooWide, laws::draws_follow_the_density, "draws_follow_the_density"),
    (DrawsMisjudged, laws::draws_know_their_density, "draws_know_their_density"),
    (LanesReversed, laws::lanes_draw_their_columns, "lanes_draw_their_columns"),
    (MirrorOffCentre, laws::reflection_keeps_the_density, "reflection_keeps_the_density"),
    (LaxCheck, laws::bad_params_are_refused, "bad_params_are_refused"),
    (LongCheck, laws::bad_params_are_refused, "bad_params_are_refused"),
    (LogProbsAllocate, allocates_nothing, "allocates_nothing"),
    (TransportTooWide, laws::transport_follows_the_density, "transport_follows_the_density"),
    (PullbackFactor, laws::pullback_is_gradient, "pullback_is_gradient"),
    (SlopeFactor, laws::slope_is_gradient, "slope_is_gradient"),
    (SlopeReplaces, laws::slope_is_gradient, "slope_is_gradient"),
    (EntropyConstant, laws::entropy_is_mean_surprise, "entropy_is_mean_surprise"),
    (EntropyGradientFactor, laws::entropy_gradient_is_gradient, "entropy_gradient_is_gradient"),
    (TransportNeighbours, laws::transport_batch_equals_columns, "transport_batch_equals_columns"),
    (EntropyAllocates, transport_allocates_nothing, "transport_allocates_nothing"),
    (StaleWork, laws::draws_know_their_density, "draws_know_their_density"),
];

fn case(fault: Fault, dim: usize) -> Case<Twin> {
    let params = (0..2 * dim).map(|k| 0.3 + (k as f64).sin()).collect();
    Case::new(Twin(MeanField::new(dim), fault), params)
}

#[test]
fn every_fault_is_found_by_its_law() {
    for (fault, law, name) in BROKEN {
        for dim in [1, 2] {
            let failure =
                law(&case(fault, dim)).expect_err(&format!("{fault:?} passes {name} in dimension {dim}"));
            assert_eq!(failure.law, name, "{failure}");
        }
    }
}

#[test]
fn without_a_fault_every_law_holds() {
    for (_, law, name) in BROKEN {
        // This faulty family copies the gradient for every fault, so that it always allocates.
        if name != "allocates_nothing" {
            assert_eq!(law(&case(None, 2)), Ok(()), "{name}");
        }
    }
    assert_eq!(laws::check(&case(None, 2)), Ok(()));
    assert_eq!(laws::check_reparameterised(&case(None, 2)), Ok(()));
}

/// Negative control: a score of another density has a nonzero mean. Quadrature detects it without differences.
#[test]
fn a_shifted_score_has_a_mean() {
    struct Shifted;
    impl Alteration<MeanField> for Shifted {
        fn scores(&self, _: MatRef<'_, f64>, weights: &[f64], gradient: &mut [f64]) {
            gradient[0] += 1e-8 * weights.iter().sum::<f64>();
        }
    }
    let case = Case::new(Altered { family: MeanField::new(1), by: Shifted }, vec![0.2, 0.4]);
    let failure = laws::scores_have_mean_zero(&case).expect_err("the mean is 1e-8");
    assert_eq!(failure.law, "scores_have_mean_zero");
    assert!((failure.found.parse::<f64>().unwrap() - 1e-8).abs() < 1e-12, "{failure}");
}
