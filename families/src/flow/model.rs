//! Normalizing flow: layers on a base distribution, initial parameters, and flows saved as text (JSON) bit for bit.

use std::ops::Range;
use std::sync::Arc;

use mcsa_core::{Error, Parametric, Stream, all_finite, at_least_one, same_length};
use serde::{Deserialize, Serialize};

use super::layer::Bijection;
use super::{Affine, Autoregressive, BlockNeural, Coupling, CouplingMap, Layer, Mask, Spline};
use crate::law::Radial;
use crate::student::Student;
use crate::{Fixed, Gauss};

/// Normalizing flow: noise transformed by layers whose Jacobian determinants, and inverses if `INVERTIBLE`, are exact and cheap.
///
/// ```text
/// z = f_K(.. f_1(eps) ..),   eps ~ base,   log q(z) = log r(eps) - sum_k ln |det df_k|
/// ```
/// With an inverse it is a [`Family`](mcsa_core::Family), whose scores are needed at points that it did not draw; every flow is a
/// [`Pushforward`](mcsa_core::Pushforward). It is not
/// [`Reparameterised`](mcsa_core::Reparameterised): its entropy has no closed form. Scores are hand-written reverse sweeps.
///
/// | constructor | draws of `d` coordinates | density at a point that it did not draw |
/// |---|---|---|
/// | [`real_nvp`](Flow::real_nvp), [`neural_spline`](Flow::neural_spline) | one pass | one pass |
/// | [`masked_autoregressive`](Flow::masked_autoregressive) | `d` short steps, in all one pass | one pass |
/// | [`inverse_autoregressive`](Flow::inverse_autoregressive) | one pass | `d` short steps, in all one pass |
/// | [`block_neural`](Flow::block_neural), a [`Bnaf`] | one pass | none |
///
/// Lambda is `[parameters of layer 1; ..; parameters of layer K]`, see [`Layer`] and
/// [`layout`](Flow::layout). At the parameters of [`start_at`](Flow::start_at) the flow is exactly a Gaussian, or a t.
///
/// Its tails are those of the base up to bounded scales: log scales are bounded and splines end. On a Gaussian base a target with
/// heavier tails has an infinite w* (supremum of p/q); a t ([`Fixed`](crate::Fixed)) keeps it finite.
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
#[derive(Debug, Clone)]
pub struct Flow<const INVERTIBLE: bool = true> {
    pub(super) dim: usize,
    pub(super) base: Base,
    layers: Vec<Layer>,
    pub(super) parts: Vec<Placed>,
    num_params: usize,
}

/// Flow without an inverse, which may have the layer [`Layer::BlockNeural`] (B-NAF; De Cao, Titov & Aziz 2019).
///
/// It is a [`Pushforward`](mcsa_core::Pushforward) alone, for the exclusive divergence. It is no [`Family`](mcsa_core::Family), and
/// using it as the proposal of a kernel does not compile:
///
/// ```compile_fail,E0277
/// use mcsa_families::{Flow, Gauss};
/// fn inclusive(_: impl mcsa_core::Family) {}
/// inclusive(Flow::block_neural(2, Gauss, 1, &[8, 8])?);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub type Bnaf = Flow<false>;

impl<const INVERTIBLE: bool> PartialEq for Flow<INVERTIBLE> {
    fn eq(&self, other: &Self) -> bool {
        self.config() == other.config()
    }
}

/// Base distribution of a flow, isotropic; [`Gauss`] and [`Fixed`] degrees of freedom convert into it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Base {
    /// The standard Gaussian.
    Gauss,
    /// The standard multivariate Student t.
    Student {
        /// The degrees of freedom.
        dof: f64,
    },
}

impl From<Gauss> for Base {
    fn from(_: Gauss) -> Self {
        Self::Gauss
    }
}

impl From<Fixed> for Base {
    fn from(dof: Fixed) -> Self {
        Self::Student { dof: dof.value() }
    }
}

impl Base {
    pub(super) fn law(self) -> Radial {
        Radial(match self {
            Self::Gauss => None,
            Self::Student { dof } => Some(Student::new(dof)),
        })
    }
}

