//! Margins of coordinates: their distribution functions and quantiles.

use std::f64::consts::FRAC_1_SQRT_2;

use mcsa_core::numeric::scalar::{erfc, ln_gamma};
use mcsa_models::{Gaussian, Mixture};

/// Number of quantiles that are kept of a margin.
pub(super) const LEVELS: usize = 19;

/// Level of quantile `k`: 5 %, 10 %, .., 95 %.
pub(super) fn level(k: usize) -> f64 {
    (k + 1) as f64 / (LEVELS + 1) as f64
}

/// Margin of a coordinate.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Margin {
    /// Mixture of normal laws: weight, mean and standard deviation of each. The weights need not add up to one.
    Normals(Vec<[f64; 3]>),
    /// Stored quantiles.
    Stored([f64; LEVELS]),
}

/// Margins of all coordinates of a case, each distinct one once.
#[derive(Debug, Clone, PartialEq)]
pub struct Margins {
    distinct: Vec<Margin>,
    /// Index of the margin of each coordinate.
    of: Vec<usize>,
}

impl Margins {
    pub(super) fn each(distinct: Vec<Margin>) -> Self {
        Self { of: (0..distinct.len()).collect(), distinct }
    }

    /// `repeats` groups of coordinates with these margins.
    pub(super) fn repeated(distinct: Vec<Margin>, repeats: usize) -> Self {
        let count = distinct.len();
        Self { of: (0..count * repeats).map(|i| i % count).collect(), distinct }
    }

    /// One margin of the first coordinate, and one of all others.
    pub(super) fn first(first: Margin, others: Margin, dim: usize) -> Self {
        Self { distinct: vec![first, others], of: (0..dim).map(|i| i.min(1)).collect() }
    }

    /// Normal margins of a mixture of Gaussians.
    pub(super) fn mixture(target: &Mixture) -> Self {
        let dim = mcsa_core::LogDensity::dim(target);
        let node = |i: usize| {
            move |(k, part): (usize, &Gaussian)| [target.weight(k), part.mean()[i], part.variance(i).sqrt()]
        };
        let margin =
            |i: usize| Margin::Normals(target.components().iter().enumerate().map(node(i)).collect());
        Self::each((0..dim).map(margin).collect())
    }

    /// Normal margins with these means and standard deviations.
    pub(super) fn normal(means: &[f64], sds: &[f64]) -> Self {
        Self::each(means.iter().zip(sds).map(|(&mean, &sd)| Margin::Normals(vec![[1.0, mean, sd]])).collect())
    }

    /// Number of coordinates.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// True without coordinates.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Quantiles at 5 %, 10 %, .., 95 % of each coordinate.
    pub fn quantiles(&self) -> Vec<[f64; LEVELS]> {
        let distinct: Vec<_> = self.distinct.iter().map(Margin::quantiles).collect();
        self.of.iter().map(|&k| distinct[k]).collect()
    }
}

/// `P(N(0, 1) <= x)`.
fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x * FRAC_1_SQRT_2)
}

/// Nodes of the trapezoidal rule for `z | t ~ N(mean, sd^2)`, `t` with this density on `[from, to]`.
fn mixed(
    from: f64,
    to: f64,
    nodes: usize,
    log_density: impl Fn(f64) -> f64,
    given: impl Fn(f64) -> (f64, f64),
) -> Margin {
    let node = |k: usize| {
        let t = from + (to - from) * k as f64 / nodes as f64;
        let (mean, sd) = given(t);
        [log_density(t).exp(), mean, sd]
    };
    Margin::Normals((0..=nodes).map(node).collect())
}

fn log_normal(t: f64) -> f64 {
    -0.5 * t * t
}

impl Margin {
    pub(super) fn standard() -> Self {
        Self::Normals(vec![[1.0, 0.0, 1.0]])
    }

    /// `N(0, exp(v))` with `v ~ N(0, scale^2)`.
    pub(super) fn funnel(scale: f64) -> Self {
        mixed(-9.0, 9.0, 800, log_normal, |t| (0.0, (0.5 * scale * t).exp()))
    }

    /// `N(bend (x^2 - width^2), 1)` with `x ~ N(0, width^2)`.
    pub(super) fn banana(width: f64, bend: f64) -> Self {
        mixed(-9.0, 9.0, 4_000, log_normal, |t| (bend * width * width * (t * t - 1.0), 1.0))
    }

    /// Student t: `N(0, nu / c)` with `c` chi-squared, in the logarithm of `c / nu`.
    pub(super) fn student(freedom: f64) -> Self {
        let half = 0.5 * freedom;
        let log_constant = half * half.ln() - ln_gamma(half);
        let log_density = |t: f64| log_constant + half * (t - t.exp());
        let reach = 40.0 / half.min(1.0) + 10.0;
        mixed(-reach, 8.0, (64.0 * (reach + 8.0)) as usize, log_density, |t| (0.0, (-0.5 * t).exp()))
    }

