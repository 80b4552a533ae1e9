//! Negative controls of the laws of pushforwards: `z = m + e^rho eps` with a fault, one for each law.

use faer::{MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut, Parametric, Pushforward, Stream};
use mcsa_testing::family::{self as laws, Case, Failure};

use crate::altered::meter;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    LogDeterminantSign,
    NoLogDeterminant,
    ForgottenTerm,
    PullbackFactor,
    GradientReplaces,
    Neighbours,
    StaleWork,
    NoiseTooWide,
    NoiseOfOneLane,
    Lopsided,
    Allocates,
}
use Fault::*;

#[derive(Debug, Clone)]
struct Twin(usize, Fault);

impl Parametric for Twin {
    fn dim(&self) -> usize {
        self.0
    }
    fn num_params(&self) -> usize {
        2 * self.0
    }
    fn work_len(&self, _: usize) -> usize {
        1
    }
}

impl Pushforward for Twin {
    fn sample_noise_into(&self, lanes: &mut [Stream], mut noise: MatMut<'_, f64>) {
        let per_lane = (noise.ncols() / lanes.len()).max(1);
        for j in 0..noise.ncols() {
            let lane = if self.1 == NoiseOfOneLane { 0 } else { j / per_lane };
            lanes[lane].normals_into(noise.column_mut(j));
            if self.1 == NoiseTooWide {
                noise.column_mut(j).iter_mut().for_each(|eps| *eps *= 1.1);
            }
        }
    }
    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        let (mean, rho) = params.split_at(self.0);
        for j in 0..noise.ncols() {
            let (eps, z) = (noise.column(j), z.column_mut(j));
            log_q[j] = -0.5 * self.0 as f64 * (2.0 * std::f64::consts::PI).ln();
            for i in 0..self.0 {
                z[i] = mean[i] + rho[i].exp() * eps[i];
                log_q[j] -= 0.5 * eps[i] * eps[i] + if self.1 == NoLogDeterminant { 0.0 } else { rho[i] };
                match self.1 {
                    LogDeterminantSign => log_q[j] += 2.0 * rho[i],
                    Lopsided => log_q[j] += 1e-4 * eps[i],
                    _ => {}
                }
            }
            match self.1 {
                Neighbours if j > 0 => log_q[j] += 1e-15 * noise[(0, j - 1)],
                StaleWork => log_q[j] += 0.0 * work[0],
                Allocates => drop(std::hint::black_box(vec![1.0])),
                _ => {}
            }
        }
    }
    fn add_push_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
    ) {
        if self.1 == GradientReplaces {
            gradient.fill(0.0);
        }
        for (j, weight) in weights.iter().enumerate() {
            let (eps, cotangent) = (noise.column(j), cotangents.column(j));
            for i in 0..self.0 {
                gradient[i] += cotangent[i] * if self.1 == PullbackFactor { 1.0 + 1e-6 } else { 1.0 };
                let direct = if self.1 == ForgottenTerm { 0.0 } else { *weight };
                gradient[self.0 + i] += cotangent[i] * params[self.0 + i].exp() * eps[i] - direct;
            }
        }
    }
}

type Law = fn(&Case<Twin>) -> Result<(), Failure>;

fn push_allocates_nothing(case: &Case<Twin>) -> Result<(), Failure> {
    laws::push_allocates_nothing(case, &mut meter)
}

const BROKEN: [(Fault, Law, &str); 11] = [
    (LogDeterminantSign, laws::push_follows_the_density, "push_follows_the_density"),
    (NoLogDeterminant, laws::push_follows_the_density, "push_follows_the_density"),
    (NoiseTooWide, laws::push_follows_the_density, "push_follows_the_density"),
    (Lopsided, laws::push_follows_the_density, "push_follows_the_density"),
    (ForgottenTerm, laws::push_gradient_is_gradient, "push_gradient_is_gradient"),
    (PullbackFactor, laws::push_gradient_is_gradient, "push_gradient_is_gradient"),
    (GradientReplaces, laws::push_batch_equals_columns, "push_batch_equals_columns"),
    (Neighbours, laws::push_batch_equals_columns, "push_batch_equals_columns"),
    (StaleWork, laws::push_batch_equals_columns, "push_batch_equals_columns"),
    (NoiseOfOneLane, laws::push_batch_equals_columns, "push_batch_equals_columns"),
    (Allocates, push_allocates_nothing, "push_allocates_nothing"),
];

fn case(fault: Fault, dim: usize) -> Case<Twin> {
    Case::new(Twin(dim, fault), (0..2 * dim).map(|k| 0.4 + (k as f64).sin()).collect())
}

#[test]
fn every_fault_is_found_by_its_law() {
    for (fault, law, name) in BROKEN {
        for dim in [1, 2, 5] {
            let found =
                law(&case(fault, dim)).expect_err(&format!("{fault:?} passes {name} in dimension {dim}"));
            assert_eq!(found.law, name, "{found}");
        }
    }
}

#[test]
fn without_a_fault_every_law_holds() {
    for dim in [1, 2, 5] {
        for (_, law, name) in BROKEN {
            assert_eq!(law(&case(None, dim)), Ok(()), "{name}");
        }
        assert_eq!(laws::check_pushforward(&case(None, dim)), Ok(()));
    }
}
