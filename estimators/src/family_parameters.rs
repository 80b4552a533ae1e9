//! Parameters of an estimator that learns those of a family alone.

/// Methods of `Estimator<P, F>` on parameters that are those of the family alone: their number, their check, and the family's
/// configuration.
macro_rules! family_parameters {
    ($target:ty, $family:ty) => {
        fn family_config(&self, family: &$family) -> String {
            family.config()
        }

        fn num_params(&self, _: &$target, family: &$family) -> usize {
            family.num_params()
        }

        fn check_params(
            &self,
            _: &$target,
            family: &$family,
            params: &[f64],
        ) -> Result<(), mcsa_core::Error> {
            family.check(params)
        }
    };
}
pub(crate) use family_parameters;
