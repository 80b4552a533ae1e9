//! Conformance of every family but flows, and what is special to one of them.

use faer::{Mat, MatMut, MatRef, mat};
use mcsa_core::{ColumnsMut, Error, Family, Parametric, Seed, Stream};
use mcsa_families::{
    Dof, Fixed, FullRank, GaussianMixture, Learned, Link, LowRank, MeanField, Mixture, MultivariateT, Start,
    StudentT,
};
use mcsa_testing::family::{self, Case, Map};

use crate::altered::{Alteration, Altered, meter};

/// A family at parameters of this size, with at most `2^draws` draws.
fn case<F: Family>(family: F, size: f64, draws: u32) -> Case<F> {
    let params = (0..family.num_params()).map(|k| size * (k as f64 * 1.3).sin()).collect();
    Case::new(family, params).with_draws(1 << draws)
}

/// Size of a triangle's parameters.
fn small(dim: usize) -> f64 {
    1.0 / (dim.max(1) as f64).sqrt()
}

pub(crate) fn log_prob<F: Family>(q: &F, params: &[f64], z: &[f64]) -> f64 {
    q.log_prob(params, z, &mut vec![0.0; q.work_len(1)])
}

fn mean_field() -> Vec<Case<MeanField>> {
    let shapes = [0, 1, 2, 3, 17, 100].map(|dim| (dim, Link::Softplus));
    let shapes = shapes.into_iter().chain([1, 2, 5].map(|dim| (dim, Link::Exp)));
    shapes.map(|(dim, link)| case(MeanField::new(dim).with_link(link), 1.0, 18)).collect()
}

fn low_rank() -> Vec<Case<LowRank>> {
    let shapes = [(0, 0), (0, 2), (1, 0), (1, 1), (2, 1), (2, 3), (3, 1), (7, 3), (30, 5)];
    let shapes = shapes.map(|shape| (shape, Link::Softplus)).into_iter();
    let shapes = shapes.chain([(1, 1), (2, 2), (6, 2)].map(|shape| (shape, Link::Exp)));
    shapes.map(|((dim, rank), link)| case(LowRank::new(dim, rank).with_link(link), 1.0, 15)).collect()
}

fn full_rank() -> Vec<Case<FullRank>> {
    let shapes = [0, 1, 2, 3, 4, 5, 9, 21].map(|dim| (dim, Link::Softplus));
    let shapes = shapes.into_iter().chain([1, 2, 6].map(|dim| (dim, Link::Exp)));
    shapes.map(|(dim, link)| case(FullRank::new(dim).with_link(link), small(dim), 18)).collect()
}

fn fixed_t() -> Vec<Case<StudentT<Fixed>>> {
    let shapes = [(0, 3.0), (1, 1.0), (1, 0.6), (1, 30.0), (2, 2.5), (3, 5.0), (70, 4.0)];
    let families = shapes.map(|(dim, dof)| StudentT::fixed(dim, dof).expect("some degrees")).into_iter();
    let families = families.chain([StudentT::fixed(2, 4.0).expect("some degrees").with_link(Link::Exp)]);
    families.map(|q| case(q, 1.0, 15).with_map(Map::SinhSinh)).collect()
}

fn learned_t() -> Vec<Case<StudentT<Learned>>> {
    let floors = [(0, 1.0), (1, 0.5), (1, 1.0), (2, 2.0), (3, 1.0), (70, 4.0)];
    let family = |(dim, floor)| StudentT::learned(dim, floor).expect("some degrees");
    floors.map(|shape| case(family(shape), 1.0, 15).with_map(Map::SinhSinh)).into()
}

fn multivariate<D: Dof>(family: MultivariateT<D>) -> Case<MultivariateT<D>> {
    case(family, small(family.dim()), 15).with_map(Map::SinhSinh)
}

fn fixed_multivariate() -> Vec<Case<MultivariateT<Fixed>>> {
    let shapes = [(0, 3.0), (1, 1.0), (1, 0.6), (2, 3.0), (3, 5.0), (4, 1.0), (21, 4.0)];
    let families = shapes.map(|(dim, dof)| MultivariateT::fixed(dim, dof).expect("some degrees")).into_iter();
    let exp = MultivariateT::fixed(5, 30.0).expect("some degrees").with_link(Link::Exp);
    families.chain([exp]).map(multivariate).collect()
}

