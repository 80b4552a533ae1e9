//! Proposals drawn from the prior instead of q.

use faer::{MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut, Error, Guard, Guide, Stream, numeric};

/// Replaces the guide by a standard normal at every lambda: the prior of the probit regression, as in the column "MSC
/// (prior)" of (MSC, Tab. 1). Scores are still those of the family.
///
/// The [`Guide`] of the family is not wrapped but replaced: proposals do not adapt to the fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct FromPrior;

impl Guard for FromPrior {
    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn work_len(&self, _: usize) -> usize {
        0
    }

    fn guarded(
        &self,
        guide: &mut dyn Guide,
        _: usize,
        _: &mut [f64],
        run: &mut dyn FnMut(&mut dyn Guide),
    ) -> Result<(), Error> {
        run(&mut Prior { dim: guide.dim() });
        Ok(())
    }
}

/// `N(0, I)`.
struct Prior {
    dim: usize,
}

impl Guide for Prior {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        let peak = -0.5 * self.dim as f64 * std::f64::consts::TAU.ln();
        for (j, log_q) in log_q.iter_mut().enumerate() {
            *log_q = peak - 0.5 * numeric::dot(z.column(j), z.column(j));
        }
    }

    fn sample_into(&mut self, lanes: &mut [Stream], mut z: MatMut<'_, f64>, log_q: &mut [f64]) {
        let per_lane = z.ncols() / lanes.len();
        for (j, lane) in (0..z.ncols()).map(|j| (j, j / per_lane)) {
            lanes[lane].normals_into(z.column_mut(j));
        }
        self.log_probs(z.as_ref(), log_q);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::{Family, Parametric, Seed, batch, batch_mut};
    use mcsa_families::MeanField;

    /// Densities equal those of the family at mean 0 and scale 1, and each lane draws its own columns.
    #[test]
    fn it_is_the_standard_normal() {
        let (family, mut z, mut log_q) = (MeanField::new(3), [0.0; 12], [0.0; 4]);
        let mut inner = Prior { dim: 3 };
        let mut draw = |lanes: &mut [Stream], z: &mut [f64], log_q: &mut [f64]| {
            let columns = log_q.len();
            let run = &mut |guide: &mut dyn Guide| guide.sample_into(lanes, batch_mut(z, 3, columns), log_q);
            FromPrior.guarded(&mut inner, columns, &mut [], run).unwrap();
        };
        draw(&mut Seed::new(1).streams(2, 0), &mut z, &mut log_q);
        let params = family.at(&[0.0; 3], &[1.0; 3]).unwrap();
        let (mut expected, mut work) = ([0.0; 4], vec![0.0; family.work_len(4)]);
        family.log_probs(&params, batch(&z, 3, 4), &mut expected, &mut work);
        assert!(log_q.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-13));
        let (mut alone, mut log_alone) = ([0.0; 6], [0.0; 2]);
        draw(&mut [Seed::new(1).stream(1, 0)], &mut alone, &mut log_alone);
        assert_eq!((alone, log_alone), ([z[6], z[7], z[8], z[9], z[10], z[11]], [log_q[2], log_q[3]]));
    }
}
