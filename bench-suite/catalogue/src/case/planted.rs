//! Planted failures whose parameters are drawn, each with a healthy twin: the same parameters without the fault.

use std::f64::consts::{LN_2, PI, TAU};
use std::sync::Arc;

use mcsa_core::numeric::log_sum_exp;
use mcsa_core::numeric::scalar::ln_gamma;
use mcsa_core::{Error, Seed, Stream, from_fn};
use mcsa_models::{Funnel, Gaussian, GroundTruth, Student};
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::posteriors::{Built, Hidden, bananas, of_line};
use super::truth::{Line, Truth};
use crate::Posterior;

/// Kind of a planted failure.
///
/// A second mode has 5 to 50 % of the mass, at a distance of 4 to 40 standard deviations of a normal first mode, in 2 to 60
/// dimensions. The healthy twin is the second mode alone, unless another twin is described.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Shape {
    /// Second mode: Student t with 4 to 10 degrees of freedom.
    StudentMode,
    /// Second mode: a box with soft edges.
    BoxMode,
    /// Second mode: a thin shell. Twin: a shell so thick that it is a normal density.
    ShellMode,
    /// Second mode: bananas, in at most 8 dimensions.
    BananaMode,
    /// Second mode: a funnel.
    FunnelMode,
    /// Second mode, 30 times narrower: a needle. Twin: 1.3 times narrower, around the same centre.
    NarrowMode,
    /// Second mode, 30 times wider. Twin: 1.3 times wider, around the same centre.
    WideMode,
    /// Two normal densities joined by a narrow neck. Twin: one, without the neck.
    Neck,
    /// Gaussian ridges through one centre. Twin: wide ones.
    Crossing,
    /// Six copies of a mode by exchange of labels, of unequal masses. Twin: one of them.
    Switched,
    /// Posterior of the means of two normal components, of known weights. Twin: with a prior that separates the components.
    MixtureModel,
    /// Student t with 1 to 2 degrees of freedom along a direction that is no axis. Twin: 8 degrees of freedom.
    HeavyDirection,
    /// Hierarchy whose group scale has a second mode. Twin: one mode.
    GroupScale,
    /// Normal density with noise of 1e-3 that depends on the bits of the point. Twin: no noise.
    Noise,
    /// Normal density with a jump along a direction that is no axis. Twin: no jump.
    Jump,
    /// Normal density that is NaN between two planes, which a right answer would have to include. Twin: no such place.
    NanSlab,
    /// Improper along a direction that is no axis. Twin: normal.
    Improper,
    /// Gradient with one coordinate 1.1 times too large. Twin: the right one.
    ScaledGradient,
    /// Gradient with the wrong sign of one of two terms. Twin: the right one.
    FlippedTerm,
}

/// Density with uncorrelated coordinates y, moved and stretched: `x = centre + scale y`.
struct Part {
    weight: f64,
    centre: Vec<f64>,
    scales: Vec<f64>,
    built: Built,
}

impl Part {
    fn new(weight: f64, built: Built) -> Self {
        let dim = built.posterior.dim();
        Self { weight, centre: vec![0.0; dim], scales: vec![1.0; dim], built }
    }

    /// Moved to `x` on the first axis.
    fn at(mut self, x: f64) -> Self {
        self.centre[0] = x;
        self
    }

    fn scaled(self, scale: f64) -> Self {
        Self { scales: vec![scale; self.scales.len()], ..self }
    }

    fn back(&self, x: &[f64]) -> Vec<f64> {
        x.iter()
            .zip(&self.centre)
            .zip(&self.scales)
            .map(|((x, centre), scale)| (x - centre) / scale)
            .collect()
    }

    /// Log of the weighted density.
    fn log_density(&self, x: &[f64]) -> f64 {
        let mut work = vec![0.0; self.built.posterior.work_len(1)];
        let log_scale: f64 = self.scales.iter().map(|scale| scale.ln()).sum();
        let log_p = self.built.posterior.log_density(&self.back(x), &mut work);
        self.weight.ln() + log_p - self.built.log_z.unwrap_or(0.0) - log_scale
    }

