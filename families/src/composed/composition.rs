//! Composition of bijections as a normalizing flow: draws, their density, and pathwise gradients.

use faer::{MatMut, MatRef};
use mcsa_core::{
    Columns, ColumnsMut, Error, Parametric, Pushforward, Stream, all_finite, borrow, numeric, same_length,
    type_name,
};

use super::Bijection;
use crate::lanes::each_column;
use crate::normal::LN_SQRT_2PI;
use crate::{Link, standard};

/// Normalizing flow: a composition of bijections applied to Gaussian noise, with a location and scale at the end.
///
/// ```text
/// x_0 = eps ~ N(0, I),   x_k = f_k(x_{k-1}),   z = m + sigma x_K,   sigma = link(rho)
/// log q(z) = log N(eps; 0, I) - sum_i log sigma_i - sum_k log |det df_k/dx_{k-1}|
/// lambda = [m; rho; parameters of f_1; ..; parameters of f_K]
/// ```
/// [`start`](Self::start) sets every layer to the identity, exactly or nearly, so that a fit begins at the Gaussian that
/// [`MeanField`](crate::MeanField) has at the same `[m; rho]`.
///
/// With any [`Bijection`] it is a [`Pushforward`]. If all layers are [`Invertible`](super::Invertible) it is also a
/// [`Family`](mcsa_core::Family): its density can be evaluated at a chain's state, so that it can be the proposal of inclusive training.
/// A backward sweep needs the input of every layer: `d (K + 1)` numbers of lent memory per point, in addition to the layers' own.
///
/// ```
/// use mcsa_core::{Family, Parametric, Seed};
/// use mcsa_families::{MeanField, PlanarFlow};
/// let (q, gaussian) = (PlanarFlow::new(2, 4)?, MeanField::new(2));
/// let params = q.start(&[1.0, 2.0], &[0.5, 3.0], &mut Seed::new(1).stream(0, 0))?;
/// let mut work = vec![0.0; q.work_len(1)];
/// let log_q = q.log_prob(&params, &[0.7, 0.1], &mut work);
/// assert!((log_q - gaussian.log_prob(&params[..4], &[0.7, 0.1], &mut work)).abs() < 1e-12);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Composed<L> {
    dim: usize,
    link: Link,
    layers: Vec<L>,
}

/// Memory of a sweep, which a backward sweep reads: the input of every layer, point by point, and the last output.
pub(super) struct Tape<'a> {
    pub(super) states: &'a mut [f64],
    pub(super) scales: &'a mut [f64],
    /// `d ln sigma / d rho`.
    pub(super) slopes: &'a mut [f64],
    pub(super) log_det: &'a mut [f64],
    pub(super) work: &'a mut [f64],
}

impl<L: Bijection> Composed<L> {
    /// Flow of these layers, the first next to the noise, with the softplus link for the scale.
    ///
    /// # Errors
    /// If `dim` is zero, or the dimension of a layer is not `dim`.
    pub fn of(dim: usize, layers: Vec<L>) -> Result<Self, Error> {
        if dim == 0 {
            return Err(Error::parameter("dim", 0.0, "at least 1").within("Composed"));
        }
        for (k, layer) in layers.iter().enumerate() {
            same_length("a point of the layer", dim, layer.dim())
                .map_err(|error| error.within(format!("Composed: layer {k}")))?;
        }
        Ok(Self { dim, link: Link::Softplus, layers })
    }

    /// This flow with another link.
    #[must_use]
    pub fn with_link(self, link: Link) -> Self {
        Self { link, ..self }
    }

    /// The layers, the first next to the noise.
    pub fn layers(&self) -> &[L] {
        &self.layers
    }

    /// Initial parameters with this location and these scales, and every layer at the identity, exactly or nearly.
    ///
    /// # Errors
    /// If a length differs, the mean is not finite, or a scale is not positive and finite.
    pub fn start(&self, mean: &[f64], scales: &[f64], stream: &mut Stream) -> Result<Vec<f64>, Error> {
        let gaussian = crate::MeanField::new(self.dim).with_link(self.link);
        let mut params = gaussian.at(mean, scales)?;
        self.layers.iter().for_each(|layer| layer.start(stream, &mut params));
        Ok(params)
    }

    pub(super) fn size(&self) -> usize {
        2 * self.dim + self.layers.iter().map(Bijection::num_params).sum::<usize>()
    }

    pub(super) fn memory(&self, columns: usize) -> usize {
        let layers = self.layers.iter().map(|layer| layer.work_len(columns)).max().unwrap_or(0);
        2 * self.dim + self.dim * columns * (self.layers.len() + 2) + 2 * columns + layers
    }

