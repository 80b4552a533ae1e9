//! Share of training rows.

/// Share of training rows, with the rounding of fractions of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Share {
    /// Rounded down, as in pMCSA and MCMC-SE: 0.9 of 351 rows are 315.
    Down(f64),
    /// Rounded to the nearest, as in MSC: 0.9 of 351 rows are 316.
    Nearest(f64),
}

impl Share {
    /// Number of training rows out of `rows`.
    pub fn of(self, rows: usize) -> usize {
        match self {
            Self::Down(share) => (share * rows as f64).floor() as usize,
            Self::Nearest(share) => (share * rows as f64).round() as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Share::{Down, Nearest};

    #[test]
    fn the_published_splits_come_out() {
        // MSC, table 1: pima 691/77, ionosphere 316/35, heart 267/30.
        assert_eq!([768, 351, 297].map(|rows| Nearest(0.9).of(rows)), [691, 316, 267]);
        // MCMC-SE, table 3: 249, 351 and 544 latent dimensions are 62, 36 and 32 more than the number of training rows.
        assert_eq!([208, 351, 569].map(|rows| Down(0.9).of(rows)), [187, 315, 512]);
        // None of these products is rounded below a whole number.
        assert!((1..10_000).all(|tens| Down(0.9).of(10 * tens) == 9 * tens));
    }
}
