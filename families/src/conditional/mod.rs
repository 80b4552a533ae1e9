//! Conditional location-scale family: some coordinates, the drivers, set location and scale of the others.

mod basis;
mod fit;
mod probe;
mod triangle;

use faer::{MatMut, MatRef};
use mcsa_core::{
    Columns, Error, Family, Parametric, Stream, Transport, all_finite, bits, borrow, each_column, same_length,
};
use mcsa_numeric::linear::standard;
use mcsa_numeric::{self as numeric, HALF_LOG_TAU};
use serde::{Deserialize, Serialize};

use crate::Link;
use triangle::{Unit, add_outer};

pub use fit::{ConditionalFit, fit_conditional};
pub use probe::{Probes, choose_drivers, probe};

/// Degree of the conditional mean of the children as a polynomial in the drivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Degree {
    /// No dependence.
    #[default]
    Constant,
    /// Linear.
    Linear,
    /// Linear, and all products of two drivers.
    Quadratic,
}

/// Parts that a [`Conditional`] family has; the default has none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Parts {
    /// Full matrix V in place of the identity: the basis in which the children are conditionally independent.
    pub dense: bool,
    /// Scales saturate at `exp(c)`.
    pub saturating: bool,
    /// Means have a term `kappa exp(2 s)`: shrinkage from a constant towards a prior mean.
    pub shrinking: bool,
    /// Means have a term `h exp(2 s - l)`, in proportion to the scale of the prior.
    pub drifting: bool,
    /// Degree of the other part of the mean.
    pub degree: Degree,
}

/// Conditional location-scale family: drivers `z_D` are Gaussian, children `z_C` are Gaussian given the drivers.
///
/// ```text
/// z_D = mu + F diag(exp(rho)) e_D,   x = (z_D - centre) / scale        e ~ N(0, I),   F unit lower triangular
/// l_i = a_i + b_i . x                                                  log scale of child i
/// s_i = -log( exp(-2 c_i) + exp(-2 l_i) ) / 2                          without saturation s_i = l_i
/// t_i = exp(s_i) e_i + kappa_i exp(2 s_i) + h_i exp(2 s_i - l_i)
/// z_C = M phi(x) + V t,   V = A B^T                                    phi = 1 [, x_j] [, x_j x_k];  A, B unit lower triangular
/// log q(z) = log N(e; 0, I) - sum rho - sum_i s_i
/// ```
/// A normal hierarchy in centred coordinates has this form: `exp(-2 s)` is the sum of the precision of the data and of that of a
/// prior whose log scale is a driver, and `kappa` the shrinkage of the mean. Neal's funnel has it without saturation. V is the
/// basis in which the conditional covariance is diagonal for all x at once; two covariances always have one (the pencil of
/// both). Triangles with a unit diagonal keep `det V = 1`; the scales of its columns are part of `a`, `c` and `kappa`. A point costs
/// `2 n^2` operations with n children if V is dense, else a number of operations linear in n.
///
/// Packing: `mu, rho, F, a, b, M, A, B, c, kappa, h`; triangles, b and M column by column; of the last six parts those that the
/// [`Parts`] have. The units `centre` and `scale` of the drivers belong to the family.
///
/// ```
/// use mcsa_core::Parametric;
/// use mcsa_families::{Conditional, Parts};
/// // Neal's funnel in three dimensions: the log variance z_0 has standard deviation 3.
/// let q = Conditional::new(3, &[0], vec![0.0], vec![1.0], Parts::default())?;
/// let params = [0.0, 3.0_f64.ln(), 0.0, 0.0, 0.5, 0.5, 0.0, 0.0];
/// q.check(&params)?;
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conditional {
    dim: usize,
    drivers: Vec<usize>,
    children: Vec<usize>,
    #[serde(with = "bits::vector")]
    centre: Vec<f64>,
    #[serde(with = "bits::vector")]
    scale: Vec<f64>,
    parts: Parts,
}

