//! Hidden Markov model with finitely many states.

use crate::StateSpace;
use faer::Mat;
use mcsa_core::{Error, LogDensity, Stream};

/// Hidden Markov model on states `0 .. K-1`, with exact evidence and smoothing by forward and backward recursions (Rabiner 1989):
///
/// ```text
/// alpha_0(k) = p(k) p(x_0 | k),   alpha_t(k) = p(x_t | k) sum_j alpha_{t-1}(j) p(k | j),   Z = sum_k alpha_{T-1}(k)
/// beta_{T-1} = 1,                 beta_t(j) = sum_k p(k | j) p(x_{t+1} | k) beta_{t+1}(k)
/// ```
///
/// A state is stored as a floating-point number; a path with a number that is no state has density 0. All random decisions of a
/// particle method on this model are discrete, so [`enumerate`](mcsa_core::enumerate) can follow every branch.
///
/// ```
/// use mcsa_particles::HiddenMarkov;
/// let sticky = HiddenMarkov::new(&[0.5, 0.5], &[&[0.9, 0.1], &[0.1, 0.9]], &[&[0.8, 0.2], &[0.3, 0.7]])?;
/// let [late, early] = [sticky.smoothed(1)[0], sticky.smoothed(0)[0]];
/// assert!(late < early && sticky.log_evidence() < 0.0);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct HiddenMarkov {
    log_initial: Vec<f64>,
    /// Row `j`: log transition probabilities from state `j`.
    log_transition: Mat<f64>,
    /// Row `t`: log likelihoods of the observation at `t`.
    log_likelihood: Mat<f64>,
}

impl HiddenMarkov {
    /// A model with the initial distribution, one row of transition probabilities per state, and one row of likelihoods `p(x_t |
    /// k)` per time.
    ///
    /// # Errors
    /// If the shapes differ, there is no state or no time, a number is negative or not finite, or probabilities do not sum
    /// to one within `1e-9`.
    pub fn new(initial: &[f64], transition: &[&[f64]], likelihood: &[&[f64]]) -> Result<Self, Error> {
        let states = initial.len();
        let refuse = |error: Error| error.within("HiddenMarkov");
        if states == 0 || likelihood.is_empty() {
            return Err(refuse(Error::invalid("a hidden Markov chain needs a state and a time")));
        }
        mcsa_core::same_length("rows of the transition", states, transition.len()).map_err(refuse)?;
        for (row, is_law) in [(initial, true)]
            .into_iter()
            .chain(transition.iter().map(|row| (*row, true)))
            .chain(likelihood.iter().map(|row| (*row, false)))
        {
            mcsa_core::same_length("a row", states, row.len()).map_err(refuse)?;
            mcsa_core::all_finite("a row", row).map_err(refuse)?;
            if let Some(&value) = row.iter().find(|&&value| value < 0.0) {
                return Err(refuse(Error::parameter("a probability", value, "not negative")));
            }
            let total: f64 = row.iter().sum();
            if is_law && (total - 1.0).abs() > 1e-9 {
                return Err(refuse(Error::parameter("a sum of probabilities", total, "1")));
            }
        }
        Ok(Self {
            log_initial: initial.iter().map(|p| p.ln()).collect(),
            log_transition: Mat::from_fn(states, states, |j, k| transition[j][k].ln()),
            log_likelihood: Mat::from_fn(likelihood.len(), states, |t, k| likelihood[t][k].ln()),
        })
    }

    /// The number `K` of states.
    pub fn alphabet(&self) -> usize {
        self.log_initial.len()
    }

    /// `log p(z_t = to | z_{t-1} = from)`; at `t = 0` the initial log probability of `to`.
    fn log_step(&self, t: usize, from: usize, to: usize) -> f64 {
        if t == 0 { self.log_initial[to] } else { self.log_transition[(from, to)] }
    }

    /// Forward variables `alpha`: row `t` sums to the evidence of the observations up to `t`.
    fn forward(&self) -> Mat<f64> {
        let mut alpha = Mat::zeros(self.num_states(), self.alphabet());
        for t in 0..self.num_states() {
            for k in 0..self.alphabet() {
                let arrive = match t {
                    0 => self.log_initial[k].exp(),
                    _ => (0..self.alphabet())
                        .map(|j| alpha[(t - 1, j)] * self.log_transition[(j, k)].exp())
                        .sum(),
                };
                alpha[(t, k)] = arrive * self.log_likelihood[(t, k)].exp();
            }
        }
        alpha
    }

    /// Backward variables `beta`: the evidence of the observations after `t`, for each state at `t`.
    fn backward(&self) -> Mat<f64> {
        let last = self.num_states() - 1;
        let mut beta = Mat::full(self.num_states(), self.alphabet(), 1.0);
        for t in (0..last).rev() {
            for j in 0..self.alphabet() {
                beta[(t, j)] = (0..self.alphabet())
                    .map(|k| {
                        (self.log_transition[(j, k)] + self.log_likelihood[(t + 1, k)]).exp()
                            * beta[(t + 1, k)]
                    })
                    .sum();
            }
        }
        beta
    }

