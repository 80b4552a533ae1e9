//! Data of charts on the papers' claims, computed exactly at each call.
//!
//! ```
//! use mcsa_theory::curves;
//! let chart = &curves::all()[0];
//! assert_eq!((chart.claim, chart.curves.len()), ("001-L2", 3));
//! ```

mod ascent;
mod chart;
mod wielding;

pub use chart::{Chart, Curve};

/// All twelve charts.
pub fn all() -> Vec<Chart> {
    let mut all = ascent::charts();
    all.extend(wielding::charts());
    all
}