/// Lambda in parts, in the order of the packing.
struct Split<'a> {
    mean: &'a [f64],
    rho: &'a [f64],
    factor: Unit<'a>,
    level: &'a [f64],
    slope: &'a [f64],
    location: &'a [f64],
    lower: Unit<'a>,
    upper: Unit<'a>,
    ceiling: &'a [f64],
    shrinkage: &'a [f64],
    drift: &'a [f64],
}

/// Conditional scale and centre of a child.
struct Scale {
    /// `s`.
    log: f64,
    /// `exp(s)`.
    scale: f64,
    /// `ds/dl`.
    rate: f64,
    /// `h exp(s - l)`.
    drift: f64,
    /// The centre of t divided by `exp(s)`: `kappa exp(s) + h exp(s - l)`.
    centre: f64,
}

/// Writes `phi(x)`.
fn features_into(x: &[f64], phi: &mut [f64]) {
    let mut phi = phi.iter_mut();
    let mut put = |value| phi.next().into_iter().for_each(|phi| *phi = value);
    put(1.0);
    x.iter().for_each(|&x| put(x));
    (0..x.len()).for_each(|k| x[..=k].iter().for_each(|other| put(x[k] * other)));
}

/// Lent memory of one point.
struct Room<'w> {
    /// `F diag(exp(rho)) e_D` before F is applied.
    away: &'w mut [f64],
    x: &'w mut [f64],
    phi: &'w mut [f64],
    /// `l`, `s`, `exp(s)` and `ds/dl` of each child.
    levels: &'w mut [f64],
    logs: &'w mut [f64],
    scales: &'w mut [f64],
    rates: &'w mut [f64],
    /// `B^T t`.
    half: &'w mut [f64],
    /// `t`.
    t: &'w mut [f64],
    /// Cotangents of drivers, of phi and of children.
    d_x: &'w mut [f64],
    d_phi: &'w mut [f64],
    d_t: &'w mut [f64],
}

/// Log scales `s` from levels l, saturated at the ceiling c of each, if there are any, and `ds/dl`; with scratch memory.
///
/// ```text
/// s = min(l, c) - ln(1 + exp(-2 |l - c|)) / 2,   ds/dl = 1 / (1 + exp(2 (l - c)))
/// ```
fn saturate(
    levels: &[f64],
    ceiling: Option<impl Fn(usize) -> f64>,
    logs: &mut [f64],
    rates: &mut [f64],
    scratch: &mut [f64],
) {
    logs.copy_from_slice(levels);
    rates.fill(1.0);
    let Some(ceiling) = ceiling else { return };
    (0..levels.len()).for_each(|i| rates[i] = -2.0 * (levels[i] - ceiling(i)).abs());
    numeric::ln_1p_exp_into(rates, scratch);
    for (i, l) in levels.iter().enumerate() {
        logs[i] = l.min(ceiling(i)) - 0.5 * scratch[i];
        rates[i] = -scratch[i] - (2.0 * (l - ceiling(i))).max(0.0);
    }
    numeric::exp(rates);
}

impl Room<'_> {
    fn saturate(&mut self, ceiling: &[f64]) {
        let ceiling = (!ceiling.is_empty()).then_some(|i: usize| ceiling[i]);
        saturate(self.levels, ceiling, self.logs, self.rates, self.scales);
        numeric::exp_into(self.logs, self.scales);
    }

    fn scale(&self, at: &Split<'_>, i: usize) -> Scale {
        let (log, scale, rate) = (self.logs[i], self.scales[i], self.rates[i]);
        let kappa = at.shrinkage.get(i).copied().unwrap_or(0.0);
        let drift = at.drift.get(i).map_or(0.0, |h| h * (log - self.levels[i]).exp());
        Scale { log, scale, rate, drift, centre: kappa * scale + drift }
    }
}

