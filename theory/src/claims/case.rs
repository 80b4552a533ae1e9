//! Cases on which claims are tested: atoms, atoms and a weight, guides that depend on the state, and numbers.

use std::fmt;
use std::sync::Arc;

use mcsa_core::Stream;

use super::{Bound, Sides};
use crate::{Instance, Square, dot, total_variation};

/// Case of a claim, for which both sides can be computed: drawn at random, moved by a search, and printed.
///
/// A search moves the coordinates, which may be any real numbers; whatever they leave fixed (sizes, counts, signs) comes from
/// the setting and the draw.
pub trait Searchable: Clone + fmt::Display + Send + Sync + 'static {
    /// Quantities fixed before the draw: the number of atoms, of samples, of steps.
    type Setting: Clone + Send + Sync + 'static;

    /// A random case. Some should be degenerate, because counterexamples are often at the boundary.
    fn draw(setting: &Self::Setting, stream: &mut Stream) -> Self;

    /// Coordinates at which a search starts.
    fn coordinates(&self) -> Vec<f64>;

    /// The case at other coordinates.
    fn at(&self, coordinates: &[f64]) -> Self;

    /// A formula about cases of these settings. `measure` computes its sides; `None` where the formula does not apply to a case, or
    /// rounding would decide.
    fn bound<S: Into<Option<Sides>>>(
        formula: &str,
        settings: &[Self::Setting],
        measure: impl Fn(&Self) -> S + Send + Sync + 'static,
    ) -> Bound<Self> {
        Bound {
            formula: formula.into(),
            method: "enumeration",
            settings: settings.to_vec(),
            examples: Vec::new(),
            measure: Arc::new(move |case| measure(case).into()),
            twin: None,
        }
    }
}

/// A target, a guide and scores on a few atoms, and the counts that a claim contains.
///
/// ```
/// use mcsa_theory::claims::Atoms;
/// let case = Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]).samples(3);
/// assert_eq!(case.rate_to(3), Some(0.5));
/// assert_eq!(case.to_string(), "p = (0.5, 0.5), q = (0.25, 0.75), s = (1, -1), N = 3, start atom 1");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Atoms {
    /// Target, guide and the first coordinate of the score.
    pub problem: Instance<f64>,
    /// Further coordinates of the score, one value per atom each.
    pub further: Vec<Vec<f64>>,
    /// `N`: number of averaged states, of chains, or of candidates including the retained one.
    pub samples: usize,
    /// `n`, `k` or `t`: number of transitions.
    pub steps: usize,
    /// The atom at which the chain is, counted from 0.
    pub start: usize,
    /// A weight `v > 0` that need not be the weight of an atom, for claims about functions of a weight.
    pub weight: Option<f64>,
}

/// Sizes of [`Atoms`], fixed before the random draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Number of atoms.
    pub atoms: usize,
    /// Dimension of the score, `D`.
    pub dim: usize,
    /// Number of samples, `N`.
    pub samples: usize,
    /// Number of transitions, `n`.
    pub steps: usize,
    /// True for cases with a weight.
    pub weighted: bool,
}

impl Setting {
    /// Settings with scalar scores, one sample and one step.
    pub fn atoms(atoms: &[usize]) -> Vec<Self> {
        Self::grid(atoms, &[1], &[1])
    }

    /// Settings with scalar scores, for all combinations of the counts.
    pub fn grid(atoms: &[usize], samples: &[usize], steps: &[usize]) -> Vec<Self> {
        let mut settings = Vec::new();
        for &atoms in atoms {
            for &samples in samples {
                for &steps in steps {
                    settings.push(Self { atoms, dim: 1, samples, steps, weighted: false });
                }
            }
        }
        settings
    }

    /// Each setting with a weight.
    pub fn with_weights(settings: &[Self]) -> Vec<Self> {
        settings.iter().map(|setting| Self { weighted: true, ..*setting }).collect()
    }

    /// Each setting with scores of each of these dimensions.
    pub fn with_dims(settings: &[Self], dims: &[usize]) -> Vec<Self> {
        settings.iter().flat_map(|setting| dims.iter().map(|&dim| Self { dim, ..*setting })).collect()
    }
}

/// Bound on `|log v|`: weights are within a factor `e^8` of 1.
const FARTHEST_WEIGHT: f64 = 8.0;

/// Exponents from here on magnify the rounding of a small rate.
const LONG: usize = 9;