/// A layer, and the ranges of its parameters, prepared quantities and tape.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) bijection: Arc<dyn Bijection>,
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
    pub base: Base,
    /// The layers, from the base outwards.
    pub layers: Vec<Layer>,
}

impl Flow {
    /// Flow in `dim` dimensions; layers from the base outwards.
    ///
    /// # Errors
    /// If `dim` is 0, or a layer cannot be built: its mask moves nothing, a hidden layer has no units, a bound is out of range, or it
    /// has no inverse.
    pub fn new(dim: usize, base: impl Into<Base>, layers: Vec<Layer>) -> Result<Self, Error> {
        Self::of(dim, base.into(), layers)
    }

    /// RealNVP (Dinh et al. 2017): affine couplings with alternating masks, then location and scale. Networks have `hidden` layers
    /// with tanh units; log scales are bounded by 2.
    ///
    /// # Errors
    /// If `dim` is 0, or a hidden layer has no units.
    pub fn real_nvp(
        dim: usize,
        base: impl Into<Base>,
        couplings: usize,
        hidden: &[usize],
    ) -> Result<Self, Error> {
        Self::alternating(dim, base, couplings, hidden, CouplingMap::Affine(Affine::default()))
    }

    /// Neural spline flow (Durkan et al. 2019): as [`real_nvp`](Self::real_nvp), with rational-quadratic splines as coupling maps.
    ///
    /// # Errors
    /// If `dim` is 0, a hidden layer has no units, or a number of `spline` is out of range.
    pub fn neural_spline(
        dim: usize,
        base: impl Into<Base>,
        couplings: usize,
        hidden: &[usize],
        spline: Spline,
    ) -> Result<Self, Error> {
        Self::alternating(dim, base, couplings, hidden, CouplingMap::Spline(spline))
    }

    fn alternating(
        dim: usize,
        base: impl Into<Base>,
        couplings: usize,
        hidden: &[usize],
        map: CouplingMap,
    ) -> Result<Self, Error> {
        let coupling = |mask| Layer::Coupling(Coupling { mask, hidden: hidden.to_vec(), map });
        let layers = Mask::alternating(dim).take(couplings).map(coupling);
        Self::new(dim, base, layers.chain([Layer::ActNorm]).collect())
    }

    /// Masked autoregressive flow, MAF (Papamakarios, Pavlakou & Murray 2017): `layers` autoregressive layers, every second one with
    /// the coordinates from the last to the first, then location and scale. Log scales are bounded by 3.
    ///
    /// Score climbing needs densities and scores at the states of chains, one pass each, and draws. A draw takes `dim` sequential
    /// steps, each for all points of the batch, with the arithmetic of one pass in all.
    ///
    /// # Errors
    /// If `dim` is 0, or a hidden layer has no units.
    pub fn masked_autoregressive(
        dim: usize,
        base: impl Into<Base>,
        layers: usize,
        hidden: &[usize],
    ) -> Result<Self, Error> {
        Self::autoregressive(dim, base, layers, hidden, false)
    }

    /// Inverse autoregressive flow, IAF (Kingma et al. 2016): [`masked_autoregressive`](Self::masked_autoregressive) with the two
    /// directions exchanged.
    ///
    /// The evidence lower bound needs draws alone and is cheap. As a [`Family`](mcsa_core::Family) the density is exact too, but it first
    /// computes the noise of each point in `dim` sequential steps, with the arithmetic of one pass but a longer latency.
    ///
    /// # Errors
    /// If `dim` is 0, or a hidden layer has no units.
    pub fn inverse_autoregressive(
        dim: usize,
        base: impl Into<Base>,
        layers: usize,
        hidden: &[usize],
    ) -> Result<Self, Error> {
        Self::autoregressive(dim, base, layers, hidden, true)
    }

    fn autoregressive(
        dim: usize,
        base: impl Into<Base>,
        layers: usize,
        hidden: &[usize],
        inverse: bool,
    ) -> Result<Self, Error> {
        let config = Autoregressive { hidden: hidden.to_vec(), inverse, ..Autoregressive::default() };
        let layer = |k| Layer::Autoregressive(Autoregressive { reversed: k % 2 == 1, ..config.clone() });
        Self::new(dim, base, (0..layers).map(layer).chain([Layer::ActNorm]).collect())
    }
}

