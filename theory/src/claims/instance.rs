//! A finite problem.

use std::fmt;

use mcsa::Stream;

use super::Case;
use crate::closed;

/// A target, a guide and scores on a few atoms, and the counts a claim speaks of.
///
/// ```
/// use mcsa_theory::claims::Instance;
/// let case = Instance::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]).samples(3);
/// assert_eq!((case.w_star(), case.mode()), (2.0, 0));
/// assert_eq!(case.to_string(), "p = (0.5, 0.5), q = (0.25, 0.75), s = (1, -1), N = 3, start atom 1");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// The target's probabilities.
    pub target: Vec<f64>,
    /// The guide's probabilities.
    pub guide: Vec<f64>,
    /// The scores: coordinate `i` at atom `a` is `score[a * dim + i]`.
    pub score: Vec<f64>,
    /// The dimension of a score, `D`.
    pub dim: usize,
    /// `N`: states that are averaged, chains, or candidates with the retained one included.
    pub samples: usize,
    /// `n`, `k` or `t`: transitions.
    pub steps: usize,
    /// The atom where the chain is.
    pub start: usize,
}

/// What an [`Instance`] has before it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Atoms.
    pub atoms: usize,
    /// Dimension of the score.
    pub dim: usize,
    /// `N`.
    pub samples: usize,
    /// `n`.
    pub steps: usize,
}

impl Setting {
    /// Scalar scores, one sample, one step.
    pub fn atoms(atoms: &[usize]) -> Vec<Self> {
        Self::grid(atoms, &[1], &[1])
    }

    /// All combinations, with scalar scores.
    pub fn grid(atoms: &[usize], samples: &[usize], steps: &[usize]) -> Vec<Self> {
        let mut settings = Vec::new();
        for &atoms in atoms {
            for &samples in samples {
                for &steps in steps {
                    settings.push(Self { atoms, dim: 1, samples, steps });
                }
            }
        }
        settings
    }

    /// Each with scores of these dimensions.
    pub fn dims(settings: &[Self], dims: &[usize]) -> Vec<Self> {
        settings.iter().flat_map(|setting| dims.iter().map(|&dim| Self { dim, ..*setting })).collect()
    }
}

/// Exponents from this one on magnify the rounding of a small rate.
const LONG: usize = 9;

impl Instance {
    /// A scalar score, one sample, one step, from the first atom. Probabilities are taken as they are.
    pub fn new(target: &[f64], guide: &[f64], score: &[f64]) -> Self {
        let (target, guide, score) = (target.to_vec(), guide.to_vec(), score.to_vec());
        Self { target, guide, score, dim: 1, samples: 1, steps: 1, start: 0 }
    }

    /// Another `N`.
    #[must_use]
    pub fn samples(self, samples: usize) -> Self {
        Self { samples, ..self }
    }

    /// Another `n`.
    #[must_use]
    pub fn steps(self, steps: usize) -> Self {
        Self { steps, ..self }
    }

    /// Another atom to start from, counted from 0.
    #[must_use]
    pub fn start(self, start: usize) -> Self {
        Self { start, ..self }
    }

    /// How many atoms there are.
    pub fn atoms(&self) -> usize {
        self.target.len()
    }

    /// The importance weight of an atom, `w = p / q`.
    pub fn weight(&self, atom: usize) -> f64 {
        if self.target[atom] == 0.0 { 0.0 } else { self.target[atom] / self.guide[atom] }
    }

    /// All weights.
    pub fn weights(&self) -> Vec<f64> {
        (0..self.atoms()).map(|atom| self.weight(atom)).collect()
    }

    /// `w*`, the largest weight.
    pub fn w_star(&self) -> f64 {
        closed::largest_weight(&self.target, &self.guide)
    }

    /// `r = 1 - 1 / w*`.
    pub fn rate(&self) -> f64 {
        1.0 - 1.0 / self.w_star()
    }

    /// The rate, if its powers up to `exponent` are more than rounding.
    pub fn rate_to(&self, exponent: usize) -> Option<f64> {
        let least = if exponent >= LONG { 0.3 } else { 0.05 };
        Some(self.rate()).filter(|rate| *rate >= least)
    }

    /// `z*`, the first atom of the largest weight.
    pub fn mode(&self) -> usize {
        let weights = self.weights();
        (0..self.atoms()).rev().max_by(|&a, &b| weights[a].total_cmp(&weights[b])).unwrap_or(0)
    }

    /// The target's mean of a function of atoms.
    pub fn mean(&self, f: &[f64]) -> f64 {
        self.target.iter().zip(f).map(|(p, f)| p * f).sum()
    }

    /// The target's variance of a function of atoms.
    pub fn variance(&self, f: &[f64]) -> f64 {
        let mean = self.mean(f);
        self.target.iter().zip(f).map(|(p, f)| p * (f - mean) * (f - mean)).sum()
    }