    /// Log evidence `log Z`. For short chains only: nothing is rescaled, so a few hundred steps underflow.
    pub fn log_evidence(&self) -> f64 {
        let (alpha, last) = (self.forward(), self.num_states() - 1);
        (0..self.alphabet()).map(|k| alpha[(last, k)]).sum::<f64>().ln()
    }

    /// Smoothing distribution `p(z_t | x)`.
    ///
    /// # Panics
    /// If `t` is not less than the number of times.
    pub fn smoothed(&self, t: usize) -> Vec<f64> {
        let (alpha, beta) = (self.forward(), self.backward());
        let joint: Vec<f64> = (0..self.alphabet()).map(|k| alpha[(t, k)] * beta[(t, k)]).collect();
        let total: f64 = joint.iter().sum();
        joint.iter().map(|p| p / total).collect()
    }

    /// All paths, as the columns of a matrix: column `c` has the digits of `c` in base `K`, the first state being the lowest digit.
    pub fn paths(&self) -> Mat<f64> {
        let (states, base) = (self.num_states(), self.alphabet());
        let count = (0..states).fold(1, |count: usize, _| count.saturating_mul(base));
        Mat::from_fn(states, count, |t, path| ((0..t).fold(path, |path, _| path / base) % base) as f64)
    }

    /// The state with number `z`, or `None` if there is none.
    fn state(&self, z: f64) -> Option<usize> {
        let k = z as usize;
        (k as f64 == z && k < self.alphabet()).then_some(k)
    }
}

impl LogDensity for HiddenMarkov {
    fn dim(&self) -> usize {
        self.num_states()
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.log_path(z)
    }
}

impl StateSpace for HiddenMarkov {
    fn num_states(&self) -> usize {
        self.log_likelihood.nrows()
    }

    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]) {
        for (i, z) in z.iter_mut().enumerate() {
            let from = if t == 0 { 0 } else { self.state(previous[i]).expect("a state of this chain") };
            let ends = (0..self.alphabet() - 1).scan(0.0, |sum, k| {
                *sum += self.log_step(t, from, k).exp();
                Some(*sum)
            });
            let u = stream.uniform_between(ends.clone());
            *z = ends.take_while(|&end| end <= u).count() as f64;
        }
    }

    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            let from = if t == 0 { Some(0) } else { self.state(previous[i]) };
            *out = match (from, self.state(z[i])) {
                (Some(from), Some(to)) => self.log_step(t, from, to),
                _ => f64::NEG_INFINITY,
            };
        }
    }

    fn log_observations(&self, t: usize, z: &[f64], out: &mut [f64]) {
        for (out, &z) in out.iter_mut().zip(z) {
            *out = self.state(z).map_or(f64::NEG_INFINITY, |k| self.log_likelihood[(t, k)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Columns;

    fn chain() -> HiddenMarkov {
        let transition: [&[f64]; 3] = [&[0.7, 0.2, 0.1], &[0.0, 0.5, 0.5], &[0.3, 0.3, 0.4]];
        let likelihood: [&[f64]; 4] =
            [&[0.9, 0.2, 0.4], &[0.1, 0.6, 1.3], &[0.3, 0.3, 0.1], &[2.0, 0.5, 0.7]];
        HiddenMarkov::new(&[0.2, 0.3, 0.5], &transition, &likelihood).unwrap()
    }

    /// Evidence and smoothing distributions equal the sums over all 81 paths.
    #[test]
    fn forward_and_backward_are_sums_over_paths() {
        let (chain, paths) = (chain(), chain().paths());
        let mass = |path: usize| chain.log_path(paths.as_ref().column(path)).exp();
        let total: f64 = (0..81).map(mass).sum();
        assert_eq!(paths.ncols(), 81);
        assert!((chain.log_evidence() - total.ln()).abs() < 1e-14);
        for t in 0..4 {
            for (k, p) in chain.smoothed(t).into_iter().enumerate() {
                let here: f64 = (0..81).filter(|&path| paths[(t, path)] == k as f64).map(mass).sum();
                assert!((p - here / total).abs() < 1e-15, "{t} {k}");
            }
        }
    }

    /// The draws, enumerated: each state has its probability, and an impossible state is never drawn.
    #[test]
    fn draws_have_the_law_of_the_transition() {
        let chain = chain();
        for (t, from, law) in
            [(0, 9.0, [0.2, 0.3, 0.5]), (1, 1.0, [0.0, 0.5, 0.5]), (3, 0.0, [0.7, 0.2, 0.1])]
        {
            let branches = mcsa_core::enumerate(1, 9, |lanes| {
                let mut z = [f64::NAN];
                chain.draw_states_into(t, &[from], &mut lanes[0], &mut z);
                z[0] as usize
            })
            .unwrap();
            for branch in &branches {
                assert!((branch.probability - law[branch.outcome]).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn bad_laws_are_refused_with_their_place() {
        let error = HiddenMarkov::new(&[0.5, 0.6], &[&[1.0, 0.0], &[0.0, 1.0]], &[&[1.0, 1.0]])
            .unwrap_err()
            .to_string();
        assert_eq!(error, "HiddenMarkov: a sum of probabilities is 1.1, expected 1");
        assert!(HiddenMarkov::new(&[1.0], &[&[1.0]], &[]).is_err());
        assert!(HiddenMarkov::new(&[1.0], &[&[1.0]], &[&[-1.0]]).is_err());
    }
}
