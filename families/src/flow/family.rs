//! Flow as a family: densities, draws and scores.

use faer::reborrow::Reborrow;
use faer::{MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut, Family, Parametric, Stream};

use super::bijection::Direction;
use super::sweep::{BLOCK, Weights};
use super::{Base, Flow};
use mcsa_numeric::linear::standard;

/// The log density; `-inf` instead of NaN where `z` has no NaN but is so far away that a number overflowed.
fn decided(log_q: f64, z: &[f64]) -> f64 {
    if log_q.is_nan() && !z.iter().any(|z| z.is_nan()) { f64::NEG_INFINITY } else { log_q }
}

impl<B: Base> Family for Flow<B> {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let noise = self.base.noise(self.base_params(params));
        let peak = noise.log_peak(self.dim);
        let mut room = self.room(params, z.ncols(), false, work);
        for (b, log_q) in log_q.chunks_mut(BLOCK).enumerate() {
            let passed = room.pass(self, params, Direction::Inverse, z, b * BLOCK, false);
            let points = passed.x.chunks_exact(self.dim).zip(passed.log_det);
            for (j, (log_q, (eps, log_det))) in log_q.iter_mut().zip(points).enumerate() {
                *log_q = decided(peak - noise.fallen(eps) - *log_det, z.column(b * BLOCK + j));
            }
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
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let noise = self.base.noise(self.base_params(params));
        noise.sample_into(lanes, z.as_mut());
        self.push_in_place(params, z, log_q, work);
    }

    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, weights.len()), "a weight per column");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let base_params = self.base_params(params);
        let (noise, dof_slope) = (self.base.noise(base_params), self.base.dof_slope(base_params));
        let peak_slope = if B::NUM_PARAMS > 0 { noise.log_peak_slope(self.dim) } else { 0.0 };
        let (gradient, of_base) = gradient.split_at_mut(params.len() - B::NUM_PARAMS);
        let mut room = self.room(params, z.ncols(), true, work);
        for (b, weights) in weights.chunks(BLOCK).enumerate() {
            let passed = room.pass(self, params, Direction::Inverse, z, b * BLOCK, true);
            if let [of_base] = &mut *of_base {
                for (eps, weight) in passed.x.chunks_exact(self.dim).zip(weights) {
                    *of_base += weight * (noise.dof_score(peak_slope, eps) * dof_slope);
                }
            }
            room.begin_at_noise(noise, self.dim, Weights::Each(weights));
            room.back(self, params, Direction::Inverse, Weights::Each(weights), Some(&mut *gradient));
        }
    }
}

impl<B: Base> Flow<B> {
    /// Adds `weight * d/dz log q(z_j)` to column `j` of `slopes`; `work` as for the methods of [`Family`].
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn add_slopes(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        mut slopes: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        standard::assert_slopes(self.dim, z, slopes.as_ref());
        let noise = self.base.noise(self.base_params(params));
        let mut room = self.room(params, z.ncols(), true, work);
        for first in (0..z.ncols()).step_by(BLOCK) {
            let weights = Weights::All(
                weight,
                room.pass(self, params, Direction::Inverse, z, first, true).log_det.len(),
            );
            room.begin_at_noise(noise, self.dim, weights);
            let d = room.back(self, params, Direction::Inverse, weights, None);
            for (k, d) in d.chunks_exact(self.dim).enumerate() {
                slopes.column_mut(first + k).iter_mut().zip(d).for_each(|(slope, d)| *slope += d);
            }
        }
    }

    /// Noise of each point, `eps_j = t^-1(z_j)`, and `ln |det dz/deps|` there; `work` as for the methods of [`Family`].
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn invert(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        noise: MatMut<'_, f64>,
        log_det: &mut [f64],
        work: &mut [f64],
    ) {
        self.carry(params, Direction::Inverse, z, noise, log_det, work);
    }
}

impl<B: Base, const INVERTIBLE: bool> Flow<B, INVERTIBLE> {
    /// Point of each noise, `z_j = t(eps_j)`, and `ln |det dz/deps|` there; `work` as for the methods of [`Family`].
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn transport(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        z: MatMut<'_, f64>,
        log_det: &mut [f64],
        work: &mut [f64],
    ) {
        self.carry(params, Direction::Forward, noise, z, log_det, work);
    }

    fn carry(
        &self,
        params: &[f64],
        direction: Direction,
        from: MatRef<'_, f64>,
        mut to: MatMut<'_, f64>,
        log_det: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!((from.nrows(), from.ncols()), (self.dim, log_det.len()), "a determinant per column");
        assert_eq!((to.nrows(), to.ncols()), (self.dim, from.ncols()), "an image per column");
        assert_eq!(params.len(), self.num_params(), "the params of every layer, and of the base");
        let mut room = self.room(params, from.ncols(), false, work);
        for (b, log_det) in log_det.chunks_mut(BLOCK).enumerate() {
            let passed = room.pass(self, params, direction, from, b * BLOCK, false);
            log_det.copy_from_slice(passed.log_det);
            for (k, x) in passed.x.chunks_exact(self.dim).enumerate() {
                to.column_mut(b * BLOCK + k).copy_from_slice(x);
            }
        }
    }

    /// Replaces noise by its images, and writes the log density of each.
    pub(super) fn push_in_place(
        &self,
        params: &[f64],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        let noise = self.base.noise(self.base_params(params));
        let peak = noise.log_peak(self.dim);
        let mut room = self.room(params, z.ncols(), false, work);
        for (b, log_q) in log_q.chunks_mut(BLOCK).enumerate() {
            let first = b * BLOCK;
            for (k, log_q) in log_q.iter_mut().enumerate() {
                *log_q = peak - noise.fallen(z.rb().column(first + k));
            }
            let passed = room.pass(self, params, Direction::Forward, z.rb(), first, false);
            for (k, (x, log_det)) in passed.x.chunks_exact(self.dim).zip(passed.log_det).enumerate() {
                log_q[k] -= *log_det;
                z.column_mut(first + k).copy_from_slice(x);
            }
        }
    }
}