impl Conditional {
    /// Family in `dim` dimensions with these coordinates as drivers, in units of `centre` and `scale`; the others are children.
    ///
    /// # Errors
    /// If a driver is not below `dim` or is listed twice, a length differs, a number is not finite, or a scale not positive.
    pub fn new(
        dim: usize,
        drivers: &[usize],
        centre: Vec<f64>,
        scale: Vec<f64>,
        parts: Parts,
    ) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("Conditional");
        for (k, &driver) in drivers.iter().enumerate() {
            if driver >= dim || drivers[..k].contains(&driver) {
                let reason = format!("driver {driver} of {dim} coordinates: expected distinct coordinates");
                return Err(refuse(Error::invalid(reason)));
            }
        }
        same_length("centre", drivers.len(), centre.len()).map_err(refuse)?;
        same_length("scale", drivers.len(), scale.len()).map_err(refuse)?;
        all_finite("centre", &centre).map_err(refuse)?;
        scale.iter().try_for_each(|&scale| mcsa_core::positive("scale", scale)).map_err(refuse)?;
        let children = (0..dim).filter(|i| !drivers.contains(i)).collect();
        Ok(Self { dim, drivers: drivers.to_vec(), children, centre, scale, parts })
    }

    /// The coordinates that are drivers.
    pub fn drivers(&self) -> &[usize] {
        &self.drivers
    }

    /// The other coordinates, in the order of the rows of V.
    pub fn children(&self) -> &[usize] {
        &self.children
    }

    /// The parts that the family has.
    pub fn parts(&self) -> Parts {
        self.parts
    }

    fn num_features(&self) -> usize {
        let n = self.drivers.len();
        match self.parts.degree {
            Degree::Constant => 1,
            Degree::Linear => 1 + n,
            Degree::Quadratic => 1 + n + n * (n + 1) / 2,
        }
    }

    /// Lengths of the parts of lambda.
    fn lengths(&self) -> [usize; 11] {
        let (n, children, Parts { dense, saturating, shrinking, drifting, .. }) =
            (self.drivers.len(), self.children.len(), self.parts);
        let square = triangle::len(children) * usize::from(dense);
        let [c, kappa, h] = [saturating, shrinking, drifting].map(|has| children * usize::from(has));
        let location = children * self.num_features();
        [n, n, triangle::len(n), children, n * children, location, square, square, c, kappa, h]
    }

    fn split<'a>(&self, mut params: &'a [f64]) -> Split<'a> {
        assert_eq!(params.len(), self.num_params(), "a number per param");
        let [mean, rho, factor, level, slope, location, lower, upper, ceiling, shrinkage, drift] =
            self.lengths().map(|len| {
                let (part, rest) = params.split_at(len);
                params = rest;
                part
            });
        let [factor, lower, upper] = [factor, lower, upper].map(Unit);
        Split { mean, rho, factor, level, slope, location, lower, upper, ceiling, shrinkage, drift }
    }

    /// Length of the memory of one point.
    fn room_len(&self) -> usize {
        3 * self.drivers.len() + 2 * self.num_features() + 7 * self.children.len()
    }

    fn room<'w>(&self, work: &mut &'w mut [f64]) -> Room<'w> {
        let (n, features, children) = (self.drivers.len(), self.num_features(), self.children.len());
        let [away, x, d_x] = [n; 3].map(|len| borrow(work, len));
        let [phi, d_phi] = [features; 2].map(|len| borrow(work, len));
        let [levels, logs, scales, rates, half, t, d_t] = [children; 7].map(|len| borrow(work, len));
        Room { away, x, phi, levels, logs, scales, rates, half, t, d_x, d_phi, d_t }
    }

    /// Drivers in their units, features and log scales, once `drivers` are known.
    fn condition(&self, at: &Split<'_>, driver: impl Fn(usize) -> f64, room: &mut Room<'_>) {
        for k in 0..self.drivers.len() {
            room.x[k] = (driver(k) - self.centre[k]) / self.scale[k];
        }
        features_into(room.x, room.phi);
        room.levels.copy_from_slice(at.level);
        for (x, slopes) in room.x.iter().zip(at.slope.chunks_exact(self.children.len().max(1))) {
            room.levels.iter_mut().zip(slopes).for_each(|(level, slope)| *level += slope * x);
        }
        room.saturate(at.ceiling);
    }

    /// Columns of M, with their features.
    fn columns<'a>(&self, location: &'a [f64]) -> impl Iterator<Item = &'a [f64]> {
        location.chunks_exact(self.children.len().max(1))
    }

    /// Drivers, log scales and t of the noise; returns `sum rho + sum s`.
    fn spread(&self, at: &Split<'_>, noise: &[f64], room: &mut Room<'_>) -> f64 {
        for (k, &driver) in self.drivers.iter().enumerate() {
            room.away[k] = at.rho[k].exp() * noise[driver];
        }
        room.d_x.copy_from_slice(room.away);
        at.factor.multiply(room.d_x);
        let moved = std::mem::take(&mut room.d_x);
        self.condition(at, |k| at.mean[k] + moved[k], room);
        room.d_x = moved;
        let mut log_volume: f64 = at.rho.iter().sum();
        for (i, &child) in self.children.iter().enumerate() {
            let of = room.scale(at, i);
            room.t[i] = of.scale * (noise[child] + of.centre);
            log_volume += of.log;
        }
        log_volume
    }

    /// The point of the noise; returns `sum rho + sum s`.
    fn place(&self, at: &Split<'_>, noise: &[f64], z: &mut [f64], room: &mut Room<'_>) -> f64 {
        let log_volume = self.spread(at, noise, room);
        for (k, &driver) in self.drivers.iter().enumerate() {
            z[driver] = at.mean[k] + room.d_x[k];
        }
        at.upper.multiply_transposed(room.t);
        at.lower.multiply(room.t);
        for (phi, column) in room.phi.iter().zip(self.columns(at.location)) {
            room.t.iter_mut().zip(column).for_each(|(t, location)| *t += phi * location);
        }
        self.children.iter().zip(&*room.t).for_each(|(&child, t)| z[child] = *t);
        log_volume
    }

    /// The noise of the point, coordinate by coordinate to `put`; returns `sum rho + sum s`.
    fn recover(
        &self,
        at: &Split<'_>,
        z: &[f64],
        room: &mut Room<'_>,
        mut put: impl FnMut(usize, f64),
    ) -> f64 {
        for (k, &driver) in self.drivers.iter().enumerate() {
            room.away[k] = z[driver] - at.mean[k];
        }
        at.factor.solve(room.away);
        self.condition(at, |k| z[self.drivers[k]], room);
        room.half.iter_mut().zip(&self.children).for_each(|(half, &child)| *half = z[child]);
        for (phi, column) in room.phi.iter().zip(self.columns(at.location)) {
            room.half.iter_mut().zip(column).for_each(|(half, location)| *half -= phi * location);
        }
        at.lower.solve(room.half);
        room.t.copy_from_slice(room.half);
        at.upper.solve_transposed(room.t);
        let mut log_volume = 0.0;
        for (k, &driver) in self.drivers.iter().enumerate() {
            put(driver, room.away[k] * (-at.rho[k]).exp());
            log_volume += at.rho[k];
        }
        for (i, &child) in self.children.iter().enumerate() {
            let of = room.scale(at, i);
            put(child, room.t[i] * (-of.log).exp() - of.centre);
            log_volume += of.log;
        }
        log_volume
    }

    fn log_density(&self, square: f64, log_volume: f64, z: &[f64]) -> f64 {
        standard::log_density(-(self.dim as f64) * HALF_LOG_TAU, square + 2.0 * log_volume, z)
    }
}

