//! The laws of a transition, exactly.

use faer::Mat;
use mcsa::Error;

use crate::{Report, Transition, Verdict};

/// What rounding may do to a sum of branch probabilities.
const ROUNDING: f64 = 1e-12;

impl Transition {
    /// `K 1 = 1`: every start leads somewhere.
    pub fn rows_sum_to_one(&self) -> Verdict {
        let error = |z: usize| (self.row(z).sum::<f64>() - 1.0).abs();
        worst("rows sum to 1", (0..self.states()).map(|z| (error(z), state(z))))
    }

    /// `pi K = pi`, for several chains with the product of the targets.
    pub fn keeps_target(&self) -> Verdict {
        worst("pi K = pi", (0..self.states()).map(|y| (self.drift(y).abs(), state(y))))
    }

    /// `(pi K - pi)(y)`.
    pub fn drift(&self, y: usize) -> f64 {
        (0..self.states()).map(|z| self.target[z] * self.matrix[(z, y)]).sum::<f64>() - self.target[y]
    }

    /// `pi(z) K(z, y) = pi(y) K(y, z)`: detailed balance.
    pub fn is_reversible(&self) -> Verdict {
        let flow = |z: usize, y: usize| self.target[z] * self.matrix[(z, y)];
        let pairs = (0..self.states()).flat_map(|z| (0..z).map(move |y| (z, y)));
        worst(
            "detailed balance",
            pairs.map(|(z, y)| ((flow(z, y) - flow(y, z)).abs(), format!("states {y}, {z}"))),
        )
    }

    /// Started from the target, the weighted cloud has the target as its mean: what is averaged over it is
    /// unbiased in stationarity. For a cloud of weighted candidates this is the Rao-Blackwell property.
    pub fn cloud_keeps_target(&self) -> Verdict {
        let mean = |a: usize| (0..self.states()).map(|z| self.target[z] * self.cloud[(z, a)]).sum::<f64>();
        worst("pi C = pi", (0..self.atoms).map(|a| ((mean(a) - self.marginal[a]).abs(), format!("atom {a}"))))
    }

    /// What the state remembers of the target's density is what the target says.
    pub fn remembers_density(&self) -> Verdict {
        Verdict::exact("remembered log p", self.stale, ROUNDING, "")
    }

    /// Equality with a closed form, in the rows of states that the target can visit.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn equals(&self, closed: &Mat<f64>) -> Verdict {
        assert_eq!(
            (closed.nrows(), closed.ncols()),
            (self.states(), self.states()),
            "a matrix on joint states"
        );
        let support = (0..self.states()).filter(|&z| self.target[z] > 0.0);
        let cells = support.flat_map(|z| (0..self.states()).map(move |y| (z, y)));
        worst(
            "closed form",
            cells.map(|(z, y)| ((self.matrix[(z, y)] - closed[(z, y)]).abs(), format!("{z} -> {y}"))),
        )
    }

    /// Equality of a recorded number's mean with its closed form, at starts that the target can visit.
    pub fn record_equals(&self, name: &str, closed: &[f64]) -> Verdict {
        match self.mean_record(name) {
            None => Verdict::refused("record", Error::invalid(format!("nothing is recorded as {name:?}"))),
            Some(found) => {
                let starts = (0..self.states()).filter(|&z| self.target[z] > 0.0);
                worst("record", starts.map(|z| ((found[z] - closed[z]).abs(), format!("{name} from {z}"))))
            }
        }
    }

    /// The laws every kernel obeys: rows, invariance, the cloud and the remembered densities.
    pub fn report(&self, title: &str) -> Report {
        let laws = [
            self.rows_sum_to_one(),
            self.keeps_target(),
            self.cloud_keeps_target(),
            self.remembers_density(),
        ];
        Report::new(format!("{title}, {} branches", self.branches), laws.into())
    }

    fn row(&self, z: usize) -> impl Iterator<Item = f64> {
        (0..self.states()).map(move |y| self.matrix[(z, y)])
    }
}

fn state(z: usize) -> String {
    format!("state {z}")
}

fn worst(law: &'static str, errors: impl Iterator<Item = (f64, String)>) -> Verdict {
    let larger = |a: &(f64, String), b: &(f64, String)| a.0.is_nan() || a.0 >= b.0;
    let found = errors.reduce(|a, b| if larger(&a, &b) { a } else { b });
    let (error, place) = found.unwrap_or_default();
    Verdict::exact(law, error, ROUNDING, place)
}
