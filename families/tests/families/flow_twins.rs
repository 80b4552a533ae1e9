//! Negative controls: flows with typical faults, and the law that detects each. In the plane,
//!
//! ```text
//! z_0 = eps_0,   z_1 = e^s eps_1 + t,   s = a tanh(b z_0 + 0.4),   t = c z_0,   lambda = [a; b; c]
//! ```

use faer::{MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut, Family, Parametric, Pushforward, Stream};
use mcsa_testing::family::{self as laws, Case, Failure};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// The log-determinant is added instead of subtracted.
    DeterminantSign,
    /// The score omits the derivative of the log-determinant.
    ForgottenDeterminant,
    /// The score omits the derivative of the noise.
    ForgottenNoise,
    /// The inverse scales before it shifts.
    InverseOrder,
    /// The inverse evaluates the network at the coordinate that has moved.
    MaskOfOthers,
    /// The pullback omits the derivative of the shift.
    ForgottenShift,
}
use Fault::*;

#[derive(Debug, Clone)]
struct Twin(Fault);

/// `s`, `t`, and the derivatives of `s` in `a` and `b`, and of `t` in `c`.
fn network(params: &[f64], z_0: f64) -> (f64, f64, [f64; 3]) {
    let tanh = (params[1] * z_0 + 0.4).tanh();
    (params[0] * tanh, params[2] * z_0, [tanh, params[0] * (1.0 - tanh * tanh) * z_0, z_0])
}

impl Twin {
    fn asked(&self, z: &[f64]) -> f64 {
        z[if self.0 == MaskOfOthers { 1 } else { 0 }]
    }

    fn noise(&self, params: &[f64], z: &[f64]) -> f64 {
        let (s, t, _) = network(params, self.asked(z));
        if self.0 == InverseOrder { z[1] * (-s).exp() - t } else { (z[1] - t) * (-s).exp() }
    }

    fn log_density(&self, eps: [f64; 2], s: f64) -> f64 {
        let determinant = if self.0 == DeterminantSign { -s } else { s };
        -0.5 * (eps[0] * eps[0] + eps[1] * eps[1]) - (2.0 * std::f64::consts::PI).ln() - determinant
    }
}

impl Parametric for Twin {
    fn dim(&self) -> usize {
        2
    }
    fn num_params(&self) -> usize {
        3
    }
}

impl Family for Twin {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], _: &mut [f64]) {
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let z = z.column(j);
            *log_q = self.log_density([z[0], self.noise(params, z)], network(params, self.asked(z)).0);
        }
    }
    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        self.sample_noise_into(lanes, z.as_mut());
        let noise = z.to_owned();
        self.push(params, noise.as_ref(), z, log_q, work);
    }
    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
    ) {
        for (j, weight) in weights.iter().enumerate() {
            let z = z.column(j);
            let (s, _, [s_a, s_b, t_c]) = network(params, self.asked(z));
            let eps = self.noise(params, z);
            let of_noise = if self.0 == ForgottenNoise { 0.0 } else { eps * eps };
            let of_s = of_noise - if self.0 == ForgottenDeterminant { 0.0 } else { 1.0 };
            gradient[0] += weight * of_s * s_a;
            gradient[1] += weight * of_s * s_b;
            gradient[2] += weight * eps * (-s).exp() * t_c;
        }
    }
}

impl Pushforward for Twin {
    fn sample_noise_into(&self, lanes: &mut [Stream], mut noise: MatMut<'_, f64>) {
        let per_lane = (noise.ncols() / lanes.len()).max(1);
        (0..noise.ncols()).for_each(|j| lanes[j / per_lane].normals_into(noise.column_mut(j)));
    }
    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        _: &mut [f64],
    ) {
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let eps = noise.column(j);
            let (s, t, _) = network(params, eps[0]);
            *log_q = self.log_density([eps[0], eps[1]], s);
            z.column_mut(j).copy_from_slice(&[eps[0], s.exp() * eps[1] + t]);
        }
    }
    fn add_push_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
    ) {
        for (j, weight) in weights.iter().enumerate() {
            let (eps, cotangent) = (noise.column(j), cotangents.column(j)[1]);
            let (s, _, [s_a, s_b, t_c]) = network(params, eps[0]);
            let direct = if self.0 == ForgottenDeterminant { 0.0 } else { *weight };
            let of_s = cotangent * s.exp() * eps[1] - direct;
            gradient[0] += of_s * s_a;
            gradient[1] += of_s * s_b;
            gradient[2] += if self.0 == ForgottenShift { 0.0 } else { cotangent * t_c };
        }
    }
}

type Law = fn(&Case<Twin>) -> Result<(), Failure>;

const BROKEN: [(Fault, Law, &str); 15] = [
    (DeterminantSign, laws::density_integrates_to_one, "density_integrates_to_one"),
    (DeterminantSign, laws::score_is_gradient, "score_is_gradient"),
    (DeterminantSign, laws::push_follows_the_density, "push_follows_the_density"),
    (DeterminantSign, laws::push_gradient_is_gradient, "push_gradient_is_gradient"),
    (ForgottenDeterminant, laws::score_is_gradient, "score_is_gradient"),
    (ForgottenDeterminant, laws::scores_have_mean_zero, "scores_have_mean_zero"),
    (ForgottenDeterminant, laws::push_gradient_is_gradient, "push_gradient_is_gradient"),
    (ForgottenNoise, laws::score_is_gradient, "score_is_gradient"),
    (ForgottenNoise, laws::draws_follow_the_density, "draws_follow_the_density"),
    (InverseOrder, laws::draws_know_their_density, "draws_know_their_density"),
    (InverseOrder, laws::push_knows_its_density, "push_knows_its_density"),
    (InverseOrder, laws::score_is_gradient, "score_is_gradient"),
    (MaskOfOthers, laws::density_integrates_to_one, "density_integrates_to_one"),
    (MaskOfOthers, laws::push_knows_its_density, "push_knows_its_density"),
    (ForgottenShift, laws::push_gradient_is_gradient, "push_gradient_is_gradient"),
];

fn case(fault: Fault) -> Case<Twin> {
    Case::new(Twin(fault), vec![0.7, 0.9, -0.6])
}

#[test]
fn every_fault_is_found_by_its_law() {
    for (fault, law, name) in BROKEN {
        let failure = law(&case(fault)).expect_err(&format!("{fault:?} passes {name}"));
        assert_eq!(failure.law, name, "{failure}");
    }
}

#[test]
fn without_a_fault_every_law_holds() {
    for (_, law, name) in BROKEN {
        assert_eq!(law(&case(None)), Ok(()), "{name}");
    }
    assert_eq!(laws::check(&case(None)), Ok(()));
    assert_eq!(laws::check_pushforward(&case(None)), Ok(()));
}
