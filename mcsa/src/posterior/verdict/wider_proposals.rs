//! Second moments of p seen by proposals that are wider than q.

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut, Error, LogDensity, Seed, batch, batch_mut, numeric};
use mcsa_estimators::Draws;

use super::witness::FrozenProposal;
use crate::posterior::climb::shape::Shape;
use crate::posterior::rule::RULE;
use crate::posterior::{Objection, Target};

/// Factors by which q is stretched, about its centre and, for a mixture, component by component.
const STRETCHES: [f64; 2] = [2.0, 4.0];
/// Draws of each wide proposal.
const EACH: usize = 1_000;
/// Factors by which the whole of q is stretched to see low mass all around it, and draws of each.
const FAR: [f64; 4] = [8.0, 16.0, 32.0, 64.0];
const FEW: usize = 250;
/// Points of p that are handed on.
const POINTS: usize = 200;

/// Number of evaluations at least, and for a mixture.
pub(crate) const LEAST: u64 = (STRETCHES.len() * EACH + FAR.len() * FEW) as u64;
pub(crate) const MOST: u64 = LEAST + (STRETCHES.len() * EACH) as u64;

/// Objection, and points from all draws by their weights, one per column.
type Found = (Option<Objection>, Mat<f64>);

/// Draws of q and of wider proposals `q_k`, weighted for p as those of one mixture (Veach & Guibas 1995, balance heuristic):
///
/// ```text
/// w(z) = p(z) / (n q(z) + sum_k n_k q_k(z))
/// ```
/// The first wider proposals are q stretched about its centre, `s^-d q(m + (z - m)/s)` for s = 2 and 4. They reach long tails,
/// and the mouth of a funnel in few dimensions. If q is a mixture, others are the mixture of the same components with equal
/// weights, each stretched about its own centre. They reach the ends of a bent ridge. A few draws of q stretched by 8 to 64 see a
/// wide mass below a narrow one, which has no mode of its own. Where p lies within q, the variances by the draws of q and by all
/// draws agree.
///
/// It is an objection if the variance of a parameter by all draws exceeds that by the draws of q by too large a factor. `None` without any
/// weight.
///
/// # Errors
/// If the parameters do not suit the family.
pub(crate) fn look(
    target: &Target<'_>,
    shape: Shape,
    q: &FrozenProposal<'_>,
    draws: &Draws,
    seed: Seed,
) -> Result<Option<Found>, Error> {
    let FrozenProposal { family, params, map } = *q;
    let (dim, density) = (target.dim(), target.density());
    let mut centre = vec![0.0; dim];
    map.forward_into(&vec![0.0; dim], &mut centre);
    let stretch = |z: MatRef<'_, f64>, s: f64, mut out: MatMut<'_, f64>| {
        for j in 0..z.ncols() {
            let columns = out.column_mut(j).iter_mut().zip(z.column(j)).zip(&centre);
            columns.for_each(|((out, z), centre)| *out = centre + s * (z - centre));
        }
    };
    let of_q = |s: f64, each: usize| (params.to_vec(), s, each);
    let mut wide: Vec<(Vec<f64>, f64, usize)> = STRETCHES.map(|s| of_q(s, EACH)).to_vec();
    wide.extend(FAR.map(|s| of_q(s, FEW)));
    if let Shape::Mixture { components } = shape {
        for s in STRETCHES {
            wide.push((each_stretched(dim, components, params, s)?, 1.0, EACH));
        }
    }
    let count = draws.len() + wide.iter().map(|(_, _, each)| each).sum::<usize>();
    let (mut points, mut log_p) = (Mat::zeros(dim, count), draws.log_p.clone());
    points.as_mut().subcols_mut(0, draws.len()).copy_from(&draws.points);
    let mut work = vec![0.0; family.work_len(count).max(density.work_len(EACH))];
    for (k, (params, s, each)) in wide.iter().enumerate() {
        let (mut z, mut values) = (vec![0.0; dim * each], vec![0.0; *each]);
        let lane = &mut [seed.named("outskirts").stream(0, k as u64)];
        family.sample_into(params, lane, batch_mut(&mut z, dim, *each), &mut values, &mut work);
        let mut far = points.as_mut().subcols_mut(log_p.len(), *each);
        stretch(batch(&z, dim, *each), *s, far.as_mut());
        density.log_densities(far.as_ref(), &mut values, &mut work);
        log_p.extend_from_slice(&values);
    }
    let (mut log_proposals, mut log_q) = (Mat::zeros(1 + wide.len(), count), vec![0.0; count]);
    let mut shrunk = Mat::zeros(dim, count);
    let of_q = std::iter::once((params, 1.0, draws.len()));
    let all = of_q.chain(wide.iter().map(|(params, s, each)| (&**params, *s, *each)));
    for (k, (params, s, number)) in all.enumerate() {
        stretch(points.as_ref(), 1.0 / s, shrunk.as_mut());
        family.log_probs(params, shrunk.as_ref(), &mut log_q, &mut work);
        let volume = dim as f64 * s.ln() - (number as f64).ln();
        log_q.iter().enumerate().for_each(|(j, log_q)| log_proposals[(k, j)] = log_q - volume);
    }
    let log_weights: Vec<f64> = (log_p.iter().enumerate())
        .map(|(j, log_p)| log_p - numeric::log_sum_exp(log_proposals.col_as_slice(j)))
        .map(|log_weight| if log_weight < f64::INFINITY { log_weight } else { f64::NEG_INFINITY })
        .collect();
    let total = numeric::log_sum_exp(&log_weights);
    if !total.is_finite() {
        return Ok(None);
    }
    let weights: Vec<f64> = log_weights.iter().map(|log_weight| (log_weight - total).exp()).collect();
    let (mean, variance) = draws.moments();
    let ratio = |i: usize| {
        let weighed = weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
        weighed.map(|(j, weight)| weight * (points[(i, j)] - mean[i]).powi(2)).sum::<f64>() / variance[i]
    };
    let worst = (0..dim).map(|i| (i, ratio(i))).max_by(|a, b| a.1.total_cmp(&b.1));
    let objection = worst.filter(|(_, ratio)| !(*ratio <= RULE.stretched));
    let objection = objection.map(|(i, ratio)| Objection::WiderProposals { name: target.name(i), ratio });
    Ok(Some((objection, resampled(&points, &weights))))
}