impl Parametric for Conditional {
    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        self.lengths().iter().sum()
    }

    fn work_len(&self, _: usize) -> usize {
        self.room_len() + self.dim
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)?;
        Link::Exp.check(self.split(params).rho)
    }
}

impl Family for Conditional {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], mut work: &mut [f64]) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let (at, mut room) = (self.split(params), self.room(&mut work));
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let mut square = 0.0;
            let log_volume = self.recover(&at, z.column(j), &mut room, |_, e| square += e * e);
            *log_q = self.log_density(square, log_volume, z.column(j));
        }
    }

    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        mut work: &mut [f64],
    ) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let (at, mut room) = (self.split(params), self.room(&mut work));
        let noise = borrow(&mut work, self.dim);
        each_column(lanes, z, |lane, j, z| {
            lane.normals_into(noise);
            let log_volume = self.place(&at, noise, z, &mut room);
            log_q[j] = self.log_density(noise.iter().map(|e| e * e).sum(), log_volume, z);
        });
    }

    /// With `r = exp(-s) e`, `w = V^-T r` and the terms of a fixed centre and of the centre that moves with `s` and `l`:
    ///
    /// ```text
    /// d/ds = e (e + 2 centre) - 1,   d/dl = ds/dl d/ds - e h exp(s - l),   d/dc = (1 - ds/dl) d/ds
    /// d/da = d/dl,   d/db = d/dl x,   d/dkappa = e exp(s),   d/dh = e exp(s - l)
    /// d/dM = w phi^T,   d/dA = w (B^T t)^T,   d/dB = t (A^T w)^T below the diagonals
    /// ```
    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, weights.len()), "a weight per column");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let (at, mut room) = (self.split(params), self.room(&mut work));
        let (noise, children) = (borrow(&mut work, self.dim), self.children.len());
        let mut rest = gradient;
        let [d_mean, d_rho, d_factor, d_level, d_slope, d_location, d_lower, d_upper, d_c, d_kappa, d_h] =
            self.lengths().map(|len| borrow(&mut rest, len));
        for (j, &weight) in weights.iter().enumerate() {
            self.recover(&at, z.column(j), &mut room, |i, e| noise[i] = e);
            for (k, &driver) in self.drivers.iter().enumerate() {
                d_rho[k] += weight * (noise[driver] * noise[driver] - 1.0);
                room.d_x[k] = (-at.rho[k]).exp() * noise[driver];
            }
            at.factor.solve_transposed(room.d_x);
            d_mean.iter_mut().zip(&*room.d_x).for_each(|(d, pull)| *d += weight * pull);
            add_outer(d_factor, weight, room.d_x, room.away);
            for (i, &child) in self.children.iter().enumerate() {
                let (e, of) = (noise[child], room.scale(&at, i));
                let d_s = e * (e + 2.0 * of.centre) - 1.0;
                let d_l = weight * (of.rate * d_s - e * of.drift);
                d_level[i] += d_l;
                room.x.iter().enumerate().for_each(|(k, x)| d_slope[k * children + i] += d_l * x);
                add_at(d_c, i, || weight * ((1.0 - of.rate) * d_s));
                add_at(d_kappa, i, || weight * (e * of.scale));
                add_at(d_h, i, || weight * (e * (of.log - room.levels[i]).exp()));
                room.d_t[i] = (-of.log).exp() * e;
            }
            at.upper.solve(room.d_t);
            add_outer(d_upper, weight, room.t, room.d_t);
            at.lower.solve_transposed(room.d_t);
            add_outer(d_lower, weight, room.d_t, room.half);
            for (phi, d_column) in room.phi.iter().zip(d_location.chunks_exact_mut(children.max(1))) {
                d_column.iter_mut().zip(&*room.d_t).for_each(|(d, w)| *d += weight * (phi * w));
            }
        }
    }
}