fn learned_multivariate() -> Vec<Case<MultivariateT<Learned>>> {
    let floors = [(0, 1.0), (1, 0.5), (2, 2.0), (3, 1.0), (21, 4.0)];
    floors.map(|(dim, floor)| multivariate(MultivariateT::learned(dim, floor).expect("some degrees"))).into()
}

fn gaussian_mixture() -> Vec<Case<GaussianMixture>> {
    let shapes = [(0, 1), (0, 3), (1, 1), (1, 2), (1, 5), (2, 1), (2, 3), (5, 4), (40, 3)];
    let shapes = shapes.map(|shape| (shape, Link::Softplus)).into_iter().chain([((2, 2), Link::Exp)]);
    let family = |dim, components| GaussianMixture::new(dim, components).expect("a component");
    shapes.map(|((dim, components), link)| case(family(dim, components).with_link(link), 1.0, 15)).collect()
}

fn mixture_of_full_ranks() -> Vec<Case<Mixture<FullRank>>> {
    let family = |(dim, components)| Mixture::new(FullRank::new(dim), components).expect("a component");
    [(0, 2), (1, 1), (1, 3), (2, 2), (5, 3)].map(|shape| case(family(shape), 1.0, 15)).into()
}

fn mixture_of_t() -> Vec<Case<Mixture<MultivariateT<Learned>>>> {
    let family = |(dim, components)| {
        Mixture::new(MultivariateT::learned(dim, 3.0).expect("a floor"), components).expect("a component")
    };
    [(1, 2), (3, 2)].map(|shape| case(family(shape), 1.0, 15).with_map(Map::SinhSinh)).into()
}

mcsa_testing::family_suite!(of_mean_field, mean_field(), meter, reparameterised);
mcsa_testing::family_suite!(of_low_rank, low_rank(), meter, reparameterised);
mcsa_testing::family_suite!(of_full_rank, full_rank(), meter, reparameterised);
mcsa_testing::family_suite!(of_fixed_t, fixed_t(), meter, reparameterised);
mcsa_testing::family_suite!(of_learned_t, learned_t(), meter);
mcsa_testing::family_suite!(of_fixed_multivariate_t, fixed_multivariate(), meter, reparameterised);
mcsa_testing::family_suite!(of_learned_multivariate_t, learned_multivariate(), meter);
mcsa_testing::family_suite!(of_gaussian_mixture, gaussian_mixture(), meter);
mcsa_testing::family_suite!(of_mixture_of_full_ranks, mixture_of_full_ranks(), meter);
mcsa_testing::family_suite!(of_mixture_of_t, mixture_of_t(), meter);
mcsa_testing::family_suite!(of_a_foreign_cauchy, cauchys(), meter);

/// More rows than a tile of the gradient has, and not a multiple of any block size.
#[test]
fn tiles_do_not_show() {
    let q = FullRank::new(263);
    let case = Case::new(q, (0..q.num_params()).map(|k| 0.05 * (k as f64 * 1.3).sin()).collect());
    assert_eq!(family::batch_equals_columns(&case), Ok(()));
    assert_eq!(family::score_is_gradient(&case), Ok(()));
    assert_eq!(family::draws_know_their_density(&case), Ok(()));
    assert_eq!(family::pullback_is_gradient(&case), Ok(()));
}

