//! Flow of a fit, for posteriors that mixtures do not follow.

use mcsa_core::{Error, Optimizer, Stream};
use mcsa_families::{Activation, Affine, Coupling, CouplingMap, Flow, Gauss, Layer, Mask};
use mcsa_optim::deterministic::Gaussian;
use mcsa_optim::{Adam, AdamState, Schedule};

/// Number of couplings.
const COUPLINGS: usize = 6;
/// Units of the hidden layer of a coupling.
const UNITS: usize = 16;
/// Rate of Adam at the start, in white coordinates, and number of steps after which it falls like the root of their number.
const RATE: (f64, f64) = (0.01, 2_000.0);

/// RealNVP in white coordinates, then the affine map from these to the coordinates of the target.
pub(crate) fn flow(dim: usize) -> Result<Flow, Error> {
    let coupling = |mask| {
        let map = CouplingMap::Affine(Affine::default());
        Layer::Coupling(Coupling { mask, hidden: vec![UNITS], activation: Activation::Tanh, map })
    };
    let layers = Mask::alternating(dim).take(COUPLINGS).map(coupling);
    Flow::new(dim, Gauss, layers.chain([Layer::ActNorm, Layer::Linear]).collect())
}

/// Parameters at which the flow is this Gaussian.
pub(crate) fn flow_start(gaussian: &Gaussian, stream: &mut Stream) -> Result<Vec<f64>, Error> {
    flow(gaussian.mean.len())?.start_at_factor(&gaussian.mean, gaussian.factor()?.as_ref(), stream)
}

/// Adam on the parameters in white coordinates; the affine map stays, so that one rate serves every target.
#[derive(Debug)]
pub(crate) struct White {
    adam: Adam,
    held: usize,
}

impl White {
    /// The rule for flows in `dim` dimensions.
    pub(crate) fn new(dim: usize) -> Result<Self, Error> {
        let (rate, steady) = RATE;
        let schedule = Schedule::power(rate * steady.sqrt(), steady, 0.5)?;
        Ok(Self { adam: Adam::new(schedule)?, held: dim + dim * dim })
    }

    const fn moved(&self, num_params: usize) -> usize {
        num_params.saturating_sub(self.held)
    }
}

impl Optimizer for White {
    type State = AdamState;

    fn init(&self, num_params: usize) -> AdamState {
        self.adam.init(self.moved(num_params))
    }

    fn check(&self, num_params: usize, state: &AdamState) -> Result<(), Error> {
        self.adam.check(self.moved(num_params), state)
    }

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn ascend(&self, state: &mut AdamState, params: &mut [f64], direction: &[f64]) {
        let moved = self.moved(params.len());
        self.adam.ascend(state, &mut params[..moved], &direction[..moved]);
    }
}
