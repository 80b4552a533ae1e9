//! Radon levels in houses: a hierarchical linear regression with county effects.

mod evidence;

use mcsa_core::numeric::vectorised;
use mcsa_core::{Error, Gradient, LogDensity, Named, Separable, all_finite, same_length};

use crate::support::{HALF_LOG_TAU, decided, exponential, log_normal};

/// Rate of the exponential priors of the scales: mean 50.
const RATE: f64 = 0.02;

/// Hierarchical linear regression with intercepts and slopes pooled by county (MCMC-SE, section 4.5; CW, section 4.3):
///
/// ```text
/// sigma_a, sigma_b, sigma_y ~ Exponential(0.02),   mu_a, mu_b ~ N(0, 1)
/// a_c ~ N(mu_a, sigma_a^2),   b_c ~ N(mu_b, sigma_b^2),   y_i ~ N(a_{c_i} + b_{c_i} x_i, sigma_y^2)
/// z = (log sigma_a, log sigma_b, log sigma_y, mu_a, mu_b, a_1 .. a_C, b_1 .. b_C),   log-Jacobian z_0 + z_1 + z_2
/// ```
///
/// The Minnesota data have 85 counties, hence dimension 175, and 919 houses; `y` is log radon, `x` is 1 on the first floor and 0
/// in the basement. The log density is a sum over counties with five sufficient statistics each. [`Separable`] has one term per
/// house.
///
/// ```
/// use mcsa_core::LogDensity;
/// let model = mcsa_models::Radon::new(2, vec![0, 0, 1], vec![0.0, 1.0, 0.0], vec![0.3, -0.1, 1.2])?;
/// assert_eq!(model.dim(), 9);
/// assert!(model.log_density(&[0.0; 9], &mut []) < 0.0);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Radon {
    num_counties: usize,
    rows: Vec<(usize, f64, f64)>,
    counties: Counties,
}

/// Sums over counties: squares of `a - mu_a` and of `b - mu_b`, squared residuals, and the deviations from the means.
#[derive(Clone, Copy, Default)]
struct Sums {
    a: [f64; LANES],
    b: [f64; LANES],
    y: [f64; LANES],
    off_a: [f64; LANES],
    off_b: [f64; LANES],
}

/// The next numbers; an unused lane is at the mean, and adds nothing.
#[inline(always)]
fn lanes(numbers: &[f64], mean: f64) -> [f64; LANES] {
    numbers.first_chunk().copied().unwrap_or_else(|| {
        let mut lanes = [mean; LANES];
        lanes[..numbers.len()].copy_from_slice(numbers);
        lanes
    })
}

fn fold(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// The scales of a point, and their precisions.
fn scales(z: &[f64]) -> ([f64; 3], [f64; 3]) {
    let sigma = [z[0].exp(), z[1].exp(), z[2].exp()];
    (sigma, sigma.map(|s| (s * s).recip()))
}

impl Radon {
    /// A model of the county (numbered from 0), predictor and outcome of each row; a county may have no row.
    ///
    /// # Errors
    /// If the lengths differ, a county is not less than `num_counties`, or a number is not finite.
    pub fn new(num_counties: usize, county: Vec<usize>, x: Vec<f64>, y: Vec<f64>) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("Radon");
        same_length("x", county.len(), x.len()).map_err(refuse)?;
        same_length("y", county.len(), y.len()).map_err(refuse)?;
        all_finite("x", &x).map_err(refuse)?;
        all_finite("y", &y).map_err(refuse)?;
        if let Some(row) = county.iter().position(|&c| c >= num_counties) {
            let reason = format!("row {row} is in county {}, expected less than {num_counties}", county[row]);
            return Err(refuse(Error::invalid(reason)));
        }
        let rows: Vec<_> = county.into_iter().zip(x).zip(y).map(|((county, x), y)| (county, x, y)).collect();
        let counties = Counties::new(num_counties, &rows);
        Ok(Self { num_counties, rows, counties })
    }

    /// Sums over the counties; if `SLOPES`, writes the gradient in the county effects.
    #[inline(always)]
    fn sums<const SLOPES: bool>(&self, z: &[f64], weight: [f64; 3], gradient: &mut [f64]) -> Sums {
        let [weight_a, weight_b, weight_y] = weight;
        let (mu_a, mu_b) = (z[3], z[4]);
        let (a, b) = z[5..].split_at(self.num_counties);
        let split = if SLOPES { 5 + self.num_counties } else { 0 };
        let (slopes_a, slopes_b) = gradient.split_at_mut(split);
        let mut sums = Sums::default();
        for (k, block) in self.counties.blocks.iter().enumerate() {
            let from = k * LANES;
            let width = LANES.min(self.num_counties - from);
            let (a_lanes, b_lanes) = (lanes(&a[from..], mu_a), lanes(&b[from..], mu_b));
            let (mut slope_a, mut slope_b) = ([0.0; LANES], [0.0; LANES]);
            for lane in 0..LANES {
                let (a, b) = (a_lanes[lane], b_lanes[lane]);
                let (off_a, off_b) = (a - mu_a, b - mu_b);
                let gap = block.mean_y[lane] - a - b * block.mean_x[lane];
                let tilt = b - block.slope[lane];
                let (pull, twist) = (block.count[lane] * gap, block.spread_x[lane] * tilt);
                sums.a[lane] += off_a * off_a;
                sums.b[lane] += off_b * off_b;
                sums.y[lane] += pull * gap + twist * tilt;
                if SLOPES {
                    sums.off_a[lane] += off_a;
                    sums.off_b[lane] += off_b;
                    slope_a[lane] = weight_y * pull - weight_a * off_a;
                    slope_b[lane] = weight_y * (block.mean_x[lane] * pull - twist) - weight_b * off_b;
                }
            }
            if SLOPES {
                slopes_a[5 + from..5 + from + width].copy_from_slice(&slope_a[..width]);
                slopes_b[from..from + width].copy_from_slice(&slope_b[..width]);
            }
        }
        sums
    }

    fn value(&self, z: &[f64], sigma: [f64; 3], [a, b, y]: [f64; 3], sums: &Sums) -> f64 {
        let (counties, rows) = (self.num_counties as f64, self.rows.len() as f64);
        let prior: f64 = (0..3).map(|k| exponential(z[k], sigma[k], RATE).0).sum();
        let squares = a * fold(sums.a) + b * fold(sums.b) + y * (self.counties.residual + fold(sums.y));
        let means = z[3] * z[3] + z[4] * z[4];
        let log_det = counties * (z[0] + z[1]) + rows * z[2];
        let constant = (2.0 * counties + rows + 2.0) * HALF_LOG_TAU;
        decided(prior - 0.5 * (squares + means) - log_det - constant, z)
    }

    fn predicted(&self, row: usize, z: &[f64]) -> f64 {
        let (county, x, _) = self.rows[row];
        z[5 + county] + z[5 + self.num_counties + county] * x
    }
}