    /// `gradient += share * d/dx log density`.
    fn add_gradient(&self, x: &[f64], share: f64, gradient: &mut [f64]) {
        let (mut slopes, mut work) = (vec![0.0; x.len()], vec![0.0; self.built.posterior.work_len(1)]);
        self.built.posterior.gradient_into(&self.back(x), &mut slopes, &mut work);
        let slopes = slopes.iter().zip(&self.scales);
        gradient.iter_mut().zip(slopes).for_each(|(sum, (slope, scale))| *sum += share * slope / scale);
    }
}

/// Fault of the evaluation.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Flaw {
    None,
    Noise,
    /// NaN where the first coordinate x is between these.
    Nan(f64, f64),
    /// The first entry of the gradient is 1.1 times too large.
    Scaled,
    /// Of the precision `1 + a` of the first coordinate x the gradient has `1 - a`.
    Flipped(f64),
}

/// Mixture of parts, mirrored, moved and stretched:
///
/// ```text
/// p(x) = sum_k w_k p_k(x),   z = centre + scale H x,   H = I - 2 m m'
/// E z = centre + scale H sum_k w_k mean_k
/// Var z_i = scale_i^2 (sum_k w_k ((H mean_k)_i^2 + sum_j H_ij^2 sd_kj^2) - (sum_k w_k (H mean_k)_i)^2)
/// ```
struct Blend {
    parts: Vec<Part>,
    mirror: Vec<f64>,
    centre: Vec<f64>,
    scales: Vec<f64>,
    flaw: Flaw,
}

impl Blend {
    fn reflect(&self, x: &mut [f64]) {
        let along: f64 = x.iter().zip(&self.mirror).map(|(x, m)| 2.0 * x * m).sum();
        x.iter_mut().zip(&self.mirror).for_each(|(x, m)| *x -= along * m);
    }

    fn back(&self, z: &[f64]) -> Vec<f64> {
        let moved = z.iter().zip(&self.centre).zip(&self.scales);
        let mut x: Vec<f64> = moved.map(|((z, centre), scale)| (z - centre) / scale).collect();
        self.reflect(&mut x);
        x
    }

    fn terms(&self, x: &[f64]) -> Vec<f64> {
        self.parts.iter().map(|part| part.log_density(x)).collect()
    }

    fn is_nan(&self, x: &[f64]) -> bool {
        matches!(self.flaw, Flaw::Nan(from, to) if (from..to).contains(&x[0]))
    }

    fn log_density(&self, z: &[f64]) -> f64 {
        let x = self.back(z);
        match self.flaw {
            _ if self.is_nan(&x) => f64::NAN,
            Flaw::Noise => {
                let bits = z.iter().fold(Seed::new(0), |seed, z| seed.child(z.to_bits()));
                log_sum_exp(&self.terms(&x)) + 1e-3 * bits.stream(0, 0).normal()
            }
            _ => log_sum_exp(&self.terms(&x)),
        }
    }

    fn gradient_into(&self, z: &[f64], gradient: &mut [f64]) {
        let x = self.back(z);
        if self.is_nan(&x) {
            return gradient.fill(f64::NAN);
        }
        let terms = self.terms(&x);
        let total = log_sum_exp(&terms);
        gradient.fill(0.0);
        for (part, term) in self.parts.iter().zip(&terms) {
            let share = (term - total).exp();
            if share > 0.0 {
                part.add_gradient(&x, share, gradient);
            }
        }
        if let Flaw::Flipped(a) = self.flaw {
            gradient[0] *= (1.0 - a) / (1.0 + a);
        }
        self.reflect(gradient);
        gradient.iter_mut().zip(&self.scales).for_each(|(slope, scale)| *slope /= scale);
        if self.flaw == Flaw::Scaled {
            gradient[0] *= 1.1;
        }
    }

