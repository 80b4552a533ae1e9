//! Defensive mixture of a proposal with a heavy tail, `(1 - eps) q_lambda + eps tail`.

use faer::reborrow::{Reborrow, ReborrowMut};
use faer::{MatMut, MatRef};
use mcsa_core::{Columns, Error, Proposal, Stream, all_finite, each_column, same_length};
use mcsa_numeric::log_add_exp;

use crate::student::{Student, check_dof};

/// Configuration of a [`Defensive`] mixture: the tail and its probability.
///
/// It is immutable, so that one value serves every step: [`around`](Defence::around) wraps the proposal of the current step and
/// allocates nothing.
///
/// ```
/// use mcsa_core::{FamilyProposal, Proposal, Parametric, Seed};
/// use mcsa_families::{Defence, MeanField, Tail};
/// let (q, defence) = (MeanField::new(1), Defence::new(0.1, Tail::cauchy(1))?);
/// let mut work = vec![0.0; q.work_len(4) + Defence::work_len(4)];
/// let (for_q, for_defence) = work.split_at_mut(q.work_len(4));
/// let mut proposal = FamilyProposal::new(&q, &[0.0, 0.0], 4, for_q)?;
/// let (mut z, mut log_q) = ([0.0; 4], [0.0; 4]);
/// let batch = mcsa_core::batch_mut(&mut z, 1, 4);
/// defence.around(&mut proposal, 4, for_defence)?.sample_into(&mut Seed::new(1).streams(4, 0), batch, &mut log_q);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Defence {
    share: f64,
    tail: Tail,
}

impl Defence {
    /// Proposes from `tail` with probability `share`, the `eps` of [`Defensive`].
    ///
    /// # Errors
    /// If `share` is not in `[0, 1)`.
    pub fn new(share: f64, tail: Tail) -> Result<Self, Error> {
        check_share(share)?;
        Ok(Self { share, tail })
    }

    /// Length of the `work` that [`around`](Self::around) needs for batches of `columns` columns.
    pub fn work_len(columns: usize) -> usize {
        columns
    }

    /// Defensive mixture of `proposal` and the tail, for batches of up to `columns` columns.
    ///
    /// # Errors
    /// If the dimensions differ, or `work` is shorter than [`work_len`](Self::work_len).
    pub fn around<'a, G: Proposal + ?Sized>(
        &'a self,
        proposal: &'a mut G,
        columns: usize,
        work: &'a mut [f64],
    ) -> Result<Defensive<'a, G, &'a Tail>, Error> {
        Defensive::new(proposal, &self.tail, self.share, columns, work)
    }
}

/// Defensive mixture of a proposal and a tail that does not depend on lambda.
///
/// ```text
/// q_def(z) = (1 - eps) q_lambda(z) + eps tail(z)
/// ```
/// Then `p/q_def <= sup(p/tail) / eps` at every lambda: chains that propose from the mixture are uniformly ergodic although
/// `q_lambda` alone may have unbounded weights (pMCSA). The fitted distribution remains `q_lambda`: the mixture is a [`Proposal`] and
/// no family, so it has no scores.
///
/// Each column first chooses proposal or tail through [`Stream::choose`], then draws from it, in the order of the
/// columns of a lane; neighbouring columns of different lanes with the same choice are drawn as one batch. With
/// `eps = 0` no choice is drawn and the tail is not evaluated: the mixture is the proposal itself, bit for bit.
///
/// Numerics: densities are added in log space; outside both supports the log density is `-inf`, and a NaN of
/// either component remains NaN.
pub struct Defensive<'a, G: ?Sized, T> {
    proposal: &'a mut G,
    tail: T,
    share: f64,
    log_tail: &'a mut [f64],
}