    /// Skew normal: `location + scale (slope |t| + sqrt(1 - slope^2) e)` with normal `t`
    /// and `e`, `slope = slant / sqrt(1 + slant^2)`.
    pub(super) fn skew_normal(location: f64, scale: f64, slant: f64) -> Self {
        let slope = slant / slant.hypot(1.0);
        // The rule counts the end at 0 half.
        let log_half = |t: f64| log_normal(t) - if t == 0.0 { 2.0_f64.ln() } else { 0.0 };
        let sd = scale * (1.0 - slope * slope).sqrt();
        mixed(0.0, 9.0, 4_000, log_half, |t| (location + scale * slope * t, sd))
    }

    fn quantiles(&self) -> [f64; LEVELS] {
        match self {
            Self::Stored(quantiles) => *quantiles,
            Self::Normals(nodes) => std::array::from_fn(|k| quantile(nodes, level(k))),
        }
    }
}

/// Quantile of a mixture of normal laws, by bisection to rounding.
fn quantile(nodes: &[[f64; 3]], level: f64) -> f64 {
    let total: f64 = nodes.iter().map(|node| node[0]).sum();
    let end = |sign: f64| {
        let ends = nodes.iter().filter(|node| node[0] > 0.0).map(|[_, mean, sd]| mean + sign * 10.0 * sd);
        ends.fold(-sign * f64::INFINITY, |a, b| if sign > 0.0 { a.max(b) } else { a.min(b) })
    };
    let below =
        |x: f64| nodes.iter().map(|[weight, mean, sd]| weight * normal_cdf((x - mean) / sd)).sum::<f64>();
    // In the inverse hyperbolic sine, so that heavy tails cost no more steps.
    let (mut low, mut high) = (end(-1.0).asinh(), end(1.0).asinh());
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if below(middle.sinh()) < level * total { low = middle } else { high = middle }
    }
    (0.5 * (low + high)).sinh()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::{ExactDraws, Seed};
    use mcsa_models::{Banana, Funnel, SkewNormal, Student};

    /// Shares of 40,000 exact draws below each quantile, within 6 standard errors; with the quantiles moved by a twentieth of the
    /// spread they are off.
    fn follows(target: &impl ExactDraws, margins: &Margins) {
        let (dim, draws) = (target.dim(), 40_000);
        let mut z = vec![0.0; dim];
        let quantiles = margins.quantiles();
        let (mut below, mut moved) = (vec![[0.0_f64; LEVELS]; dim], vec![[0.0_f64; LEVELS]; dim]);
        let mut stream = Seed::new(8).stream(0, 0);
        for _ in 0..draws {
            target.draw_into(&mut stream, &mut z);
            for (i, z) in z.iter().enumerate() {
                let step = 0.05 * (quantiles[i][18] - quantiles[i][0]);
                for k in 0..LEVELS {
                    below[i][k] += f64::from(*z <= quantiles[i][k]);
                    moved[i][k] += f64::from(*z <= quantiles[i][k] + step);
                }
            }
        }
        assert_eq!(margins.len(), dim);
        for i in 0..dim {
            let off = |counts: &[f64; LEVELS], k: usize| {
                let p = level(k);
                (counts[k] / f64::from(draws) - p).abs() / (p * (1.0 - p) / f64::from(draws)).sqrt()
            };
            assert!((0..LEVELS).all(|k| off(&below[i], k) < 6.0), "coordinate {i}: {:?}", below[i]);
            assert!((0..LEVELS).any(|k| off(&moved[i], k) > 6.0), "coordinate {i}: {:?}", moved[i]);
        }
    }

    #[test]
    fn exact_draws_have_these_quantiles() {
        let funnel = Funnel::new(2, 3.0).unwrap();
        let first = Margin::Normals(vec![[1.0, 0.0, 3.0]]);
        follows(&funnel, &Margins::first(first, Margin::funnel(3.0), 2));
        let first = Margin::Normals(vec![[1.0, 0.0, 2.0]]);
        follows(&Banana::new(2.0, 0.5).unwrap(), &Margins::each(vec![first, Margin::banana(2.0, 0.5)]));
        for freedom in [1.0, 5.0] {
            let target = Student::new(vec![0.0; 2], vec![1.0; 2], freedom).unwrap();
            follows(&target, &Margins::repeated(vec![Margin::student(freedom)], 2));
        }
        let skewed = SkewNormal::new(0.5, 2.0, 5.0).unwrap();
        follows(&skewed, &Margins::each(vec![Margin::skew_normal(0.5, 2.0, 5.0)]));
        let mixture = Mixture::scattered(7, 10.0, 1.3, &mut Seed::new(2).stream(0, 0)).unwrap();
        follows(&mixture, &Margins::mixture(&mixture));
    }

    /// Quartiles of the Cauchy law are -1 and 1; those of the normal law are known.
    #[test]
    fn quantiles_of_known_laws() {
        let cauchy = Margin::student(1.0).quantiles();
        assert!((cauchy[4] + 1.0).abs() < 1e-9 && (cauchy[14] - 1.0).abs() < 1e-9, "{cauchy:?}");
        let normal = Margin::Normals(vec![[0.3, 2.0, 3.0]]).quantiles();
        assert!((normal[18] - 2.0 - 3.0 * 1.644_853_626_951_472_7).abs() < 1e-10, "{normal:?}");
    }
}