impl Atoms {
    /// A case with a scalar score, one sample, one step, and the first atom as start.
    ///
    /// # Panics
    /// If the tables do not make a valid [`Instance`].
    pub fn new(target: &[f64], guide: &[f64], score: &[f64]) -> Self {
        let problem = Instance::new(target, guide, score).expect("an example is an instance");
        Self { problem, further: Vec::new(), samples: 1, steps: 1, start: 0, weight: None }
    }

    /// Sets the number of samples `N`.
    #[must_use]
    pub fn samples(self, samples: usize) -> Self {
        Self { samples, ..self }
    }

    /// Sets the number of transitions `n`.
    #[must_use]
    pub fn steps(self, steps: usize) -> Self {
        Self { steps, ..self }
    }

    /// Sets the atom of the start, counted from 0.
    #[must_use]
    pub fn start(self, start: usize) -> Self {
        Self { start, ..self }
    }

    /// Sets the weight `v`.
    #[must_use]
    pub fn weight(self, v: f64) -> Self {
        Self { weight: Some(v), ..self }
    }

    /// The rate `r = 1 - 1 / w*`, or `None` if its power `exponent` may be dominated by rounding.
    pub fn rate_to(&self, exponent: usize) -> Option<f64> {
        let least = if exponent >= LONG { 0.3 } else { 0.05 };
        Some(self.problem.rate()).filter(|rate| *rate >= least)
    }

    /// Largest importance weight `w*`.
    pub fn w_star(&self) -> f64 {
        self.problem.largest_weight()
    }

    /// The coordinates of the score, one value per atom each.
    pub fn scores(&self) -> impl Iterator<Item = &[f64]> {
        std::iter::once(self.problem.s()).chain(self.further.iter().map(Vec::as_slice))
    }

    /// Euclidean norm of the score at an atom.
    pub fn norm(&self, atom: usize) -> f64 {
        self.scores().map(|s| s[atom] * s[atom]).sum::<f64>().sqrt()
    }

    /// Largest norm of a score: the least `L` with `|s| <= L`.
    pub fn largest_norm(&self) -> f64 {
        (0..self.problem.atoms()).map(|atom| self.norm(atom)).fold(0.0, f64::max)
    }

    /// The least `L` with `|s| <= L / 2`.
    pub fn range(&self) -> f64 {
        2.0 * self.largest_norm()
    }

    /// Euclidean norm of the bias `E_law[s] - E_p[s]`.
    pub fn bias_under(&self, law: &[f64]) -> f64 {
        let each = |s: &[f64]| dot(law, s) - dot(self.problem.pi(), s);
        self.scores().map(|s| each(s) * each(s)).sum::<f64>().sqrt()
    }

    /// Norm of the bias of one transition of independent Metropolis-Hastings.
    pub(super) fn imh_bias(&self) -> f64 {
        self.bias_under(self.problem.imh().row(self.start))
    }

    /// A case from unchecked tables, with scores divided by their largest norm.
    fn of(target: &[f64], guide: &[f64], mut scores: Vec<Vec<f64>>, like: &Setting, start: usize) -> Self {
        let square = |atom: usize| scores.iter().map(|s| s[atom] * s[atom]).sum::<f64>();
        let largest = (0..target.len()).map(square).fold(0.0, f64::max).sqrt();
        if largest > 0.0 {
            scores.iter_mut().flatten().for_each(|s| *s /= largest);
        }
        let further = scores.split_off(1);
        let problem = Instance::new(target, guide, &scores[0]).expect("softmax makes laws");
        Self { problem, further, samples: like.samples, steps: like.steps, start, weight: None }
    }
}

/// Probabilities proportional to `exp(logits)`, none below `e^-40` of the largest, because the guide must reach every atom.
pub(super) fn softmax(logits: &[f64]) -> Vec<f64> {
    let finite = |l: &f64| if l.is_finite() { *l } else { 0.0 };
    let top = logits.iter().map(finite).fold(f64::NEG_INFINITY, f64::max);
    let logits: Vec<f64> = logits.iter().map(|l| (finite(l) - top).max(LEAST_LOGIT)).collect();
    normalised(&logits)
}