impl<'a, G: Proposal + ?Sized, T: Proposal> Defensive<'a, G, T> {
    /// Proposes from `proposal` with probability `1 - share` and from `tail` with probability `share`; for batches of up to `columns`.
    ///
    /// # Errors
    /// If `share` is not in `[0, 1)`, the dimensions differ, or `work` is shorter than `columns`.
    pub fn new(
        proposal: &'a mut G,
        tail: T,
        share: f64,
        columns: usize,
        work: &'a mut [f64],
    ) -> Result<Self, Error> {
        check_share(share)?;
        same_length("a point of the tail", proposal.dim(), tail.dim())?;
        if work.len() < Defence::work_len(columns) {
            same_length("work", Defence::work_len(columns), work.len())?;
        }
        Ok(Self { proposal, tail, share, log_tail: work })
    }

    fn log_weights(&self) -> [f64; 2] {
        [(-self.share).ln_1p(), self.share.ln()]
    }

    /// Draws a run of columns with the same choice, and writes the proposal's log density of each, also of draws from the tail.
    fn draw(&mut self, from_tail: bool, lanes: &mut [Stream], mut z: MatMut<'_, f64>, log_q: &mut [f64]) {
        if from_tail {
            self.tail.sample_into(lanes, z.rb_mut(), log_q);
            self.proposal.log_probs(z.rb(), log_q);
        } else {
            self.proposal.sample_into(lanes, z, log_q);
        }
    }

    /// Replaces log densities of the proposal by those of the mixture.
    fn mix(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        let [log_keep, log_share] = self.log_weights();
        let log_tail = &mut self.log_tail[..z.ncols()];
        self.tail.log_probs(z, log_tail);
        for (log_q, log_tail) in log_q.iter_mut().zip(log_tail) {
            *log_q = log_add_exp(log_keep + *log_q, log_share + *log_tail);
        }
    }
}

impl<G: Proposal + ?Sized, T: Proposal> Proposal for Defensive<'_, G, T> {
    fn dim(&self) -> usize {
        self.proposal.dim()
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        self.proposal.log_probs(z, log_q);
        if self.share > 0.0 {
            self.mix(z, log_q);
        }
    }

    fn sample_into(&mut self, lanes: &mut [Stream], mut z: MatMut<'_, f64>, log_q: &mut [f64]) {
        if self.share == 0.0 || z.ncols() == 0 {
            return self.proposal.sample_into(lanes, z, log_q);
        }
        assert_eq!(z.ncols(), log_q.len(), "a density per column");
        assert!(!lanes.is_empty() && z.ncols().is_multiple_of(lanes.len()), "lanes divide the columns");
        let per_lane = z.ncols() / lanes.len();
        let log_weights = self.log_weights();
        let choose = |lanes: &mut [Stream], j: usize| lanes[j / per_lane].choose(&log_weights) == Some(1);
        let (mut start, mut ahead) = (0, None);
        while start < z.ncols() {
            let from_tail = ahead.take().unwrap_or_else(|| choose(lanes, start));
            let mut end = start + 1;
            // Within a lane, a column is drawn before the next one chooses; columns of other lanes may choose ahead.
            while end < z.ncols() && end.is_multiple_of(per_lane) && ahead.is_none() {
                match choose(lanes, end) {
                    same if same == from_tail => end += 1,
                    other => ahead = Some(other),
                }
            }
            let run = &mut lanes[start / per_lane..=(end - 1) / per_lane];
            self.draw(from_tail, run, z.rb_mut().subcols_mut(start, end - start), &mut log_q[start..end]);
            start = end;
        }
        self.mix(z.rb(), log_q);
    }
}

fn check_share(share: f64) -> Result<(), Error> {
    if !(0.0..1.0).contains(&share) {
        return Err(Error::parameter("share", share, "at least 0 and less than 1"));
    }
    Ok(())
}

