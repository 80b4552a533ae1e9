//! Uniformity of ranks: a simultaneous band of their distribution function, and the error of an answer that they show.

use mcsa_core::Error;
use mcsa_core::numeric::scalar::ln_gamma;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::values::moments;

/// Number of cells of `(0, 1)`, at whose borders distribution functions are compared.
const CELLS: usize = 20;

/// Simultaneous band of the distribution function of `count` independent ranks (Säilynoja, Bürkner & Vehtari 2022).
///
/// Ranks of true values among draws of right answers are uniform on `(0, 1)`.
///
/// ```text
/// N_k = #{i : u_i <= k/20},    P(low_k <= N_k <= high_k for k = 1..19) >= 1 - level
/// N_k+1 - N_k  given  N_k  ~  Bin(n - N_k, (F_k+1 - F_k) / (1 - F_k))
/// ```
/// The counts are a Markov chain, so that the probability is a sum over paths and not a simulation, for uniform ranks and for those
/// with another distribution function F. Both ends of the band have equal probabilities at all k.
///
/// ```
/// use mcsa_diagnostics::RankBand;
/// let band = RankBand::new(100, 0.01)?;
/// let even = |power: f64| (0..100).map(|i| ((f64::from(i) + 0.5) / 100.0).powf(power)).collect::<Vec<f64>>();
/// assert!(band.holds(&even(1.0)) && !band.holds(&even(2.0)));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankBand {
    /// Number of ranks.
    pub count: usize,
    /// Smallest numbers of ranks up to 1/20, 2/20, .., 19/20 that the band allows.
    pub low: Vec<usize>,
    /// Largest numbers of ranks up to 1/20, 2/20, .., 19/20 that the band allows.
    pub high: Vec<usize>,
}

impl RankBand {
    /// The band that uniform ranks leave with probability `level` at most.
    ///
    /// # Errors
    /// If the level is not between 0 and 1.
    pub fn new(count: usize, level: f64) -> Result<Self, Error> {
        if !(0.0 < level && level < 1.0) {
            return Err(Error::parameter("level", level, "between 0 and 1").within("RankBand"));
        }
        // The level of one k is between those of Bonferroni and of a single comparison.
        let (mut low, mut high) = ((level / (CELLS - 1) as f64).ln(), level.ln());
        for _ in 0..12 {
            let middle = 0.5 * (low + high);
            let is_kept = Self::pointwise(count, middle.exp()).left(|t| t) <= level;
            if is_kept { low = middle } else { high = middle }
        }
        Ok(Self::pointwise(count, low.exp()))
    }

    /// The band that a count leaves with probability `level` at most, at each k alone.
    fn pointwise(count: usize, level: f64) -> Self {
        let chances = Binomial::up_to(count);
        let least = |k: usize| {
            let (mut below, mut least) = (0.0, 0);
            loop {
                below += chances.of(count, least, border(k));
                if below > 0.5 * level || least == count {
                    return least;
                }
                least += 1;
            }
        };
        let low: Vec<usize> = (1..CELLS).map(least).collect();
        let high = low.iter().rev().map(|least| count - least).collect();
        Self { count, low, high }
    }

    /// True if the distribution function of the ranks lies in the band; false if there are not `count`.
    pub fn holds(&self, ranks: &[f64]) -> bool {
        let up_to = |k: usize| ranks.iter().filter(|rank| **rank <= border(k)).count();
        let mut ends = self.low.iter().zip(&self.high).zip(1..);
        ranks.len() == self.count && ends.all(|((low, high), k)| (*low..=*high).contains(&up_to(k)))
    }

    /// Probability with which ranks leave the band if the answers are normal and wrong. Their mean is off by `bias` true standard
    /// deviations, and their standard deviation is `factor` times the true one.
    ///
    /// ```text
    /// u = Phi((z - bias) / factor),  z ~ N(0, 1):    F(t) = Phi(bias + factor Phi^-1(t))
    /// ```
    pub fn power(&self, bias: f64, factor: f64) -> f64 {
        let normal = Normal::standard();
        self.left(|t| normal.cdf(bias + factor * normal.inverse_cdf(t)))
    }

    /// Probability with which ranks of this distribution function leave the band.
    fn left(&self, law: impl Fn(f64) -> f64) -> f64 {
        let chances = Binomial::up_to(self.count);
        // Probabilities of the counts `first, first + 1, ..` of paths inside the band.
        let (mut first, mut inside, mut before) = (0, vec![1.0], 0.0);
        for ((&low, &high), k) in self.low.iter().zip(&self.high).zip(1..) {
            let now = law(border(k));
            // Where all of the law lies before, no rank is left.
            let share = if before < 1.0 { (now - before) / (1.0 - before) } else { 0.0 };
            let reached = |to: usize| {
                let from = (first..=to).zip(&inside);
                from.map(|(from, chance)| chance * chances.of(self.count - from, to - from, share)).sum()
            };
            inside = (low..=high).map(reached).collect();
            (first, before) = (low, now);
        }
        1.0 - inside.iter().sum::<f64>()
    }
}

