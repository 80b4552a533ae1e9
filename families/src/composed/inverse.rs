//! Density of a composition of invertible layers at any point, and its score.

use faer::reborrow::ReborrowMut;
use faer::{MatMut, MatRef};
use mcsa_core::{Columns, Family, Parametric, Stream, borrow, numeric};

use super::composition::Tape;
use super::{Composed, Invertible};
use crate::lanes::each_column;

impl<L: Invertible> Composed<L> {
    /// Inverse sweep from points, the last state of the tape, to noise, the first state.
    fn run_back(&self, params: &[f64], z: MatRef<'_, f64>, tape: &mut Tape<'_>) {
        let (mean, _) = self.location(params);
        let (dim, len, depth) = (mean.len(), mean.len() * z.ncols(), self.layers().len());
        for (j, y) in tape.states[depth * len..].chunks_exact_mut(dim).enumerate() {
            for (i, (y, z)) in y.iter_mut().zip(z.column(j)).enumerate() {
                *y = (z - mean[i]) / tape.scales[i];
            }
        }
        let mut params = &params[2 * dim..];
        for (k, layer) in self.layers().iter().enumerate().rev() {
            let (earlier, own) = params.split_at(params.len() - layer.num_params());
            let (before, after) = tape.states.split_at_mut((k + 1) * len);
            layer.inverse(own, &after[..len], &mut before[k * len..], tape.log_det, tape.work);
            params = earlier;
        }
    }
}

impl<L: Invertible> Family for Composed<L> {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]) {
        let dim = self.dim();
        assert_eq!((z.nrows(), z.ncols()), (dim, log_q.len()), "a density per column");
        let (mut tape, peak) = self.tape(params, log_q.len(), work);
        self.run_back(params, z, &mut tape);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let eps = &tape.states[j * dim..(j + 1) * dim];
            *log_q = (peak - 0.5 * numeric::dot(eps, eps)) + tape.log_det[j];
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
        each_column(lanes, z.rb_mut(), |lane, _, eps| lane.normals_into(eps));
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
        let (dim, n) = (self.dim(), weights.len());
        assert_eq!((z.nrows(), z.ncols()), (dim, n), "a weight per column");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let (mut tape, _) = self.tape(params, n, work);
        self.run_back(params, z, &mut tape);
        let Tape { states, scales, slopes, mut work, .. } = tape;
        let len = dim * n;
        let pulled = borrow(&mut work, len);
        for (j, &weight) in weights.iter().enumerate() {
            for i in j * dim..(j + 1) * dim {
                pulled[i] = -weight * states[i];
            }
        }
        let (d_location, mut d_layers) = gradient.split_at_mut(2 * dim);
        for (k, layer, params) in self.with_params(params) {
            let (d_own, later) = std::mem::take(&mut d_layers).split_at_mut(layer.num_params());
            let (x, y) = states[k * len..(k + 2) * len].split_at(len);
            layer.pull_inverse(params, y, x, weights, pulled, d_own, work);
            d_layers = later;
        }
        let (d_mean, d_rho) = d_location.split_at_mut(dim);
        let last = &states[self.layers().len() * len..];
        for (j, &weight) in weights.iter().enumerate() {
            for i in 0..dim {
                let (c, y) = (pulled[j * dim + i], last[j * dim + i]);
                d_mean[i] -= c / scales[i];
                d_rho[i] -= (c * y + weight) * slopes[i];
            }
        }
    }
}
