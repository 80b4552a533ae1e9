//! Categorical distribution on finitely many points, with a softmax parametrisation.

use std::cmp::Ordering;

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{Columns, Error, Family, Parametric, Stream, all_finite};

use crate::mixture::Softmax;
use mcsa_core::each_column;

/// Categorical distribution on finitely many points of `R^d` (softmax of logits); kernels that propose from it can be enumerated.
///
/// ```text
/// q_lambda(a_k) = exp(lambda_k) / sum_l exp(lambda_l),     score_l(a_k) = 1[l = k] - q_lambda(a_l)
/// ```
/// Lambda has one logit per atom, in the order of the columns of `points`; adding a constant to all logits
/// changes nothing. Draws go through [`Stream::choose`], so that [`mcsa_core::enumerate`] runs a kernel
/// along every proposal and computes its transition matrix.
///
/// A point equals an atom if all its coordinates have the same bits; so `0.0` and `-0.0` differ.
/// At any other point the log density is `-inf` for every lambda, and the score is zero.
/// In dimension zero there is one point, hence one atom.
///
/// ```
/// use mcsa_core::{Family, Parametric};
/// use mcsa_families::Atoms;
/// let atoms = Atoms::on_line(3)?;
/// let lambda = [0.0, 0.0, 2.0_f64.ln()];
/// let mut work = vec![0.0; atoms.work_len(1)];
/// assert!((atoms.log_prob(&lambda, &[2.0], &mut work) - 0.5_f64.ln()).abs() < 1e-15);
/// assert_eq!(atoms.log_prob(&lambda, &[0.5], &mut work), f64::NEG_INFINITY);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Atoms {
    points: Mat<f64>,
    /// Indices of the columns, sorted by the bits of their coordinates.
    order: Vec<usize>,
}

fn compare(a: &[f64], b: &[f64]) -> Ordering {
    a.iter().map(|x| x.to_bits()).cmp(b.iter().map(|x| x.to_bits()))
}

impl Atoms {
    /// Family on the columns of `points`.
    ///
    /// # Errors
    /// If there is no column, a coordinate is not finite, or two columns are equal bit for bit.
    pub fn new(points: Mat<f64>) -> Result<Self, Error> {
        if points.ncols() == 0 {
            return Err(Error::invalid("no atoms: a distribution needs at least one point"));
        }
        for k in 0..points.ncols() {
            all_finite("atom", points.col_as_slice(k)).map_err(|e| e.within(format!("Atoms: column {k}")))?;
        }
        let mut order: Vec<usize> = (0..points.ncols()).collect();
        order.sort_by(|&k, &l| compare(points.col_as_slice(k), points.col_as_slice(l)));
        let equal =
            |pair: &&[usize]| compare(points.col_as_slice(pair[0]), points.col_as_slice(pair[1])).is_eq();
        if let Some(pair) = order.windows(2).find(equal) {
            return Err(Error::invalid(format!("atoms {} and {} are the same point", pair[0], pair[1])));
        }
        Ok(Self { points, order })
    }

    /// Family on the points `0, 1, .., count - 1` of the line.
    ///
    /// # Errors
    /// If `count` is zero.
    pub fn on_line(count: usize) -> Result<Self, Error> {
        Self::new(Mat::from_fn(1, count, |_, k| k as f64))
    }

    /// The atoms, one per column.
    pub fn points(&self) -> MatRef<'_, f64> {
        self.points.as_ref()
    }

    /// Index of the atom equal to `point` bit for bit, or `None`.
    pub fn index_of(&self, point: &[f64]) -> Option<usize> {
        let found = self.order.binary_search_by(|&k| compare(self.points.col_as_slice(k), point));
        found.ok().map(|at| self.order[at])
    }
}

impl Parametric for Atoms {
    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn dim(&self) -> usize {
        self.points.nrows()
    }

    fn num_params(&self) -> usize {
        self.points.ncols()
    }

    fn work_len(&self, _: usize) -> usize {
        self.num_params()
    }
}

