//! What a step tells of itself.

/// A few named numbers about one step: acceptance, effective sample size, norms.
///
/// ```
/// use mcsa::Record;
/// struct Info { accepted: f64 }
/// impl Record for Info {
///     fn record(&self, sink: &mut dyn FnMut(&'static str, f64)) {
///         sink("accepted", self.accepted);
///     }
/// }
/// let mut row = Vec::new();
/// Info { accepted: 0.5 }.record(&mut |name, value| row.push((name, value)));
/// assert_eq!(row, [("accepted", 0.5)]);
/// ```
pub trait Record {
    /// Hands every name with its number to `sink`, always in the same order.
    fn record(&self, sink: &mut dyn FnMut(&'static str, f64));
}

impl Record for () {
    fn record(&self, _: &mut dyn FnMut(&'static str, f64)) {}
}