/// A covariance that is not diagonal is refused in place of a factor, by [`FullRank`] and by families with its factor.
#[test]
fn a_covariance_is_not_taken_for_a_factor() {
    let covariance = faer::mat![[2.0, 0.5], [0.5, 1.0]];
    let q = FullRank::new(2);
    let error = q.at(&[0.0; 2], covariance.as_ref()).unwrap_err().to_string();
    assert!(
        error.starts_with("factor[0, 1] is 0.5, above the diagonal: expected the lower Cholesky"),
        "{error}"
    );
    assert!(error.ends_with("of a covariance take the factor first"), "{error}");
    assert!(MultivariateT::fixed(2, 3.0).unwrap().at(&[0.0; 2], covariance.as_ref()).is_err());
    assert!(q.at(&[0.0; 2], faer::mat![[1.0, f64::NAN], [0.0, 1.0]].as_ref()).is_err());
    let error = q.at(&[0.0; 2], faer::mat![[1.0, 0.0]].as_ref()).unwrap_err().to_string();
    assert_eq!(error, "rows of the factor has length 1, expected 2");
    // Negative control: its Cholesky factor is accepted, also with a negative zero above the diagonal.
    let factor = faer::mat![[2.0_f64.sqrt(), -0.0], [0.5 / 2.0_f64.sqrt(), 0.875_f64.sqrt()]];
    assert!(q.at(&[0.0; 2], factor.as_ref()).is_ok());
}

#[test]
fn moments_of_a_t_exist_from_their_degree_on() {
    let q = StudentT::learned(2, 0.5).unwrap();
    for (dof, has_mean, has_variance) in [(0.9, false, false), (1.5, true, false), (4.0, true, true)] {
        let params = q.at(&[1.0, -1.0], &[2.0, 3.0], dof).unwrap();
        assert!((q.dof_at(&params) - dof).abs() < 1e-14);
        assert_eq!(q.mean(&params), Ok(has_mean.then(|| vec![1.0, -1.0])));
        assert_eq!(q.variances(&params).unwrap().is_some(), has_variance);
    }
    let variances = q.variances(&q.at(&[1.0, -1.0], &[2.0, 3.0], 4.0).unwrap()).unwrap().unwrap();
    assert!(q.mean(&[0.0]).is_err() && q.variances(&[0.0]).is_err());
    let started = q.start(&Start::jittered(), 4.0, &mut Seed::new(1).stream(0, 0)).unwrap();
    assert!(q.check(&started).is_ok() && (q.dof_at(&started) - 4.0).abs() < 1e-14);
    assert!((variances[0] - 8.0).abs() < 1e-13 && (variances[1] - 18.0).abs() < 1e-13);
}

#[test]
fn a_t_of_many_degrees_is_the_gaussian() {
    let (t, gaussian, params) =
        (StudentT::fixed(3, 1e17).unwrap(), MeanField::new(3), case(MeanField::new(3), 1.0, 0).params);
    let (z, mut work) = ([0.3, -1.0, 2.0], [0.0; 6]);
    let (log_t, log_q) = (t.log_prob(&params, &z, &mut work), gaussian.log_prob(&params, &z, &mut work));
    assert!((log_t - log_q).abs() < 1e-12);
    let (mut score, mut expected) = ([0.0; 6], [0.0; 6]);
    t.add_score(&params, &z, 1.0, &mut score, &mut work);
    gaussian.add_score(&params, &z, 1.0, &mut expected, &mut work);
    assert!(score.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-11), "{score:?} {expected:?}");
}

#[test]
fn far_out_a_t_is_finite_and_its_scores_vanish() {
    let q = StudentT::learned(1, 1.0).unwrap();
    let params = q.at(&[0.0], &[1.0], 3.0).unwrap();
    let (mut work, mut score) = ([0.0; 2], [0.0; 3]);
    let at_the_end = q.at(&[-f64::MAX], &[1e-3], 3.0).unwrap();
    assert_eq!(q.log_prob(&at_the_end, &[f64::MAX], &mut work), f64::NEG_INFINITY);
    for z in [1e100, -1e200, 1e300] {
        assert!(q.log_prob(&params, &[z], &mut work).is_finite());
        q.add_score(&params, &[z], 1.0, &mut score, &mut work);
        assert!(score.iter().all(|s| s.is_finite()) && score[0].abs() < 1e-90, "{score:?}");
    }
}

/// Negative control: with exponent `nu` instead of `nu + 1` in the density, the law of the mass and that of differences fail.
#[test]
fn a_wrong_power_of_a_t_is_caught() {
    for case in fixed_t().into_iter().filter(|case| case.family.dim() > 0) {
        let case = Case::new(Altered { family: case.family, by: WrongPower }, case.params).with_map(case.map);
        assert!(family::score_is_gradient(&case).is_err());
        assert!(family::draws_know_their_density(&case).is_err());
        if (1..=2).contains(&case.family.family.dim()) && case.family.family.dof.value() > 1.0 {
            assert!(family::density_integrates_to_one(&case).is_err());
        }
    }
}

