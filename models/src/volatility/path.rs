//! Autoregressive recursion over several paths at once.

/// Number of paths computed side by side: the recursion is bound by latency, so that four cost little more than one.
pub(super) const LANES: usize = 4;

/// Stationary autoregression in terms of its innovations `e`: `h_1 = first e_1`, `h_t = phi h_{t-1} + sigma e_t`.
#[derive(Clone, Copy)]
pub(super) struct Recursion {
    pub(super) phi: f64,
    pub(super) sigma: f64,
    /// `sigma / sqrt(1 - phi^2)`.
    pub(super) first: f64,
    pub(super) mu: f64,
}

impl Recursion {
    /// Writes `-(mu + h_t)`.
    pub(super) fn negative_into(self, e: &[f64], out: &mut [f64]) {
        let mut h = 0.0;
        for (t, (out, &e)) in out.iter_mut().zip(e).enumerate() {
            h = self.next(t, h, e);
            *out = -(self.mu + h);
        }
    }

    /// Writes `-(mu + h_t)` of four paths, bit-identical to four calls of [`negative_into`](Self::negative_into).
    pub(super) fn four_negatives_into(paths: &[Self; LANES], e: [&[f64]; LANES], out: [&mut [f64]; LANES]) {
        let [a, b, c, d] = out;
        let length = a.len();
        let (e0, e1, e2, e3) = (&e[0][..length], &e[1][..length], &e[2][..length], &e[3][..length]);
        let (b, c, d) = (&mut b[..length], &mut c[..length], &mut d[..length]);
        let mut h = [0.0; LANES];
        for t in 0..length {
            let e = [e0[t], e1[t], e2[t], e3[t]];
            for lane in 0..LANES {
                h[lane] = paths[lane].next(t, h[lane], e[lane]);
            }
            a[t] = -(paths[0].mu + h[0]);
            b[t] = -(paths[1].mu + h[1]);
            c[t] = -(paths[2].mu + h[2]);
            d[t] = -(paths[3].mu + h[3]);
        }
    }

    #[inline(always)]
    fn next(self, t: usize, h: f64, e: f64) -> f64 {
        if t == 0 { self.first * e } else { self.phi * h + self.sigma * e }
    }
}
