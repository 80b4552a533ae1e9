//! Families with one fault, for negative controls of the laws.

use faer::{MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut, Error, Family, Parametric, Pushforward, Reparameterised, Stream};
use mcsa_families::Link;

/// Counter of allocations, for the laws of memory.
pub(crate) fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

/// Faults of a family or a pushforward; some are those of a mean-field Gaussian with the softplus link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    Faultless,
    /// Everything that is added to gradients and slopes is too large by a millionth.
    Factor,
    /// Sums replace the numbers to which they should be added.
    Replaces,
    WrongLinkDerivative,
    /// The mean score is 1e-8.
    ShiftedScore,
    /// Scores are cut off far from the origin.
    CutOff,
    NoLogDeterminant,
    LogDeterminantSign,
    /// The gradient of `push` without the term of `log q`.
    ForgottenTerm,
    /// A log density depends on the point, or the noise, of the column before.
    Neighbours,
    TransportNeighbours,
    StaleWork,
    Allocates,
    /// Draws are too wide by this factor about the first `d` parameters.
    Wide(f64),
    NoiseTooWide,
    /// Draws depend on each other within every so many columns, about the first `d` parameters with scale one.
    Dependent(Kind, usize),
    /// Dependent noise.
    DependentNoise(Kind),
    /// Neighbouring draws exchange their second coordinates.
    Mixed,
    Misjudged,
    Lopsided,
    LanesReversed,
    LaxCheck,
    LongCheck,
    MirrorOffCentre,
    EntropyConstant,
    /// A constant in `log q`.
    Constant(f64),
    /// Less memory is claimed than is used.
    Short,
}
use Fault::*;

/// Dependence that keeps every margin of symmetric coordinates with equal scales.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// One value for all coordinates.
    Common,
    /// One value with alternating signs.
    Alternating,
    /// One value for the first two coordinates.
    Shared,
    /// One sign for all coordinates.
    CommonSign,
    /// One size for all coordinates, signs of their own.
    CommonSize,
    /// The last sign is the product of the others: every d - 1 coordinates are independent.
    SignOfProduct,
}
use Kind::*;

impl Kind {
    /// Changes every so many columns of coordinates with this centre and scale one.
    fn apply(self, every: usize, mut z: MatMut<'_, f64>, centre: impl Fn(usize) -> f64) {
        for j in (0..z.ncols()).step_by(every) {
            let z = z.column_mut(j);
            let mut u: Vec<f64> = z.iter().enumerate().map(|(i, z)| z - centre(i)).collect();
            let first = u[0];
            let (last, others) = u.split_last_mut().expect("a coordinate");
            match self {
                SignOfProduct => *last = others.iter().fold(last.abs(), |last, u| last * u.signum()),
                Shared => u[1] = first,
                _ => u.iter_mut().enumerate().for_each(|(i, u)| match self {
                    Alternating => *u = if i % 2 == 0 { first } else { -first },
                    CommonSign => *u = u.abs() * first.signum(),
                    CommonSize => *u = u.signum() * first.abs(),
                    _ => *u = first,
                }),
            }
            z.iter_mut().zip(&u).enumerate().for_each(|(i, (z, u))| *z = centre(i) + u);
        }
    }
}

impl Fault {
    fn allocate(self) {
        if self == Allocates {
            std::hint::black_box(vec![1.0]);
        }
    }

    /// Changes log densities at `points`; `before` is a number that the lent memory held before the call.
    fn densities(self, params: &[f64], points: MatRef<'_, f64>, before: Option<f64>, log_q: &mut [f64]) {
        self.allocate();
        let log_det: f64 = params[params.len() / 2..].iter().map(|&rho| Link::Softplus.scale(rho).ln()).sum();
        for (j, log_q) in log_q.iter_mut().enumerate() {
            *log_q += match self {
                NoLogDeterminant => log_det,
                LogDeterminantSign => 2.0 * log_det,
                Neighbours if j > 0 => 1e-15 * points[(0, j - 1)],
                StaleWork => 0.0 * before.unwrap_or(0.0),
                Lopsided => 1e-4 * points.column(j).iter().sum::<f64>(),
                Constant(constant) => constant,
                _ => continue,
            };
        }
    }

    /// Changes draws and transported points; true if the log densities of draws are to be evaluated again.
    fn draws(self, params: &[f64], mut z: MatMut<'_, f64>) -> bool {
        if let Dependent(kind, every) = self {
            kind.apply(every, z.as_mut(), |i| params[i]);
        }
        for j in 0..z.ncols() {
            match self {
                Wide(factor) => {
                    let moves = z.column_mut(j).iter_mut().zip(params);
                    moves.for_each(|(z, centre)| *z = centre + factor * (*z - centre));
                }
                TransportNeighbours if j > 0 => z[(0, j)] += 1e-14 * z[(0, j - 1)],
                Mixed if j % 2 == 1 => {
                    let before = z.as_ref().column(j - 1)[1];
                    z.column_mut(j - 1)[1] = std::mem::replace(&mut z.column_mut(j)[1], before);
                }
                _ => {}
            }
        }
        matches!(self, Wide(_) | Constant(_) | NoLogDeterminant | Dependent(..) | Mixed)
    }

    /// Changes the log densities of draws.
    fn drawn(self, log_q: &mut [f64]) {
        log_q.iter_mut().for_each(|log_q| *log_q += if self == Misjudged { 1e-8 } else { 0.0 });
    }

    fn lanes(self, lanes: &mut [Stream]) {
        if self == LanesReversed {
            lanes.reverse();
        }
    }