/// The mixture with equal weights whose components are `s` times as wide.
fn each_stretched(dim: usize, components: usize, params: &[f64], s: f64) -> Result<Vec<f64>, Error> {
    let (family, student) = (Shape::mixture(dim, components)?, Shape::student_t(dim)?);
    let part = |k: usize| {
        let part = family.part(params, k);
        let wide = student.factor(part)? * faer::Scale(s);
        student.at(&part[..dim], wide.as_ref(), student.dof_at(part))
    };
    let parts = (0..components).map(part).collect::<Result<Vec<_>, Error>>()?;
    family.at(&vec![1.0; components], &parts)
}

/// Points by their weights, which sum to one, by systematic resampling at the middles of equal parts.
fn resampled(points: &Mat<f64>, weights: &[f64]) -> Mat<f64> {
    let (mut source, mut cumulated) = (0, weights[0]);
    let mut chosen = Mat::zeros(points.nrows(), POINTS);
    for j in 0..POINTS {
        while cumulated < (j as f64 + 0.5) / POINTS as f64 && source + 1 < weights.len() {
            source += 1;
            cumulated += weights[source];
        }
        chosen.col_mut(j).copy_from(points.col(source));
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::{AffineMap, Family, from_fn};
    use mcsa_families::MultivariateT;

    /// The objection to this q with these standard deviations, by 4000 draws.
    fn objection_to(
        model: &dyn LogDensity,
        shape: Shape,
        family: &dyn Family,
        params: &[f64],
        sds: [f64; 2],
    ) -> Option<Objection> {
        let draws = Draws::of(model, family, params, Seed::new(1).stream(0, 0), 4_000).expect("draws");
        let factor = faer::mat![[sds[0], 0.0], [0.0, sds[1]]];
        let map = AffineMap::new(vec![0.0; 2], factor).expect("a map");
        let q = FrozenProposal { family, params, map: &map };
        let found = look(&Target::density_only(&model), shape, &q, &draws, Seed::new(2)).expect("densities");
        found.expect("weights").0
    }

    /// The objection to a q that is nearly standard normal, for p with this share of a normal six times as wide.
    fn objection(share: f64) -> Option<Objection> {
        let normal = |square: f64, scale: f64| (-0.5 * square / (scale * scale)).exp() / (scale * scale);
        let model = from_fn(2, move |z| {
            let square = z[0] * z[0] + z[1] * z[1];
            ((1.0 - share) * normal(square, 1.0) + share * normal(square, 6.0)).ln()
        });
        let family = MultivariateT::fixed(2, 30.0).expect("degrees of freedom");
        let params = family.at(&[0.0; 2], Mat::identity(2, 2).as_ref()).expect("a factor");
        objection_to(&model, Shape::StudentT, &family, &params, [1.0; 2])
    }

    /// Two narrow modes at distance 40, of whose mass a share lies in halos six times as wide, across the line between them.
    fn objection_of_modes(share: f64) -> Option<Objection> {
        let model = from_fn(2, move |z| {
            let square = (z[0].abs() - 20.0).powi(2) + z[1] * z[1];
            let normal = |scale: f64| (-0.5 * square / (scale * scale)).exp() / (scale * scale);
            ((1.0 - share) * normal(0.5) + share * normal(3.0)).ln()
        });
        let (family, student) = (Shape::mixture(2, 2).expect("two"), Shape::student_t(2).expect("a t"));
        let factor = faer::mat![[0.5, 0.0], [0.0, 0.5]];
        let part = |x: f64| student.at(&[x, 0.0], factor.as_ref(), 30.0).expect("a factor");
        let params = family.at(&[1.0; 2], &[part(-20.0), part(20.0)]).expect("parts");
        objection_to(&model, Shape::Mixture { components: 2 }, &family, &params, [20.0, 0.5])
    }

    /// A 30th of the mass, six times as wide, makes the variance 2.2; few draws of q reach it, and 2000 stretched ones do. Copies stretched
    /// about the common centre of modes lie between or beyond them; components stretched about their own meet the halos.
    #[test]
    fn wide_halos_are_seen_that_draws_of_q_do_not_reach() {
        for found in [objection(1.0 / 30.0), objection_of_modes(1.0 / 15.0)] {
            let is_seen =
                matches!(found, Some(Objection::WiderProposals { ratio, .. }) if ratio > RULE.stretched);
            assert!(is_seen, "{found:?}");
        }
        // Counterexample: no halos.
        assert_eq!([objection(0.0), objection_of_modes(0.0)], [None, None]);
    }

    /// The covariance of a component that lies almost on a line has no factor in doubles, but the component has one.
    #[test]
    fn a_component_on_a_line_is_stretched() {
        let (family, student) = (Shape::mixture(2, 1).expect("one"), Shape::student_t(2).expect("a t"));
        let line = faer::mat![[1.0, 0.0], [1.0, 1e-9]];
        let params = family.at(&[1.0], &[student.at(&[1.0, 2.0], line.as_ref(), 9.0).expect("a factor")]);
        let wide = each_stretched(2, 1, &params.expect("a mixture"), 4.0).expect("a wide mixture");
        let part = family.part(&wide, 0);
        let factor = student.factor(part).expect("a factor");
        let expected = line * faer::Scale(4.0);
        for (i, k) in [(0, 0), (1, 0), (1, 1)] {
            assert!((factor[(i, k)] / expected[(i, k)] - 1.0).abs() < 1e-12, "{factor:?}");
        }
        assert_eq!(part[..2], [1.0, 2.0]);
        assert!((student.dof_at(part) - 9.0).abs() < 1e-12);
    }
}