    fn truth(&self) -> Truth {
        let dim = self.centre.len();
        let (mut means, mut squares) = (vec![0.0; dim], vec![0.0; dim]);
        for part in &self.parts {
            let Truth::Moments { means: of_part, sds } = &part.built.truth else { return Truth::None };
            let moved = of_part.iter().zip(&part.centre).zip(&part.scales);
            let mut mean: Vec<f64> = moved.map(|((mean, centre), scale)| centre + scale * mean).collect();
            self.reflect(&mut mean);
            for i in 0..dim {
                let entry = |j: usize| f64::from(i == j) - 2.0 * self.mirror[i] * self.mirror[j];
                let spread: f64 = (0..dim).map(|j| (entry(j) * part.scales[j] * sds[j]).powi(2)).sum();
                means[i] += part.weight * mean[i];
                squares[i] += part.weight * (mean[i] * mean[i] + spread);
            }
        }
        let sd = |i: usize| self.scales[i] * (squares[i] - means[i] * means[i]).sqrt();
        Truth::Moments {
            sds: (0..dim).map(sd).collect(),
            means: (0..dim).map(|i| self.centre[i] + self.scales[i] * means[i]).collect(),
        }
    }

    /// The target; the last of its parts are modes that starts may miss, as many as `hidden`.
    fn built(self, hidden: usize) -> Built {
        let truth = self.truth();
        let (dim, parts) = (self.centre.len(), self.parts.len());
        let log_z = self.scales.iter().map(|scale| scale.ln()).sum();
        let of_density = Arc::new(self);
        let (of_gradient, of_modes) = (of_density.clone(), of_density.clone());
        let target = from_fn(dim, move |z| of_density.log_density(z));
        let target = target.with_gradient(move |z, gradient| of_gradient.gradient_into(z, gradient));
        let of_part = |part: usize| -> Hidden {
            let of_mode = of_modes.clone();
            Box::new(move |z| {
                let terms = of_mode.terms(&of_mode.back(z));
                terms[part] - log_sum_exp(&terms) > -LN_2
            })
        };
        Built {
            log_z: (truth != Truth::None).then_some(log_z),
            truth,
            hidden: (parts - hidden..parts).map(of_part).collect(),
            ..Built::unknown(target)
        }
    }
}

fn known(target: impl GroundTruth + Posterior + 'static) -> Built {
    Built { truth: Truth::of(&target), log_z: Some(target.log_normaliser()), ..Built::unknown(target) }
}

fn normal(dim: usize) -> Result<Built, Error> {
    Ok(known(Gaussian::diagonal(vec![0.0; dim], vec![1.0; dim])?))
}

/// A normalised density of mean 0, with these standard deviations.
fn centred(target: impl Posterior + 'static, sds: Vec<f64>) -> Built {
    let truth = Truth::Moments { means: vec![0.0; sds.len()], sds };
    Built { truth, log_z: Some(0.0), ..Built::unknown(target) }
}

/// Sums of a uniform number in (-h, h) and a logistic one of scale w, in each coordinate:
///
/// ```text
/// p(u) = sinh(h/w) / (2 h (cosh(h/w) + cosh(u/w))),   variance h^2 / 3 + pi^2 w^2 / 3
/// ```
fn boxes(dim: usize) -> Built {
    let (half, width) = (2.0, 0.2);
    let edge: f64 = half / width;
    let log_cosh = |x: f64| x.abs() + (-2.0 * x.abs()).exp().ln_1p() - LN_2;
    let log_peak = edge.sinh().ln() - (4.0 * half).ln();
    let line =
        move |u: f64| log_peak - log_cosh(0.5 * (edge + u / width)) - log_cosh(0.5 * (edge - u / width));
    let target = from_fn(dim, move |y| y.iter().map(|u| line(*u)).sum());
    let target = target.with_gradient(move |y, gradient| {
        for (slope, u) in gradient.iter_mut().zip(y) {
            let [far, near] = [edge + u / width, edge - u / width].map(|x| (0.5 * x).tanh());
            *slope = 0.5 * (near - far) / width;
        }
    });
    centred(target, vec![((half * half + (PI * width).powi(2)) / 3.0).sqrt(); dim])
}

