//! Initial parameters of a flow.

use faer::MatRef;
use mcsa_core::{Columns, Error, Parametric, Stream, all_finite, same_length};

use super::bijection::At;
use super::layer::Part;
use super::{Base, Flow};
use crate::Learned;

impl<B: Base, const INVERTIBLE: bool> Flow<B, INVERTIBLE> {
    /// Initial parameters at which the flow is its base: every layer is the identity, up to the order of coordinates (block neural
    /// layers: nearly). Hidden weights are drawn from `N(0, 1 / inputs)`, so that the first scores differ between units; the
    /// parameter of a learned base is 0.
    ///
    /// # Errors
    /// If an initial layer is refused, which does not happen for a flow that could be built.
    pub fn start(&self, stream: &mut Stream) -> Result<Vec<f64>, Error> {
        let mut params = Vec::with_capacity(self.num_params());
        for placed in &self.parts {
            placed.part.bijection().start(stream, &mut params)?;
        }
        params.resize(self.num_params(), 0.0);
        Ok(params)
    }

    /// Initial parameters at which the flow is its base with this location and these scales (exactly, without block neural layers): on
    /// [`Gauss`](super::Gauss) the Gaussian of a [`MeanField`](crate::MeanField).
    ///
    /// # Errors
    /// If the last layer is neither `ActNorm` nor `Linear`, a length differs, or a number is not finite or a scale not positive.
    pub fn start_at(&self, location: &[f64], scales: &[f64], stream: &mut Stream) -> Result<Vec<f64>, Error> {
        same_length("location", self.dim, location.len())?;
        same_length("scales", self.dim, scales.len())?;
        all_finite("location", location)?;
        let mut params = self.start(stream)?;
        let last = self.last()?;
        last.part.place(location, scales, &mut params[last.params.clone()])?;
        Ok(params)
    }

    /// Initial parameters at which the flow is exactly its base with this location and this lower triangular `factor`: on
    /// [`Gauss`](super::Gauss) the Gaussian of covariance `L L^T` of a [`FullRank`](crate::FullRank), for example a Laplace
    /// approximation.
    ///
    /// # Errors
    /// If the last layer is not `Linear`, a shape differs, a number is not finite, or the diagonal is not positive.
    pub fn start_at_factor(
        &self,
        location: &[f64],
        factor: MatRef<'_, f64>,
        stream: &mut Stream,
    ) -> Result<Vec<f64>, Error> {
        let mut params = self.start(stream)?;
        let last = self.last()?;
        match &last.part {
            Part::Linear(linear) => linear.place(location, factor, &mut params[last.params.clone()])?,
            _ => return Err(Error::invalid("the last layer has no matrix: end with Linear")),
        }
        Ok(params)
    }

    fn last(&self) -> Result<&super::model::Placed, Error> {
        self.parts
            .last()
            .ok_or_else(|| Error::invalid("a flow of no layers cannot be placed: end with ActNorm or Linear"))
    }
}

impl<B: Base> Flow<B> {
    /// Data-dependent initialisation (Kingma & Dhariwal 2018, section 3.1): sets every `ActNorm` such that these points, on their
    /// way to the noise, leave it with mean 0 and variance 1. Other parameters are not changed.
    ///
    /// # Errors
    /// If the flow refuses `params`, the points have another dimension, are fewer than two or not finite, or a coordinate does not
    /// vary; `params` is then unchanged.
    pub fn normalise(&self, params: &mut [f64], points: MatRef<'_, f64>) -> Result<(), Error> {
        self.check(params)?;
        same_length("a point", self.dim, points.nrows())?;
        if points.ncols() < 2 {
            return Err(Error::parameter("number of points", points.ncols() as f64, "at least 2"));
        }
        let n = points.ncols();
        let mut x: Vec<f64> = (0..n).flat_map(|j| points.column(j)).copied().collect();
        all_finite("points", &x)?;
        let mut changed = params.to_vec();
        for (k, placed) in self.parts.iter().enumerate().rev() {
            let (bijection, own) = (placed.part.bijection(), &mut changed[placed.params.clone()]);
            if let Part::ActNorm(norm) = &placed.part {
                let (mean, deviation) = moments(self.dim, &x);
                let set = norm.place(&mean, &deviation, own);
                set.map_err(|error| error.within(format!("layer {k} of a flow, set by points")))?;
            }
            let mut prepared = vec![0.0; bijection.prepared_len()];
            bijection.prepare(own, &mut prepared, false);
            let at = At { params: own, prepared: &prepared };
            let (mut tape, mut work) =
                (vec![0.0; n * bijection.tape_len()], vec![0.0; bijection.work_len(n)]);
            bijection.inverse(at, &mut x, &mut vec![0.0; n], &mut tape, &mut work);
        }
        params.copy_from_slice(&changed);
        Ok(())
    }
}

impl<const INVERTIBLE: bool> Flow<Learned, INVERTIBLE> {
    /// Sets the degrees of freedom of the base to `dof`.
    ///
    /// # Errors
    /// If `params` has another length, or `dof` is not finite and above the floor.
    pub fn set_dof(&self, params: &mut [f64], dof: f64) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        params[self.num_params() - 1] = self.base.param(dof)?;
        Ok(())
    }
}

/// Mean and standard deviation of each coordinate.
fn moments(dim: usize, points: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let n = (points.len() / dim) as f64;
    let column = |i: usize| points.iter().skip(i).step_by(dim);
    let mean: Vec<f64> = (0..dim).map(|i| column(i).sum::<f64>() / n).collect();
    let square = |i: usize| column(i).map(|x| (x - mean[i]) * (x - mean[i])).sum::<f64>();
    let deviation = (0..dim).map(|i| (square(i) / n).sqrt()).collect();
    (mean, deviation)
}