    /// The largest Euclidean norm of a score.
    pub fn largest_score(&self) -> f64 {
        let norm = |score: &[f64]| score.iter().map(|s| s * s).sum::<f64>().sqrt();
        self.score.chunks(self.dim).map(norm).fold(0.0, f64::max)
    }

    /// Scores divided by the largest norm, unless all are zero.
    fn scaled(mut self) -> Self {
        let largest = self.largest_score();
        if largest > 0.0 {
            self.score.iter_mut().for_each(|s| *s /= largest);
        }
        self
    }
}

/// Probabilities proportional to `exp(logits)`.
fn softmax(logits: &[f64]) -> Vec<f64> {
    crate::finite::normalised(logits)
}

/// The least logit that a search starts from, for an atom of probability zero.
const LEAST_LOGIT: f64 = -30.0;

impl Case for Instance {
    type Setting = Setting;

    /// Logits are normal, with a spread that goes from even to nearly degenerate. One case in sixteen has the guide
    /// equal to the target, and in one in sixteen the target leaves out an atom.
    fn draw(setting: &Setting, stream: &mut Stream) -> Self {
        let &Setting { atoms, dim, samples, steps } = setting;
        let law = |stream: &mut Stream| {
            let spread = [0.3, 1.0, 2.0, 5.0][(4.0 * stream.uniform()) as usize];
            let logits: Vec<f64> = (0..atoms).map(|_| spread * stream.normal()).collect();
            softmax(&logits)
        };
        let (mut target, mut guide) = (law(stream), law(stream));
        let kind = (16.0 * stream.uniform()) as usize;
        if kind == 0 {
            guide.clone_from(&target);
        } else if kind == 1 {
            let left_out = (atoms as f64 * stream.uniform()) as usize;
            target[left_out] = 0.0;
            let total: f64 = target.iter().sum();
            target.iter_mut().for_each(|p| *p /= total);
        }
        let signs = stream.uniform() < 0.5;
        let score = (0..atoms * dim).map(|_| stream.normal()).map(|s| if signs { s.signum() } else { s });
        let score = score.collect();
        let mut case = Self { target, guide, score, dim, samples, steps, start: 0 }.scaled();
        let elsewhere = (atoms as f64 * stream.uniform()) as usize;
        case.start =
            if stream.uniform() < 0.5 || case.target[elsewhere] == 0.0 { case.mode() } else { elsewhere };
        case
    }

    fn coordinates(&self) -> Vec<f64> {
        let logits = self.target.iter().chain(&self.guide).map(|p| p.ln().max(LEAST_LOGIT));
        logits.chain(self.score.iter().copied()).collect()
    }

    fn at(&self, coordinates: &[f64]) -> Self {
        let (laws, score) = coordinates.split_at(2 * self.atoms());
        let (target, guide) = laws.split_at(self.atoms());
        let (target, guide, score) = (softmax(target), softmax(guide), score.to_vec());
        Self { target, guide, score, ..*self }.scaled()
    }
}

/// Four digits, fewer where zeros follow.
fn short(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || (1e-3..1e4).contains(&size) {
        let text = format!("{x:.5}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        format!("{x:.3e}")
    }
}

fn tuple(values: &[f64]) -> String {
    let parts: Vec<String> = values.iter().map(|&value| short(value)).collect();
    format!("({})", parts.join(", "))
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p = {}, q = {}", tuple(&self.target), tuple(&self.guide))?;
        let scores: Vec<String> = match self.dim {
            1 => self.score.iter().map(|&s| short(s)).collect(),
            dim => self.score.chunks(dim).map(tuple).collect(),
        };
        write!(f, ", s = ({})", scores.join(", "))?;
        if self.samples > 1 {
            write!(f, ", N = {}", self.samples)?;
        }
        if self.steps > 1 {
            write!(f, ", n = {}", self.steps)?;
        }
        write!(f, ", start atom {}", self.start + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa::Seed;

    #[test]
    fn coordinates_lead_back() {
        for (index, setting) in Setting::grid(&[2, 4], &[3], &[2]).iter().enumerate() {
            let case = Instance::draw(setting, &mut Seed::new(3).stream(0, index as u64));
            let again = case.at(&case.coordinates());
            let pairs = case.target.iter().chain(&case.score).zip(again.target.iter().chain(&again.score));
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9), "{case} {again}");
            assert_eq!((case.samples, case.steps, case.start), (again.samples, again.steps, again.start));
        }
    }

    #[test]
    fn degenerate_cases_occur() {
        let draws =
            (0..400).map(|k| Instance::draw(&Setting::atoms(&[3])[0], &mut Seed::new(1).stream(0, k)));
        let draws: Vec<Instance> = draws.collect();
        assert!(draws.iter().filter(|case| case.target == case.guide).count() > 5);
        assert!(draws.iter().filter(|case| case.target.contains(&0.0)).count() > 5);
        assert!(draws.iter().filter(|case| case.w_star() > 100.0).count() > 5);
        assert!(draws.iter().all(|case| case.target[case.start] > 0.0));
    }
}