/// Adds to entry `i` of a part that may be absent.
fn add_at(part: &mut [f64], i: usize, value: impl FnOnce() -> f64) {
    if let Some(entry) = part.get_mut(i) {
        *entry += value();
    }
}

/// The map from noise to points of a [`Conditional`] family at fixed parameters: coordinates in which a posterior like q is nearly
/// standard normal.
///
/// ```text
/// log p(z(e)) + sum rho + sum_i s_i,   G = grad log p(z),   g = V^T G_C,   centre_i = kappa_i exp(2 s_i) + h_i exp(2 s_i - l_i)
/// d/de_Ci = g_i exp(s_i),   d/dl_i = ds_i/dl_i (g_i (t_i + centre_i) + 1) - g_i h_i exp(2 s_i - l_i),   d/dphi = M^T G_C
/// d/dz_D  = G_D + (sum_i b_i d/dl_i + (dphi/dx)^T d/dphi) / scale,   d/de_D = diag(exp(rho)) F^T d/dz_D
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConditionalMap {
    family: Conditional,
    #[serde(with = "bits::vector")]
    params: Vec<f64>,
}

impl ConditionalMap {
    /// The coordinates that set location and scale of the others.
    pub fn drivers(&self) -> &[usize] {
        self.family.drivers()
    }

