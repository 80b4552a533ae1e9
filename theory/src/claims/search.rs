//! Search for the worst case: random cases, then Nelder-Mead.

use mcsa_core::Seed;
use mcsa_optim::deterministic::NelderMead;

use super::finding::{Finding, Witness};
use super::{Searchable, Sides};

/// Effort of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Number of random cases per statement.
    pub cases: usize,
    /// Number of local searches from the worst random cases, per statement.
    pub climbs: usize,
    /// Number of iterations of a local search.
    pub iterations: u64,
}

impl Effort {
    /// A thousand cases: for every commit.
    pub const BRIEF: Self = Self { cases: 1_000, climbs: 6, iterations: 250 };
    /// Four thousand cases and longer local searches.
    pub const USUAL: Self = Self { cases: 4_000, climbs: 16, iterations: 600 };
    /// A hundred thousand cases.
    pub const LONG: Self = Self { cases: 100_000, climbs: 64, iterations: 2_000 };
}

/// The worst case found, by [`Sides::badness`].
struct Worst<C> {
    case: C,
    sides: Sides,
}

/// Evaluates the examples and random cases of each setting, then maximises the badness from the worst of them by Nelder-Mead.
/// The result is a pure function of the arguments.
pub(super) fn search<C: Searchable>(
    settings: &[C::Setting],
    examples: &[C],
    measure: &dyn Fn(&C) -> Option<Sides>,
    effort: Effort,
    seed: Seed,
) -> Finding {
    let judge = |case: &C| measure(case).map(|sides| Worst { case: case.clone(), sides });
    let mut tried = 0;
    let mut worst: Vec<Worst<C>> = Vec::new();
    let share = effort.cases.div_ceil(settings.len().max(1));
    let kept = effort.climbs.div_ceil(settings.len().max(1));
    for (index, setting) in settings.iter().enumerate() {
        let seed = seed.child(index as u64);
        let mut judged = 0;
        let mut best: Vec<Worst<C>> = Vec::new();
        // A claim may not apply to a case; a setting where it never applies ends after ten times its share.
        for draw in 0..10 * share as u64 {
            if judged == share {
                break;
            }
            let Some(found) = judge(&C::draw(setting, &mut seed.stream(0, draw))) else { continue };
            judged += 1;
            let rank = best.iter().take_while(|other| !is_worse(&found.sides, &other.sides)).count();
            if rank < kept {
                best.insert(rank, found);
                best.truncate(kept);
            }
        }
        tried += judged;
        worst.append(&mut best);
    }
    worst.sort_by(|a, b| b.sides.badness().total_cmp(&a.sides.badness()));
    worst.truncate(effort.climbs);
    let mut found: Option<Worst<C>> = None;
    for start in worst {
        let reached = climb(&start, measure, effort.iterations);
        for candidate in [Some(start), reached].into_iter().flatten() {
            if found.as_ref().is_none_or(|found| is_worse(&candidate.sides, &found.sides)) {
                found = Some(candidate);
            }
        }
    }
    let witness = |worst: Worst<C>| Witness::new(worst.sides, worst.case.to_string());
    let examples: Vec<Witness> = examples.iter().filter_map(judge).map(witness).collect();
    Finding::of(found.map(witness), examples, tried)
}

/// A refuting case is worse than any other; else the larger badness decides.
fn is_worse(a: &Sides, b: &Sides) -> bool {
    (a.refute(), a.badness()) > (b.refute(), b.badness())
}

fn climb<C: Searchable>(
    start: &Worst<C>,
    measure: &dyn Fn(&C) -> Option<Sides>,
    iterations: u64,
) -> Option<Worst<C>> {
    let coordinates = start.case.coordinates();
    let climber = NelderMead { width: 0.7, tolerance: 1e-14, iterations };
    let badness = |x: &[f64]| measure(&start.case.at(x)).map_or(f64::NEG_INFINITY, |sides| sides.badness());
    let top = climber.maximise(badness, &coordinates).ok()?;
    let case = start.case.at(&top.point);
    measure(&case).map(|sides| Worst { case, sides })
}
