//! Invariance tests with the workspace's families as proposals: they fail if a family's draws do not have its stated density.
//!
//! Seeds are fixed. The false-alarm probability is 1e-4 for the crate: a quarter of it is for this file, split over
//! its reports.

use faer::{Mat, MatMut, MatRef, mat};
use mcsa_core::{AffineMap, Family, FamilyProposal, Parametric, Proposal, Seed, Stream};
use mcsa_families::{
    Atoms, Defence, FullRank, GaussianMixture, LowRank, MeanField, MultivariateT, StudentT, Tail,
};
use mcsa_kernels::{Cis, Imh};
use mcsa_testing::{Finite, Invariance, Report, Trial, closed, judge, transition_matrix};
use proptest::prelude::*;

use crate::targets::{banana, student};

/// Number of reports of this file that must hold: seven proposals and two kernels.
const REPORTS: usize = 14;

/// Columns of the largest batch: four candidates for each of the 16 chains.
const COLUMNS: usize = 64;

fn split() -> Invariance {
    judge(0.25e-4).share(REPORTS).quick()
}

fn holds(report: &Report) {
    assert!(report.holds(), "{report}");
}

/// Parameters of a family: a fixed draw of standard normals, small enough to stay away from boundary cases.
fn somewhere<F: Family>(family: &F) -> Vec<f64> {
    let mut params = vec![0.0; family.num_params()];
    Seed::new(12).stream(0, 0).normals_into(&mut params);
    params.iter_mut().for_each(|x| *x = 0.5 * *x + 0.3);
    params
}

fn keeps(proposal: &mut dyn Proposal) {
    holds(&split().of_guided(&Imh::default(), &banana(), &mut [&mut *proposal]));
    holds(&split().of_guided(&Cis { candidates: 4 }, &student(2, 5.0), &mut [proposal]));
}

fn guides_well<F: Family>(family: &F) {
    let params = somewhere(family);
    let mut work = vec![f64::NAN; family.work_len(COLUMNS)];
    keeps(&mut FamilyProposal::new(family, &params, COLUMNS, &mut work).expect("params somewhere"));
}

#[test]
fn families_draw_what_they_say() {
    guides_well(&MeanField::new(2));
    guides_well(&FullRank::new(2));
    guides_well(&LowRank::new(2, 1));
    guides_well(&GaussianMixture::new(2, 3).unwrap());
    guides_well(&MultivariateT::fixed(2, 4.0).unwrap());
    guides_well(&StudentT::fixed(2, 4.0).unwrap());
}

#[test]
fn a_defensive_guide_draws_what_it_says() {
    let family = MeanField::new(2);
    let params = somewhere(&family);
    let (mut work, mut lent) = (vec![0.0; family.work_len(COLUMNS)], vec![0.0; Defence::work_len(COLUMNS)]);
    let mut inner = FamilyProposal::new(&family, &params, COLUMNS, &mut work).unwrap();
    let defence = Defence::new(0.2, Tail::cauchy(2)).unwrap();
    keeps(&mut defence.around(&mut inner, COLUMNS, &mut lent).unwrap());
}

/// A proposal whose stated density is not that of its draws, here by a missing scale of one coordinate, must be detected.
#[test]
fn a_guide_that_lies_is_caught() {
    struct Lying<'a>(FamilyProposal<'a, MeanField>);
    impl Proposal for Lying<'_> {
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
            self.0.log_probs(z, log_q);
            (0..z.ncols()).for_each(|j| log_q[j] += 0.3 * z[(0, j)]);
        }
        fn sample_into(&mut self, lanes: &mut [Stream], mut z: MatMut<'_, f64>, log_q: &mut [f64]) {
            self.0.sample_into(lanes, z.as_mut(), log_q);
            (0..z.ncols()).for_each(|j| log_q[j] += 0.3 * z[(0, j)]);
        }
    }
    let family = MeanField::new(2);
    let params = somewhere(&family);
    let mut work = vec![0.0; family.work_len(COLUMNS)];
    let mut proposal = Lying(FamilyProposal::new(&family, &params, COLUMNS, &mut work).unwrap());
    assert!(split().of_guided(&Imh::default(), &banana(), &mut [&mut proposal]).fails());
}

/// In new coordinates a full-rank Gaussian has a transformed mean and factor, and the kernel makes equal moves.
#[test]
fn a_full_rank_family_follows_the_coordinates() {
    let (family, target) = (FullRank::new(2), banana());
    let (factor, shift) = (mat![[2.0, 0.0], [-0.7, 0.3]], vec![1.0, -5.0]);
    let map = AffineMap::new(shift, factor.clone()).unwrap();
    let (mean, spread) = ([0.4, -0.2], mat![[1.5, 0.0], [0.6, 2.0]]);
    let mut moved_mean = [0.0; 2];
    map.inverse_into(&mean, &mut moved_mean);
    // factor^-1 spread, column by column: the inverse without the shift.
    let linear = AffineMap::new(vec![0.0; 2], factor).unwrap();
    let mut moved_spread = Mat::<f64>::zeros(2, 2);
    for j in 0..2 {
        linear.inverse_into(spread.col_as_slice(j), moved_spread.col_as_slice_mut(j));
    }
    let here = family.at(&mean, spread.as_ref()).unwrap();
    let there = family.at(&moved_mean, moved_spread.as_ref()).unwrap();
    let mut lent = [vec![0.0; family.work_len(8)], vec![0.0; family.work_len(8)]];
    let [first, second] = &mut lent;
    let mut proposal = FamilyProposal::new(&family, &here, 8, first).unwrap();
    let mut moved = FamilyProposal::new(&family, &there, 8, second).unwrap();
    let imh = Imh::default();
    let check = Trial::new(&imh, &target).ignores_coordinates_between(&mut proposal, &mut moved, &map);
    assert!(check.holds(), "{check}");
    // Parameters that are not transformed must be detected.
    let [first, second] = &mut lent;
    let mut proposal = FamilyProposal::new(&family, &here, 8, first).unwrap();
    let mut left = FamilyProposal::new(&family, &here, 8, second).unwrap();
    assert!(Trial::new(&imh, &target).ignores_coordinates_between(&mut proposal, &mut left, &map).fails());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// With the production family of atoms, at any lambda, the production kernels have their closed forms.
    #[test]
    fn atoms_guide_exactly(
        weights in prop::collection::vec((0..6_u8, -30..30_i32), 2..5),
        candidates in 2..4_usize,
    ) {
        let p: Vec<f64> = weights.iter().map(|w| f64::from(w.0)).collect();
        prop_assume!(p.iter().any(|&p| p > 0.0));
        let lambda: Vec<f64> = weights.iter().map(|w| 0.1 * f64::from(w.1)).collect();
        let q: Vec<f64> = lambda.iter().map(|l| l.exp()).collect();
        let (target, family) = (Finite::on_line(&p).unwrap(), Atoms::on_line(p.len()).unwrap());
        let mut work = vec![f64::NAN; family.work_len(8)];
        let mut proposal = FamilyProposal::new(&family, &lambda, 8, &mut work).unwrap();
        let imh = transition_matrix(&Imh::default(), &target, &mut proposal, target.atoms(), 1, 1000).unwrap();
        let check = imh.equals(&closed::imh(&p, &q));
        prop_assert!(check.holds(), "{check}");
        let cis = Cis { candidates };
        let cis = transition_matrix(&cis, &target, &mut proposal, target.atoms(), 1, 10_000).unwrap();
        let check = cis.equals(&closed::cis(&p, &q, candidates));
        prop_assert!(check.holds(), "{check}");
        prop_assert!(cis.report("cis").holds());
    }
}
