//! Ranks of exact draws within the paths through them.

use mcsa_core::{ChainState, Error, Kernel, Seed, Stream};

use crate::kernel::draws::Walk;
use crate::kernel::statistic::Statistics;
use mcsa_core::ExactDraws;

/// Histogram of the rank of the exact draw in its path, for each statistic (Gandy and Scott 2020, Alg. 2).
///
/// Unlike the paper, positions are not drawn: they alternate between groups, so that every position has an equal number of
/// draws. Counts then vary less than those of independent uniform ranks, and the chi-square test is conservative.
pub(crate) fn counts<P: ExactDraws + ?Sized, K: Kernel<P>, R: Kernel<P>>(
    walk: &mut Walk<'_, '_, P, K>,
    reversal: &R,
    statistics: &mut Statistics,
    seed: Seed,
    (path, groups, every_chain): (usize, usize, bool),
) -> Result<Vec<Vec<u64>>, Error> {
    let (count, chains) = (statistics.count(), walk.chains);
    let mut counts = vec![vec![0; path + 1]; count];
    let mut rows = vec![vec![0.0; count * chains]; path + 1];
    for group in 0..groups.next_multiple_of(path + 1) {
        let seed = seed.child(group as u64);
        let (ahead, back, position) = (seed.child(1), seed.child(2), group % (path + 1));
        let start = walk.draw(seed.child(0));
        statistics.look(walk.target, &mut *walk.proposals[0], start.as_ref(), &mut rows[0]);
        let mut seen = 1;
        // Both directions start from one state: auxiliary variables are drawn from equal streams.
        let mut lanes = ahead.streams(chains, 0);
        let mut state = walk.start(start.clone(), &mut lanes)?;
        for slot in position..path {
            Stream::go_to_step(&mut lanes, slot as u64 + 1);
            walk.step(&mut state, &mut lanes, slot);
            let positions = state.chains().positions.as_ref();
            statistics.look(walk.target, &mut *walk.proposals[0], positions, &mut rows[seen]);
            seen += 1;
        }
        let mut backwards = Walk::new(reversal, walk.target, walk.proposals, chains)?;
        let mut lanes = ahead.streams(chains, 0);
        let mut state = backwards.start(start, &mut lanes)?;
        lanes = back.streams(chains, 0);
        for slot in (0..position).rev() {
            Stream::go_to_step(&mut lanes, slot as u64 + 1);
            backwards.step(&mut state, &mut lanes, slot);
            let positions = state.chains().positions.as_ref();
            statistics.look(backwards.target, &mut *backwards.proposals[0], positions, &mut rows[seen]);
            seen += 1;
        }
        let mut chance = seed.child(3).stream(0, 0);
        for (k, counts) in counts.iter_mut().enumerate() {
            for j in (0..chains).filter(|&j| every_chain || j == group / (path + 1) % chains) {
                let here = rows[0][k * chains + j];
                let each = || rows.iter().map(|row| row[k * chains + j].total_cmp(&here));
                let below = each().filter(|order| order.is_lt()).count();
                let ties = each().filter(|order| order.is_eq()).count();
                // Ties are broken at random: a chain that stays ties with itself.
                counts[below + chance.index(ties).expect("a value ties with itself")] += 1;
            }
        }
    }
    Ok(counts)
}
