//! Guide at a fixed lambda with mirrored draws and control variates.

use faer::reborrow::{Reborrow, ReborrowMut};
use faer::{MatMut, MatRef};
use mcsa_core::{At, ColumnsMut, Error, Family, Guide, borrow};

/// The guide at a fixed lambda, optionally with mirrored pairs of draws and with the mean score of all draws.
///
/// Mirrored: of every two lanes the second receives the mirror images of the draws of the first. The draws of each lane are
/// still independent draws of `q_lambda`, so every kernel that keeps lanes separate leaves its target invariant.
///
/// With `control`: the mean score of all draws is stored, a control variate of known mean zero.
pub(crate) struct Proposals<'a, F: ?Sized> {
    guide: At<'a, F>,
    mirrored: bool,
    control: Option<Control<'a>>,
}

/// Sum of the scores of the draws, and their number.
struct Control<'a> {
    scores: &'a mut [f64],
    draws: usize,
    ones: &'a mut [f64],
}

impl<'a, F: Family + ?Sized> Proposals<'a, F> {
    /// Length of lent memory for batches of `columns`.
    pub(crate) fn work_len(family: &F, columns: usize) -> usize {
        family.work_len(columns) + columns
    }

    /// A guide in lent memory; `control` receives the mean score of the draws.
    pub(crate) fn new(
        family: &'a F,
        params: &'a [f64],
        columns: usize,
        mirrored: bool,
        control: Option<&'a mut [f64]>,
        mut work: &'a mut [f64],
    ) -> Result<Self, Error> {
        let ones = borrow(&mut work, columns);
        let guide = At::new(family, params, columns, work)?;
        let control = control.map(|scores| {
            scores.fill(0.0);
            ones.fill(1.0);
            Control { scores, draws: 0, ones }
        });
        Ok(Self { guide, mirrored, control })
    }

    /// Adds the weighted scores of `points` to `direction`, and completes the mean score in `control`.
    pub(crate) fn finish(mut self, points: MatRef<'_, f64>, weights: &[f64], direction: &mut [f64]) {
        self.guide.add_scores(points, weights, direction);
        if let Some(Control { scores, draws, .. }) = self.control {
            scores.iter_mut().for_each(|score| *score /= draws.max(1) as f64);
        }
    }
}

impl<F: Family + ?Sized> Guide for Proposals<'_, F> {
    fn dim(&self) -> usize {
        self.guide.dim()
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        self.guide.log_probs(z, log_q);
    }

    fn sample_into(&mut self, lanes: &mut [mcsa_core::Stream], mut z: MatMut<'_, f64>, log_q: &mut [f64]) {
        self.guide.sample_into(lanes, z.rb_mut(), log_q);
        if self.mirrored {
            let per_lane = z.ncols() / lanes.len();
            for pair in 0..lanes.len() / 2 {
                for j in 2 * pair * per_lane..(2 * pair + 1) * per_lane {
                    let (mut left, mut right) = z.rb_mut().split_at_col_mut(j + per_lane);
                    let image = right.column_mut(0);
                    image.copy_from_slice(left.column_mut(j));
                    self.guide.reflect(image);
                    log_q[j + per_lane] = log_q[j];
                }
            }
        }
        if let Some(Control { scores, draws, ones }) = &mut self.control {
            *draws += z.ncols();
            self.guide.add_scores(z.rb(), &ones[..z.ncols()], scores);
        }
    }
}

/// Returns an error if the number of draws is odd or the family has no mirror symmetry.
pub(crate) fn check_mirror<F: Family + ?Sized>(
    family: &F,
    params: &[f64],
    count: usize,
    what: &'static str,
) -> Result<(), Error> {
    if !count.is_multiple_of(2) {
        return Err(Error::parameter(what, count as f64, "even, for mirrored pairs"));
    }
    if !family.reflect(params, &mut vec![0.0; family.dim()]) {
        return Err(Error::invalid(
            "mirrored pairs need a symmetric family; this family has no known centre of symmetry",
        ));
    }
    Ok(())
}
