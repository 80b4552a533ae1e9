//! Exact laws of a transition matrix: invariance, detailed balance, unbiased clouds, closed forms.

use faer::Mat;
use mcsa_core::Error;

use crate::{Check, Report, Transition};

/// Tolerance for the rounding of a sum of branch probabilities.
const ROUNDING: f64 = 1e-12;

impl Transition {
    /// Law `K 1 = 1`: every row sums to one.
    pub fn rows_sum_to_one(&self) -> Check {
        let error = |z: usize| (self.row(z).sum::<f64>() - 1.0).abs();
        worst("rows sum to 1", (0..self.states()).map(|z| (error(z), state(z))))
    }

    /// Law of invariance, `pi K = pi`; for several chains `pi` is the product of the targets.
    pub fn keeps_target(&self) -> Check {
        worst("pi K = pi", (0..self.states()).map(|y| (self.drift(y).abs(), state(y))))
    }

    /// Error of invariance at state `y`, `(pi K - pi)(y)`.
    pub fn drift(&self, y: usize) -> f64 {
        (0..self.states()).map(|z| self.target[z] * self.matrix[(z, y)]).sum::<f64>() - self.target[y]
    }

    /// Law of detailed balance, `pi(z) K(z, y) = pi(y) K(y, z)`.
    pub fn is_reversible(&self) -> Check {
        let flow = |z: usize, y: usize| self.target[z] * self.matrix[(z, y)];
        let pairs = (0..self.states()).flat_map(|z| (0..z).map(move |y| (z, y)));
        worst(
            "detailed balance",
            pairs.map(|(z, y)| ((flow(z, y) - flow(y, z)).abs(), format!("states {y}, {z}"))),
        )
    }

    /// Law of the cloud: started from the target, the expected weights of the cloud are the target's probabilities, so that
    /// averages over the cloud are unbiased in stationarity. For a cloud of weighted candidates this is the Rao-Blackwell property.
    pub fn cloud_keeps_target(&self) -> Check {
        let mean = |a: usize| (0..self.states()).map(|z| self.target[z] * self.cloud[(z, a)]).sum::<f64>();
        worst("pi C = pi", (0..self.atoms).map(|a| ((mean(a) - self.marginal[a]).abs(), format!("atom {a}"))))
    }

    /// Law of the cache: the log densities stored in the state equal those of the target.
    pub fn remembers_density(&self) -> Check {
        Check::exact("remembered log p", self.stale, ROUNDING, "")
    }

    /// Equality with a closed form, in the rows of states with positive target probability.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn equals(&self, closed: &Mat<f64>) -> Check {
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

    /// Equality of a metric's mean with its closed form, at starts with positive target probability.
    pub fn record_equals(&self, name: &str, closed: &[f64]) -> Check {
        match self.mean_record(name) {
            None => Check::refused("record", Error::invalid(format!("nothing is recorded as {name:?}"))),
            Some(found) => {
                let starts = (0..self.states()).filter(|&z| self.target[z] > 0.0);
                worst("record", starts.map(|z| ((found[z] - closed[z]).abs(), format!("{name} from {z}"))))
            }
        }
    }

    /// Report on the laws of every kernel: rows, invariance, the cloud and the stored densities.
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

fn worst(law: &'static str, errors: impl Iterator<Item = (f64, String)>) -> Check {
    let larger = |a: &(f64, String), b: &(f64, String)| a.0.is_nan() || a.0 >= b.0;
    let found = errors.reduce(|a, b| if larger(&a, &b) { a } else { b });
    let (error, place) = found.unwrap_or_default();
    Check::exact(law, error, ROUNDING, place)
}