/// Probabilities from log densities, of which the largest is subtracted first.
pub(super) fn normalised(log_density: &[f64]) -> Vec<f64> {
    let top = log_density.iter().fold(f64::NEG_INFINITY, |top, &l| top.max(l));
    let weights: Vec<f64> = log_density.iter().map(|l| (l - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

/// Least logit relative to the largest.
const LEAST_LOGIT: f64 = -40.0;

/// Logits of probabilities.
pub(super) fn logits<'a>(law: impl IntoIterator<Item = &'a f64>) -> Vec<f64> {
    law.into_iter().map(|p| p.ln().max(LEAST_LOGIT)).collect()
}

impl Searchable for Atoms {
    type Setting = Setting;

    /// Logits are normal, with a spread from nearly uniform to nearly degenerate. In one case of sixteen the guide equals the
    /// target, and in one of sixteen the target leaves out an atom. Half of the weights are that of the start, which is often `w*`.
    fn draw(setting: &Setting, stream: &mut Stream) -> Self {
        let &Setting { atoms, dim, .. } = setting;
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
        let mut score = || {
            let s = stream.normal();
            if signs { s.signum() } else { s }
        };
        let scores = (0..dim).map(|_| (0..atoms).map(|_| score()).collect()).collect();
        let (elsewhere, leaves) = ((atoms as f64 * stream.uniform()) as usize, stream.uniform() < 0.5);
        let mut case = Self::of(&target, &guide, scores, setting, elsewhere);
        if !leaves || case.problem.pi()[elsewhere] == 0.0 {
            case.start = case.problem.mode();
        }
        case.weight = setting.weighted.then(|| {
            let v = (2.0 * stream.normal()).clamp(-FARTHEST_WEIGHT, FARTHEST_WEIGHT).exp();
            if stream.uniform() < 0.5 { case.problem.w()[case.start] } else { v }
        });
        case
    }

    fn coordinates(&self) -> Vec<f64> {
        let mut coordinates = logits(self.problem.pi().iter().chain(self.problem.q()));
        coordinates.extend(self.scores().flatten());
        coordinates.extend(self.weight.map(f64::ln));
        coordinates
    }

    fn at(&self, coordinates: &[f64]) -> Self {
        let (atoms, dim) = (self.problem.atoms(), 1 + self.further.len());
        let coordinates: Vec<f64> =
            coordinates.iter().map(|x| if x.is_finite() { *x } else { 0.0 }).collect();
        let (laws, rest) = coordinates.split_at(2 * atoms);
        let (target, guide) = laws.split_at(atoms);
        let (score, weight) = rest.split_at(dim * atoms);
        let scores = score.chunks(atoms).map(<[f64]>::to_vec).collect();
        let setting = Setting { atoms, dim, samples: self.samples, steps: self.steps, weighted: false };
        let case = Self::of(&softmax(target), &softmax(guide), scores, &setting, self.start);
        let v = |x: &f64| x.clamp(-FARTHEST_WEIGHT, FARTHEST_WEIGHT).exp();
        Self { weight: weight.first().map(v), ..case }
    }
}

/// A number with up to five decimals, without trailing zeros, or in scientific notation.
pub(super) fn short(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || (1e-3..1e4).contains(&size) {
        let text = format!("{x:.5}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        format!("{x:.3e}")
    }
}

pub(super) fn tuple(values: &[f64]) -> String {
    let parts: Vec<String> = values.iter().map(|&value| short(value)).collect();
    format!("({})", parts.join(", "))
}

impl fmt::Display for Atoms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p = {}, q = {}", tuple(self.problem.pi()), tuple(self.problem.q()))?;
        let scores: Vec<String> = self.scores().map(tuple).collect();
        write!(f, ", s = {}", scores.join(" and "))?;
        if self.samples > 1 {
            write!(f, ", N = {}", self.samples)?;
        }
        if self.steps > 1 {
            write!(f, ", n = {}", self.steps)?;
        }
        write!(f, ", start atom {}", self.start + 1)?;
        self.weight.map_or(Ok(()), |v| write!(f, ", weight {}", short(v)))
    }
}

/// A target and one guide per atom: the next step uses the guide of the atom at which the chain is. The simplest dependence of
/// parameters on the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Adaptive {
    /// One problem per atom; all have the same target.
    pub problems: Vec<Instance<f64>>,
    /// Number of transitions, `n`.
    pub steps: usize,
    /// The atom at which the chain starts.
    pub start: usize,
}

impl Adaptive {
    /// A case worked out by hand: the target, and one guide per atom.
    ///
    /// # Panics
    /// If a guide is zero at an atom of the target.
    pub fn new(target: &[f64], guides: &[Vec<f64>], steps: usize, start: usize) -> Self {
        let score = vec![0.0; target.len()];
        let problem =
            |guide: &Vec<f64>| Instance::new(target, guide, &score).expect("a guide reaches the target");
        Self { problems: guides.iter().map(problem).collect(), steps, start }
    }