/// Shell with squared radius r^2 ~ Gamma(a, d/a), in all directions alike, so that every variance is 1:
///
/// ```text
/// p(y) = Gamma(d/2) / (pi^(d/2) Gamma(a) (d/a)^a)  r^(2a - d) exp(-a r^2 / d)
/// ```
/// The relative thickness of the shell is `1 / (2 sqrt a)`. At a = d/2 the density is standard normal.
fn shell(dim: usize, a: f64) -> Built {
    let half = 0.5 * dim as f64;
    let log_peak = ln_gamma(half) - half * PI.ln() - ln_gamma(a) - a * (2.0 * half / a).ln();
    let (power, rate) = (a - half, 0.5 * a / half);
    // Not 0, where the gradient has no value.
    let square = |y: &[f64]| y.iter().map(|y| y * y).sum::<f64>().max(1e-200);
    let target = from_fn(dim, move |y| log_peak + power * square(y).ln() - rate * square(y));
    let target = target.with_gradient(move |y, gradient| {
        let factor = 2.0 * (power / square(y) - rate);
        gradient.iter_mut().zip(y).for_each(|(slope, y)| *slope = factor * y);
    });
    centred(target, vec![1.0; dim])
}

/// Normal density whose first coordinate leads into a neck around c:
///
/// ```text
/// y_0 ~ N(0, 1),   y_i | y_0 ~ N(0, exp(2 l)),   l = -k exp(-(y_0 - c)^2 / 2)
/// Var y_i = sum_j (-2k)^j / j!  (1 + j)^(-1/2) exp(-j c^2 / (2 (1 + j)))
/// ```
fn neck(dim: usize, depth: f64, c: f64) -> Built {
    let log_scale = move |y: f64| -depth * (-0.5 * (y - c).powi(2)).exp();
    let form = |y: &[f64], l: f64| y[1..].iter().map(|y| (y * (-l).exp()).powi(2)).sum::<f64>();
    let others = (dim - 1) as f64;
    let target = from_fn(dim, move |y| {
        let l = log_scale(y[0]);
        -0.5 * (y[0] * y[0] + form(y, l) + dim as f64 * TAU.ln()) - others * l
    });
    let target = target.with_gradient(move |y, gradient| {
        let l = log_scale(y[0]);
        gradient[0] = -y[0] - (y[0] - c) * l * (form(y, l) - others);
        gradient[1..].iter_mut().zip(&y[1..]).for_each(|(slope, y)| *slope = -y * (-2.0 * l).exp());
    });
    let (mut variance, mut power) = (0.0, 1.0);
    for j in 0..60 {
        let j = f64::from(j);
        variance += power * (-0.5 * j * c * c / (1.0 + j)).exp() / (1.0 + j).sqrt();
        power *= -2.0 * depth / (j + 1.0);
    }
    let mut sds = vec![variance.sqrt(); dim];
    sds[0] = 1.0;
    centred(target, sds)
}

