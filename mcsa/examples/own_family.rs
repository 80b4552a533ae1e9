//! Variational family of one's own: independent Laplace distributions, tested by the conformance suite, then fitted.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use faer::{MatMut, MatRef};
use mcsa::core::{Columns, ColumnsMut, Family, Parametric, Stream};
use mcsa::prelude::*;
use mcsa::testing::family::{self, Case};

/// Independent Laplace distributions with locations `m` and scales `exp(rho)`; `lambda = [m; rho]`.
///
/// ```text
/// log q(z) = -sum_i (ln 2 + rho_i + |z_i - m_i| exp(-rho_i))
/// ```
#[derive(Debug, Clone, Copy)]
struct DoubleExponential {
    dim: usize,
}

impl Parametric for DoubleExponential {
    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        2 * self.dim
    }

    fn config(&self) -> String {
        format!("{self:?}")
    }
}

impl Family for DoubleExponential {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], _: &mut [f64]) {
        let (m, rho) = params.split_at(self.dim);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let z = z.column(j);
            let term = |i: usize| 2.0_f64.ln() + rho[i] + (z[i] - m[i]).abs() * (-rho[i]).exp();
            *log_q = -(0..self.dim).map(term).sum::<f64>();
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
        let (m, rho) = params.split_at(self.dim);
        let each = if lanes.is_empty() { 0 } else { z.ncols() / lanes.len() };
        for (l, lane) in lanes.iter_mut().enumerate() {
            for j in l * each..(l + 1) * each {
                for (i, z) in z.column_mut(j).iter_mut().enumerate() {
                    let (u, sign) = (lane.uniform(), if lane.uniform() < 0.5 { -1.0 } else { 1.0 });
                    *z = m[i] - sign * rho[i].exp() * (-u).ln_1p();
                }
            }
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
        let (m, rho) = params.split_at(self.dim);
        let (d_m, d_rho) = gradient.split_at_mut(self.dim);
        for (j, weight) in weights.iter().enumerate() {
            let z = z.column(j);
            for i in 0..self.dim {
                let distance = (z[i] - m[i]) * (-rho[i]).exp();
                d_m[i] += weight * distance.signum() * (-rho[i]).exp();
                d_rho[i] += weight * (distance.abs() - 1.0);
            }
        }
    }
}

fn main() -> Result<(), Error> {
    // The suite integrates the density, differentiates the score, and compares draws with both. The score jumps at the locations.
    let case = Case::new(DoubleExponential { dim: 2 }, vec![0.3, -1.0, 0.2, -0.5]);
    let case = case.with_knots(|_, params, _, i| vec![params[i]]);
    println!("{}", family::report(&case));

    let target = from_fn(2, |z| -(z[0] - 1.0).abs() - 2.0 * (z[1] + 1.0).abs().powf(1.5));
    let family = DoubleExponential { dim: 2 };
    let (estimator, optimizer) = (pmcsa(16), Adam::new(0.005)?);
    let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(1) };
    let mut fit = ascent.start(vec![0.0; 4])?;
    ascent.run(&mut fit, 10_000)?;
    let draws = ascent.draws(&fit, 4_000)?;
    println!("\nmean {:.2?}, k-hat {:.2}: {}", draws.moments().0, draws.shape, draws.tail_weight());
    Ok(())
}