    fn noise(self, mut noise: MatMut<'_, f64>) {
        if let DependentNoise(kind) = self {
            kind.apply(1, noise.as_mut(), |_| 0.0);
        }
        for j in 0..noise.ncols() {
            let factor = if self == NoiseTooWide { 1.1 } else { 1.0 };
            noise.column_mut(j).iter_mut().for_each(|eps| *eps *= factor);
        }
    }

    /// Factors of what is added to a gradient, and to slopes (the first of them); `None` if nothing changes.
    fn factors(self, params: &[f64]) -> Option<Vec<f64>> {
        let of_link = |rho: &f64| Link::Exp.derivative(*rho) / Link::Softplus.derivative(*rho);
        let (mean, rho) = params.split_at(params.len() / 2);
        match self {
            Factor => Some(vec![1.0 + 1e-6; params.len()]),
            WrongLinkDerivative => Some(mean.iter().map(|_| 1.0).chain(rho.iter().map(of_link)).collect()),
            _ => None,
        }
    }
}

/// A family and its fault.
#[derive(Debug, Clone)]
pub(crate) struct Altered<F> {
    pub(crate) family: F,
    pub(crate) by: Fault,
}

impl<F: Parametric> Altered<F> {
    /// Adds to a gradient, with the changes of sums.
    fn sum(&self, params: &[f64], gradient: &mut [f64], add: impl FnOnce(&mut [f64])) {
        if self.by == Replaces {
            gradient.fill(0.0);
        }
        let Some(factors) = self.by.factors(params) else { return add(gradient) };
        let before = gradient.to_vec();
        add(gradient);
        for ((gradient, before), factor) in gradient.iter_mut().zip(before).zip(factors) {
            *gradient = before + (*gradient - before) * factor;
        }
    }
}

impl<F: Parametric> Parametric for Altered<F> {
    fn dim(&self) -> usize {
        self.family.dim()
    }
    fn num_params(&self) -> usize {
        self.family.num_params()
    }
    fn work_len(&self, columns: usize) -> usize {
        let needed = self.family.work_len(columns);
        if self.by == Short { needed / 2 } else { needed }
    }
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        match self.by {
            LaxCheck if params.len() == self.num_params() => Ok(()),
            LongCheck => self.family.check(&params[..params.len().min(self.num_params())]),
            _ => self.family.check(params),
        }
    }
}

impl<F: Family> Family for Altered<F> {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]) {
        let before = work.first().copied();
        self.family.log_probs(params, z, log_q, work);
        self.by.densities(params, z, before, log_q);
    }
    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        self.by.lanes(lanes);
        self.family.sample_into(params, lanes, z.as_mut(), log_q, work);
        if self.by.draws(params, z.as_mut()) {
            self.log_probs(params, z.as_ref(), log_q, work);
        }
        self.by.drawn(log_q);
    }
    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.sum(params, gradient, |sum| self.family.add_scores(params, z, weights, sum, work));
        for (j, weight) in weights.iter().enumerate() {
            gradient[0] += match self.by {
                ShiftedScore => 1e-8 * weight,
                CutOff => -1e-3 * weight * z.column(j).iter().filter(|z| z.abs() > 5.0).count() as f64,
                _ => continue,
            };
        }
    }
    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        let is_reflected = self.family.reflect(params, z);
        z[0] += if self.by == MirrorOffCentre { 1e-6 } else { 0.0 };
        is_reflected
    }
}

impl<F: Reparameterised> Reparameterised for Altered<F> {
    fn noise_dim(&self) -> usize {
        self.family.noise_dim()
    }
    fn sample_noise_into(&self, lanes: &mut [Stream], mut noise: MatMut<'_, f64>) {
        self.family.sample_noise_into(lanes, noise.as_mut());
        self.by.noise(noise);
    }
    fn transport(&self, params: &[f64], noise: MatRef<'_, f64>, mut z: MatMut<'_, f64>, work: &mut [f64]) {
        self.family.transport(params, noise, z.as_mut(), work);
        self.by.draws(params, z);
    }
    fn add_pullbacks(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.sum(params, gradient, |sum| self.family.add_pullbacks(params, noise, cotangents, sum, work));
    }
    fn add_slopes(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        mut slopes: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        if self.by == Replaces {
            slopes.fill(0.0);
        }
        let factor = self.by.factors(params).map_or(1.0, |factors| factors[0]);
        self.family.add_slopes(params, z, factor * weight, slopes, work);
    }
    fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64 {
        self.by.allocate();
        self.family.entropy(params, work) + if self.by == EntropyConstant { 1e-6 } else { 0.0 }
    }
    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], work: &mut [f64]) {
        self.sum(params, gradient, |sum| self.family.add_entropy_gradient(params, weight, sum, work));
    }
}

impl<F: Pushforward> Pushforward for Altered<F> {
    fn noise_dim(&self) -> usize {
        self.family.noise_dim()
    }
    fn sample_noise_into(&self, lanes: &mut [Stream], mut noise: MatMut<'_, f64>) {
        self.by.lanes(lanes);
        self.family.sample_noise_into(lanes, noise.as_mut());
        self.by.noise(noise);
    }
    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        let before = work.first().copied();
        self.family.push(params, noise, z, log_q, work);
        self.by.densities(params, noise, before, log_q);
        self.by.drawn(log_q);
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
        let none = vec![0.0; if self.by == ForgottenTerm { weights.len() } else { 0 }];
        let weights = if self.by == ForgottenTerm { &none[..] } else { weights };
        self.sum(params, gradient, |sum| {
            self.family.add_push_gradients(params, noise, cotangents, weights, sum, work);
        });
    }
}