/// Nine data of two normal components of variance 1 and known weights, `gap` apart; the coordinates are the means, with priors
/// `N(m_k, tau^2)`. The posterior is a mixture of as many normal densities as there are allocations of the data, whose moments are
/// summed. If `healthy`, the priors say which component is which.
fn mixture_model(gap: f64, healthy: bool, stream: &mut Stream) -> Result<Built, Error> {
    let weights = [0.7_f64, 0.3];
    let (first, (centre, tau)) =
        (if stream.uniform() < 0.5 { 5 } else { 6 }, if healthy { (0.5 * gap, 1.0) } else { (0.0, 10.0) });
    let centres = [centre, -centre];
    let datum = |i| if i < first { 0.5 * gap } else { -0.5 * gap } + stream.normal();
    let data: [f64; 9] = std::array::from_fn(datum);
    // Log weight, means and variances of the posterior, given which data are of which component.
    let allocated = |code: usize| {
        let (mut log_weight, mut moments) = (0.0, [[0.0; 2]; 2]);
        for k in 0..2 {
            let (mut precision, mut sum) = (1.0 / (tau * tau), 0.0);
            for y in (0..9).filter(|i| code >> i & 1 == k).map(|i| data[i] - centres[k]) {
                (precision, sum) = (precision + 1.0, sum + y);
                log_weight += weights[k].ln() - 0.5 * (y * y + TAU.ln());
            }
            log_weight += 0.5 * sum * sum / precision - 0.5 * (tau * tau * precision).ln();
            moments[k] = [centres[k] + sum / precision, 1.0 / precision];
        }
        (log_weight, moments)
    };
    let all: Vec<_> = (0..1 << 9).map(allocated).collect();
    let log_z = log_sum_exp(&all.iter().map(|(log_weight, _)| *log_weight).collect::<Vec<_>>());
    let mean_of = |of: &dyn Fn([f64; 2]) -> f64, k: usize| -> f64 {
        all.iter().map(|(log_weight, moments)| (log_weight - log_z).exp() * of(moments[k])).sum()
    };
    let means = [0, 1].map(|k| mean_of(&|[mean, _]| mean, k));
    let sd = |k: usize| (mean_of(&|[mean, v]| v + mean * mean, k) - means[k] * means[k]).sqrt();
    let truth = Truth::Moments { means: means.to_vec(), sds: vec![sd(0), sd(1)] };

    let terms =
        move |y: f64, z: &[f64]| [0, 1].map(|k| weights[k].ln() - 0.5 * ((y - z[k]).powi(2) + TAU.ln()));
    let off = move |z: &[f64], k: usize| (z[k] - centres[k]) / tau;
    let target = from_fn(2, move |z| {
        let prior = [0, 1].map(|k| -0.5 * (off(z, k).powi(2) + TAU.ln()) - tau.ln());
        prior.iter().sum::<f64>() + data.iter().map(|y| log_sum_exp(&terms(*y, z))).sum::<f64>()
    });
    let target = target.with_gradient(move |z, gradient| {
        (0..2).for_each(|k| gradient[k] = -off(z, k) / tau);
        for y in data {
            let terms = terms(y, z);
            (0..2).for_each(|k| gradient[k] += (terms[k] - log_sum_exp(&terms)).exp() * (y - z[k]));
        }
    });
    Ok(Built { truth, log_z: Some(log_z), ..Built::unknown(target) })
}

/// Places of three labels in the first three coordinates, by all permutations.
const LABELS: [[f64; 3]; 6] =
    [[0., 1., 2.], [0., 2., 1.], [1., 0., 2.], [1., 2., 0.], [2., 0., 1.], [2., 1., 0.]];

