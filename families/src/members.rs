//! Draws from several multivariate Student t, those of each placed together: the components of a mixture.

use faer::MatMut;
use mcsa_core::{ColumnsMut, Stream, batch_mut, borrow};

use crate::FullRank;
use crate::full_rank::Diagonal;
use crate::student::Student;
use mcsa_core::each_column;

/// Number of draws from one member that are placed together, `m + L eps`; a smaller batch than two of these is drawn one by one.
const PLACED: usize = 16;

/// Student t of one dimension and link. `member` gives location and packed factor of the k-th of them, and its standard t.
pub(crate) struct Members<M> {
    /// The Gaussian family with the same location and factor.
    pub(crate) frame: FullRank,
    pub(crate) count: usize,
    pub(crate) member: M,
}

impl<'a, M: Fn(usize) -> (&'a [f64], Student)> Members<M> {
    /// Draws each column from the member that `pick` chooses, as documented at
    /// [`Family::sample_members_into`](mcsa_core::Family::sample_members_into). The noise of all columns is drawn first, in their order.
    pub(crate) fn sample_into(
        &self,
        pick: &mut dyn FnMut(&mut Stream) -> usize,
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) -> bool {
        let Self { frame, count: members, member } = self;
        let (dim, columns) = (frame.dim, z.ncols());
        assert_eq!(z.nrows(), dim, "a point has the dimension of the family");
        if dim == 0 || columns < 2 * PLACED {
            return false;
        }
        let picked = borrow(&mut work, columns);
        each_column(lanes, z.as_mut(), |lane, j, noise| {
            let k = pick(lane);
            picked[j] = k as f64;
            member(k).1.draw_vector(lane, noise);
        });
        let [noise, places] = [(); 2].map(|()| borrow(&mut work, PLACED * dim));
        for k in 0..*members {
            let (params, mut work) = (member(k).0, &mut *work);
            let Diagonal { scales, .. } = frame.diagonal(&params[dim..], &mut work);
            let mut own = (0..columns).filter(|&j| picked[j] == k as f64);
            loop {
                let (mut group, mut count) = ([0; PLACED], 0);
                for (j, noise) in own.by_ref().take(PLACED).zip(noise.chunks_exact_mut(dim)) {
                    noise.copy_from_slice(z.column_mut(j));
                    group[count] = j;
                    count += 1;
                }
                if count == 0 {
                    break;
                }
                let placed = batch_mut(&mut places[..count * dim], dim, count);
                frame.place(params, scales, &noise[..count * dim], placed, &mut [], work);
                for (&j, place) in group[..count].iter().zip(places.chunks_exact(dim)) {
                    z.column_mut(j).copy_from_slice(place);
                }
            }
        }
        true
    }
}
