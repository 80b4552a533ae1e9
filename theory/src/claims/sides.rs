//! The two sides of a claim.

/// Relation that a claim states between its two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `lhs <= rhs`.
    AtMost,
    /// `lhs < rhs`.
    Below,
    /// `lhs = rhs`.
    Equal,
}

/// Values of both sides of a claim in one case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sides {
    /// The left-hand side.
    pub lhs: f64,
    /// The right-hand side.
    pub rhs: f64,
    /// The relation claimed.
    pub relation: Relation,
}

/// Values below this count as rounding. Scores of random cases are at most 1, and rates that decay below it are not tested.
const FLOOR: f64 = 1e-8;

/// A ratio may exceed 1 by this much because of rounding.
const RATIO_NOISE: f64 = 1e-7;

/// The sides of an identity may differ by this much because of rounding, relative to the larger of them and 1.
const IDENTITY_NOISE: f64 = 1e-9;

impl Sides {
    /// `lhs <= rhs`.
    pub fn at_most(lhs: f64, rhs: f64) -> Self {
        Self { lhs, rhs, relation: Relation::AtMost }
    }

    /// `lhs < rhs`.
    pub fn below(lhs: f64, rhs: f64) -> Self {
        Self { lhs, rhs, relation: Relation::Below }
    }

    /// `lhs = rhs`.
    pub fn equal(lhs: f64, rhs: f64) -> Self {
        Self { lhs, rhs, relation: Relation::Equal }
    }

    /// Distance of the case from refuting the claim: above 1 for inequalities (above 0 for identities) it refutes, up to rounding.
    ///
    /// For inequalities `lhs / rhs`, infinite where only the left side is positive; for identities the absolute difference,
    /// relative to the larger side or 1. NaN counts as infinite: a bound that cannot be computed is none.
    ///
    /// ```
    /// use mcsa_theory::claims::Sides;
    /// assert_eq!(Sides::at_most(3.0, 4.0).badness(), 0.75);
    /// assert_eq!(Sides::at_most(1.0, -1.0).badness(), f64::INFINITY);
    /// assert_eq!(Sides::equal(0.5, 0.25).badness(), 0.25);
    /// ```
    pub fn badness(&self) -> f64 {
        let Self { lhs, rhs, relation } = *self;
        if lhs.is_nan() || rhs.is_nan() {
            return f64::INFINITY;
        }
        if relation == Relation::Equal {
            let scale = lhs.abs().max(rhs.abs()).max(1.0);
            return if lhs == rhs { 0.0 } else { (lhs - rhs).abs() / scale };
        }
        if rhs > FLOOR {
            return (lhs / rhs).max(0.0);
        }
        // With a right side of zero or below, only the difference has a meaning.
        match lhs - rhs {
            excess if excess <= FLOOR => 0.0,
            _ if rhs > 0.0 => lhs / rhs,
            _ => f64::INFINITY,
        }
    }

    /// True if the case refutes the claim by more than rounding. A strict inequality is refuted by equality.
    pub fn refute(&self) -> bool {
        match self.relation {
            Relation::AtMost => self.badness() > 1.0 + RATIO_NOISE,
            Relation::Below => !(self.lhs < self.rhs),
            Relation::Equal => !(self.badness() <= IDENTITY_NOISE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_refutes_nothing_and_the_rest_does() {
        assert!(!Sides::at_most(1.0 + 1e-8, 1.0).refute());
        assert!(Sides::at_most(1.0 + 1e-6, 1.0).refute());
        assert!(!Sides::at_most(1e-9, 0.0).refute());
        assert!(Sides::at_most(1e-3, 0.0).refute());
        assert!(!Sides::at_most(-2.0, -1.0).refute());
        assert!(Sides::below(1.0, 1.0).refute() && !Sides::at_most(1.0, 1.0).refute());
        assert!(!Sides::equal(1.0, 1.0 + 1e-12).refute() && Sides::equal(1.0, 1.0 + 1e-6).refute());
    }

    #[test]
    fn nan_refutes() {
        for sides in
            [Sides::at_most(f64::NAN, 1.0), Sides::below(0.0, f64::NAN), Sides::equal(f64::NAN, f64::NAN)]
        {
            assert!(sides.refute(), "{sides:?}");
        }
        assert!(!Sides::equal(f64::INFINITY, f64::INFINITY).refute());
    }
}