    pub(super) fn admit(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.size(), params.len())?;
        all_finite("params", params)?;
        self.link.check(&params[self.dim..2 * self.dim])?;
        self.with_params(params).try_for_each(|(k, layer, params)| {
            layer.check(params).map_err(|error| error.within(format!("layer {k}")))
        })
    }

    pub(super) fn location<'p>(&self, params: &'p [f64]) -> (&'p [f64], &'p [f64]) {
        assert_eq!(params.len(), self.size(), "params of the flow");
        params[..2 * self.dim].split_at(self.dim)
    }

    /// Index, layer and parameters of each layer.
    pub(super) fn with_params<'s>(
        &'s self,
        params: &'s [f64],
    ) -> impl Iterator<Item = (usize, &'s L, &'s [f64])> {
        let mut rest = &params[2 * self.dim..];
        self.layers.iter().enumerate().map(move |(k, layer)| {
            let (own, later) = rest.split_at(layer.num_params());
            rest = later;
            (k, layer, own)
        })
    }

    /// Tape in lent memory, with the scales computed, and the log density at the location if all layers are the identity.
    pub(super) fn tape<'w>(
        &self,
        params: &[f64],
        columns: usize,
        mut work: &'w mut [f64],
    ) -> (Tape<'w>, f64) {
        let scales = borrow(&mut work, self.dim);
        let slopes = borrow(&mut work, self.dim);
        let rho = self.location(params).1;
        self.link.scales_into(rho, scales);
        let peak = -(standard::sum_of_logs(scales, slopes) + self.dim as f64 * LN_SQRT_2PI);
        self.link.log_derivatives_into(rho, scales, slopes);
        let states = borrow(&mut work, self.dim * columns * (self.layers.len() + 1));
        let log_det = borrow(&mut work, columns);
        log_det.fill(0.0);
        (Tape { states, scales, slopes, log_det, work }, peak)
    }

    /// Forward sweep from the noise, the first state of the tape, to the output, the last state.
    pub(super) fn run(&self, params: &[f64], tape: &mut Tape<'_>) {
        let len = self.dim * tape.log_det.len();
        for (k, layer, params) in self.with_params(params) {
            let (before, after) = tape.states.split_at_mut((k + 1) * len);
            layer.forward(params, &before[k * len..], &mut after[..len], tape.log_det, tape.work);
        }
    }

    /// Replaces the noise in `z` by its image, and writes the log density of each point.
    pub(super) fn push_in_place(
        &self,
        params: &[f64],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per point");
        let mean = self.location(params).0;
        let (mut tape, peak) = self.tape(params, log_q.len(), work);
        let len = self.dim * log_q.len();
        for (j, eps) in tape.states[..len].chunks_exact_mut(self.dim).enumerate() {
            eps.copy_from_slice(z.as_ref().column(j));
        }
        self.run(params, &mut tape);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let at = |k: usize| &tape.states[k * len + j * self.dim..][..self.dim];
            let (eps, y) = (at(0), at(self.layers.len()));
            *log_q = (peak - 0.5 * numeric::dot(eps, eps)) - tape.log_det[j];
            for (i, z) in z.column_mut(j).iter_mut().enumerate() {
                *z = mean[i] + tape.scales[i] * y[i];
            }
        }
    }
}

impl<L: Bijection> Parametric for Composed<L> {
    fn config(&self) -> String {
        let params = self.num_params();
        let (dim, link, layers, kind) = (self.dim, self.link, self.layers.len(), type_name::<L>());
        format!("Composed {{ dim: {dim}, link: {link:?}, layers: {layers} x {kind}, params: {params} }}")
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        self.size()
    }

    fn work_len(&self, columns: usize) -> usize {
        self.memory(columns)
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        self.admit(params)
    }
}

impl<L: Bijection> Pushforward for Composed<L> {
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        assert_eq!(noise.nrows(), self.dim, "noise has the dimension of z");
        each_column(lanes, noise, |lane, _, noise| lane.normals_into(noise));
    }

    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
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
        let (dim, n) = (self.dim, weights.len());
        assert_eq!((noise.nrows(), noise.ncols()), (dim, n), "a noise and a weight per point");
        assert_eq!((cotangents.nrows(), cotangents.ncols()), (dim, n), "a cotangent per point");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let (mut tape, _) = self.tape(params, n, work);
        let len = dim * n;
        for (j, eps) in tape.states[..len].chunks_exact_mut(dim).enumerate() {
            eps.copy_from_slice(noise.column(j));
        }
        self.run(params, &mut tape);
        let Tape { states, scales, slopes, log_det: turned, mut work } = tape;
        let pulled = borrow(&mut work, len);
        let (d_mean, rest) = gradient.split_at_mut(dim);
        let (d_rho, mut d_layers) = rest.split_at_mut(dim);
        for (j, &weight) in weights.iter().enumerate() {
            // The log-determinant enters log q with a minus sign.
            turned[j] = -weight;
            let y = &states[self.layers.len() * len + j * dim..][..dim];
            let pulled = &mut pulled[j * dim..(j + 1) * dim];
            for (i, &cotangent) in cotangents.column(j).iter().enumerate() {
                d_mean[i] += cotangent;
                d_rho[i] += (cotangent * y[i] * scales[i] - weight) * slopes[i];
                pulled[i] = cotangent * scales[i];
            }
        }
        let mut params = &params[2 * dim..];
        for (k, layer) in self.layers.iter().enumerate().rev() {
            let (earlier, own) = params.split_at(params.len() - layer.num_params());
            let (d_earlier, d_own) = std::mem::take(&mut d_layers).split_at_mut(earlier.len());
            let (x, y) = states[k * len..(k + 2) * len].split_at(len);
            layer.pull(own, x, y, turned, pulled, d_own, work);
            (params, d_layers) = (earlier, d_earlier);
        }
    }
}