struct WrongPower;

impl Alteration<StudentT<Fixed>> for WrongPower {
    fn densities(&self, q: &StudentT<Fixed>, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64]) {
        for (j, log_q) in log_q.iter_mut().enumerate() {
            for i in 0..q.dim() {
                let u = (z[(i, j)] - params[i]) / q.frame.link.scale(params[q.dim() + i]);
                *log_q += 0.5 * (u * u / q.dof.value()).ln_1p();
            }
        }
    }
}

#[test]
fn on_the_line_it_is_the_other_t_and_with_many_degrees_the_gaussian() {
    let (one, other) = (MultivariateT::fixed(1, 3.0).unwrap(), StudentT::fixed(1, 3.0).unwrap());
    let (params, z) = ([0.4, -0.3], [2.0]);
    assert!((log_prob(&one, &params, &z) - log_prob(&other, &params, &z)).abs() < 1e-14);
    let many = multivariate(MultivariateT::fixed(3, 1e14).unwrap());
    let (gaussian, z) = (FullRank::new(3), [0.3, -1.0, 2.0]);
    assert!((log_prob(&many.family, &many.params, &z) - log_prob(&gaussian, &many.params, &z)).abs() < 1e-12);
}

/// Margins of a multivariate t are t: integrating over the second coordinate gives the t of the first.
#[test]
fn the_margin_is_a_t() {
    let (two, one) = (MultivariateT::fixed(2, 1.5).unwrap(), StudentT::fixed(1, 1.5).unwrap());
    let joint = two.at(&[0.5, -1.0], mat![[2.0, 0.0], [0.7, 0.5]].as_ref()).unwrap();
    let margin = one.at(&[0.5], &[2.0]).unwrap();
    for x in [0.5, 3.0, -20.0] {
        let step = 1.0 / 64.0;
        let integrand = |k: i32| {
            let t = f64::from(k) * step;
            let inner = std::f64::consts::FRAC_PI_2 * t.sinh();
            let slope = std::f64::consts::FRAC_PI_2 * t.cosh() * inner.cosh();
            step * slope * log_prob(&two, &joint, &[x, inner.sinh()]).exp()
        };
        let mass: f64 = (-300..=300).map(integrand).sum();
        assert!((mass.ln() - log_prob(&one, &margin, &[x])).abs() < 1e-11, "{x}");
    }
}

#[test]
fn moments_of_a_multivariate_t_exist_from_their_degree_on() {
    let q = MultivariateT::learned(2, 0.5).unwrap();
    let factor = mat![[2.0, 0.0], [1.0, 3.0]];
    for (dof, has_mean, has_covariance) in [(0.9, false, false), (1.5, true, false), (4.0, true, true)] {
        let params = q.at(&[1.0, -1.0], factor.as_ref(), dof).unwrap();
        assert!((q.dof_at(&params) - dof).abs() < 1e-14);
        assert_eq!(q.mean(&params), Ok(has_mean.then(|| vec![1.0, -1.0])));
        assert_eq!(q.covariance(&params).unwrap().is_some(), has_covariance);
    }
    let params = q.at(&[1.0, -1.0], factor.as_ref(), 4.0).unwrap();
    let covariance = q.covariance(&params).unwrap().unwrap();
    assert!((q.factor(&params).unwrap() - &factor).norm_max() < 1e-14);
    let started = q.start(&Start::jittered(), 4.0, &mut Seed::new(1).stream(0, 0)).unwrap();
    assert!(q.check(&started).is_ok() && (q.dof_at(&started) - 4.0).abs() < 1e-14);
    // Twice L L^T, because nu / (nu - 2) = 2.
    let expected = mat![[8.0, 4.0], [4.0, 20.0]];
    assert!((covariance - expected).norm_max() < 1e-13);
}

