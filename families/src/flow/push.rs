//! Flow as a pushforward: draws with pathwise gradients, for the exclusive divergence.

use faer::{MatMut, MatRef};
use mcsa_core::{Pushforward, Stream};

use super::bijection::Direction;
use super::sweep::{BLOCK, Weights};
use super::{FixedBase, Flow};

impl<B: FixedBase, const INVERTIBLE: bool> Pushforward for Flow<B, INVERTIBLE> {
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        assert_eq!(noise.nrows(), self.dim, "noise has the dimension of z");
        self.base.noise(&[]).sample_into(lanes, noise);
    }

    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!((noise.nrows(), noise.ncols()), (self.dim, log_q.len()), "a density per column");
        z.copy_from(noise);
        self.push_in_place(params, z, log_q, work);
    }

    fn add_push_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!((noise.nrows(), noise.ncols()), (self.dim, weights.len()), "a weight per column");
        assert_eq!(
            (cotangents.nrows(), cotangents.ncols()),
            (self.dim, weights.len()),
            "a cotangent per column"
        );
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let mut room = self.room(params, noise.ncols(), true, work);
        for (b, weights) in weights.chunks(BLOCK).enumerate() {
            let first = b * BLOCK;
            room.pass(self, params, Direction::Forward, noise, first, true);
            room.begin_at_points(cotangents, first, weights.len());
            room.back(self, params, Direction::Forward, Weights::Each(weights), Some(&mut *gradient));
        }
    }
}