fn border(k: usize) -> f64 {
    k as f64 / CELLS as f64
}

/// Binomial probabilities from a table of `log n!`.
struct Binomial(Vec<f64>);

impl Binomial {
    fn up_to(count: usize) -> Self {
        Self((0..=count).map(|n| ln_gamma(n as f64 + 1.0)).collect())
    }

    fn of(&self, trials: usize, hits: usize, share: f64) -> f64 {
        let (misses, share) = (trials - hits, share.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON));
        let ways = self.0[trials] - self.0[hits] - self.0[misses];
        (ways + hits as f64 * share.ln() + misses as f64 * (-share).ln_1p()).exp()
    }
}

/// Error `(bias, factor)` of normal answers, estimated from ranks of true values. Their mean is off by `bias` true standard
/// deviations, and their standard deviation is `factor` times the true one, as in [`RankBand::power`].
///
/// ```text
/// x_i = Phi^-1(u_i):    factor = 1 / sd(x),   bias = -mean(x) / sd(x)
/// ```
/// NaN for fewer than two ranks, or one outside `(0, 1)`.
pub fn rank_error(ranks: &[f64]) -> (f64, f64) {
    if !ranks.iter().all(|rank| 0.0 < *rank && *rank < 1.0) {
        return (f64::NAN, f64::NAN);
    }
    let scores: Vec<f64> = ranks.iter().map(|rank| Normal::standard().inverse_cdf(*rank)).collect();
    let (mean, variance) = moments(&scores);
    (-mean / variance.sqrt(), variance.sqrt().recip())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ranks: their 400 pairs of cells are equally likely. Counterexample: a band for each border alone is left more often.
    #[test]
    fn the_level_is_that_of_enumeration() {
        for (band, most) in [(RankBand::new(2, 0.2).unwrap(), 0.2), (RankBand::pointwise(2, 0.2), 1.0)] {
            let middle = |cell: usize| (cell as f64 + 0.5) / CELLS as f64;
            let pairs = (0..CELLS).flat_map(|a| (0..CELLS).map(move |b| [middle(a), middle(b)]));
            let left = pairs.filter(|pair| !band.holds(pair)).count() as f64 / (CELLS * CELLS) as f64;
            assert!((band.left(|t| t) - left).abs() < 1e-12 && left > 0.0 && left <= most, "{left}");
            assert_eq!(left > 0.2, most == 1.0, "{left}");
        }
    }

    /// The level is nearly used up, an error of 0.3 standard deviations is seen, and no error is not.
    #[test]
    fn power_grows_with_the_error() {
        let band = RankBand::new(400, 1e-3).unwrap();
        let level = band.power(0.0, 1.0);
        assert!(level <= 1e-3 && level > 5e-4, "{level}");
        let [small, bias, other, wide, narrow] =
            [(0.05, 1.0), (0.3, 1.0), (-0.3, 1.0), (0.0, 1.3), (0.0, 1.0 / 1.3)]
                .map(|(b, f)| band.power(b, f));
        assert!(small < 0.1 && bias > 0.9 && wide > 0.5 && narrow > 0.5, "{small} {bias} {wide} {narrow}");
        assert!((bias - other).abs() < 1e-9, "{bias} {other}");
        // All ranks below the first border, by rounding, too.
        assert_eq!([(9.0, 1.0), (-9.0, 1.0), (0.0, 10.0)].map(|(b, f)| band.power(b, f) > 0.999), [true; 3]);
    }

    /// Ranks at the quantiles of an answer that is 0.5 too high and twice too wide.
    #[test]
    fn an_error_is_read_from_ranks() {
        let normal = Normal::standard();
        let even = (0..2_000).map(|i| normal.inverse_cdf((f64::from(i) + 0.5) / 2_000.0));
        let ranks: Vec<f64> = even.map(|z| normal.cdf((z - 0.5) / 2.0)).collect();
        let (bias, factor) = rank_error(&ranks);
        assert!((bias - 0.5).abs() < 1e-3 && (factor - 2.0).abs() < 1e-2, "{bias} {factor}");
        assert!(rank_error(&[0.5]).0.is_nan() && rank_error(&[0.5, 1.0]).1.is_nan());
        assert!(RankBand::new(5, 1.0).is_err());
    }
}
