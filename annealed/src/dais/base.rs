//! Gaussian base of an annealed path.

use mcsa_core::{numeric, one};
use mcsa_models::support::HALF_LOG_TAU;
use mcsa_numeric::linear::packed::{self, AddOuters, MultiplyAdd, Solve};
use mcsa_numeric::linear::standard;

/// Form of the scale of a base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// d standard deviations: the mean-field base.
    Diagonal,
    /// Lower-triangular factor L of the covariance `L L^T`: the full-rank base.
    Lower,
}

/// View of a base: its mean, its scales on the diagonal with their reciprocals, and a packed triangle whose diagonal is not read.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) shape: Shape,
    pub(super) mean: &'a [f64],
    pub(super) scales: &'a [f64],
    pub(super) inverse: &'a [f64],
    pub(super) triangle: &'a [f64],
}

/// Derivatives for mean, diagonal and strictly lower part of the packed triangle.
#[derive(Debug)]
pub(super) struct Bars<'a> {
    pub(super) mean: &'a mut [f64],
    pub(super) scales: &'a mut [f64],
    pub(super) triangle: &'a mut [f64],
}

impl View<'_> {
    /// `z = mean + L eps`, with the arithmetic of [`MeanField`](mcsa_families::MeanField) and [`FullRank`](mcsa_families::FullRank).
    pub(super) fn draw(&self, eps: &[f64], z: &mut [f64]) {
        match self.shape {
            Shape::Diagonal => {
                for i in 0..z.len() {
                    z[i] = self.mean[i] + self.scales[i] * eps[i];
                }
            }
            Shape::Lower => {
                z.copy_from_slice(self.mean);
                MultiplyAdd { triangle: self.triangle, diagonal: self.scales, points: eps, out: z }.run();
            }
        }
    }

    /// `log q(mean + L eps)`, with the arithmetic of the families. `logs` is scratch memory of length d.
    pub(super) fn log_density(&self, eps: &[f64], logs: &mut [f64]) -> f64 {
        let peak = -(standard::sum_of_logs(self.scales, logs) + self.mean.len() as f64 * HALF_LOG_TAU);
        let mut squares = [0.0];
        match self.shape {
            Shape::Diagonal => numeric::sums_squares(one(eps), &mut squares),
            Shape::Lower => squares[0] = standard::dot(eps, eps),
        }
        peak - 0.5 * squares[0]
    }

    /// `whitened = L^-1 (z - mean)`.
    pub(super) fn whiten(&self, z: &[f64], whitened: &mut [f64]) {
        for ((w, z), mean) in whitened.iter_mut().zip(z).zip(self.mean) {
            *w = z - mean;
        }
        self.solve(whitened);
    }

    /// `whitened = L^-1 (z - mean)` and `slope = d log q(z) / dz = -L^-T whitened`.
    pub(super) fn slope_into(&self, z: &[f64], whitened: &mut [f64], slope: &mut [f64]) {
        self.whiten(z, whitened);
        slope.copy_from_slice(whitened);
        self.solve_transposed(slope);
        slope.iter_mut().for_each(|x| *x = -*x);
    }

    /// Second derivatives of `log q(z)`, times `share`: adds `-share * L^-T L^-1 u` to `product`, and the derivatives of
    /// `share * (u . d log q(z) / dz)` to `bars`. `whitened` and `slope` are those of [`slope_into`](Self::slope_into); `room` has
    /// length 4 d.
    pub(super) fn add_second(
        &self,
        (whitened, slope): (&[f64], &[f64]),
        (u, share): (&[f64], f64),
        product: &mut [f64],
        bars: &mut Bars<'_>,
        room: &mut [f64],
    ) {
        let d = u.len();
        let (rows, columns) = room.split_at_mut(2 * d);
        let (whole, minus_slope) = rows.split_at_mut(d);
        let (scaled, half) = columns.split_at_mut(d);
        half[..d].copy_from_slice(u);
        self.solve(&mut half[..d]);
        whole.copy_from_slice(&half[..d]);
        self.solve_transposed(whole);
        // d/dL_ij of -u . L^-T L^-1 (z - mean) is whole_i whitened_j - slope_i half_j.
        for i in 0..d {
            product[i] -= share * whole[i];
            bars.mean[i] += share * whole[i];
            bars.scales[i] += share * (whole[i] * whitened[i] - slope[i] * half[i]);
        }
        if self.shape == Shape::Lower {
            for i in 0..d {
                minus_slope[i] = -slope[i];
                scaled[i] = share * whitened[i];
                half[i] *= share;
            }
            AddOuters { dim: d, rows, columns: &columns[..2 * d], triangle: bars.triangle }.run();
        }
    }

    /// Derivatives of `bar . z_0 + share * log q(z_0)` at the draw `z_0 = mean + L eps`.
    pub(super) fn add_draw(&self, bar: &[f64], eps: &[f64], share: f64, bars: &mut Bars<'_>) {
        for i in 0..bar.len() {
            bars.mean[i] += bar[i];
            bars.scales[i] += bar[i] * eps[i] - share * self.inverse[i];
        }
        if self.shape == Shape::Lower {
            AddOuters { dim: bar.len(), rows: bar, columns: eps, triangle: bars.triangle }.run();
        }
    }

    /// `x = L^-1 x`.
    fn solve(&self, x: &mut [f64]) {
        match self.shape {
            Shape::Diagonal => x.iter_mut().zip(self.inverse).for_each(|(x, inverse)| *x *= inverse),
            Shape::Lower => Solve { triangle: self.triangle, inverse: self.inverse, points: x }.run(),
        }
    }

    /// `x = L^-T x`.
    fn solve_transposed(&self, x: &mut [f64]) {
        match self.shape {
            Shape::Diagonal => self.solve(x),
            Shape::Lower => {
                Solve { triangle: self.triangle, inverse: self.inverse, points: x }.run_transposed();
            }
        }
    }
}

/// Row-major d rows of d entries of a lower triangle, from its diagonal and its packed, strictly lower part.
pub(super) fn unpacked(d: usize, diagonal: &[f64], triangle: &[f64]) -> Vec<f64> {
    let mut full = vec![0.0; d * d];
    for k in 0..d {
        full[k * d + k] = diagonal[k];
        for i in k + 1..d {
            full[i * d + k] = triangle[packed::start(d, k) + i - k];
        }
    }
    full
}