#[test]
fn a_multivariate_t_of_five_thousand_dimensions_works() {
    let case = multivariate(MultivariateT::learned(5000, 1.0).unwrap());
    let (q, mut work) = (case.family, vec![0.0; case.family.work_len(2)]);
    let (mut z, mut log_q, mut told) = (Mat::zeros(5000, 2), [0.0; 2], [0.0; 2]);
    q.sample_into(&case.params, &mut Seed::new(1).streams(2, 0), z.as_mut(), &mut log_q, &mut work);
    q.log_probs(&case.params, z.as_ref(), &mut told, &mut work);
    assert!((log_q[0] - told[0]).abs() < 1e-6 * log_q[0].abs(), "{log_q:?} {told:?}");
    let mut gradient = vec![0.0; q.num_params()];
    q.add_scores(&case.params, z.as_ref(), &[0.5, 0.5], &mut gradient, &mut work);
    assert!(gradient.iter().all(|g| g.is_finite()));
}

#[test]
fn a_point_beyond_all_measure_of_a_multivariate_t_has_density_zero() {
    let q = MultivariateT::fixed(2, 1.0).unwrap();
    let params = q.at(&[0.0, 0.0], mat![[1e-300, 0.0], [1e300, 1e-300]].as_ref()).unwrap();
    assert_eq!(log_prob(&q, &params, &[1e300, -1e300]), f64::NEG_INFINITY);
    assert!(log_prob(&q, &params, &[f64::NAN, 0.0]).is_nan());
}

#[test]
fn a_mixture_of_one_component_is_the_mean_field() {
    let (one, gaussian) = (GaussianMixture::new(2, 1).unwrap(), MeanField::new(2));
    let (params, z) = ([7.0, 0.3, -1.0, 0.2, 0.9], [1.0, 2.0]);
    assert!((log_prob(&one, &params, &z) - log_prob(&gaussian, &params[1..], &z)).abs() < 1e-14);
}

#[test]
fn a_weighted_sum_of_densities() {
    let q = GaussianMixture::new(1, 2).unwrap();
    let params = q.at(&[1.0, 3.0], mat![[-1.0, 2.0]].as_ref(), mat![[0.5, 2.0]].as_ref()).unwrap();
    let gaussian = MeanField::new(1);
    let (a, b) = (gaussian.at(&[-1.0], &[0.5]).unwrap(), gaussian.at(&[2.0], &[2.0]).unwrap());
    for z in [-3.0, 0.0, 5.0] {
        let sum = 0.25 * log_prob(&gaussian, &a, &[z]).exp() + 0.75 * log_prob(&gaussian, &b, &[z]).exp();
        assert!((log_prob(&q, &params, &[z]) - sum.ln()).abs() < 1e-14);
    }
    let (mean, covariance) = (q.mean(&params).unwrap(), q.covariance(&params).unwrap());
    // 0.25 (-1) + 0.75 2;  0.25 (0.25 + 2.25^2) + 0.75 (4 + 0.75^2).
    assert!((mean[0] - 1.25).abs() < 1e-14 && (covariance[(0, 0)] - 4.75).abs() < 1e-13, "{covariance:?}");
}

#[test]
fn covariances_between_coordinates_come_from_the_means() {
    let q = GaussianMixture::new(2, 2).unwrap();
    let params =
        q.at(&[0.5, 0.5], mat![[-1.0, 1.0], [-2.0, 2.0]].as_ref(), Mat::ones(2, 2).as_ref()).unwrap();
    assert!((q.covariance(&params).unwrap() - mat![[2.0, 2.0], [2.0, 5.0]]).norm_max() < 1e-14);
}

#[test]
fn mixtures_that_cannot_be_are_refused() {
    assert!(GaussianMixture::new(1, 0).is_err());
    let q = GaussianMixture::new(1, 2).unwrap();
    let (means, scales) = (mat![[0.0, 1.0]], mat![[1.0, 1.0]]);
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(q.at(&[1.0, weight], means.as_ref(), scales.as_ref()).is_err());
    }
    assert!(q.at(&[1.0, 1.0], means.as_ref(), mat![[1.0, 0.0]].as_ref()).is_err());
    assert!(q.at(&[1.0, 1.0], mat![[0.0, f64::NAN]].as_ref(), scales.as_ref()).is_err());
    assert!(q.at(&[1.0], means.as_ref(), scales.as_ref()).is_err());
    assert!(q.check(&[0.0, 0.0, 0.0, 0.0, 0.0, -800.0]).is_err());
}

