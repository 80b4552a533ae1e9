//! Normalizing flow with an exact inverse: layers on a base distribution.

use std::ops::Range;

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use super::layer::Part;
use super::{Activation, Affine, Base, BaseConfig, Coupling, CouplingMap, Gauss, Layer, Mask, Spline};

/// Normalizing flow: noise transformed by layers whose inverses and Jacobian determinants are exact and cheap.
///
/// ```text
/// z = f_K(.. f_1(eps) ..),   eps ~ base,   log q(z) = log r(eps) - sum_k ln |det df_k|
/// ```
/// Both directions cost the same, so that it is a [`Family`](mcsa_core::Family), whose scores are needed at points that it did not draw,
/// and on a [`FixedBase`](super::FixedBase) also a [`Pushforward`](mcsa_core::Pushforward). It is not
/// [`Reparameterised`](mcsa_core::Reparameterised): its entropy has no closed form. Scores are hand-written reverse sweeps.
///
/// Lambda is `[parameters of layer 1; ..; parameters of layer K; parameter of the base, if it is learned]`, see [`Layer`] and
/// [`layout`](Flow::layout). At the parameters of [`start_at`](Flow::start_at) the flow is exactly a Gaussian, or a t.
///
/// Its tails are those of the base up to bounded scales: log scales are bounded and splines end. On a Gaussian base a target with
/// heavier tails has an infinite w* (supremum of p/q); a [`Fixed`](crate::Fixed) or [`Learned`](crate::Learned) t keeps it finite.
///
/// Numerics: log density and score are finite at `|z| = 1e6` and beyond; where a square overflows the log density is `-inf`. The
/// network's products may overflow at parameters that no fit reaches; the log density is then `-inf` or NaN, which kernels reject.
///
/// ```
/// use mcsa_core::{Family, Parametric, Seed};
/// use mcsa_families::{Flow, Gauss};
/// let q = Flow::real_nvp(2, Gauss, 4, &[16])?;
/// let params = q.start_at(&[1.0, -1.0], &[0.5, 2.0], &mut Seed::new(1).stream(0, 0))?;
/// let log_q = q.log_prob(&params, &[1.0, -1.0], &mut vec![0.0; q.work_len(1)]);
/// assert!((log_q + (2.0 * std::f64::consts::PI).ln()).abs() < 1e-12);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Flow<B = Gauss> {
    pub(super) dim: usize,
    pub(super) base: B,
    layers: Vec<Layer>,
    pub(super) parts: Vec<Placed>,
    num_params: usize,
}

/// A layer, and the ranges of its parameters, prepared quantities and tape.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placed {
    pub(super) part: Part,
    pub(super) params: Range<usize>,
    pub(super) prepared: Range<usize>,
    /// Range per point.
    pub(super) tape: Range<usize>,
}

/// Configuration of a flow, as in a file: the arguments of [`Flow::new`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowConfig {
    /// The dimension of a point.
    pub dim: usize,
    /// The base distribution.
    pub base: BaseConfig,
    /// The layers, from the base outwards.
    pub layers: Vec<Layer>,
}

impl<B: Base> Flow<B> {
    /// Flow in `dim` dimensions; layers from the base outwards.
    ///
    /// # Errors
    /// If `dim` is 0, or a layer cannot be built: its mask moves nothing, a hidden layer has no units, or a bound is out of range.
    pub fn new(dim: usize, base: B, layers: Vec<Layer>) -> Result<Self, Error> {
        if dim == 0 {
            return Err(Error::parameter("dimension of a flow", 0.0, "at least 1"));
        }
        let mut parts = Vec::<Placed>::with_capacity(layers.len());
        for (k, layer) in layers.iter().enumerate() {
            let part = Part::new(layer, dim).map_err(|error| error.within(format!("layer {k} of a flow")))?;
            let after = |end: Option<usize>, len: usize| end.unwrap_or(0)..end.unwrap_or(0) + len;
            let (last, bijection) = (parts.last(), part.bijection());
            let params = after(last.map(|last| last.params.end), bijection.num_params());
            let prepared = after(last.map(|last| last.prepared.end), bijection.prepared_len());
            let tape = after(last.map(|last| last.tape.end), bijection.tape_len());
            parts.push(Placed { part, params, prepared, tape });
        }
        let num_params = parts.last().map_or(0, |last| last.params.end) + B::NUM_PARAMS;
        Ok(Self { dim, base, layers, parts, num_params })
    }

