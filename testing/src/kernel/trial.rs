//! Metamorphic tests of kernels: pairs of runs that must agree, and equivalent forms of a target and a proposal.

use faer::Mat;
use mcsa_core::{
    AffineMap, ChainState, Error, Gradient, Kernel, LogDensity, Proposal, Seed, Stream, Whitened,
    WhitenedProposal,
};

use super::largest;
use crate::Check;

/// Metamorphic test of a kernel: two runs that differ in something irrelevant and must agree.
///
/// Each law compares two runs on equal streams. Where the law is bit-identity, the error is the number
/// of coordinates that differ, over all steps; a false alarm is impossible, except that an added constant causes
/// rounding, which changes a decision with a probability of about 1e-14 each.
///
/// ```
/// use mcsa_kernels::Imh;
/// use mcsa_testing::{Spread, Trial};
/// let target = mcsa_models::Banana::new(1.5, 0.4).unwrap();
/// let mut proposal = Spread::around(&target, mcsa_core::Seed::new(1), 1.5);
/// let report = mcsa_testing::Report::new("imh", vec![
///     Trial::new(&Imh::default(), &target).ignores_constants(&mut proposal, 512.0),
///     Trial::new(&Imh::default(), &target).ignores_labels(&mut proposal),
/// ]);
/// assert!(report.holds(), "{report}");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Trial<'a, K, P: ?Sized> {
    /// The kernel under test.
    pub kernel: &'a K,
    /// The target.
    pub target: &'a P,
    /// Seed of all random numbers.
    pub seed: Seed,
    /// Number of chains that advance together.
    pub chains: usize,
    /// Number of transitions of each run.
    pub steps: usize,
}

impl<'a, K, P: LogDensity + ?Sized> Trial<'a, K, P> {
    /// A test with four chains of 100 steps, started at standard normals.
    pub fn new(kernel: &'a K, target: &'a P) -> Self {
        Self { kernel, target, seed: Seed::new(1).named("trial"), chains: 4, steps: 100 }
    }

    fn starts(&self) -> Mat<f64> {
        let mut starts = Mat::zeros(self.target.dim(), self.chains);
        for (j, mut stream) in self.seed.streams(self.chains, 0).into_iter().enumerate() {
            stream.normals_into(starts.col_as_slice_mut(j));
        }
        starts
    }

    /// Law of constants: adding a constant to log p changes no position, because only differences of log densities may decide. A
    /// large constant also detects densities that were exponentiated.
    pub fn ignores_constants(&self, proposal: &mut dyn Proposal, constant: f64) -> Check
    where
        K: Kernel<P> + Kernel<Shifted<'a, P>>,
    {
        let shifted = Shifted { target: self.target, constant };
        compare("constants do not matter", 0.0, || {
            let plain = self.run(self.target, proposal, self.starts(), &keep, Ok)?;
            Ok(differing(&plain, &self.run(&shifted, proposal, self.starts(), &keep, Ok)?))
        })
    }

    /// Law of labels: permuting the chains with their streams permutes the results, bit for bit.
    pub fn ignores_labels(&self, proposal: &mut dyn Proposal) -> Check
    where
        K: Kernel<P>,
    {
        compare("labels do not matter", 0.0, || {
            let [plain, turned] = self.relabelled(proposal, self.starts())?;
            Ok(differing(&plain, &turned))
        })
    }

    /// Positions along a run, and along the run with chains and streams in the opposite order, in the order of the former.
    pub(crate) fn relabelled(
        &self,
        proposal: &mut dyn Proposal,
        starts: Mat<f64>,
    ) -> Result<[Vec<Mat<f64>>; 2], Error>
    where
        K: Kernel<P>,
    {
        let last = self.chains - 1;
        let mirror = |z: &Mat<f64>| Mat::from_fn(z.nrows(), z.ncols(), |i, j| z[(i, last - j)]);
        let turned = self.run(self.target, proposal, mirror(&starts), &|lanes| lanes.reverse(), Ok)?;
        let plain = self.run(self.target, proposal, starts, &keep, Ok)?;
        Ok([plain, turned.iter().map(mirror).collect()])
    }

    /// Law of replay: two runs on equal streams are bit-identical. Nothing is hidden outside the state, and lent
    /// memory is written before it is read.
    pub fn replays(&self, proposal: &mut dyn Proposal) -> Check
    where
        K: Kernel<P>,
    {
        compare("replay", 0.0, || {
            let first = self.run(self.target, proposal, self.starts(), &keep, Ok)?;
            Ok(differing(&first, &self.run(self.target, proposal, self.starts(), &keep, Ok)?))
        })
    }

