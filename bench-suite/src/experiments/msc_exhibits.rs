//! What is computed when it is drawn (MSC): ancestors in conditional SMC (Alg. 4), and the distribution that minibatches lead to (Fig. 5).

use mcsa_catalogue::published_rules::{Ancestry, TwoStates};
use mcsa_core::{Seed, numeric};
use mcsa_plot::{Axis, Color, Dash, Figure, Layer, PALETTE, Panel, Style};

use crate::claims::{Check, Finding, greatest, least};
use crate::figures::FigureFile;
use crate::results::Results;
use crate::tables::Table;

/// Exact density and histograms of long chains with two particles.
pub(super) fn first_state(_: &Results) -> Vec<FigureFile> {
    let scene = TwoStates::default();
    let (mean, variance) = scene.exact();
    let scale = variance.sqrt();
    let (low, width) = (mean - 6.0 * scale, 12.0 * scale / 50.0);
    let centres: Vec<f64> = (0..50).map(|k| low + width * (f64::from(k) + 0.5)).collect();
    let density =
        |z: &f64| (-0.5 * (z - mean).powi(2) / variance).exp() / (std::f64::consts::TAU * variance).sqrt();
    let fine: Vec<f64> = (0..=400).map(|k| low + 0.125 * width * f64::from(k)).collect();
    let exact: Vec<f64> = fine.iter().map(density).collect();
    let plain = Style::series(0);
    let black = Style { color: Color::BLACK, width: 2.2, dash: Dash::Solid, ..plain };
    let x = Axis::linear("First state").spanning(low, low + 50.0 * width);
    let mut panel = Panel::new(x, Axis::linear("Density"))
        .with(Layer::line(fine, exact).styled(black).named("posterior"));
    let shown = [
        (Ancestry::Correct, "ancestors, correct weight", PALETTE[0], Dash::Long),
        (Ancestry::Printed, "ancestors, printed weight", PALETTE[1], Dash::Short),
    ];
    for (ancestry, name, color, dash) in shown {
        let states = scene.first_states(ancestry, 2, 200_000, &mut Seed::new(2).named("shown").stream(0, 0));
        let mut heights = vec![0.0; centres.len()];
        for z in &states {
            let place = ((z - low) / width) as usize;
            if let Some(height) = heights.get_mut(place).filter(|_| *z >= low) {
                *height += 1.0 / (width * states.len() as f64);
            }
        }
        let style = Style { color, dash, width: 1.3, ..plain };
        panel = panel.with(Layer::line(centres.clone(), heights).styled(style).named(name));
    }
    let caption = "Two states, two particles; 200 000 sweeps each, in 50 cells. The printed weight draws the state towards the \
                   prior, for it leaves out the observation.";
    vec![FigureFile::new("first-state", Figure::new(vec![panel]).wide(120.0).captioned(caption))]
}

/// A row for each rule and number of particles.
pub(super) fn moments_table(_: &Results) -> Vec<Table> {
    let rules = [
        (Ancestry::Kept, "kept"),
        (Ancestry::Correct, "sampled, correct weight"),
        (Ancestry::Printed, "sampled, printed weight"),
    ];
    let row = |(particles, (ancestry, name)): (usize, (Ancestry, &str))| {
        let found = moments(ancestry, particles);
        vec![
            name.to_owned(),
            particles.to_string(),
            format!("{:.3}", found.mean),
            format!("{:.3} ± {:.3}", found.variance, found.error),
            format!("{:.3}", found.exact.0),
            format!("{:.3}", found.exact.1),
        ]
    };
    let rows = [2, 10].into_iter().flat_map(|particles| rules.map(|rule| row((particles, rule)))).collect();
    let head = "Ancestor | Particles | Mean | Variance | Exact mean | Exact variance";
    let note = "200 000 sweeps each; errors are standard errors.";
    vec![Table::new("moments", "The first of two states", head, rows, note)]
}

/// Checks of the claims on ancestor weights.
pub(super) const ANCESTORS: [(&str, Check); 3] = [
    ("printed_is_invariant", |_| Ok(invariant(&moments(Ancestry::Printed, 2)))),
    ("correct_is_invariant", |_| Ok(invariant(&moments(Ancestry::Correct, 2)))),
    ("printed_is_still_off", |_| Ok(still_off(&moments(Ancestry::Printed, 10)))),
];

