//! Result of a fit before its end.

use mcsa_core::Error;

use super::{Chains, Fitted, Fitting, Objection, Target, Verdict, summary};

impl Fitting {
    /// The result before the end of the fit: weighted draws of the q reached, no witness chains, and the verdict no. `None` before the
    /// first round of a climb. The state is only read: the fit can go on.
    ///
    /// ```
    /// use mcsa::fit::{Fitting, Options, Stage, Target};
    /// let model = mcsa::models::Gaussian::standard(2);
    /// let target = Target::with_gradient(&model);
    /// let mut fitting = Fitting::new(&Options::seeded(1))?;
    /// assert!(fitting.interim(&target)?.is_none());
    /// while fitting.stage != Stage::Verdict {
    ///     fitting.advance(&target)?;
    /// }
    /// let fitted = fitting.interim(&target)?.expect("a climb has ended");
    /// assert!(fitted.parameters[0].mean.abs() < 0.1 && !fitted.verdict.is_yes());
    /// # Ok::<(), mcsa::prelude::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the draws cannot be made, the target has another dimension than the state, or its [check](Target::checked) fails.
    pub fn interim(&self, target: &Target<'_>) -> Result<Option<Fitted>, Error> {
        self.check(target)?;
        if self.climbs.first().is_none_or(|climb| climb.rounds.is_empty()) {
            return Ok(None);
        }
        let before = target.evaluations();
        let draws = self.draw(target.density(), None, &|| true)?;
        target.check()?;
        let climb = self.current()?;
        let chains = Chains::none(target.dim());
        let mut objections = self.objections.clone();
        objections.push(Objection::Interrupted);
        Ok(Some(Fitted {
            shape: climb.shape,
            params: climb.proposal(target.dim())?,
            parameters: summary::parameters(*target.density().inner(), &draws),
            evidence: summary::Evidence::of(&draws, &chains.log_weights),
            verdict: Verdict { objections, has_gradient: self.has_gradient(target) },
            evaluations: self.spent + (target.evaluations() - before),
            draws,
            chains,
        }))
    }
}
