//! Conformance of a family defined outside the crate: a Cauchy with location and scale, which needs the sinh-sinh map.

use faer::{MatMut, MatRef};
use mcsa_core::{ColumnsMut, Error, Family, Parametric, Stream};
use mcsa_families::Link;
use mcsa_testing::family::{self, Case, Map};

use crate::altered::meter;

struct Cauchy;

const LINK: Link = Link::Softplus;

impl Parametric for Cauchy {
    fn dim(&self) -> usize {
        1
    }
    fn num_params(&self) -> usize {
        2
    }
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        mcsa_core::same_length("params", 2, params.len())?;
        mcsa_core::all_finite("params", params)?;
        LINK.check(&params[1..])
    }
}

impl Family for Cauchy {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], _: &mut [f64]) {
        let scale = LINK.scale(params[1]);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let eps = (z[(0, j)] - params[0]) / scale;
            *log_q = -(std::f64::consts::PI * scale).ln() - 2.0 * eps.abs().hypot(1.0).ln();
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
        let per_lane = z.ncols() / lanes.len();
        for j in 0..z.ncols() {
            let eps = (std::f64::consts::PI * (lanes[j / per_lane].uniform() - 0.5)).tan();
            z.column_mut(j)[0] = params[0] + LINK.scale(params[1]) * eps;
        }
        self.log_probs(params, z.as_ref(), log_q, work);
    }
    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
    ) {
        let scale = LINK.scale(params[1]);
        for (j, weight) in weights.iter().enumerate() {
            let eps = (z[(0, j)] - params[0]) / scale;
            let share = 2.0 * eps / (1.0 + eps * eps);
            gradient[0] += weight * share / scale;
            gradient[1] += weight * (share * eps - 1.0) * LINK.log_derivative(params[1]);
        }
    }
}

fn cases() -> [Case<Cauchy>; 2] {
    [[0.0, 0.5], [10.0, -3.0]].map(|params| Case::new(Cauchy, params.to_vec()).with_map(Map::SinhSinh))
}

mcsa_testing::family_suite!(laws, cases(), meter);

#[test]
fn the_sinh_map_does_not_reach_the_tails() {
    for case in cases() {
        assert!(family::density_integrates_to_one(&case.with_map(Map::Sinh)).is_err());
    }
}