impl Bnaf {
    /// Block neural autoregressive flow (De Cao, Titov & Aziz 2019): `networks` networks, each with `hidden` units per coordinate in
    /// its hidden layers, then location and scale. All but the last network have a gate; every second one orders the coordinates
    /// from the last to the first.
    ///
    /// # Errors
    /// If `dim` is 0, or a hidden layer has no units.
    pub fn block_neural(
        dim: usize,
        base: impl Into<Base>,
        networks: usize,
        hidden: &[usize],
    ) -> Result<Self, Error> {
        let layer = |k| {
            let (gated, reversed) = (k + 1 < networks, k % 2 == 1);
            Layer::BlockNeural(BlockNeural { hidden: hidden.to_vec(), gated, reversed })
        };
        Self::of(dim, base.into(), (0..networks).map(layer).chain([Layer::ActNorm]).collect())
    }
}

impl<const INVERTIBLE: bool> Flow<INVERTIBLE> {
    fn of(dim: usize, base: Base, layers: Vec<Layer>) -> Result<Self, Error> {
        at_least_one("dimension of a flow", dim)?;
        base.law().check()?;
        let mut parts = Vec::<Placed>::with_capacity(layers.len());
        for (k, layer) in layers.iter().enumerate() {
            let within = |error: Error| error.within(format!("layer {k} of a flow"));
            if INVERTIBLE && !layer.has_inverse() {
                let reason = "it has no inverse: only a Bnaf, a flow that is no Family, can have it";
                return Err(within(Error::invalid(reason)));
            }
            let bijection = layer.bijection(dim).map_err(within)?;
            let after = |end: Option<usize>, len: usize| end.unwrap_or(0)..end.unwrap_or(0) + len;
            let last = parts.last();
            let params = after(last.map(|last| last.params.end), bijection.num_params());
            let prepared = after(last.map(|last| last.prepared.end), bijection.prepared_len());
            let tape = after(last.map(|last| last.tape.end), bijection.tape_len());
            parts.push(Placed { bijection, params, prepared, tape });
        }
        let num_params = parts.last().map_or(0, |last| last.params.end);
        Ok(Self { dim, base, layers, parts, num_params })
    }

    /// Flow with this config.
    ///
    /// # Errors
    /// If `dim` is 0, the degrees of freedom are out of range, or a layer cannot be built, or has no inverse although the flow is
    /// `INVERTIBLE`.
    pub fn from_config(config: FlowConfig) -> Result<Self, Error> {
        Self::of(config.dim, config.base, config.layers)
    }

    /// The config from which [`from_config`](Self::from_config) builds this flow.
    pub fn config(&self) -> FlowConfig {
        FlowConfig { dim: self.dim, base: self.base, layers: self.layers.clone() }
    }

    /// The layers and the range of the parameters of each, from the base outwards.
    pub fn layout(&self) -> Vec<(&Layer, Range<usize>)> {
        self.layers.iter().zip(self.parts.iter().map(|placed| placed.params.clone())).collect()
    }
}

impl<const INVERTIBLE: bool> Parametric for Flow<INVERTIBLE> {
    fn config(&self) -> String {
        format!("{:?}", Flow::config(self))
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        self.num_params
    }

    fn work_len(&self, columns: usize) -> usize {
        self.room_len(columns)
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        mcsa_core::same_length("params", self.num_params, params.len())?;
        mcsa_core::all_finite("params", params)?;
        for (k, placed) in self.parts.iter().enumerate() {
            let checked = placed.bijection.check(&params[placed.params.clone()]);
            checked.map_err(|error| error.within(format!("layer {k} of a flow")))?;
        }
        Ok(())
    }
}

impl<const INVERTIBLE: bool> Flow<INVERTIBLE> {
    /// Initial parameters at which the flow is its base: every layer is the identity, up to the order of coordinates (block neural
    /// layers: nearly). Hidden weights are drawn from `N(0, 1 / inputs)`, so that the first scores differ between units.
    ///
    /// # Errors
    /// If an initial layer is not valid, which does not happen for a flow that could be built.
    pub fn start(&self, stream: &mut Stream) -> Result<Vec<f64>, Error> {
        let mut params = Vec::with_capacity(self.num_params());
        for placed in &self.parts {
            placed.bijection.start(stream, &mut params)?;
        }
        Ok(params)
    }