    /// The map at these parameters.
    ///
    /// # Errors
    /// If the parameters fail the `check` of the family.
    pub fn new(family: Conditional, params: Vec<f64>) -> Result<Self, Error> {
        family.check(&params).map_err(|error| error.within("ConditionalMap"))?;
        Ok(Self { family, params })
    }

    /// The family.
    pub fn family(&self) -> &Conditional {
        &self.family
    }

    /// Lambda.
    pub fn params(&self) -> &[f64] {
        &self.params
    }
}

impl Transport for ConditionalMap {
    fn dim(&self) -> usize {
        self.family.dim
    }

    fn work_len(&self) -> usize {
        self.family.room_len()
    }

    fn image_into(&self, noise: &[f64], z: &mut [f64], mut work: &mut [f64]) -> f64 {
        let mut room = self.family.room(&mut work);
        self.family.place(&self.family.split(&self.params), noise, z, &mut room)
    }

    fn preimage_into(&self, z: &[f64], noise: &mut [f64], mut work: &mut [f64]) -> f64 {
        let mut room = self.family.room(&mut work);
        self.family.recover(&self.family.split(&self.params), z, &mut room, |i, e| noise[i] = e)
    }

    fn pull_back(&self, noise: &[f64], gradient: &mut [f64], mut work: &mut [f64]) {
        let Self { family: q, params } = self;
        let (at, mut room) = (q.split(params), q.room(&mut work));
        q.spread(&at, noise, &mut room);
        let d_t = std::mem::take(&mut room.d_t);
        d_t.iter_mut().zip(&q.children).for_each(|(d_t, &child)| *d_t = gradient[child]);
        for (d_phi, column) in room.d_phi.iter_mut().zip(q.columns(at.location)) {
            *d_phi = standard::dot(column, d_t);
        }
        at.lower.multiply_transposed(d_t);
        at.upper.multiply(d_t);
        room.d_x.fill(0.0);
        for (i, &child) in q.children.iter().enumerate() {
            let (of, slope) = (room.scale(&at, i), d_t[i]);
            let d_l =
                of.rate * (slope * (room.t[i] + of.scale * of.centre) + 1.0) - slope * of.scale * of.drift;
            gradient[child] = slope * of.scale;
            let slopes = |k: usize| at.slope[k * q.children.len() + i];
            room.d_x.iter_mut().enumerate().for_each(|(k, d)| *d += d_l * slopes(k));
        }
        let Room { x, d_x, d_phi, .. } = room;
        let mut d_phi = d_phi[1..].iter();
        d_x.iter_mut().zip(d_phi.by_ref()).for_each(|(d, d_phi)| *d += d_phi);
        for k in 0..x.len() {
            for (other, d) in (0..=k).zip(d_phi.by_ref()) {
                d_x[k] += d * x[other];
                d_x[other] += d * x[k];
            }
        }
        for (k, &driver) in q.drivers.iter().enumerate() {
            d_x[k] = gradient[driver] + d_x[k] / q.scale[k];
        }
        at.factor.multiply_transposed(d_x);
        q.drivers.iter().enumerate().for_each(|(k, &driver)| gradient[driver] = at.rho[k].exp() * d_x[k]);
    }
}