    /// Transition matrix of one step: row `z` is that of independent Metropolis-Hastings with the guide of atom `z`.
    pub fn transition(&self) -> Square<f64> {
        let kernels: Vec<Square<f64>> = self.problems.iter().map(Instance::imh).collect();
        Square::from_fn(kernels.len(), |z, y| kernels[z].row(z)[y])
    }

    /// Total variation distance to the target after the steps, from the start.
    pub fn distance(&self) -> f64 {
        total_variation(self.transition().power(self.steps).row(self.start), self.problems[0].pi())
    }

    /// Largest convergence rate over all guides.
    pub fn rate(&self) -> f64 {
        self.problems.iter().map(Instance::rate).fold(0.0, f64::max)
    }
}

impl Searchable for Adaptive {
    type Setting = Setting;

    fn draw(setting: &Setting, stream: &mut Stream) -> Self {
        let first = Atoms::draw(setting, stream);
        let mut guides = vec![first.problem.q().to_vec()];
        for _ in 1..setting.atoms {
            guides.push(Atoms::draw(setting, stream).problem.q().to_vec());
        }
        // A guide that leaves out an atom of this target is not usable: the first guide is kept.
        let mut case =
            Self::new(first.problem.pi(), &vec![guides[0].clone(); guides.len()], setting.steps, first.start);
        for (problem, guide) in case.problems.iter_mut().zip(&guides) {
            if let Ok(found) = Instance::new(first.problem.pi(), guide, first.problem.s()) {
                *problem = found;
            }
        }
        case
    }

    fn coordinates(&self) -> Vec<f64> {
        logits(self.problems[0].pi().iter().chain(self.problems.iter().flat_map(Instance::q)))
    }

    fn at(&self, coordinates: &[f64]) -> Self {
        let mut laws = coordinates.chunks(self.problems.len()).map(softmax);
        let target = laws.next().unwrap_or_default();
        Self::new(&target, &laws.collect::<Vec<_>>(), self.steps, self.start)
    }
}

impl fmt::Display for Adaptive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p = {}", tuple(self.problems[0].pi()))?;
        for (atom, problem) in (1..).zip(&self.problems) {
            write!(f, ", q = {} at atom {atom}", tuple(problem.q()))?;
        }
        write!(f, ", n = {}, start atom {}", self.steps, self.start + 1)
    }
}

/// Domain of a variable, and its map to the real line on which the search moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Domain {
    /// All real numbers.
    Real,
    /// The positive numbers, by the exponential function.
    Positive,
    /// The numbers between two bounds, by the logistic function.
    Between(f64, f64),
}

/// Bound on the absolute value of a coordinate, against overflow.
const FARTHEST: f64 = 40.0;

impl Domain {
    fn value(self, coordinate: f64) -> f64 {
        let x = if coordinate.is_finite() { coordinate.clamp(-FARTHEST, FARTHEST) } else { 0.0 };
        match self {
            Self::Real => x,
            Self::Positive => x.exp(),
            Self::Between(low, high) => low + (high - low) / (1.0 + (-x).exp()),
        }
    }

    fn coordinate(self, value: f64) -> f64 {
        let x = match self {
            Self::Real => value,
            Self::Positive => value.ln(),
            Self::Between(low, high) => ((value - low) / (high - value)).ln(),
        };
        x.clamp(-FARTHEST, FARTHEST)
    }
}

/// Named variables, each with one or several copies, and a count `N`.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers {
    /// Name, domain and values of each variable.
    pub variables: Vec<(&'static str, Domain, Vec<f64>)>,
    /// The count `N`.
    pub count: usize,
}