    /// Initial parameters at which the flow is its base with this location and these scales (exactly, without block neural layers): on
    /// [`Gauss`] the Gaussian of a [`MeanField`](crate::MeanField).
    ///
    /// # Errors
    /// If the last layer is neither `ActNorm` nor `Linear`, a length differs, or a number is not finite or a scale not positive.
    pub fn start_at(&self, location: &[f64], scales: &[f64], stream: &mut Stream) -> Result<Vec<f64>, Error> {
        same_length("location", self.dim, location.len())?;
        same_length("scales", self.dim, scales.len())?;
        all_finite("location", location)?;
        let Some(last) = self.parts.last() else {
            return Err(Error::invalid("a flow of no layers cannot be placed: end with ActNorm or Linear"));
        };
        let mut params = self.start(stream)?;
        last.bijection.place(location, scales, &mut params[last.params.clone()])?;
        Ok(params)
    }
}

/// Value of `format` in every file.
const FORMAT: &str = "mcsa flow";

/// Version of the format that this code writes, and the only one that it reads.
const VERSION: u64 = 2;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    version: u64,
    flow: FlowConfig,
    #[serde(with = "mcsa_core::bits::vector")]
    params: Vec<f64>,
    /// Of flow and parameters as they are written here.
    checksum: String,
}

fn checksum(flow: &FlowConfig, params: &[f64]) -> Result<String, Error> {
    let text = serde_json::to_string(flow)
        .map_err(|error| Error::invalid(format!("a flow cannot be written: {error}")))?;
    let params = params.iter().flat_map(|param| param.to_bits().to_be_bytes());
    Ok(format!("{:016x}", mcsa_core::checksum(text.bytes().chain(params))))
}

impl<const INVERTIBLE: bool> Flow<INVERTIBLE> {
    /// The flow and these parameters as text (JSON): format, version, config, every bit of every parameter, checksum.
    ///
    /// # Errors
    /// If `check` fails for `params`.
    pub fn save(&self, params: &[f64]) -> Result<String, Error> {
        self.check(params).map_err(|error| error.within("saving a flow"))?;
        let flow = self.config();
        let checksum = checksum(&flow, params)?;
        let file = File { format: FORMAT.into(), version: VERSION, flow, params: params.to_vec(), checksum };
        serde_json::to_string_pretty(&file)
            .map_err(|error| Error::invalid(format!("a flow cannot be written: {error}")))
    }

    /// Flow and parameters from the text that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// If the text is cut off, of another format or version, changed, of a flow that cannot be built; the message
    /// names the reason.
    pub fn load(text: &str) -> Result<(Self, Vec<f64>), Error> {
        Self::read(text).map_err(|error| error.within("reading a flow"))
    }

    fn read(text: &str) -> Result<(Self, Vec<f64>), Error> {
        let unread = |error: serde_json::Error| {
            let advice = if error.is_eof() { ": the text is cut off, save it again" } else { "" };
            Error::invalid(format!("{error}{advice}"))
        };
        let value: serde_json::Value = serde_json::from_str(text).map_err(unread)?;
        let wrong = match (value["format"].as_str(), value["version"].as_u64()) {
            (Some(FORMAT), Some(VERSION)) => None,
            (Some(FORMAT), Some(version)) => {
                Some(format!("the version is {version}, and this code reads version {VERSION}"))
            }
            (Some(format), Some(_)) => Some(format!("the format is {format:?}, expected {FORMAT:?}")),
            _ => Some(format!("the text has no format and version, expected those of {FORMAT:?}")),
        };
        if let Some(wrong) = wrong {
            return Err(Error::invalid(wrong));
        }
        let File { flow, params, checksum: written, .. } = File::deserialize(&value).map_err(unread)?;
        if checksum(&flow, &params)? != written {
            let changed = "the checksum does not match: the text was changed after it was saved";
            return Err(Error::invalid(changed));
        }
        let flow = Self::from_config(flow)?;
        flow.check(&params)?;
        Ok((flow, params))
    }
}
