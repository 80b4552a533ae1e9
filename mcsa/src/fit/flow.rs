//! Flow of a fit, for posteriors that mixtures do not follow.

use faer::Mat;
use mcsa_core::{Error, Family, Optimizer, Parametric, Stream};
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

/// Points of a step of [`learnt`], and steps.
const LEARN: (usize, usize) = (100, 3_000);

/// Parameters at which points have a large mean log probability, by Adam with minibatches of them from `params`:
///
/// ```text
/// g = (1 / b) sum_{j = 1}^{b} d/dlambda log q_lambda(z_j),   z_j drawn from the points with replacement
/// ```
pub(crate) fn learnt(params: &[f64], points: &Mat<f64>, stream: &mut Stream) -> Result<Vec<f64>, Error> {
    let (dim, (size, steps)) = (points.nrows(), LEARN);
    let (family, rule, mut params) = (flow(dim)?, White::new(dim)?, params.to_vec());
    let mut state = rule.init(params.len());
    let (mut batch, weights) = (Mat::zeros(dim, size), vec![1.0 / size as f64; size]);
    let mut direction = vec![0.0; params.len()];
    let mut work = vec![0.0; family.work_len(size)];
    for _ in 0..steps {
        for j in 0..size {
            let chosen =
                stream.index(points.ncols()).ok_or_else(|| Error::invalid("no points to learn from"))?;
            batch.col_mut(j).copy_from(points.col(chosen));
        }
        direction.fill(0.0);
        family.add_scores(&params, batch.as_ref(), &weights, &mut direction, &mut work);
        rule.ascend(&mut state, &mut params, &direction);
    }
    Ok(params)
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