/// Product of Student t distributions, one per coordinate; with one degree of freedom, a product of Cauchy distributions.
///
/// ```text
/// tail(z) = prod_i t_dof((z_i - location_i) / scale_i) / scale_i
/// ```
/// The tail does not depend on lambda, so a reference to it is a [`Proposal`] and no family. Mixed into a proposal by
/// [`Defensive`](crate::Defensive) it bounds the importance weights of every target whose own tails are no
/// heavier, coordinate by coordinate. The product of standard Cauchy distributions is the tail of pMCSA.
///
/// ```
/// use mcsa_core::Proposal;
/// use mcsa_families::Tail;
/// let mut log_q = [0.0];
/// (&Tail::cauchy(2)).log_probs(mcsa_core::one(&[0.0, 0.0]), &mut log_q);
/// assert!((log_q[0] + 2.0 * std::f64::consts::PI.ln()).abs() < 1e-14);
/// ```
#[derive(Debug, Clone)]
pub struct Tail {
    student: Student,
    location: Vec<f64>,
    scale: Vec<f64>,
    log_peak: f64,
}

impl Tail {
    /// Product of `dim` standard Cauchy distributions.
    pub fn cauchy(dim: usize) -> Self {
        Self::standard(dim, 1.0)
    }

    /// Product of `dim` standard Student t distributions with `dof` degrees of freedom.
    ///
    /// # Errors
    /// If `dof` is not finite, or below 0.1, where draws leave the range of a double.
    pub fn student(dim: usize, dof: f64) -> Result<Self, Error> {
        check_dof(dof)?;
        Ok(Self::standard(dim, dof))
    }

    /// The tail moved to `location` and scaled by `scale`, one number each per coordinate.
    ///
    /// # Errors
    /// If a length is not the dimension, a location is not finite, or a scale or its reciprocal is not positive and finite.
    pub fn at(self, location: &[f64], scale: &[f64]) -> Result<Self, Error> {
        let dim = self.location.len();
        same_length("location", dim, location.len())?;
        same_length("scale", dim, scale.len())?;
        all_finite("location", location)?;
        if let Some(&value) = scale.iter().find(|s| !(**s > 0.0 && s.is_finite() && s.recip().is_finite())) {
            return Err(Error::parameter("scale", value, "positive and finite, as its inverse"));
        }
        let log_peak = self.student.log_peak(1) * dim as f64 - scale.iter().map(|s| s.ln()).sum::<f64>();
        Ok(Self { location: location.to_vec(), scale: scale.to_vec(), log_peak, ..self })
    }

    fn standard(dim: usize, dof: f64) -> Self {
        let student = Student::new(dof);
        let log_peak = student.log_peak(1) * dim as f64;
        Self { student, location: vec![0.0; dim], scale: vec![1.0; dim], log_peak }
    }

    fn log_prob(&self, z: &[f64]) -> f64 {
        let residual = |i: usize| (z[i] - self.location[i]) / self.scale[i];
        let fall = self.student.total_fall(z.len(), residual);
        self.log_peak - 0.5 * (self.student.dof + 1.0) * fall
    }
}

