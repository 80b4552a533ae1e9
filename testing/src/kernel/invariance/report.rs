//! Reports on the invariance of a kernel.

use mcsa_core::{ExactDraws, Kernel, Proposal};

use super::Invariance;
use super::bench::Bench;
use crate::{Check, Report, Sequential, Spread};

/// Stages and growth of the sequential tests. Among all schemes that detect an error with probability 0.9 at level 1e-4, with the
/// number of tests in three dimensions, this one needs the fewest draws on average for correct kernels: 0.44 times those of the
/// seven stages and fourfold growth in Gandy and Scott (2020).
const STAGES: (u32, usize) = (3, 2);

impl Invariance {
    /// Tests a kernel. A kernel that proposes from q meets two proposal distributions alternately: wide normals around the target.
    pub fn of<P: ExactDraws + ?Sized, K: Kernel<P>>(&self, kernel: &K, target: &P) -> Report {
        let mut near = Spread::around(target, self.seed.named("near"), 1.3);
        let mut wide = Spread::around(target, self.seed.named("wide"), 1.7);
        for (mean, scale) in wide.mean.iter_mut().zip(&near.scale) {
            *mean += 0.3 * scale;
        }
        self.of_guided(kernel, target, &mut [&mut near, &mut wide])
    }

    /// Tests a kernel with the caller's proposals, which alternate from step to step. Guides must accept batches of
    /// [`Kernel::columns`] columns for all chains together.
    pub fn of_guided<P: ExactDraws + ?Sized, K: Kernel<P>>(
        &self,
        kernel: &K,
        target: &P,
        proposals: &mut [&mut dyn Proposal],
    ) -> Report {
        self.of_pair(kernel, kernel, target, proposals, self.reversible)
    }

    /// Tests a kernel that is not reversible together with its time reversal, with which paths run backwards:
    /// `p(z) K(z, y) = p(y) R(y, z)`.
    pub fn of_reversal<P: ExactDraws + ?Sized, K: Kernel<P>, R: Kernel<P>>(
        &self,
        kernel: &K,
        reversal: &R,
        target: &P,
        proposals: &mut [&mut dyn Proposal],
    ) -> Report {
        self.of_pair(kernel, reversal, target, proposals, true)
    }

    fn of_pair<P: ExactDraws + ?Sized, K: Kernel<P>, R: Kernel<P>>(
        &self,
        kernel: &K,
        reversal: &R,
        target: &P,
        proposals: &mut [&mut dyn Proposal],
        ranks: bool,
    ) -> Report {
        let title = format!("{} on {}", short(std::any::type_name::<K>()), short(std::any::type_name::<P>()));
        let separate = self.chains > 1 && !self.interacting;
        let laws = 2 + usize::from(ranks) + usize::from(separate);
        let (stages, growth) = STAGES;
        let sequential = Sequential { level: self.level / laws as f64, stages, growth };
        let mut bench = match Bench::new(*self, kernel, target, proposals, sequential) {
            Ok(bench) => bench,
            Err(error) => return Report::new(title, vec![Check::refused("invariance", error)]),
        };
        let mut checks = bench.along_paths();
        if ranks {
            checks.push(bench.ranks(reversal));
        }
        if separate {
            checks.extend([bench.independence(), bench.labels()]);
        }
        Report::new(title, checks)
    }
}

/// Type name without module paths.
fn short(name: &str) -> String {
    let parts = name.split_inclusive(['<', '>', ',', ' ', '&']);
    parts.map(|part| part.rsplit("::").next().unwrap_or(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        assert_eq!(short("a::b::Cycle<a::imh::Imh, a::Cis>"), "Cycle<Imh, Cis>");
        assert_eq!(short("Mine"), "Mine");
    }
}