impl Family for Atoms {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], _: &mut [f64]) {
        assert_eq!(z.ncols(), log_q.len(), "a density per column");
        let softmax = Softmax::of(params);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            *log_q = self.index_of(z.column(j)).map_or(f64::NEG_INFINITY, |k| softmax.log(params[k]));
        }
    }

    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        _: &mut [f64],
    ) {
        assert_eq!(z.ncols(), log_q.len(), "a density per column");
        let softmax = Softmax::of(params);
        // Finite logits always leave a choice; unchecked ones give NaN, which kernels reject.
        each_column(lanes, z, |lane, j, z| match lane.choose(params) {
            Some(k) => {
                z.copy_from_slice(self.points.col_as_slice(k));
                log_q[j] = softmax.log(params[k]);
            }
            None => {
                z.fill(f64::NAN);
                log_q[j] = f64::NAN;
            }
        });
    }

    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!(z.ncols(), weights.len(), "a weight per column");
        let (softmax, probabilities) = (Softmax::of(params), &mut work[..self.num_params()]);
        for (p, &logit) in probabilities.iter_mut().zip(params) {
            *p = softmax.log(logit).exp();
        }
        for (j, &weight) in weights.iter().enumerate() {
            if let Some(k) = self.index_of(z.column(j)) {
                for (l, (slope, &p)) in gradient.iter_mut().zip(&*probabilities).enumerate() {
                    *slope += weight * (if l == k { 1.0 } else { 0.0 } - p);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::mat;
    use mcsa_core::enumerate;
    use proptest::prelude::*;

    #[test]
    fn a_family_without_points_twice_the_same_or_at_infinity_is_refused() {
        let said = |points: Mat<f64>| Atoms::new(points).unwrap_err().to_string();
        assert_eq!(said(Mat::zeros(2, 0)), "no atoms: a distribution needs at least one point");
        assert_eq!(said(mat![[1.0, 2.0, 1.0], [0.0, 0.0, 0.0]]), "atoms 0 and 2 are the same point");
        assert_eq!(said(mat![[1.0, f64::NAN]]), "Atoms: column 1: atom[0] is NaN, expected a finite number");
        assert_eq!(said(Mat::zeros(0, 2)), "atoms 0 and 1 are the same point");
        assert!(Atoms::on_line(0).is_err());
        assert!(Atoms::new(Mat::zeros(0, 1)).is_ok());
        assert!(Atoms::on_line(3).unwrap().check(&[0.0, f64::NAN, 0.0]).is_err());
        assert!(Atoms::on_line(3).unwrap().check(&[0.0; 2]).is_err());
    }

    #[test]
    fn zeros_of_both_signs_are_two_atoms() {
        let atoms = Atoms::new(mat![[0.0, -0.0]]).unwrap();
        assert_eq!((atoms.index_of(&[0.0]), atoms.index_of(&[-0.0])), (Some(0), Some(1)));
    }

    #[test]
    fn extreme_logits_are_probabilities() {
        let (atoms, params, mut work) = (Atoms::on_line(3).unwrap(), [1e300, -1e300, 1e300], [0.0; 3]);
        let p = [0.0, 1.0, 2.0].map(|z| atoms.log_prob(&params, &[z], &mut work).exp());
        assert_eq!(p, [0.5, 0.0, 0.5]);
    }

    prop_compose! {
        fn logits()(count in 1..6_usize)(logits in prop::collection::vec(-4.0..4.0_f64, count)) -> Vec<f64> {
            logits
        }
    }

    proptest! {
        #[test]
        fn enumerated_draws_have_the_probabilities_of_log_prob(params in logits(), columns in 1..3_usize) {
            let atoms = Atoms::on_line(params.len()).unwrap();
            let mut z = vec![0.0; columns];
            let mut log_q = vec![0.0; columns];
            let branches = enumerate(1, 1000, |lanes| {
                atoms.sample_into(&params, lanes, mcsa_core::batch_mut(&mut z, 1, columns), &mut log_q, &mut []);
                (z.clone(), log_q.iter().sum::<f64>())
            }).unwrap();
            prop_assert_eq!(branches.len(), params.len().pow(columns as u32));
            for branch in branches {
                let (z, log_q) = branch.outcome;
                let told: f64 = z.iter().map(|&z| atoms.log_prob(&params, &[z], &mut [])).sum();
                prop_assert_eq!(log_q.to_bits(), told.to_bits());
                prop_assert!((branch.probability - told.exp()).abs() < 1e-15 * columns as f64);
            }
        }

        #[test]
        fn scores_are_differences_and_have_mean_zero(params in logits(), k in 0..6_usize, l in 0..6_usize) {
            let (k, l) = (k % params.len(), l % params.len());
            let (atoms, mut work) = (Atoms::on_line(params.len()).unwrap(), vec![0.0; params.len()]);
            let log_q = |z: usize, h: f64| {
                let mut moved = params.clone();
                moved[l] += h;
                atoms.log_prob(&moved, &[z as f64], &mut [])
            };
            let mut score = vec![0.0; params.len()];
            atoms.add_score(&params, &[k as f64], 1.0, &mut score, &mut work);
            prop_assert!((score[l] - (log_q(k, 1e-5) - log_q(k, -1e-5)) / 2e-5).abs() < 1e-9);
            let p: Vec<f64> = (0..params.len()).map(|z| log_q(z, 0.0).exp()).collect();
            score.fill(0.0);
            atoms.add_scores(&params, atoms.points(), &p, &mut score, &mut work);
            prop_assert!(score.iter().all(|m| m.abs() < 1e-15), "{:?}", score);
        }
    }
}