/// Number of sweeps from which moments are estimated.
const SWEEPS: usize = 200_000;

/// Estimated mean and variance of the first state, standard error of the variance, and exact mean and variance.
struct Moments {
    mean: f64,
    variance: f64,
    error: f64,
    exact: (f64, f64),
}

fn moments(ancestry: Ancestry, particles: usize) -> Moments {
    let scene = TwoStates::default();
    let mut stream = Seed::new(1).named("ancestors").stream(0, 0);
    of(&scene.first_states(ancestry, particles, SWEEPS, &mut stream), scene.exact())
}

/// Moments with a standard error from means over blocks of 400 sweeps, far longer than the autocorrelation time.
fn of(states: &[f64], exact: (f64, f64)) -> Moments {
    let count = states.len() as f64;
    let mean = states.iter().sum::<f64>() / count;
    let square = |z: &f64| (z - mean).powi(2);
    let variance = states.iter().map(square).sum::<f64>() / count;
    let blocks: Vec<f64> =
        states.chunks(400).map(|block| block.iter().map(square).sum::<f64>() / block.len() as f64).collect();
    let spread = blocks.iter().map(|block| (block - variance).powi(2)).sum::<f64>();
    let number = blocks.len() as f64;
    Moments { mean, variance, error: (spread / (number - 1.0) / number).sqrt(), exact }
}

fn invariant(found: &Moments) -> Finding {
    let off = (found.variance - found.exact.1).abs() / found.error;
    let what = format!(
        "variance of the first state {:.3}, exactly {:.3}: off by so many standard errors",
        found.variance, found.exact.1
    );
    Finding::at_most(off, 5.0, what)
}

fn still_off(found: &Moments) -> Finding {
    let what =
        format!("variance of the first state {:.3} over {:.3}, less one", found.variance, found.exact.1);
    Finding::at_least(found.variance / found.exact.1 - 1.0, 0.05, what)
}

/// A row for each size of minibatch, a column for each draw of ten data.
pub(super) fn densities(_: &Results) -> Vec<FigureFile> {
    let plain = Style::series(0);
    let (black, blue) = (
        Style { color: Color::BLACK, dash: Dash::Short, width: 1.3, ..plain },
        Style { color: PALETTE[0], dash: Dash::Solid, width: 1.6, ..plain },
    );
    let mut panels = Vec::new();
    for size in SIZES {
        for draw in 0..DRAWS {
            // The smallest minibatch has the widest distribution and determines the range of its column.
            let grid = SubsetAverage::drawn(draw, SIZES[0]).grid();
            let laws = SubsetAverage::drawn(draw, size);
            let of = |density: &dyn Fn(f64) -> f64| grid.iter().map(|&z| density(z)).collect::<Vec<f64>>();
            let title = format!("*m* = {size}, data {}: distance {:.3}", draw + 1, laws.distance());
            let x = Axis::linear("*z*").spanning(grid[0], grid[grid.len() - 1]);
            let panel = Panel::new(x, Axis::linear("Density"))
                .titled(title)
                .with(
                    Layer::line(grid.clone(), of(&|z| laws.density(z))).styled(blue).named("subset average"),
                )
                .with(Layer::line(grid.clone(), of(&|z| laws.posterior(z))).styled(black).named("posterior"));
            panels.push(panel);
        }
    }
    let mut figure = Figure::new(panels).shaped(0.42);
    (figure.columns, figure.shares_y, figure.shares_legend) = (DRAWS, true, true);
    let caption = "Exact: mixtures of 45, 252 and 10 normal laws. Distance is total variation. Ten data from the model, drawn twice.";
    vec![FigureFile::new("densities", figure.captioned(caption))]
}

/// Checks of the claims on minibatches.
pub(super) const SUBSETS: [(&str, Check); 3] = [
    ("closer", |_| Ok(closer(&distances()))),
    ("wider", |_| Ok(wider(&all(|subset| subset.ratio().max(subset.modes() as f64), 2)))),
    ("other", |_| Ok(other(&all(SubsetAverage::distance, 9)))),
];

/// Sizes of minibatches, of ten data.
const SIZES: [usize; 3] = [2, 5, 9];
/// Number of data sets drawn.
const DRAWS: usize = 2;