    /// RealNVP (Dinh et al. 2017): affine couplings with alternating masks, then location and scale. Networks have `hidden` layers
    /// with tanh units; log scales are bounded by 2.
    ///
    /// # Errors
    /// If `dim` is 0, or a hidden layer has no units.
    pub fn real_nvp(dim: usize, base: B, couplings: usize, hidden: &[usize]) -> Result<Self, Error> {
        Self::alternating(dim, base, couplings, hidden, CouplingMap::Affine(Affine::default()))
    }

    /// Neural spline flow (Durkan et al. 2019): as [`real_nvp`](Self::real_nvp), with rational-quadratic splines as coupling maps.
    ///
    /// # Errors
    /// If `dim` is 0, a hidden layer has no units, or a number of `spline` is out of range.
    pub fn neural_spline(
        dim: usize,
        base: B,
        couplings: usize,
        hidden: &[usize],
        spline: Spline,
    ) -> Result<Self, Error> {
        Self::alternating(dim, base, couplings, hidden, CouplingMap::Spline(spline))
    }

    fn alternating(
        dim: usize,
        base: B,
        couplings: usize,
        hidden: &[usize],
        map: CouplingMap,
    ) -> Result<Self, Error> {
        let coupling = |mask| {
            Layer::Coupling(Coupling { mask, hidden: hidden.to_vec(), activation: Activation::Tanh, map })
        };
        let layers = Mask::alternating(dim).take(couplings).map(coupling);
        Self::new(dim, base, layers.chain([Layer::ActNorm]).collect())
    }

    /// Flow with this config.
    ///
    /// # Errors
    /// If [`new`](Self::new) refuses `dim` or the layers, or the base of `config` is not of type `B`.
    pub fn from_config(config: FlowConfig) -> Result<Self, Error> {
        Self::new(config.dim, B::from_config(config.base)?, config.layers)
    }

    /// The config from which [`from_config`](Self::from_config) builds this flow.
    pub fn config(&self) -> FlowConfig {
        FlowConfig { dim: self.dim, base: self.base.config(), layers: self.layers.clone() }
    }

    /// The base.
    pub fn base(&self) -> B {
        self.base
    }

    /// The layers, from the base outwards.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Range of the parameters of each layer, from the base outwards; the parameter of a learned base follows.
    pub fn layout(&self) -> Vec<(&Layer, Range<usize>)> {
        self.layers.iter().zip(self.parts.iter().map(|placed| placed.params.clone())).collect()
    }

    /// The length of lambda.
    pub(super) fn len_params(&self) -> usize {
        self.num_params
    }

    /// The parameters of the base.
    pub(super) fn base_params<'a>(&self, params: &'a [f64]) -> &'a [f64] {
        assert_eq!(params.len(), self.num_params, "the params of every layer, and of the base");
        &params[self.num_params - B::NUM_PARAMS..]
    }

    /// Refuses parameters of the wrong number, not finite, or not allowed in a layer or the base.
    pub(super) fn admit(&self, params: &[f64]) -> Result<(), Error> {
        mcsa_core::same_length("params", self.num_params, params.len())?;
        mcsa_core::all_finite("params", params)?;
        for (k, placed) in self.parts.iter().enumerate() {
            let checked = placed.part.bijection().check(&params[placed.params.clone()]);
            checked.map_err(|error| error.within(format!("layer {k} of a flow")))?;
        }
        self.base.check(self.base_params(params))
    }
}