/// A failure with parameters of `stream`, or its twin.
pub(super) fn drawn(shape: Shape, healthy: bool, stream: &mut Stream) -> Result<Built, Error> {
    let mut between = |low: f64, high: f64| low * (high / low).powf(stream.uniform());
    let (dim, distance, share) = (between(2.0, 61.0) as usize, between(4.0, 40.0), between(0.05, 0.5));
    let own = between(1.0, std::f64::consts::E).ln();
    let alone = |built: Built| vec![Part::new(1.0, built)];
    // Two normal densities, or one.
    let beside = |second: Built| -> Result<Vec<Part>, Error> {
        let first = Part::new(1.0 - share, normal(second.posterior.dim())?);
        Ok(if healthy { alone(second) } else { vec![first, Part::new(share, second).at(distance)] })
    };
    let scaled = |fault: f64, mild: f64| -> Result<Vec<Part>, Error> {
        let (scale, at) = if healthy { (mild, 0.0) } else { (fault, distance) };
        Ok(vec![Part::new(1.0 - share, normal(dim)?), Part::new(share, normal(dim)?).at(at).scaled(scale)])
    };
    let line = |fault: Line| -> Result<Vec<Part>, Error> {
        Ok(alone(if healthy { normal(dim)? } else { of_line(dim, fault) }))
    };
    let mut flaw = Flaw::None;
    let parts = match shape {
        Shape::StudentMode => beside(known(Student::new(vec![0.0; dim], vec![1.0; dim], 4.0 + 6.0 * own)?))?,
        Shape::BoxMode => beside(boxes(dim))?,
        Shape::ShellMode => beside(shell(dim, if healthy { 0.5 } else { 25.0 } * dim as f64))?,
        Shape::BananaMode => beside(bananas((dim / 2).min(4), 0.1 + 0.2 * own)?)?,
        Shape::FunnelMode => beside(known(Funnel::new(dim, 0.8 + 0.7 * own)?))?,
        Shape::NarrowMode => scaled(1.0 / 30.0, 1.0 / 1.3)?,
        Shape::WideMode => scaled(30.0, 1.3)?,
        Shape::Neck if healthy => alone(normal(dim.min(10))?),
        Shape::Neck => {
            let (apart, depth) = (4.0 + 4.0 * own, 2.0 + 10.0 * share / 3.0);
            let half = |weight, side: f64| Part::new(weight, neck(dim.min(10), depth, 0.5 * side * apart));
            vec![half(1.0 - share, 1.0), half(share, -1.0).at(apart)]
        }
        Shape::Crossing => {
            let (dim, ridges) = (dim.min(10), dim.min(3));
            let (thin, long) = if healthy { (0.7, 1.5) } else { (0.01 * 10.0_f64.powf(own), 4.0) };
            let ridge = |k: usize| -> Result<Part, Error> {
                let weight = if k == 0 { 1.0 - share } else { share / (ridges - 1) as f64 };
                let mut part = Part::new(weight, normal(dim)?).scaled(thin);
                part.scales[k] = long;
                Ok(part)
            };
            (0..ridges).map(ridge).collect::<Result<_, _>>()?
        }
        Shape::Switched => {
            let dim = dim.clamp(3, 20);
            let weights = LABELS.map(|_| stream.normal().exp());
            let copy = |(places, weight): (&[f64; 3], f64)| -> Result<Part, Error> {
                let mut part = Part::new(weight / weights.iter().sum::<f64>(), normal(dim)?);
                (0..3).for_each(|k| part.centre[k] = distance * places[k]);
                Ok(part)
            };
            let copies = LABELS.iter().zip(weights).map(copy).collect::<Result<_, _>>()?;
            if healthy { alone(normal(dim)?) } else { copies }
        }
        Shape::MixtureModel => alone(mixture_model(3.0 + 3.0 * own, healthy, stream)?),
        Shape::HeavyDirection => {
            alone(of_line(dim, Line::Student { freedom: if healthy { 8.0 } else { 1.0 + own } }))
        }
        Shape::GroupScale => {
            let groups = || Ok::<_, Error>(known(Funnel::new(dim, 0.5)?));
            let log_variance = if own < 0.5 { -8.0 * own - 4.0 } else { 8.0 * own };
            let mut second = Part::new(share, groups()?).scaled((0.5 * log_variance).exp()).at(log_variance);
            second.scales[0] = 1.0;
            if healthy { alone(groups()?) } else { vec![Part::new(1.0 - share, groups()?), second] }
        }
        Shape::Jump => {
            let height = 10.0_f64.powf((2.0 * own - 1.0).abs());
            line(Line::Step { height: if own < 0.5 { height } else { -height } })?
        }
        Shape::Improper => line(if own < 0.5 { Line::Flat } else { Line::LogTail })?,
        Shape::Noise | Shape::NanSlab | Shape::ScaledGradient => {
            flaw = match shape {
                Shape::Noise => Flaw::Noise,
                Shape::NanSlab => Flaw::Nan(own - 0.5, own + 1.5 * share),
                _ => Flaw::Scaled,
            };
            alone(normal(dim)?)
        }
        Shape::FlippedTerm => {
            let a = 0.3 * 10.0_f64.powf(own);
            flaw = Flaw::Flipped(a);
            let mut part = Part::new(1.0, normal(dim)?);
            part.scales[0] = (1.0 + a).powf(-0.5);
            vec![part]
        }
    };
    let dim = parts[0].centre.len();
    let mut vector = |scale: f64| -> Vec<f64> { (0..dim).map(|_| scale * stream.normal()).collect() };
    let (centre, scales, mut mirror) = (vector(1.0), vector(0.5), vector(1.0));
    let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    // The mirror that takes the first axis to a random direction.
    mirror[0] -= length(&mirror);
    let of_mirror = length(&mirror);
    // The two means of a mixture model are correlated: their moments are known along the axes alone.
    let is_turned = if shape == Shape::MixtureModel { 0.0 } else { 1.0 };
    mirror.iter_mut().for_each(|m| *m *= is_turned / of_mirror);
    let flaw = if healthy { Flaw::None } else { flaw };
    let scales = scales.iter().map(|log_scale| log_scale.exp()).collect();
    use Shape::{BananaMode, BoxMode, FunnelMode, GroupScale, NarrowMode, ShellMode, StudentMode, Switched};
    let hidden = match shape {
        _ if healthy => 0,
        StudentMode | BoxMode | ShellMode | BananaMode | FunnelMode | NarrowMode => 1,
        GroupScale | Switched => parts.len(),
        _ => 0,
    };
    Ok(Blend { parts, mirror, centre, scales, flaw }.built(hidden))
}