/// Posterior of the mean of ten data, and the distribution p~ that minibatches of `size` lead to.
///
/// ```text
/// z ~ N(0, 1),  x_i ~ N(z, 1)        p~(z) ∝ p(z) sum_M p(x_M | z)^(n/m)     over the C(n, m) subsets of m of n
/// p~ = sum_M W_M N(n mean(x_M) / (1 + n), 1 / (1 + n)),    log W_M = n^2 mean(x_M)^2 / (2 (1 + n)) - n/(2 m) sum_M x^2 + const
/// ```
/// (MSC, Prop. 2)
struct SubsetAverage {
    /// Posterior mean.
    mean: f64,
    /// Means of the mixture components of p~.
    means: Vec<f64>,
    /// Weights of the components, which sum to one.
    weights: Vec<f64>,
    precision: f64,
}

impl SubsetAverage {
    /// Draws ten data from the model; `draw` is the number of the data set.
    fn drawn(draw: usize, size: usize) -> Self {
        let mut stream = Seed::new(5).named("subset average").stream(draw as u64, 0);
        let z = stream.normal();
        let data: Vec<f64> = (0..10).map(|_| z + stream.normal()).collect();
        Self::of(&data, size)
    }

    /// For given data, at most 20.
    fn of(data: &[f64], size: usize) -> Self {
        let (count, precision) = (data.len() as f64, 1.0 + data.len() as f64);
        let (mut means, mut weights) = (Vec::new(), Vec::new());
        for subset in (0..1_u32 << data.len()).filter(|subset| subset.count_ones() as usize == size) {
            let members = || data.iter().enumerate().filter(|(i, _)| subset >> i & 1 == 1).map(|(_, x)| *x);
            let (sum, squares) = members().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
            let mean = sum / size as f64;
            means.push(count * mean / precision);
            weights.push(0.5 * (count * count * mean * mean / precision - count / size as f64 * squares));
        }
        let total = numeric::log_sum_exp(&weights);
        weights.iter_mut().for_each(|weight| *weight = (*weight - total).exp());
        Self { mean: data.iter().sum::<f64>() / precision, means, weights, precision }
    }

    fn part(&self, z: f64, mean: f64) -> f64 {
        (self.precision / std::f64::consts::TAU).sqrt() * (-0.5 * self.precision * (z - mean).powi(2)).exp()
    }

    /// Density of the posterior.
    fn posterior(&self, z: f64) -> f64 {
        self.part(z, self.mean)
    }

    /// Density of p~.
    fn density(&self, z: f64) -> f64 {
        self.means.iter().zip(&self.weights).map(|(mean, weight)| weight * self.part(z, *mean)).sum()
    }

    /// Evaluation points: 801 points whose range leaves out less than 1e-9 of either density.
    fn grid(&self) -> Vec<f64> {
        let reach = 6.5 / self.precision.sqrt();
        let heavy = self.means.iter().zip(&self.weights).filter(|(_, weight)| **weight > 1e-12);
        let means = heavy.map(|(mean, _)| *mean).chain([self.mean]);
        let (low, high) = means.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| {
            (low.min(mean - reach), high.max(mean + reach))
        });
        (0..=800).map(|k| low + (high - low) * f64::from(k) / 800.0).collect()
    }

    /// Total variation distance between posterior and p~, by the trapezoidal rule.
    fn distance(&self) -> f64 {
        let grid = self.grid();
        let width = grid[1] - grid[0];
        0.5 * width * grid.iter().map(|&z| (self.posterior(z) - self.density(z)).abs()).sum::<f64>()
    }

    /// Standard deviation of p~ divided by that of the posterior.
    fn ratio(&self) -> f64 {
        let parts = || self.means.iter().zip(&self.weights);
        let centre: f64 = parts().map(|(mean, weight)| weight * mean).sum();
        let between: f64 = parts().map(|(mean, weight)| weight * (mean - centre).powi(2)).sum();
        (1.0 + self.precision * between).sqrt()
    }

    /// Number of modes of p~ on the grid that exceed a hundredth of its maximum.
    fn modes(&self) -> usize {
        let heights: Vec<f64> = self.grid().into_iter().map(|z| self.density(z)).collect();
        let top = greatest(heights.iter().copied());
        heights.windows(3).filter(|w| w[1] > w[0] && w[1] >= w[2] && w[1] > 0.01 * top).count()
    }
}

