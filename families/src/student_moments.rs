//! Running moments of the Student t families: online EM with the weights `u = (nu + n)/(nu + r^2)`.

use crate::{Dof, MomentMatched, MultivariateT, StudentT};
use faer::MatRef;

use crate::full_rank::{Diagonal, invert};
use crate::student::Student;

/// Step of the degrees of freedom in `n` dimensions, from the means over the points of `u` and of `ln(1 + r^2 / nu)`. Returns the
/// new degrees of freedom, and the factor by which all scales change with them.
///
/// ```text
/// 1/nu' = 1/nu - gain (nu + n)/(nu + n + 2) s / (I nu^2)       s the efficient score, I its variance; at most by a factor of two
/// stretch = (nu' (nu + n) / (nu (nu' + n)))^(1/n)              L (1 + n/nu)^(1/n) is orthogonal to nu in the Fisher metric
/// ```
fn move_dof<D: Dof>(dof: &D, student: Student, n: usize, gain: f64, pull: f64, fall: f64) -> (f64, f64) {
    if D::NUM_PARAMS == 0 {
        return (student.dof, 1.0);
    }
    let (nu, n_) = (student.dof, n as f64);
    let length = gain * (nu + n_) / (nu + n_ + 2.0);
    let step = length * student.efficient_score(n, pull, fall) / student.efficient_information(n);
    let moved = dof.confined(1.0 / (1.0 / nu - step / (nu * nu)).clamp(0.5 / nu, 2.0 / nu));
    (moved, (moved * (nu + n_) / (nu * (moved + n_))).powf(1.0 / n_))
}

/// Online EM for location, scale matrix and degrees of freedom.
///
/// ```text
/// u_i = (nu + d)/(nu + |L^-1 (z_i - m)|^2),     E_q[u] = 1,   E_q[u (z - m)] = 0,   E_q[u (z - m)(z - m)^T] = L L^T
/// S_0 = (1 - gain) + gain sum_i w_i u_i,        S_1, S_2 alike with u z and u z z^T
/// m' = S_1 / S_0,   L' L'^T = (S_2 - S_1 S_1^T / S_0) / S_0
/// ```
/// This is the step of a Gaussian to points with weights `w_i u_i` ([`FullRank`](crate::FullRank)). The division by `S_0` in
/// place of one is that of PX-EM (Liu, Rubin & Wu 1998); it makes the step `(nu + d)/(nu + d + 2)` times the natural gradient, in all
/// directions, for small gains. At gain one it is PX-EM, which never decreases `E_p[log q]` for fixed degrees of freedom.
///
/// Learned degrees of freedom take a Fisher-scoring step of the same length along the rest of the natural gradient: their score is
/// half of `log u - u` less its mean under q, which is known since `u nu/(nu + d)` is Beta(nu/2, d/2). They stay in
/// [`Learned::range`](crate::Learned::range), and change by at most a factor of two in a step.
impl<D: Dof> MomentMatched for MultivariateT<D> {
    fn match_moments(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        matched: &mut [f64],
        work: &mut [f64],
    ) -> bool {
        assert_eq!((points.nrows(), points.ncols()), (self.dim, weights.len()), "a weight per column");
        assert_eq!(matched.len(), params.len(), "location, triangle and degrees of freedom");
        let dim = self.dim;
        if dim == 0 {
            matched.copy_from_slice(params);
            return true;
        }
        let (frame, student) = self.parts(params);
        let student = Student::new(self.dof.confined(student.dof));
        let (pulls, work) = work.split_at_mut(weights.len());
        let (mut pull, mut fall) = (0.0, 0.0);
        {
            let mut work = &mut *work;
            let Diagonal { scales: inverse, .. } = self.frame().diagonal(&frame[dim..], &mut work);
            invert(inverse);
            self.frame().squares(frame, inverse, points, pulls, work);
            let falls = &mut work[..weights.len()];
            falls.copy_from_slice(pulls);
            student.log_falls(falls);
            for ((&weight, weighted), log_fall) in weights.iter().zip(&mut *pulls).zip(falls) {
                *weighted = weight * student.weight(dim, weighted.sqrt());
                pull += *weighted;
                fall += weight * *log_fall;
            }
        }
        pulls.iter_mut().for_each(|weighted| *weighted /= pull);
        let arrived = gain * pull / (1.0 - gain + gain * pull);
        let (dof, stretch) = move_dof(&self.dof, student, dim, gain, pull, fall);
        let (matched, matched_dof) = matched.split_at_mut(frame.len());
        self.frame().match_stretched(frame, arrived, points, pulls, stretch, matched, work)
            && self.dof.write(dof, matched_dof)
            && matched_dof.iter().all(|param| param.is_finite())
    }
}

/// Online EM as for [`MultivariateT`] on the line, coordinate by coordinate; the degrees of freedom are common.
impl<D: Dof> MomentMatched for StudentT<D> {
    fn match_moments(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        matched: &mut [f64],
        _: &mut [f64],
    ) -> bool {
        let dim = self.dim;
        assert_eq!((points.nrows(), points.ncols()), (dim, weights.len()), "a weight per column");
        assert_eq!(matched.len(), params.len(), "location, rho and degrees of freedom");
        if dim == 0 {
            matched.copy_from_slice(params);
            return true;
        }
        let (location, rho, student) = self.parts(params);
        let student = Student::new(self.dof.confined(student.dof));
        let (mut all_pulls, mut all_falls) = (0.0, 0.0);
        for i in 0..dim {
            let scale = self.link.scale(rho[i]);
            let mut moments = [0.0; 3];
            // The weight of a point is computed twice, so that no memory per point is needed.
            let pull = |j: usize| {
                let radius = (points[(i, j)] - location[i]) / scale;
                (weights[j] * student.weight(1, radius), radius)
            };
            for (j, weight) in weights.iter().enumerate() {
                let (pull, radius) = pull(j);
                moments[0] += pull;
                moments[1] += pull * (points[(i, j)] - location[i]);
                all_falls += weight * student.log_fall(radius);
            }
            let delta = moments[1] / moments[0];
            for j in 0..weights.len() {
                moments[2] += pull(j).0 * (points[(i, j)] - location[i] - delta).powi(2);
            }
            let arrived = gain * moments[0] / (1.0 - gain + gain * moments[0]);
            let spread = (1.0 - arrived) * (scale * scale + arrived * (delta * delta));
            matched[i] = location[i] + arrived * delta;
            matched[dim + i] = (spread + arrived * (moments[2] / moments[0])).sqrt();
            all_pulls += moments[0];
        }
        let (pull, fall) = (all_pulls / dim as f64, all_falls / dim as f64);
        let (dof, stretch) = move_dof(&self.dof, student, 1, gain, pull, fall);
        for scale in &mut matched[dim..2 * dim] {
            let Ok(rho) = self.link.inverse(stretch * *scale) else { return false };
            *scale = rho;
        }
        self.dof.write(dof, &mut matched[2 * dim..]) && matched.iter().all(|number| number.is_finite())
    }
}