#[test]
fn far_points_have_no_score_and_scattered_components_differ() {
    let q = GaussianMixture::new(2, 3).unwrap();
    let params = q.scattered(&[5.0, 0.0], &[2.0, 1.0], &mut Seed::new(4).stream(0, 0)).unwrap();
    assert!(q.check(&params).is_ok() && params[3] != params[7] && params[5] == params[9]);
    let started = q.start(&Start::jittered(), &mut Seed::new(4).stream(0, 0)).unwrap();
    assert!(q.check(&started).is_ok() && started[..3] == [0.0; 3] && started[3] != started[7]);
    let mut gradient = vec![0.0; q.num_params()];
    let mut work = vec![0.0; q.work_len(1)];
    assert_eq!(q.log_prob(&params, &[1e300, 0.0], &mut work), f64::NEG_INFINITY);
    q.add_score(&params, &[1e300, 0.0], 1.0, &mut gradient, &mut work);
    assert!(gradient.iter().all(|&g| g == 0.0));
    q.add_score(&params, &[1e100, 0.0], 1.0, &mut gradient, &mut work);
    assert!(gradient.iter().all(|g| g.is_finite()));
}

#[test]
fn a_mixture_in_five_thousand_dimensions_works() {
    let q = GaussianMixture::new(5000, 2).unwrap();
    let mut stream = Seed::new(4).stream(0, 0);
    let params = q.scattered(&[0.0; 5000], &[1.0; 5000], &mut stream).unwrap();
    let (mut z, mut log_q, mut work) = (vec![0.0; 5000], [0.0], vec![0.0; q.work_len(1)]);
    q.sample_into(&params, &mut [stream], mcsa_core::batch_mut(&mut z, 5000, 1), &mut log_q, &mut work);
    let mut gradient = vec![0.0; q.num_params()];
    q.add_score(&params, &z, 1.0, &mut gradient, &mut work);
    assert!(log_q[0].is_finite() && gradient.iter().all(|g| g.is_finite()));
}

/// Cauchy with location and scale, a family from outside the crate, which needs the sinh-sinh map.
struct Cauchy;

const LINK: Link = Link::Softplus;

impl Parametric for Cauchy {
    fn dim(&self) -> usize {
        1
    }
    fn num_params(&self) -> usize {
        2
    }
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        mcsa_core::same_length("params", 2, params.len())?;
        mcsa_core::all_finite("params", params)?;
        LINK.check(&params[1..])
    }
}

impl Family for Cauchy {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], _: &mut [f64]) {
        let scale = LINK.scale(params[1]);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let eps = (z[(0, j)] - params[0]) / scale;
            *log_q = -(std::f64::consts::PI * scale).ln() - 2.0 * eps.abs().hypot(1.0).ln();
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
        let per_lane = z.ncols() / lanes.len();
        for j in 0..z.ncols() {
            let eps = (std::f64::consts::PI * (lanes[j / per_lane].uniform() - 0.5)).tan();
            z.column_mut(j)[0] = params[0] + LINK.scale(params[1]) * eps;
        }
        self.log_probs(params, z.as_ref(), log_q, work);
    }
    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
    ) {
        let scale = LINK.scale(params[1]);
        for (j, weight) in weights.iter().enumerate() {
            let eps = (z[(0, j)] - params[0]) / scale;
            let share = 2.0 * eps / (1.0 + eps * eps);
            gradient[0] += weight * share / scale;
            gradient[1] += weight * (share * eps - 1.0) * LINK.log_derivative(params[1]);
        }
    }
}

fn cauchys() -> [Case<Cauchy>; 2] {
    [[0.0, 0.5], [10.0, -3.0]].map(|params| Case::new(Cauchy, params.to_vec()).with_map(Map::SinhSinh))
}

#[test]
fn the_sinh_map_does_not_reach_the_tails() {
    for case in cauchys() {
        assert!(family::density_integrates_to_one(&case.with_map(Map::Sinh)).is_err());
    }
}