impl LogDensity for Radon {
    fn dim(&self) -> usize {
        5 + 2 * self.num_counties
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.dim(), "a point of the target's dimension");
        let (sigma, weight) = scales(z);
        let sums = vectorised(
            #[inline(always)]
            || self.sums::<false>(z, weight, &mut []),
        );
        self.value(z, sigma, weight, &sums)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        ["sigma_a", "sigma_b", "sigma_y"].into_iter().zip(z).for_each(|(name, z)| out.push(name, z.exp()));
        out.push("mu_a", z[3]);
        out.push("mu_b", z[4]);
        for (name, effects) in ["a", "b"].into_iter().zip(z[5..].chunks(self.num_counties.max(1))) {
            out.vector(name, effects.iter().copied());
        }
    }
}

impl Gradient for Radon {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        assert!(z.len() == self.dim() && gradient.len() == self.dim(), "points of the target's dimension");
        let (sigma, weight) = scales(z);
        let sums = vectorised(
            #[inline(always)]
            || self.sums::<true>(z, weight, gradient),
        );
        let squares = [fold(sums.a), fold(sums.b), self.counties.residual + fold(sums.y)];
        let counts = [self.num_counties, self.num_counties, self.rows.len()];
        for k in 0..3 {
            let prior = exponential(z[k], sigma[k], RATE).1;
            gradient[k] = prior - counts[k] as f64 + weight[k] * squares[k];
        }
        gradient[3] = weight[0] * fold(sums.off_a) - z[3];
        gradient[4] = weight[1] * fold(sums.off_b) - z[4];
        self.value(z, sigma, weight, &sums)
    }
}

impl Separable for Radon {
    fn num_data(&self) -> usize {
        self.rows.len()
    }

    fn log_prior(&self, z: &[f64], _: &mut [f64]) -> f64 {
        let (a, b) = z[5..].split_at(self.num_counties);
        let (sigma, weight) = scales(z);
        let square =
            |effects: &[f64], mean: f64| effects.iter().map(|e| (e - mean) * (e - mean)).sum::<f64>();
        let squares = weight[0] * square(a, z[3]) + weight[1] * square(b, z[4]);
        let prior: f64 = (0..3).map(|k| exponential(z[k], sigma[k], RATE).0).sum();
        let counties = self.num_counties as f64;
        let means = log_normal(z[3], 1.0) + log_normal(z[4], 1.0);
        decided(prior + means - 0.5 * squares - counties * (z[0] + z[1] + 2.0 * HALF_LOG_TAU), z)
    }

    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], _: &mut [f64]) -> f64 {
        let weight = (-2.0 * z[2]).exp();
        let square = |&row: &usize| (self.rows[row].2 - self.predicted(row, z)).powi(2);
        let squares: f64 = rows.iter().map(square).sum();
        decided(-0.5 * weight * squares - rows.len() as f64 * (z[2] + HALF_LOG_TAU), z)
    }
}

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