#[cfg(test)]
mod tests {
    use mcsa_testing::model::{Case, gradient_is_gradient};

    use super::*;

    fn of(shape: Shape, healthy: bool, seed: u64) -> Built {
        drawn(shape, healthy, &mut Seed::new(seed).stream(0, 0)).unwrap()
    }

    fn moments(built: &Built) -> (Vec<f64>, Vec<f64>) {
        let Truth::Moments { means, sds } = &built.truth else { panic!("no moments") };
        (means.clone(), sds.clone())
    }

    /// True if sums over 200 x 200 points of the plane, 9 standard deviations around the mean, agree with normaliser and moments.
    fn agrees(built: &Built) -> bool {
        const POINTS: usize = 200;
        let (means, sds) = moments(built);
        let step = 18.0 / POINTS as f64;
        let mut sums = [[0.0; 3]; 2];
        for k in 0..POINTS * POINTS {
            let places = [k / POINTS, k % POINTS].map(|k| step * (k as f64 + 0.5) - 9.0);
            let z = [0, 1].map(|i| means[i] + sds[i] * places[i]);
            let density = (built.posterior.log_density(&z, &mut []) - built.log_z.unwrap()).exp();
            let mass = density * step * step * sds[0] * sds[1];
            (0..2).for_each(|i| {
                (0..3).for_each(|power| sums[i][power as usize] += mass * places[i].powi(power))
            });
        }
        sums.iter().flatten().zip([1.0, 0.0, 1.0].repeat(2)).all(|(sum, known)| (sum - known).abs() < 1e-3)
    }

    /// Normalisers, means and standard deviations of the new densities, and of blends of those that are drawn in the plane.
    ///
    /// Counterexample: the moments of the twin are not those of the failure.
    #[test]
    fn moments_are_those_of_the_density() {
        let mut stream = Seed::new(4).stream(0, 0);
        let models = [false, true].map(|healthy| mixture_model(4.0, healthy, &mut stream).unwrap());
        assert!(models.iter().all(agrees) && agrees(&boxes(2)) && agrees(&shell(2, 50.0)));
        assert!(agrees(&neck(2, 1.5, 1.0)) && !agrees(&Built { truth: boxes(2).truth, ..shell(2, 50.0) }));
        use Shape::{BoxMode, FlippedTerm, MixtureModel, NarrowMode};
        for shape in [BoxMode, MixtureModel, FlippedTerm] {
            let is_plain = |seed: &u64| {
                let built = of(shape, false, *seed);
                built.posterior.dim() == 2 && moments(&built).1.iter().all(|sd| *sd < 3.0)
            };
            let seed = (0..999).find(is_plain).unwrap();
            assert!(agrees(&of(shape, false, seed)) && agrees(&of(shape, true, seed)), "{shape:?}");
            assert!(shape == MixtureModel || agrees(&of(NarrowMode, true, seed)));
            let swapped = Built { truth: of(shape, true, seed).truth, ..of(shape, false, seed) };
            assert_eq!(agrees(&swapped), shape == FlippedTerm, "{shape:?}");
        }
    }

