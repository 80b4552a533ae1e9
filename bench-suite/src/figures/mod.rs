//! Figures: pure functions from results to drawings. Here are the standard figures and what figures have in common; those of
//! single experiments are in `experiments`.

pub(crate) mod curves;
mod drawn;
mod standard;

pub use drawn::Drawn;
pub use standard::standard;

use crate::results::Results;
use mcsa_plot::Figure;

/// A figure with its file name.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureFile {
    /// Name, unique within the experiment.
    pub name: String,
    /// The figure.
    pub figure: Figure,
}

/// For experiments without figures in Rust: the standard ones if the file has none.
pub fn from_file(results: &Results) -> Vec<FigureFile> {
    if results.experiment.figures.is_empty() { standard(results) } else { Vec::new() }
}

impl FigureFile {
    /// A figure with a name.
    pub fn new(name: impl Into<String>, figure: Figure) -> Self {
        Self { name: name.into(), figure }
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::PresetName;
    use crate::metric::{METRICS, Vector};
    use crate::registry::REGISTRY;
    use crate::results::Results;

    /// Figures can be drawn from any results: complete, absent, or infinite.
    #[test]
    fn every_figure_can_be_drawn_at_any_time() {
        use Vector::{DrawsX, DrawsY, LogScales, Means, Weight, WeightDensity};
        let vectors = [DrawsX, DrawsY, LogScales, Means, Weight, WeightDensity];
        for entry in &REGISTRY {
            for value in [1.0, f64::INFINITY, f64::NAN] {
                let rows = |_: &_, _, _| {
                    let vectors = vectors.map(|vector| (vector, vec![value; 3]));
                    (METRICS.iter().map(|metric| (metric.name, value)).collect(), vectors.into())
                };
                let mut results = Results::with_vectors(entry.experiment().unwrap(), PresetName::Quick, rows);
                for file in entry.figures(&results) {
                    assert!(file.figure.draw().is_ok(), "{} {}", entry.file, file.name);
                }
                results.outcomes.clear();
                for file in entry.figures(&results) {
                    assert!(file.figure.draw().is_ok(), "{} {}, empty", entry.file, file.name);
                }
            }
        }
    }
}
