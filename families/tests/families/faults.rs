//! Negative controls of the laws: families with one fault, and the law that must detect it; and faults too small for laws of a few
//! thousand draws.

use mcsa_core::{Family, Parametric};
use mcsa_families::{Drawn, Flow, FullRank, Gauss, LowRank, MeanField, Mixture, MultivariateT, StudentT};
use mcsa_testing::family::{Case, Failure, Map};

use crate::altered::Fault::{self, *};
use crate::altered::{Altered, meter};

/// The laws, with those of memory on the meter of this binary.
mod laws {
    use mcsa_core::{Pushforward, Reparameterised};
    pub(super) use mcsa_testing::family::*;

    pub(super) fn allocates_nothing(case: &Case<dyn super::Family + '_>) -> Result<(), Failure> {
        mcsa_testing::family::allocates_nothing(case, &mut super::meter)
    }
    pub(super) fn transport_allocates_nothing(case: &Case<dyn Reparameterised + '_>) -> Result<(), Failure> {
        mcsa_testing::family::transport_allocates_nothing(case, &mut super::meter)
    }
    pub(super) fn push_allocates_nothing(case: &Case<dyn Pushforward + '_>) -> Result<(), Failure> {
        mcsa_testing::family::push_allocates_nothing(case, &mut super::meter)
    }
}