fn all(number: fn(&SubsetAverage) -> f64, size: usize) -> Vec<f64> {
    (0..DRAWS).map(|draw| number(&SubsetAverage::drawn(draw, size))).collect()
}

fn distances() -> Vec<[f64; 3]> {
    (0..DRAWS).map(|draw| SIZES.map(|size| SubsetAverage::drawn(draw, size).distance())).collect()
}

fn closer(distances: &[[f64; 3]]) -> Finding {
    let falls = distances.iter().flat_map(|d| [d[0] - d[1], d[1] - d[2]]);
    let listed: Vec<String> =
        distances.iter().map(|d| format!("{:.3}, {:.3}, {:.3}", d[0], d[1], d[2])).collect();
    let what = format!("total variation with 2, 5 and 9 of ten: {}; its least fall", listed.join("; and "));
    Finding::at_least(least(falls), 0.0, what)
}

fn wider(ratios: &[f64]) -> Finding {
    Finding::at_least(
        least(ratios.iter().copied()),
        1.2,
        "ratio of scales or number of modes, the least of the draws",
    )
}

fn other(distances: &[f64]) -> Finding {
    Finding::at_least(least(distances.iter().copied()), 0.01, "total variation, the least of the draws")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;

    #[test]
    fn chains_are_invariant_or_not() {
        let found = |variance: f64| Moments { mean: 1.0, variance, error: 0.001, exact: (1.0, 0.157) };
        assert_eq!(invariant(&found(0.158)).verdict, Verdict::Agree);
        assert_eq!(invariant(&found(0.293)).verdict, Verdict::Disagree);
        assert_eq!(invariant(&found(f64::NAN)).verdict, Verdict::TooLittle);
        assert_eq!(still_off(&found(0.17)).verdict, Verdict::Agree);
        assert_eq!(still_off(&found(0.158)).verdict, Verdict::Disagree);
        assert_eq!(still_off(&found(f64::NAN)).verdict, Verdict::TooLittle);
    }

    /// Independent draws with variance 4: the error of the variance of `n` is `4 sqrt(2 / n)`.
    #[test]
    fn errors_are_those_of_the_definition() {
        let mut stream = Seed::new(1).stream(0, 0);
        let states: Vec<f64> = (0..100_000).map(|_| 3.0 + 2.0 * stream.normal()).collect();
        let found = of(&states, (3.0, 4.0));
        assert!((found.error / (4.0 * (2.0 / 1e5_f64).sqrt()) - 1.0).abs() < 0.3, "{}", found.error);
        assert!((found.variance - 4.0).abs() < 5.0 * found.error);
    }

    /// With all ten data p~ is the posterior; for two data, one at a time, the mixture is computed by hand: weights `∝ exp(2
    /// x^2 / 3 - x^2)`.
    #[test]
    fn mixtures_by_hand() {
        let whole = SubsetAverage::of(&[0.3, -1.0, 2.0], 3);
        assert!(whole.distance() < 1e-12 && (whole.ratio() - 1.0).abs() < 1e-12 && whole.modes() == 1);
        let pair = SubsetAverage::of(&[0.0, 3.0], 1);
        let odds = (-3.0_f64).exp();
        assert!((pair.weights[1] / pair.weights[0] - odds).abs() < 1e-12);
        assert!((pair.means[1] - 2.0).abs() < 1e-12 && (pair.mean - 1.0).abs() < 1e-12);
        let count = |size| SubsetAverage::drawn(0, size).means.len();
        assert_eq!(SIZES.map(count), [45, 252, 10]);
        let grid = pair.grid();
        let mass: f64 = grid.iter().map(|&z| pair.density(z)).sum::<f64>() * (grid[1] - grid[0]);
        assert!((mass - 1.0).abs() < 1e-8, "{mass}");
    }

    #[test]
    fn minibatches_hold_fail_and_abstain() {
        use Verdict::{Agree, Disagree, TooLittle};
        let verdicts =
            |d: [f64; 3], ratio: f64| [closer(&[d]).verdict, wider(&[ratio]).verdict, other(&[d[2]]).verdict];
        assert_eq!(verdicts([0.5, 0.3, 0.1], 2.0), [Agree; 3]);
        assert_eq!(verdicts([0.1, 0.3, 0.001], 1.0), [Disagree; 3]);
        assert_eq!(verdicts([0.5, f64::NAN, f64::NAN], f64::NAN), [TooLittle; 3]);
    }
}
