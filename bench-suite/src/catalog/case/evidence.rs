//! Evidence of cases by annealed importance sampling, stored.

use faer::Mat;
use mcsa_core::{Curvature, Error, Seed, numeric};
use mcsa_families::dais::{Base, Dais, Mass, Shape};
use mcsa_models::surrogate::PosteriorSurrogate;
use mcsa_optim::deterministic::Lbfgs;
use rayon::prelude::*;

const STORED: &str = include_str!("../../../references/evidence.csv");

/// First lines of the file of stored evidences.
pub(crate) const EVIDENCE_HEAD: &str = "\
# Log normalisers by annealed importance sampling, made by `cargo run --release -p mcsa-bench-suite -- references`: the log of the mean
# weight of independent paths from a normal law at the mode to the target, with the standard error by the delta method.
case,log_z,error,paths,steps";

/// Annealed importance sampling: `log Z = log E[p(z_K) / q(path)]`, over paths of K leapfrog steps from a normal law at the mode.
#[derive(Debug, Clone, Copy)]
pub(super) struct Annealing {
    pub(super) paths: u64,
    pub(super) steps: usize,
}

/// Step size of the leapfrog, in standard deviations of the prior, and share of the momentum that a step keeps.
const STEP_SIZE: f64 = 0.1;
const KEPT: f64 = 0.97;
/// Paths of one stored line, and their steps.
const LONG: Annealing = Annealing { paths: 256, steps: 2_000 };

impl Annealing {
    /// Log normaliser and its standard error, for a log-concave target whose curvatures are between 1 and some tens.
    ///
    /// # Errors
    /// If the target has no mode that an ascent from 0 reaches, or a weight is not finite.
    fn run<P: Curvature>(self, target: P, seed: Seed) -> Result<(f64, f64), Error> {
        let dim = target.dim();
        let base = base_at_mode(&target)?;
        let dais = Dais {
            base,
            step_size: STEP_SIZE,
            kappa: 0.0,
            longest: STEP_SIZE,
            gamma: KEPT,
            betas: (1..=self.steps).map(|k| k as f64 / self.steps as f64).collect(),
            mass: vec![1.0; dim],
            law: Mass::Variance,
        };
        dais.check()?;
        let target = PosteriorSurrogate(target);
        let log_weight = |path: u64| {
            let mut noise = vec![0.0; dais.noise_len(&target)];
            seed.stream(path, 0).normals_into(&mut noise);
            let path = dais.path(&target, &[], &noise);
            target.0.log_density(path.end(), &mut vec![0.0; target.0.work_len(1)]) - path.log_q
        };
        let logs: Vec<f64> = (0..self.paths).into_par_iter().map(log_weight).collect();
        let count = logs.len() as f64;
        let log_z = numeric::log_sum_exp(&logs) - count.ln();
        let spread: f64 = logs.iter().map(|log| ((log - log_z).exp() - 1.0).powi(2)).sum();
        let error = (spread / (count - 1.0) / count).sqrt();
        if log_z.is_finite() && error.is_finite() {
            return Ok((log_z, error));
        }
        Err(Error::invalid("a path has no finite weight"))
    }
}

/// Normal law with the mode of a log-concave target as its mean and the reciprocal curvatures along the axes as its variances.
fn base_at_mode<P: Curvature>(target: &P) -> Result<Base, Error> {
    let dim = target.dim();
    let mut work = vec![0.0; dim + target.work_len(1)];
    let mode = Lbfgs::default().mode(target, &vec![0.0; dim])?.converged()?.point;
    let axes = Mat::<f64>::identity(dim, dim);
    let mut bent = vec![0.0; dim];
    let mut deviation = |k: usize| {
        target.hessian_vector_into(&mode, axes.col_as_slice(k), &mut bent, &mut work);
        (-1.0 / bent[k]).sqrt()
    };
    let deviations = (0..dim).map(&mut deviation).collect();
    Base::new(mode, Shape::Diagonal, deviations)
}

/// Stored log normaliser of a case by its title.
pub(super) fn stored(title: &str) -> Option<f64> {
    stored_line(title)?.rsplit(',').nth(3)?.parse().ok()
}

/// Stored line of a case.
pub(crate) fn stored_line(title: &str) -> Option<&'static str> {
    STORED.lines().find(|line| line.strip_prefix(title).is_some_and(|rest| rest.starts_with(',')))
}

/// Line of the file for a case.
///
/// # Errors
/// If the target has no mode that an ascent from 0 reaches, or a weight is not finite.
pub(crate) fn line<P: Curvature>(title: &str, target: P) -> Result<String, Error> {
    let (log_z, error) = LONG.run(target, Seed::new(17).named(title)).map_err(|error| error.within(title))?;
    Ok(format!("{title},{log_z:.4},{error:.1e},{},{}", LONG.paths, LONG.steps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Case;
    use mcsa_core::LogDensity;
    use mcsa_core::quadrature::{Axis, Map, log_integral};
    use mcsa_models::{Centring, CoxProcess};

    /// A process on one cell: the evidence is within 5 errors of its integral, with a false alarm below 1e-5, and not of one a tenth
    /// off.
    #[test]
    fn annealing_finds_an_integral() {
        let target = CoxProcess::new(1, &[20.0], Centring::NonCentred).unwrap();
        let mut work = vec![0.0; target.work_len(1)];
        let axes = [Axis::line(Map::Sinh, 0.0, 1.0)];
        let exact = log_integral(&axes, 1e-9, |z| target.log_density(z, &mut work)).value;
        let short = Annealing { paths: 256, steps: 100 };
        let (found, error) = short.run(target, Seed::new(3)).unwrap();
        assert!((found - exact).abs() < 5.0 * error && 5.0 * error < 0.05, "{found} {error} {exact}");
        assert!((found - exact - 0.1).abs() > 5.0 * error);
    }

    #[test]
    fn stored_evidences_are_sharp() {
        assert!(STORED.starts_with(EVIDENCE_HEAD));
        let lines: Vec<&str> = STORED.lines().skip(EVIDENCE_HEAD.lines().count()).collect();
        assert!(!lines.is_empty());
        for line in lines {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(fields.len(), 5, "{line}");
            assert!(fields[2].parse::<f64>().unwrap() < 0.05 && stored(fields[0]).is_some(), "{line}");
        }
        assert!(stored("Cox process on SYNTHETIC points").is_none());
    }

    #[test]
    fn the_case_of_the_scoreboard_has_an_evidence() {
        let case = Case::CoxProcess { grid: 40, centred: false, points: None };
        assert!(stored(&case.title()).is_some());
    }
}
