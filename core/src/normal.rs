//! Standard normal draws by the ziggurat method of Marsaglia & Tsang (2000), with 256 layers.
//!
//! The fast path takes one 64-bit word per draw: eight bits choose the layer, one the sign, and 53 others the abscissa, so that no
//! bit is used twice (Doornik 2005 shows what happens otherwise). The sampler of a library may change its values in a minor
//! release; the values of this one change only in a release whose changes have the heading "Value-breaking".

use crate::chacha::Generator;
use crate::normal_table::{EDGES, HEIGHTS, TAIL};

const UNIT: f64 = f64::from_bits(0x3ca0_0000_0000_0000); // 2^-53

/// Abscissa in the layer that a word chooses, the layer, and the sign bit.
#[inline(always)]
fn place(word: u64) -> (f64, usize, u64) {
    let layer = (word & 0xff) as usize;
    ((word >> 11) as f64 * UNIT * EDGES[layer], layer, (word & 0x100) << 55)
}

#[inline]
pub(crate) fn draw(source: &mut Generator) -> f64 {
    loop {
        let (x, layer, sign) = place(source.next_u64());
        if x < EDGES[layer + 1] {
            return f64::from_bits(x.to_bits() | sign);
        }
        if let Some(x) = edge(source, layer, x) {
            return f64::from_bits(x.to_bits() | sign);
        }
    }
}

/// Fills `out` with the values of repeated calls of [`draw`].
pub(crate) fn fill(source: &mut Generator, out: &mut [f64]) {
    let mut rest = out;
    while !rest.is_empty() {
        // Words that are computed already, up to the first one that chooses a point outside its rectangle.
        let mut taken = 0;
        for (out, &word) in rest.iter_mut().zip(source.ready()) {
            let (x, layer, sign) = place(word);
            if x >= EDGES[layer + 1] {
                break;
            }
            *out = f64::from_bits(x.to_bits() | sign);
            taken += 1;
        }
        source.skip(taken);
        let Some((out, others)) = rest[taken..].split_first_mut() else { return };
        *out = draw(source);
        rest = others;
    }
}

/// Draw from the wedge of a layer or from the tail, needed about once in a hundred draws: when `x` lies outside the rectangle
/// inscribed in its layer. `None` if the point in the wedge is rejected.
#[cold]
fn edge(source: &mut Generator, layer: usize, x: f64) -> Option<f64> {
    let mut uniform = || ((source.next_u64() >> 12) as f64 + 0.5) * (2.0 * UNIT);
    if layer > 0 {
        let height = HEIGHTS[layer] + (HEIGHTS[layer + 1] - HEIGHTS[layer]) * uniform();
        return (height < (-0.5 * x * x).exp()).then_some(x);
    }
    loop {
        // Marsaglia (1964): an exponential beyond TAIL, accepted against the normal.
        let beyond = -uniform().ln() / TAIL;
        if -2.0 * uniform().ln() > beyond * beyond {
            return Some(TAIL + beyond);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn the_first_values_are_pinned() {
        let mut stream = Seed::new(1).stream(0, 1);
        let found: Vec<u64> = (0..6).map(|_| stream.normal().to_bits()).collect();
        assert_eq!(found, PINNED, "{found:#018x?}");
    }

    const PINNED: [u64; 6] = [
        0x3fea_d9d1_7222_cd6c,
        0x3fdf_bbeb_3f3a_be34,
        0x3ff5_7d04_0cd3_eb53,
        0xbfb2_0382_4dd8_9407,
        0x3fe3_c88d_298b_e7d1,
        0x3f5b_6c24_195d_ecf8,
    ];

    #[test]
    fn layers_have_equal_areas() {
        let area = EDGES[0] * HEIGHTS[1];
        for i in 1..256 {
            let layer = EDGES[i] * (HEIGHTS[i + 1] - HEIGHTS[i]);
            assert!((layer / area - 1.0).abs() < 1e-11, "layer {i}: {layer} against {area}");
        }
        assert_eq!((EDGES[1], EDGES[256], HEIGHTS[256]), (TAIL, 0.0, 1.0));
    }

    /// Moments of 2^22 draws, each within 5 of its standard errors: false alarm below 1e-5 in all.
    /// The moment generating function at 2 and the tail mass are sensitive to the wedges and the tail.
    #[test]
    fn moments_and_tail_are_normal() {
        let mut stream = Seed::new(11).stream(0, 0);
        let n = 1 << 22;
        let (mut sums, mut squares) = ([0.0; 6], [0.0; 6]);
        for _ in 0..n {
            let x = stream.normal();
            let beyond = f64::from(u8::from(x.abs() > TAIL));
            for (k, value) in
                [x, x * x, x.powi(3), x.powi(4), (2.0 * x).exp(), beyond].into_iter().enumerate()
            {
                sums[k] += value;
                squares[k] += value * value;
            }
        }
        let expected = [0.0, 1.0, 0.0, 3.0, 2.0_f64.exp(), 2.580_278_345_640_764e-4];
        for k in 0..6 {
            let mean = sums[k] / f64::from(n);
            let error = ((squares[k] / f64::from(n) - mean * mean) / f64::from(n)).sqrt();
            assert!((mean - expected[k]).abs() < 5.0 * error, "moment {k}: {mean} +- {error}");
        }
    }
}