    /// Gradients are those of the densities, but for the two that are planted; twins have the parameters of their failures, or fewer
    /// dimensions, and moments.
    #[test]
    fn only_planted_gradients_are_wrong() {
        for (shape, seed) in Shape::VARIANTS.iter().flat_map(|shape| [1, 2].map(|seed| (*shape, seed))) {
            let (failure, twin) = (of(shape, false, seed), of(shape, true, seed));
            let centre = moments(&twin).0;
            assert_eq!(centre.len(), failure.posterior.dim(), "{shape:?}");
            assert_eq!(
                failure.truth == Truth::None,
                matches!(shape, Shape::HeavyDirection | Shape::Improper)
            );
            let is_gradient = |built: &Built| {
                let case = Case::new(&*built.posterior).with_centre(centre.clone());
                gradient_is_gradient(&case)
            };
            assert_eq!(is_gradient(&twin).err(), None, "{shape:?} {seed}");
            let is_wrong = matches!(shape, Shape::ScaledGradient | Shape::FlippedTerm | Shape::Noise);
            if !matches!(shape, Shape::Jump | Shape::NanSlab) {
                assert_eq!(is_gradient(&failure).is_err(), is_wrong, "{shape:?} {seed}");
            }
        }
    }

    /// Of two modes the second is the one that starts may miss. Its distance from the first is that of the mean divided by its share.
    #[test]
    fn the_second_mode_is_the_hidden_one() {
        for shape in [Shape::BoxMode, Shape::NarrowMode, Shape::StudentMode] {
            let (failure, twin) = (of(shape, false, 5), of(shape, true, 5));
            let ((mean, _), (first, _)) = (moments(&failure), moments(&twin));
            let hidden = &failure.hidden[0];
            let at = |t: f64| -> Vec<f64> {
                first.iter().zip(&mean).map(|(first, mean)| first + t * (mean - first)).collect()
            };
            let is_met = (0..20_000).any(|k| hidden(&at(2.0 + 1e-3 * f64::from(k))));
            assert!(is_met && !hidden(&first), "{shape:?}");
            assert!(twin.hidden.is_empty());
        }
    }

    /// Starts may miss each of two group scales, and each of six orders of three labels; no point is of two modes.
    #[test]
    fn any_of_several_modes_may_be_hidden() {
        for (shape, modes) in [(Shape::GroupScale, 2), (Shape::Switched, 6)] {
            let failure = of(shape, false, 5);
            let (mean, sds) = moments(&failure);
            let mut stream = Seed::new(1).stream(0, 0);
            let mut met = vec![0; modes];
            for _ in 0..2_000 {
                let z: Vec<f64> = mean.iter().zip(&sds).map(|(m, sd)| m + sd * stream.normal()).collect();
                let of_modes: Vec<bool> = failure.hidden.iter().map(|hidden| hidden(&z)).collect();
                assert_eq!(of_modes.len(), modes);
                assert!(of_modes.iter().filter(|is_met| **is_met).count() <= 1);
                met.iter_mut().zip(of_modes).for_each(|(met, is_met)| *met += usize::from(is_met));
            }
            assert!(met.iter().all(|met| *met > 0), "{shape:?}: {met:?}");
        }
    }

    /// A point has one density, also with noise; others have other noise.
    #[test]
    fn noise_depends_on_the_point_alone() {
        let (noisy, calm) = (of(Shape::Noise, false, 1).posterior, of(Shape::Noise, true, 1).posterior);
        let z = vec![0.3; noisy.dim()];
        let noise = |z: &[f64]| noisy.log_density(z, &mut []) - calm.log_density(z, &mut []);
        let moved = vec![0.3 + 1e-12; noisy.dim()];
        assert!(noise(&z) == noise(&z) && noise(&z) != 0.0 && noise(&z).abs() < 6e-3);
        assert!((noise(&z) - noise(&moved)).abs() > 1e-7);
    }
}
