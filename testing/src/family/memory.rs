//! Laws of arguments and memory: invalid parameters are refused, `work_len` numbers are enough, and a warm call allocates nothing.

use faer::Mat;
use mcsa_core::{Family, Parametric, Pushforward, Reparameterised};

use super::{Case, Failure};
use crate::law::{Run, SIZES, laws_of_memory};

/// Examines [`Parametric::check`], which is lent no memory.
fn check(case: &Case<dyn Parametric + '_>, run: Run<'_>) -> Result<(), Failure> {
    run("check", &mut |_| {
        std::hint::black_box(case.family.check(&case.params).is_ok());
    })
}

fn of_family(case: &Case<dyn Family + '_>, columns: usize, run: Run<'_>) -> Result<(), Failure> {
    let (family, params) = (&case.family, &case.params);
    let (mut z, mut log_q) = (Mat::zeros(family.dim(), columns), vec![0.0; columns]);
    let (weights, mut gradient) = (vec![0.5; columns], vec![0.0; params.len()]);
    let mut lanes = case.seed.streams(if columns == SIZES[4] { columns } else { 1 }, 2);
    check(case, run)?;
    run("sample_into", &mut |work| family.sample_into(params, &mut lanes, z.as_mut(), &mut log_q, work))?;
    run("log_probs", &mut |work| family.log_probs(params, z.as_ref(), &mut log_q, work))?;
    run("add_scores", &mut |work| family.add_scores(params, z.as_ref(), &weights, &mut gradient, work))
}

fn of_transport(case: &Case<dyn Reparameterised + '_>, columns: usize, run: Run<'_>) -> Result<(), Failure> {
    let (family, params) = (&case.family, &case.params);
    let (mut noise, mut z) = (Mat::zeros(family.noise_dim(), columns), Mat::zeros(family.dim(), columns));
    let (mut slopes, mut gradient) = (z.clone(), vec![0.0; params.len()]);
    let mut lane = [case.stream("work")];
    check(case, run)?;
    run("sample_noise_into", &mut |_| family.sample_noise_into(&mut lane, noise.as_mut()))?;
    run("transport", &mut |work| family.transport(params, noise.as_ref(), z.as_mut(), work))?;
    run("add_pullbacks", &mut |work| {
        family.add_pullbacks(params, noise.as_ref(), z.as_ref(), &mut gradient, work);
    })?;
    run("add_slopes", &mut |work| family.add_slopes(params, z.as_ref(), 1.0, slopes.as_mut(), work))?;
    if columns == 0 {
        return Ok(());
    }
    run("entropy", &mut |work| {
        std::hint::black_box(family.entropy(params, work));
    })?;
    run("add_entropy_gradient", &mut |work| family.add_entropy_gradient(params, 1.0, &mut gradient, work))
}

fn of_push(case: &Case<dyn Pushforward + '_>, columns: usize, run: Run<'_>) -> Result<(), Failure> {
    let (family, params) = (&case.family, &case.params);
    let (mut noise, mut z) = (Mat::zeros(family.noise_dim(), columns), Mat::zeros(family.dim(), columns));
    let (mut log_q, weights) = (vec![0.0; columns], vec![0.5; columns]);
    let (mut gradient, mut lane) = (vec![0.0; params.len()], [case.stream("work")]);
    check(case, run)?;
    run("sample_noise_into", &mut |_| family.sample_noise_into(&mut lane, noise.as_mut()))?;
    run("push", &mut |work| family.push(params, noise.as_ref(), z.as_mut(), &mut log_q, work))?;
    run("add_push_gradients", &mut |work| {
        family.add_push_gradients(params, noise.as_ref(), z.as_ref(), &weights, &mut gradient, work);
    })
}

laws_of_memory! {
    Family, "`sample_into`, `log_probs`, `add_scores` and `check`", family.work_len, &SIZES, of_family
        => work_is_enough, allocates_nothing;
    Reparameterised, "The methods of a reparameterised family, and `check`,", family.work_len, &SIZES, of_transport
        => transport_work_is_enough, transport_allocates_nothing;
    Pushforward, "The methods of a pushforward, and `check`,", family.work_len, &SIZES, of_push
        => push_work_is_enough, push_allocates_nothing;
}

/// `check` accepts the parameters of the case and returns an error for invalid ones: too short, too long, or with a NaN or an
/// infinity at any position. Of more than 64 positions, at most 64 are tested.
pub fn bad_params_are_refused(case: &Case<dyn Family + '_>) -> Result<(), Failure> {
    const LAW: &str = "bad_params_are_refused";
    let mut params = case.params.clone();
    if let Err(error) = case.family.check(&params) {
        return Err(Failure::new(LAW, "the params of the case", "admitted", error.to_string()));
    }
    let admitted = |place: String| Err(Failure::new(LAW, place, "refused", "admitted"));
    params.push(0.0);
    if case.family.check(&params).is_ok() {
        return admitted(format!("length {}", params.len()));
    }
    params.pop();
    if params.split_last().is_some_and(|(_, shorter)| case.family.check(shorter).is_ok()) {
        return admitted(format!("length {}", params.len() - 1));
    }
    for k in (0..params.len()).step_by(params.len().div_ceil(64).max(1)) {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let good = std::mem::replace(&mut params[k], bad);
            if case.family.check(&params).is_ok() {
                return admitted(format!("params[{k}] = {bad}"));
            }
            params[k] = good;
        }
    }
    Ok(())
}
