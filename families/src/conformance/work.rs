//! Laws of lent memory: `work_len` numbers are enough for every method.

use faer::Mat;
use mcsa_core::law::memory_is_enough;
use mcsa_core::{Family, Pushforward, Reparameterised};

use super::{Case, Failure};

const SIZES: [usize; 5] = [0, 1, 2, 5, 13];

/// `sample_into`, `log_probs` and `add_scores` need no more lent memory than `work_len` claims, for batches of 0 to 13 columns.
///
/// # Errors
/// If a method needs more; the failure names the method, the length claimed and a length that is enough.
pub fn work_is_enough<F: Family>(case: &Case<F>) -> Result<(), Failure> {
    const LAW: &str = "work_is_enough";
    let (family, params) = (&case.family, &case.params);
    for columns in SIZES {
        let (mut z, mut log_q) = (Mat::zeros(family.dim(), columns), vec![0.0; columns]);
        let (weights, mut gradient) = (vec![0.5; columns], vec![0.0; params.len()]);
        let mut lane = [case.stream("work")];
        let claimed = family.work_len(columns);
        let place = |verb: &str| format!("{verb}, {columns} columns");
        memory_is_enough(LAW, place("sample_into"), claimed, |work| {
            family.sample_into(params, &mut lane, z.as_mut(), &mut log_q, work);
        })?;
        memory_is_enough(LAW, place("log_probs"), claimed, |work| {
            family.log_probs(params, z.as_ref(), &mut log_q, work);
        })?;
        memory_is_enough(LAW, place("add_scores"), claimed, |work| {
            family.add_scores(params, z.as_ref(), &weights, &mut gradient, work);
        })?;
    }
    Ok(())
}

/// The methods of a reparameterised family need no more lent memory than `work_len` claims, for batches of 0 to 13 columns.
///
/// # Errors
/// If a method needs more; the failure names the method, the length claimed and a length that is enough.
pub fn transport_work_is_enough<F: Reparameterised>(case: &Case<F>) -> Result<(), Failure> {
    const LAW: &str = "transport_work_is_enough";
    let (family, params) = (&case.family, &case.params);
    for columns in SIZES {
        let mut noise = Mat::zeros(family.noise_dim(), columns);
        family.sample_noise_into(&mut [case.stream("work")], noise.as_mut());
        let mut z = Mat::zeros(family.dim(), columns);
        let (mut slopes, mut gradient) = (z.clone(), vec![0.0; params.len()]);
        let claimed = family.work_len(columns);
        let place = |verb: &str| format!("{verb}, {columns} columns");
        memory_is_enough(LAW, place("transport"), claimed, |work| {
            family.transport(params, noise.as_ref(), z.as_mut(), work);
        })?;
        memory_is_enough(LAW, place("add_pullbacks"), claimed, |work| {
            family.add_pullbacks(params, noise.as_ref(), z.as_ref(), &mut gradient, work);
        })?;
        memory_is_enough(LAW, place("add_slopes"), claimed, |work| {
            family.add_slopes(params, z.as_ref(), 1.0, slopes.as_mut(), work);
        })?;
    }
    let (claimed, mut gradient) = (family.work_len(1), vec![0.0; params.len()]);
    memory_is_enough(LAW, "entropy", claimed, |work| {
        let _ = family.entropy(params, work);
    })?;
    memory_is_enough(LAW, "add_entropy_gradient", claimed, |work| {
        family.add_entropy_gradient(params, 1.0, &mut gradient, work);
    })
}

/// The methods of a pushforward need no more lent memory than `work_len` claims, for batches of 0 to 13 columns.
///
/// # Errors
/// If a method needs more; the failure names the method, the length claimed and a length that is enough.
pub fn push_work_is_enough<F: Pushforward>(case: &Case<F>) -> Result<(), Failure> {
    const LAW: &str = "push_work_is_enough";
    let (family, params) = (&case.family, &case.params);
    for columns in SIZES {
        let mut noise = Mat::zeros(family.noise_dim(), columns);
        family.sample_noise_into(&mut [case.stream("work")], noise.as_mut());
        let (mut z, mut log_q) = (Mat::zeros(family.dim(), columns), vec![0.0; columns]);
        let (weights, mut gradient) = (vec![0.5; columns], vec![0.0; params.len()]);
        let claimed = family.work_len(columns);
        let place = |verb: &str| format!("{verb}, {columns} columns");
        memory_is_enough(LAW, place("push"), claimed, |work| {
            family.push(params, noise.as_ref(), z.as_mut(), &mut log_q, work);
        })?;
        memory_is_enough(LAW, place("add_push_gradients"), claimed, |work| {
            family.add_push_gradients(params, noise.as_ref(), z.as_ref(), &weights, &mut gradient, work);
        })?;
    }
    Ok(())
}