impl Proposal for &Tail {
    fn dim(&self) -> usize {
        self.location.len()
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim(), log_q.len()), "a density per column");
        for (j, log_q) in log_q.iter_mut().enumerate() {
            *log_q = self.log_prob(z.column(j));
        }
    }

    fn sample_into(&mut self, lanes: &mut [Stream], z: MatMut<'_, f64>, log_q: &mut [f64]) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim(), log_q.len()), "a density per column");
        each_column(lanes, z, |lane, j, z| {
            for ((z, m), s) in z.iter_mut().zip(&self.location).zip(&self.scale) {
                *z = m + s * self.student.draw(lane);
            }
            log_q[j] = self.log_prob(z);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Atoms, MeanField};
    use faer::mat;
    use mcsa_core::{Family, FamilyProposal, Parametric, Seed, batch, batch_mut, enumerate};
    use proptest::prelude::*;
    use statrs::distribution::{Continuous, StudentsT};

    #[test]
    fn shares_dimensions_and_memory_are_checked() {
        for share in [1.0, -0.1, f64::NAN, f64::INFINITY] {
            assert!(Defence::new(share, Tail::cauchy(1)).is_err());
        }
        let defence = Defence::new(0.5, Tail::cauchy(2)).unwrap();
        assert!(defence.around(&mut &Tail::cauchy(2), 3, &mut [0.0; 3]).is_ok());
        assert!(defence.around(&mut &Tail::cauchy(2), 3, &mut [0.0; 2]).is_err());
        assert!(defence.around(&mut &Tail::cauchy(1), 3, &mut [0.0; 3]).is_err());
    }

    proptest! {
        /// Proposal and tail share the atoms 0 and 1, and each has one atom of its own, so that points inside and outside each support
        /// occur.
        #[test]
        fn enumerated_draws_have_the_probabilities_of_the_mixture(
            logits in prop::array::uniform3(-2.0..2.0_f64),
            tail_logits in prop::array::uniform3(-2.0..2.0_f64),
            share in prop_oneof![Just(0.0), 0.0..1.0_f64],
            lanes in 1..3_usize,
            per_lane in 1..3_usize,
        ) {
            let (left, right) = (Atoms::on_line(3).unwrap(), Atoms::new(mat![[0.0, 1.0, 5.0]]).unwrap());
            let columns = lanes * per_lane;
            let log_prob = |z: f64| {
                let q = left.log_prob(&logits, &[z], &mut [0.0; 3]).exp();
                let tail = right.log_prob(&tail_logits, &[z], &mut [0.0; 3]).exp();
                ((1.0 - share) * q + share * tail).ln()
            };
            let (mut memory, mut tail_memory, mut work) = ([0.0; 3], [0.0; 3], vec![0.0; columns]);
            let branches = enumerate(lanes, 1_000_000, |streams| {
                let mut q = FamilyProposal::new(&left, &logits, columns, &mut memory).unwrap();
                let tail = FamilyProposal::new(&right, &tail_logits, columns, &mut tail_memory).unwrap();
                let mut proposal = Defensive::new(&mut q, tail, share, columns, &mut work).unwrap();
                let (mut z, mut log_q, mut told) = (vec![0.0; columns], vec![0.0; columns], vec![0.0; columns]);
                proposal.sample_into(streams, batch_mut(&mut z, 1, columns), &mut log_q);
                proposal.log_probs(batch(&z, 1, columns), &mut told);
                assert_eq!(log_q, told);
                (z, log_q)
            }).unwrap();
            let mut outcomes: Vec<(Vec<f64>, f64, f64)> = Vec::new();
            for branch in branches {
                let (z, log_q) = branch.outcome;
                for (&z, &log_q) in z.iter().zip(&log_q) {
                    prop_assert!((log_q - log_prob(z)).abs() < 1e-14, "{log_q} {}", log_prob(z));
                }
                match outcomes.iter_mut().find(|(point, ..)| *point == z) {
                    Some((_, probability, _)) => *probability += branch.probability,
                    None => outcomes.push((z, branch.probability, log_q.iter().sum::<f64>().exp())),
                }
            }
            for (_, found, told) in outcomes {
                prop_assert!((found - told).abs() < 1e-14, "{found} {told}");
            }
        }

        #[test]
        fn a_lane_draws_its_columns_as_if_one_by_one(dim in 0..4_usize, lanes in 1..5_usize, per_lane in 1..5_usize) {
            columns_have_the_same_bits_alone(&mut &Tail::student(dim, 2.5).unwrap(), lanes, per_lane)?;
            let (q, defence) = (MeanField::new(dim), Defence::new(0.4, Tail::cauchy(dim)).unwrap());
            let (params, columns) = (vec![0.3; 2 * dim], lanes * per_lane);
            let mut memory = vec![0.0; q.work_len(columns)];
            let mut proposal = FamilyProposal::new(&q, &params, columns, &mut memory).unwrap();
            let mut work = vec![0.0; columns];
            columns_have_the_same_bits_alone(&mut defence.around(&mut proposal, columns, &mut work).unwrap(), lanes, per_lane)?;
        }

        #[test]
        fn the_density_is_a_product_of_those_of_the_books(
            coordinates in prop::collection::vec((-5.0..5.0_f64, 0.1..4.0_f64, -20.0..20.0_f64), 0..5),
            dof in prop_oneof![Just(1.0), 0.3..9.0_f64],
        ) {
            let (m, s): (Vec<f64>, Vec<f64>) = coordinates.iter().map(|c| (c.0, c.1)).unzip();
            let z: Vec<f64> = coordinates.iter().map(|c| c.2).collect();
            let tail = Tail::student(z.len(), dof).unwrap().at(&m, &s).unwrap();
            let book: f64 = coordinates.iter().map(|&(m, s, z)| StudentsT::new(m, s, dof).unwrap().ln_pdf(z)).sum();
            prop_assert!((tail.log_prob(&z) - book).abs() < 1e-11);
        }
    }

    /// Draws of a batch have the bits of columns that are drawn one by one, and the density that is evaluated for them.
    fn columns_have_the_same_bits_alone(
        proposal: &mut impl Proposal,
        lanes: usize,
        per_lane: usize,
    ) -> Result<(), TestCaseError> {
        let (dim, columns) = (proposal.dim(), lanes * per_lane);
        let (mut z, mut log_q, mut again) =
            (vec![0.0; dim * columns], vec![0.0; columns], vec![0.0; columns]);
        proposal.sample_into(
            &mut Seed::new(6).streams(lanes, 1),
            batch_mut(&mut z, dim, columns),
            &mut log_q,
        );
        proposal.log_probs(batch(&z, dim, columns), &mut again);
        prop_assert!(log_q.iter().zip(&again).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + b.abs())));
        let mut alone = Seed::new(6).streams(lanes, 1);
        for j in 0..columns {
            let (mut point, mut log_alone) = (vec![0.0; dim], [0.0]);
            let lane = &mut alone[j / per_lane..=j / per_lane];
            proposal.sample_into(lane, batch_mut(&mut point, dim, 1), &mut log_alone);
            prop_assert_eq!((&point[..], log_alone[0]), (&z[dim * j..dim * (j + 1)], log_q[j]));
        }
        Ok(())
    }

    #[test]
    fn without_a_share_it_is_the_proposal() {
        let (q, params) = (MeanField::new(1), [0.0, 0.0]);
        let (mut memory, mut work) = (vec![0.0; q.work_len(5)], [0.0; 5]);
        let mut proposal = FamilyProposal::new(&q, &params, 5, &mut memory).unwrap();
        let (mut plain, mut defended) = ([0.0; 5], [0.0; 5]);
        let (mut log_q, mut log_def) = ([0.0; 5], [0.0; 5]);
        proposal.sample_into(&mut Seed::new(9).streams(5, 0), batch_mut(&mut plain, 1, 5), &mut log_q);
        let none = Defence::new(0.0, Tail::cauchy(1)).unwrap();
        let mut same = none.around(&mut proposal, 5, &mut work).unwrap();
        same.sample_into(&mut Seed::new(9).streams(5, 0), batch_mut(&mut defended, 1, 5), &mut log_def);
        assert_eq!((plain, log_q), (defended, log_def));
    }

    #[test]
    fn far_out_a_tail_is_finite_and_bad_ones_are_refused() {
        assert!(Tail::cauchy(3).log_prob(&[1e300, -1e200, 0.0]).is_finite());
        assert_eq!(Tail::cauchy(0).log_prob(&[]), 0.0);
        assert!(Tail::student(1, f64::NAN).is_err());
        for (m, s) in [(f64::NAN, 1.0), (0.0, 0.0), (0.0, f64::INFINITY), (0.0, f64::NAN), (0.0, 1e-310)] {
            assert!(Tail::cauchy(1).at(&[m], &[s]).is_err());
        }
        assert!(Tail::cauchy(2).at(&[0.0], &[1.0]).is_err());
    }
}