    /// Law of restoring: a run that passes through a checkpoint after every step is bit-identical to the uninterrupted run. The
    /// closure `through` writes and reads a state, which [`Kernel::check`] must accept.
    pub fn restores(
        &self,
        proposal: &mut dyn Proposal,
        through: impl Fn(&K::State) -> Result<K::State, Error>,
    ) -> Check
    where
        K: Kernel<P>,
    {
        compare("restore", 0.0, || {
            let whole = self.run(self.target, proposal, self.starts(), &keep, Ok)?;
            let parts = self.run(self.target, proposal, self.starts(), &keep, |state| {
                let state = through(&state)?;
                self.kernel.check(self.target, self.chains, &state)?;
                Ok(state)
            })?;
            Ok(differing(&whole, &parts))
        })
    }

    /// Law of coordinates: in coordinates `y` with `z = factor y + shift`, a kernel that proposes only from the proposal makes equal
    /// moves. Unlike the other laws this one holds up to rounding, 1e-9.
    pub fn ignores_coordinates(&self, proposal: &mut dyn Proposal, map: &AffineMap) -> Check
    where
        K: Kernel<P> + Kernel<Whitened<'a, P>>,
    {
        compare("coordinates do not matter", 1e-9, || {
            let plain = self.run(self.target, proposal, self.starts(), &keep, Ok)?;
            let target = Whitened::new(self.target, map.clone())?;
            let starts = map.inverse(self.starts().as_ref());
            let moved = self.run(&target, &mut WhitenedProposal { proposal, map }, starts, &keep, Ok)?;
            let back: Vec<_> = moved.iter().map(|moved| map.forward(moved.as_ref())).collect();
            Ok((largest(cells(&plain, &back).map(|(_, a, b)| (a - b).abs())), String::new()))
        })
    }

    /// Positions of the chains after each step, before which the state passes `through`.
    fn run<T: LogDensity + ?Sized>(
        &self,
        target: &T,
        proposal: &mut dyn Proposal,
        starts: Mat<f64>,
        order: &dyn Fn(&mut [Stream]),
        through: impl Fn(K::State) -> Result<K::State, Error>,
    ) -> Result<Vec<Mat<f64>>, Error>
    where
        K: Kernel<T>,
    {
        let lanes = |seed: Seed, step: usize| {
            let mut lanes = seed.streams(self.chains, step as u64);
            order(&mut lanes);
            lanes
        };
        let mut state = self.kernel.start(target, starts, &mut lanes(self.seed.named("start"), 0))?;
        let length = self.kernel.work_len(target, self.chains);
        let mut path = Vec::with_capacity(self.steps);
        for t in 0..self.steps {
            state = through(state)?;
            // Arbitrary memory contents, different in successive steps.
            let mut work = vec![if t.is_multiple_of(2) { f64::NAN } else { 1e300 }; length];
            self.kernel.step(target, proposal, &mut state, &mut lanes(self.seed, t + 1), &mut work);
            path.push(state.chains().positions.clone());
        }
        Ok(path)
    }
}

fn keep(_: &mut [Stream]) {}

pub(crate) fn compare(
    law: &'static str,
    tolerance: f64,
    runs: impl FnOnce() -> Result<(f64, String), Error>,
) -> Check {
    match runs() {
        Ok((error, place)) => Check::exact(law, error, tolerance, place),
        Err(error) => Check::refused(law, error),
    }
}

/// The step and the coordinates of two runs, in order.
pub(crate) fn cells<'a>(
    a: &'a [Mat<f64>],
    b: &'a [Mat<f64>],
) -> impl Iterator<Item = (usize, f64, f64)> + 'a {
    a.iter().zip(b).enumerate().flat_map(|(t, (a, b))| {
        let columns = (0..a.ncols()).flat_map(move |j| a.col_as_slice(j).iter().zip(b.col_as_slice(j)));
        columns.map(move |(a, b)| (t, *a, *b))
    })
}

/// Number of coordinates that differ in their bits, and the first step in which one differs.
fn differing(a: &[Mat<f64>], b: &[Mat<f64>]) -> (f64, String) {
    let mut steps = cells(a, b).filter(|(_, a, b)| a.to_bits() != b.to_bits()).map(|(t, ..)| t);
    match steps.next() {
        Some(first) => ((1 + steps.count()) as f64, format!("step {first} first")),
        None => (0.0, String::new()),
    }
}

/// Target with a constant added to its log density; the distribution is unchanged.
#[derive(Debug, Clone, Copy)]
pub struct Shifted<'a, P: ?Sized> {
    /// The target.
    pub target: &'a P,
    /// The constant added.
    pub constant: f64,
}

impl<P: LogDensity + ?Sized> LogDensity for Shifted<'_, P> {
    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn work_len(&self, columns: usize) -> usize {
        self.target.work_len(columns)
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.target.log_density(z, work) + self.constant
    }
}

impl<P: Gradient + ?Sized> Gradient for Shifted<'_, P> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        self.target.gradient_into(z, gradient, work) + self.constant
    }
}
