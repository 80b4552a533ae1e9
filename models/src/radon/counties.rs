//! Sufficient statistics of the rows of each county.

/// Number of counties per register block.
pub(super) const LANES: usize = 8;

/// Sufficient statistics of eight counties, one per SIMD lane. The sum of squares of county `c` around the line
/// `a + b x` is, without subtraction,
///
/// ```text
/// residual_c + count_c (mean_y_c - a - b mean_x_c)^2 + spread_x_c (b - slope_c)^2
/// ```
///
/// Unused lanes have counts and spreads of zero.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Block {
    pub(super) count: [f64; LANES],
    pub(super) mean_x: [f64; LANES],
    pub(super) mean_y: [f64; LANES],
    pub(super) spread_x: [f64; LANES],
    pub(super) slope: [f64; LANES],
}

/// Statistics of all counties of a data set, and the part of the sum of squares that no line can explain.
#[derive(Debug, Clone)]
pub(super) struct Counties {
    pub(super) blocks: Vec<Block>,
    pub(super) residual: f64,
}

impl Counties {
    /// Statistics of rows `(county, x, y)`, with counties less than `count`.
    pub(super) fn new(count: usize, rows: &[(usize, f64, f64)]) -> Self {
        let mut blocks = vec![Block::default(); count.div_ceil(LANES)];
        let each = |blocks: &mut [Block], f: &mut dyn FnMut(&mut Block, usize, f64, f64)| {
            for &(county, x, y) in rows {
                f(&mut blocks[county / LANES], county % LANES, x, y);
            }
        };
        each(&mut blocks, &mut |block, lane, x, y| {
            block.count[lane] += 1.0;
            block.mean_x[lane] += x;
            block.mean_y[lane] += y;
        });
        for block in &mut blocks {
            for lane in (0..LANES).filter(|&lane| block.count[lane] > 0.0) {
                block.mean_x[lane] /= block.count[lane];
                block.mean_y[lane] /= block.count[lane];
            }
        }
        each(&mut blocks, &mut |block, lane, x, y| {
            let from_mean = x - block.mean_x[lane];
            block.spread_x[lane] += from_mean * from_mean;
            block.slope[lane] += from_mean * (y - block.mean_y[lane]);
        });
        for block in &mut blocks {
            for lane in 0..LANES {
                let spread = block.spread_x[lane];
                block.slope[lane] = if spread > 0.0 { block.slope[lane] / spread } else { 0.0 };
            }
        }
        let mut residual = 0.0;
        each(&mut blocks, &mut |block, lane, x, y| {
            let line = block.mean_y[lane] + block.slope[lane] * (x - block.mean_x[lane]);
            residual += (y - line) * (y - line);
        });
        Self { blocks, residual }
    }
}