type Row<F> = (Fault, fn(&Case<Altered<F>>) -> Result<(), Failure>, &'static str);

/// Rows `fault => the laws that detect it;`.
macro_rules! table {
    ($($fault:expr => $($law:ident)+;)+) => { vec![$($(($fault, |case| laws::$law(case), stringify!($law)),)+)+] };
}

fn of_family() -> Vec<Row<MeanField>> {
    table! {
        Factor => score_is_gradient pullback_is_gradient slope_is_gradient entropy_gradient_is_gradient;
        Replaces => batch_equals_columns slope_is_gradient;
        WrongLinkDerivative => score_is_gradient;
        ShiftedScore => scores_have_mean_zero;
        NoLogDeterminant => density_integrates_to_one score_is_gradient;
        Neighbours => batch_equals_columns;
        TransportNeighbours => transport_batch_equals_columns;
        StaleWork => batch_equals_columns draws_know_their_density;
        Allocates => allocates_nothing transport_allocates_nothing;
        Wide(1.1) => draws_follow_the_density transport_follows_the_density;
        Misjudged => draws_know_their_density;
        LanesReversed => lanes_draw_their_columns;
        LaxCheck => bad_params_are_refused;
        LongCheck => bad_params_are_refused;
        MirrorOffCentre => reflection_keeps_the_density;
        EntropyConstant => entropy_is_mean_surprise;
    }
}

fn of_pushforward() -> Vec<Row<Drawn<MeanField>>> {
    table! {
        LogDeterminantSign => push_follows_the_density;
        NoLogDeterminant => push_follows_the_density;
        NoiseTooWide => push_follows_the_density;
        Lopsided => push_follows_the_density;
        ForgottenTerm => push_gradient_is_gradient;
        Factor => push_gradient_is_gradient;
        Replaces => push_batch_equals_columns;
        Neighbours => push_batch_equals_columns;
        StaleWork => push_batch_equals_columns;
        LanesReversed => push_batch_equals_columns;
        Allocates => push_allocates_nothing;
    }
}

fn of_both() -> Vec<Row<Flow>> {
    table! { Misjudged => push_knows_its_density; }
}

/// Every fault is detected by its law; without a fault the laws of the table hold.
fn are_detected<F: Parametric + Clone>(rows: Vec<Row<F>>, family: &F) {
    let params: Vec<f64> = (0..family.num_params()).map(|k| 0.3 + (k as f64).sin()).collect();
    let dim = family.dim();
    let case = |by| Case::new(Altered { family: family.clone(), by }, params.clone());
    for (fault, law, name) in rows {
        let failure = law(&case(fault)).expect_err(&format!("{fault:?} passes {name} in dimension {dim}"));
        assert_eq!(failure.law, name, "{failure}");
        assert_eq!(law(&case(Faultless)), Ok(()), "{name} in dimension {dim}");
    }
}

#[test]
fn every_fault_is_found_by_its_law() {
    [1, 2].into_iter().for_each(|dim| are_detected(of_family(), &MeanField::new(dim)));
    [1, 2, 5].into_iter().for_each(|dim| are_detected(of_pushforward(), &Drawn(MeanField::new(dim))));
    are_detected(of_both(), &Flow::real_nvp(2, Gauss, 2, &[3]).expect("a flow"));
}

fn params(count: usize, size: f64) -> Vec<f64> {
    (0..count).map(|k| size * (k as f64 * 1.3).sin()).collect()
}

fn case<F: Family>(family: F, map: Map) -> Case<Altered<F>> {
    let size = 1.0 / (family.dim() as f64).sqrt();
    let params = params(family.num_params(), size);
    Case::new(Altered { family, by: Faultless }, params).with_map(map)
}

fn twin<F: Family + Clone>(case: &Case<Altered<F>>, by: Fault) -> Case<Altered<F>> {
    let family = Altered { family: case.family.family.clone(), by };
    Case {
        family,
        params: case.params.clone(),
        knots: case.knots.clone(),
        left_out: case.left_out.clone(),
        ..*case
    }
}

/// An error of one per cent in the scale of draws is detected; without it the law holds and states its power.
fn sees_the_scale<F: Family + Clone>(right: &Case<Altered<F>>) {
    let power = laws::draws_have_their_scale(right).expect("right").expect("some dimension");
    assert!(power.size <= 0.009, "{power}");
    let failure = laws::draws_have_their_scale(&twin(right, Wide(1.01))).expect_err("too wide");
    assert_eq!(failure.law, "draws_have_their_scale");
}

/// An error of 1e-3 in the log normaliser, of either sign, is detected.
fn sees_the_constant<F: Family + Clone>(right: &Case<Altered<F>>) {
    let power = laws::density_is_normalised(right).expect("right").expect("always");
    assert!(power.size <= 1.05e-3, "{power}");
    for constant in [1e-3, -1e-3] {
        let failure = laws::density_is_normalised(&twin(right, Constant(constant))).expect_err("off");
        assert_eq!(failure.law, "density_is_normalised");
    }
}

#[test]
fn one_per_cent_in_the_scale_of_draws_is_seen() {
    [1, 3, 20].into_iter().for_each(|dim| sees_the_scale(&case(MeanField::new(dim), Map::Sinh)));
    sees_the_scale(&case(FullRank::new(10), Map::Sinh));
    sees_the_scale(&case(LowRank::new(7, 2), Map::Sinh));
    sees_the_scale(&case(Mixture::new(MeanField::new(5), 1).expect("a component"), Map::Sinh));
    sees_the_scale(&case(StudentT::fixed(10, 3.0).expect("degrees"), Map::SinhSinh));
    sees_the_scale(&case(MultivariateT::learned(4, 2.0).expect("degrees"), Map::SinhSinh));
    sees_the_scale(&case(Flow::real_nvp(4, Gauss, 2, &[5]).expect("a flow"), Map::Sinh));
}

/// An error in the scale of transported noise alone is detected.
#[test]
fn one_per_cent_in_the_scale_of_transport_is_seen() {
    for dim in [1, 6] {
        let right = case(MeanField::new(dim), Map::Sinh);
        assert!(laws::transport_has_its_scale(&right).is_ok());
        let failure = laws::transport_has_its_scale(&twin(&right, Wide(1.01))).expect_err("too wide");
        assert_eq!(failure.law, "transport_has_its_scale");
    }
}

#[test]
fn a_thousandth_in_the_normaliser_is_seen() {
    [3, 20].into_iter().for_each(|dim| sees_the_constant(&case(MeanField::new(dim), Map::Sinh)));
    let plane = case(MeanField::new(2), Map::Sinh);
    assert_eq!(laws::density_is_normalised(&plane), Ok(None), "quadrature does it");
    sees_the_constant(
        &plane.without("density_integrates_to_one", "to see the bridge in the plane").expect("a law"),
    );
    [3, 20].into_iter().for_each(|dim| sees_the_constant(&case(FullRank::new(dim), Map::Sinh)));
    sees_the_constant(&case(LowRank::new(7, 2), Map::Sinh));
    [3, 9]
        .into_iter()
        .for_each(|dim| sees_the_constant(&case(StudentT::fixed(dim, 3.0).expect("degrees"), Map::SinhSinh)));
    [3, 9].into_iter().for_each(|dim| {
        sees_the_constant(&case(MultivariateT::learned(dim, 1.0).expect("degrees"), Map::SinhSinh))
    });
}

/// Flows have no close reference density: the law detects larger errors only, and its power says so.
#[test]
fn a_flow_states_what_it_cannot_see() {
    let right = case(Flow::real_nvp(4, Gauss, 4, &[5]).expect("a flow"), Map::Sinh);
    let power = laws::density_is_normalised(&right).expect("right").expect("always");
    assert!(power.size > 1e-3 && power.size < 0.1, "{power}");
    let wrong = twin(&right, Constant(1.5 * power.size));
    assert!(laws::density_is_normalised(&wrong).is_err());
}

#[test]
fn memory_claimed_short_is_a_failure() {
    let right = case(MeanField::new(3), Map::Sinh);
    assert!(laws::work_is_enough(&right).is_ok() && laws::transport_work_is_enough(&right).is_ok());
    let short = twin(&right, Short);
    for failure in
        [laws::check(&short), laws::work_is_enough(&short)].map(|verdict| verdict.expect_err("short"))
    {
        assert_eq!(failure.law, "work_is_enough");
        assert!(failure.expected.ends_with("that work_len claims"), "{failure}");
    }
    let failure = laws::report_reparameterised(&short).first_failure().expect_err("short");
    assert_eq!(failure.law, "transport_work_is_enough", "{failure}");
    // A law that is not about memory reports the panic as a failure with its name.
    let failure = laws::check(&short.clone().without("work_is_enough", "to see another law fail").unwrap());
    let failure = failure.expect_err("short").to_string();
    assert!(failure.starts_with("density_is_normalised: the code under examination: found "), "{failure}");
}

#[test]
fn memory_claimed_short_by_a_pushforward_is_a_failure() {
    let flow = Flow::real_nvp(2, Gauss, 2, &[5]).expect("a flow");
    let params = params(flow.num_params(), 0.5);
    let failure =
        laws::check_pushforward(&Case::new(Altered { family: flow, by: Short }, params)).expect_err("short");
    assert_eq!(failure.law, "push_work_is_enough");
}

#[test]
fn laws_left_out_are_reported_with_their_reasons() {
    let right = case(MeanField::new(1), Map::Sinh);
    let wrong = twin(&right, Wide(1.01));
    assert_eq!(laws::check(&wrong).expect_err("too wide").law, "draws_have_their_scale");
    let unknown = right.without("draws_have_the_scale", "misspelt").expect_err("no such law").to_string();
    assert!(
        unknown.starts_with("no law is called \"draws_have_the_scale\"; the laws are work_is_enough, "),
        "{unknown}"
    );
    let report = laws::report(&wrong.without("draws_have_their_scale", "the twin draws wide").unwrap());
    assert!(report.holds() && !report.on("draws_have_their_scale").unwrap().holds());
    let said = "  left out draws_have_their_scale   the twin draws wide\n";
    assert!(report.to_string().contains(said), "{report}");
}
