//! Counted targets.

use faer::{MatMut, MatRef};

use super::counter::{Counted, Evaluation};
use crate::{Curvature, Gradient, LogDensity, Named, Separable, Subsampled};

impl<P: LogDensity> LogDensity for Counted<P> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn work_len(&self, columns: usize) -> usize {
        self.inner.work_len(columns)
    }
    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.add(Evaluation::LogDensity, 1);
        self.inner.log_density(z, work)
    }
    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        self.add(Evaluation::LogDensity, z.ncols());
        self.inner.log_densities(z, out, work);
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        self.inner.constrain(z, out);
    }
}

impl<P: Gradient> Gradient for Counted<P> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        self.add(Evaluation::Gradient, 1);
        self.inner.gradient_into(z, gradient, work)
    }
    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        gradients: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        self.add(Evaluation::Gradient, z.ncols());
        self.inner.gradients_into(z, out, gradients, work);
    }
}

impl<P: Curvature> Curvature for Counted<P> {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.add(Evaluation::HessianVector, 1);
        self.inner.hessian_vector_into(z, v, out, work);
    }
}

impl<P: Separable> Separable for Counted<P> {
    fn num_data(&self) -> usize {
        self.inner.num_data()
    }
    fn log_prior(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.inner.log_prior(z, work)
    }
    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], work: &mut [f64]) -> f64 {
        self.add(Evaluation::Term, rows.len());
        self.inner.log_likelihood_at(rows, z, work)
    }
}

impl<P: Subsampled> Subsampled for Counted<P> {
    fn rows_work_len(&self, rows: usize) -> usize {
        self.inner.rows_work_len(rows)
    }
    fn prior_gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        self.inner.prior_gradient_into(z, gradient, work)
    }
    fn add_gradient_at(
        &self,
        rows: &[usize],
        scale: f64,
        z: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) -> f64 {
        self.add(Evaluation::Term, rows.len());
        self.inner.add_gradient_at(rows, scale, z, gradient, work)
    }
    fn prior_hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.inner.prior_hessian_vector_into(z, v, out, work);
    }
    fn add_hessian_vector_at(
        &self,
        rows: &[usize],
        scale: f64,
        z: &[f64],
        v: &[f64],
        out: &mut [f64],
        work: &mut [f64],
    ) {
        self.add(Evaluation::Term, rows.len());
        self.inner.add_hessian_vector_at(rows, scale, z, v, out, work);
    }
}
