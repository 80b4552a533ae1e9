use super::{Along, PathPoint, Sizes, Surrogate};
use crate::{draw_subset, seen_len};
use mcsa_core::{Error, Part, Subsampled, borrow, numeric};

/// Posterior of a minibatch as the surrogate (naive subsampling, NS-DAIS).
///
/// ```text
/// g(z; J) = log prior(z) + N/B sum_{n in J} l_n(z)
/// ```
/// B of the N rows are drawn without replacement, once per path: they are a function of the bits of the one normal number of the
/// path's noise. There are no parameters.
///
/// ```
/// use mcsa_annealed::{Surrogate, surrogate::MinibatchSurrogate};
/// use mcsa_models::LogisticRegression;
/// let x = faer::mat![[1.0], [-2.0], [0.5], [1.5]];
/// let target = LogisticRegression::new(x.as_ref(), &[1.0, 0.0, 1.0, 0.0], 1.0)?;
/// let surrogate = MinibatchSurrogate::new(&target, 2)?;
/// let mut memory = vec![0.0; surrogate.sizes().memory];
/// surrogate.prepare(&[], &[0.3], &mut memory);
/// let rows = surrogate.rows(&memory);
/// assert!(rows.len() == 2 && rows[0] != rows[1]);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct MinibatchSurrogate<P> {
    target: P,
    rows: usize,
}

impl<P: Subsampled> MinibatchSurrogate<P> {
    /// Minibatches of `rows` rows.
    ///
    /// # Errors
    /// If there is no row, or more than the target has data.
    pub fn new(target: P, rows: usize) -> Result<Self, Error> {
        if rows == 0 || rows > target.num_data() {
            let reason = format!("{rows} rows per path: the target has {} data", target.num_data());
            return Err(Error::invalid(reason).within("MinibatchSurrogate"));
        }
        Ok(Self { target, rows })
    }

    /// Factor N/B of the log likelihood.
    fn factor(&self) -> f64 {
        self.target.num_data() as f64 / self.rows as f64
    }

    /// Rows of a path, which its memory holds as bit patterns.
    pub fn rows<'a>(&self, memory: &'a [f64]) -> &'a [usize] {
        &bytemuck::cast_slice(memory)[..self.rows]
    }
}

/// SplitMix64 (Steele, Lea & Flood 2014): 64-bit words that start from the bits of a number.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Uniform on `0..count`, by the method of [`Stream::index`](mcsa_core::Stream::index).
    fn index(&mut self, count: usize) -> usize {
        let count = count as u64;
        let least = count.wrapping_neg() % count;
        loop {
            let product = u128::from(self.next()) * u128::from(count);
            if product as u64 >= least {
                return (product >> 64) as usize;
            }
        }
    }
}

impl<P: Subsampled> Surrogate for MinibatchSurrogate<P> {
    fn sizes(&self) -> Sizes {
        let (dim, rows) = (self.target.dim(), self.rows);
        let work = dim + self.target.rows_work_len(rows);
        Sizes { dim, noise: 1, memory: rows + seen_len(rows), work, ..Sizes::default() }
    }

    fn config(&self) -> String {
        format!("MinibatchSurrogate(rows {} of {})", self.rows, self.target.num_data())
    }

    fn prepare(&self, _: &[f64], noise: &[f64], memory: &mut [f64]) {
        let memory: &mut [usize] = bytemuck::cast_slice_mut(memory);
        let (rows, seen) = memory.split_at_mut(self.rows);
        let mut words = Words(noise[0].to_bits());
        draw_subset(self.target.num_data(), rows, &mut seen[..seen_len(self.rows)], |count| {
            words.index(count)
        });
    }

    fn gradient_into(&self, at: PathPoint<'_>, gradient: &mut [f64], _: &mut [f64], work: &mut [f64]) {
        let PathPoint { memory, z, .. } = at;
        self.target.prior_gradient_into(z, gradient, work);
        self.target.add_gradient_at(
            Part { rows: self.rows(memory), scale: self.factor() },
            z,
            gradient,
            work,
        );
    }

    fn add_second(&self, along: Along<'_>, product: &mut [f64], _: &mut [f64], mut work: &mut [f64]) {
        let Along { at: PathPoint { memory, z, .. }, u, scale, .. } = along;
        let along = borrow(&mut work, u.len());
        self.target.prior_hessian_vector_into(z, u, along, work);
        numeric::axpy(scale, along, product);
        let part = Part { rows: self.rows(memory), scale: scale * self.factor() };
        self.target.add_hessian_vector_at(part, z, u, product, work);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words published on Rosetta Code for this start.
    #[test]
    fn words_are_those_of_the_definition() {
        let mut words = Words(1_234_567);
        assert_eq!([words.next(), words.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
