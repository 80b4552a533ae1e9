//! Refinements of a mixture, a dense family and a flow, where the family before does not suffice.

use faer::Mat;
use mcsa_core::{AffineMap, Error, Family, Optimizer, Parametric, Seed, Stream};
use mcsa_families::{Affine, Coupling, CouplingMap, Flow, Gauss, Layer, Mask, MomentMatched};
use mcsa_optim::deterministic::Gaussian;
use mcsa_optim::{Adam, AdamState, Schedule};

use super::moments::{gaussian, of_points};
use super::refinement::Refinement;
use super::shape::{DENSE, FREEDOM};
use super::{FitState, Shape, Stage, Target};

impl FitState {
    /// Ends the climbs: the verdict follows.
    pub(super) fn end_climb(&mut self) -> Result<(), Error> {
        self.stage = Stage::Verdict;
        Ok(())
    }

    /// A climb of a flow that begins at the moments of the weighted draws, if no other family gives good weights and the budget allows.
    pub(super) fn flow(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let (dim, last) = (target.dim(), self.current()?);
        let number = last.number + 1;
        let is_apt = (2..=DENSE).contains(&dim) && !last.is_good() && self.mends == 0;
        if !is_apt || !self.allows(Shape::Flow, target) {
            return self.end_climb();
        }
        let draws = self.draws(target)?;
        let gaussian = gaussian(&draws);
        // They serve again if the flow is no better.
        self.drawn.draws = Some(draws);
        let Ok(gaussian) = gaussian else { return self.end_climb() };
        let start = flow_start(&gaussian, &mut self.seed().named("flow").stream(0, number))?;
        self.climbs.push(Refinement::new(number, Shape::Flow, start));
        Ok(())
    }

    /// A climb of a Student t that begins at the best mode.
    pub(super) fn densify(&mut self, dim: usize) -> Result<(), Error> {
        let weights = self.ascents.weights();
        let best = self.ascents.modes.iter().zip(weights).max_by(|a, b| a.1.total_cmp(&b.1));
        let (mode, _) = best.ok_or_else(|| Error::invalid("no climb was begun"))?;
        let start = Shape::student_t(dim)?.at(&mode.point, mode.factor()?.as_ref(), FREEDOM)?;
        let number = self.current()?.number + 1;
        self.climbs.push(Refinement::new(number, Shape::StudentT, start));
        self.stage = Stage::Climb;
        Ok(())
    }
}

/// Iterations of EM on the weighted draws.
const ITERATIONS: usize = 10;
/// Degrees of freedom of a component at the start.
const COMPONENT_FREEDOM: f64 = 8.0;

/// Parameters of a mixture of `components` Student t, from points of p with equal weights: centres apart from each other, as in
/// k-means++ (Arthur & Vassilvitskii 2007), then EM.
pub(crate) fn mixture_start(points: &Mat<f64>, components: usize, seed: Seed) -> Result<Vec<f64>, Error> {
    let (dim, count) = (points.nrows(), points.ncols());
    let mut stream = seed.named("mixture").stream(0, 0);
    let all = of_points(points.as_ref());
    let map = AffineMap::new(all.mean.clone(), all.factor()?)?;
    let white = map.inverse(points.as_ref());
    let distance = |a: usize, b: usize| -> f64 {
        white.col(a).iter().zip(white.col(b).iter()).map(|(a, b)| (a - b).powi(2)).sum()
    };
    let mut centres = vec![stream.index(count).unwrap_or(0)];
    while centres.len() < components {
        let nearest = |j: usize| centres.iter().map(|&c| distance(j, c)).fold(f64::INFINITY, f64::min);
        let log_weights: Vec<f64> = (0..count).map(|j| nearest(j).ln()).collect();
        // No point is apart from the centres if all points are one.
        centres.push(stream.choose(&log_weights).unwrap_or(0));
    }
    let (t, family) = (Shape::student_t(dim)?, Shape::mixture(dim, components)?);
    let shrink = (components as f64).powf(-2.0 / dim as f64).max(0.25);
    let narrow = Mat::from_fn(dim, dim, |i, j| shrink * all.covariance[(i, j)]);
    let factor = Gaussian { mean: vec![0.0; dim], covariance: narrow }.factor()?;
    let part = |&c: &usize| t.at(points.col_as_slice(c), factor.as_ref(), COMPONENT_FREEDOM);
    let parts = centres.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    let mut params = family.at(&vec![1.0; components], &parts)?;
    let weights = vec![1.0 / count as f64; count];
    let (mut matched, mut work) = (params.clone(), vec![0.0; family.work_len(count)]);
    for _ in 0..ITERATIONS {
        // A little of the start stays, so that no component collapses on a few points.
        if family.match_moments(&params, 0.9, points.as_ref(), &weights, &mut matched, &mut work) {
            std::mem::swap(&mut params, &mut matched);
        }
    }
    family.check(&params)?;
    Ok(params)
}

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
        Layer::Coupling(Coupling { mask, hidden: vec![UNITS], map })
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