impl Numbers {
    /// Settings with variables given as name, domain and number of copies, one setting per count.
    pub fn settings(variables: &[(&'static str, Domain, usize)], counts: &[usize]) -> Vec<Self> {
        let variable = |&(name, domain, copies): &(&'static str, Domain, usize)| {
            (name, domain, vec![domain.value(0.0); copies])
        };
        let variables: Vec<_> = variables.iter().map(variable).collect();
        counts.iter().map(|&count| Self { variables: variables.clone(), count }).collect()
    }

    /// The case with other values, in order.
    fn with(&self, mut value: impl FnMut(Domain) -> f64) -> Self {
        let mut case = self.clone();
        for (_, domain, values) in &mut case.variables {
            values.iter_mut().for_each(|x| *x = value(*domain));
        }
        case
    }

    /// True if there is a variable of this name.
    pub fn has(&self, name: &str) -> bool {
        self.variables.iter().any(|(known, ..)| *known == name)
    }

    /// All copies of a variable.
    ///
    /// # Panics
    /// If no variable has this name.
    pub fn of(&self, name: &str) -> &[f64] {
        let found = self.variables.iter().find(|(known, ..)| *known == name);
        found.map(|(.., values)| &values[..]).unwrap_or_else(|| panic!("no variable {name}"))
    }

    /// The first copy of a variable.
    ///
    /// # Panics
    /// If no variable has this name.
    pub fn number(&self, name: &str) -> f64 {
        self.of(name)[0]
    }
}

impl Searchable for Numbers {
    type Setting = Self;

    /// Coordinates are normal, with a small or a large spread.
    fn draw(setting: &Self, stream: &mut Stream) -> Self {
        let spread = [0.5, 2.0, 5.0][(3.0 * stream.uniform()) as usize];
        setting.with(|domain| domain.value(spread * stream.normal()))
    }

    fn coordinates(&self) -> Vec<f64> {
        let each = self
            .variables
            .iter()
            .flat_map(|(_, domain, values)| values.iter().map(|x| domain.coordinate(*x)));
        each.collect()
    }

    fn at(&self, coordinates: &[f64]) -> Self {
        let mut coordinates = coordinates.iter();
        self.with(|domain| domain.value(coordinates.next().copied().unwrap_or(0.0)))
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |(name, _, values): &(&str, Domain, Vec<f64>)| match values[..] {
            [x] => format!("{name} = {}", short(x)),
            _ => format!("{name} = {}", tuple(values)),
        };
        let words: Vec<String> = self.variables.iter().map(word).collect();
        write!(f, "{}", words.join(", "))?;
        if self.count > 1 { write!(f, ", N = {}", self.count) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    #[test]
    fn coordinates_lead_back() {
        let settings = Setting::with_dims(&Setting::grid(&[2, 4], &[3], &[2]), &[1, 3]);
        for (index, setting) in settings.iter().enumerate() {
            let case = Atoms::draw(setting, &mut Seed::new(3).stream(0, index as u64));
            let again = case.at(&case.coordinates());
            let pairs = case.problem.pi().iter().chain(case.problem.s());
            let pairs = pairs.zip(again.problem.pi().iter().chain(again.problem.s()));
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9), "{case} {again}");
            assert_eq!((case.samples, case.steps, case.start), (again.samples, again.steps, again.start));
            assert!((case.largest_norm() - 1.0).abs() < 1e-12 && case.scores().count() == setting.dim);
        }
    }

    #[test]
    fn wild_coordinates_are_still_a_case() {
        let case = Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]);
        let wild = case.at(&[1e300, -1e300, f64::INFINITY, f64::NAN, f64::NAN, 1.0]);
        assert!(wild.w_star().is_finite());
    }

    #[test]
    fn degenerate_cases_occur() {
        let setting = Setting::atoms(&[3])[0];
        let draws: Vec<Atoms> =
            (0..400).map(|k| Atoms::draw(&setting, &mut Seed::new(1).stream(0, k))).collect();
        assert!(draws.iter().filter(|case| case.problem.pi() == case.problem.q()).count() > 5);
        assert!(draws.iter().filter(|case| case.problem.pi().contains(&0.0)).count() > 5);
        assert!(draws.iter().filter(|case| case.w_star() > 100.0).count() > 5);
        assert!(draws.iter().all(|case| case.problem.pi()[case.start] > 0.0));
    }

    #[test]
    fn coordinates_of_numbers_lead_back() {
        let (unit, real) = (Domain::Between(0.0, 1.0), Domain::Real);
        let setting =
            &Numbers::settings(&[("a", unit, 2), ("x", Domain::Positive, 1), ("y", real, 1)], &[3])[0];
        let case = Numbers::draw(setting, &mut Seed::new(2).stream(0, 0));
        let again = case.at(&case.coordinates());
        let pairs = ["a", "x", "y"].into_iter().flat_map(|name| case.of(name).iter().zip(again.of(name)));
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0)), "{case} {again}");
        let wild = case.at(&[f64::NAN, 1e300, 1e300, -1e300]);
        assert!(["a", "x", "y"].iter().all(|name| wild.of(name).iter().all(|x| x.is_finite())));
        assert!(case.to_string().contains("N = 3"));
    }
}
