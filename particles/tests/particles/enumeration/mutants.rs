//! Mutants of conditional SMC with one deliberate mistake each.

use mcsa_particles::{Lineage, Resampling};
use mcsa_testing::{Check, Matrix, Report, Transition};

use super::finite::{Steps, chain, transition, transition_of};
use super::sketch::{Mistake, Sketch};
use super::{TOLERANCE, error, kernel};

const SMALL: &str = "pi K = pi, T 2 S 2";
const LONG: &str = "pi K = pi, T 3 S 2";
const WIDE: &str = "pi K = pi, T 2 S 3";

fn transition_of_sketch(sketch: &Sketch, times: usize) -> Transition {
    let (model, proposal) = (chain(times, 2, 1), chain(times, 2, 2));
    let mut steps = Steps { model: &model, proposal: &proposal };
    transition_of(&model, |path, stream| sketch.step(&model, &mut steps, path, stream))
}

/// Two implementations of one algorithm have equal transition matrices.
#[test]
fn the_kernel_is_the_algorithm_on_paper() {
    for (times, particles) in [(2, 2), (3, 2), (2, 3)] {
        let (model, proposal) = (chain(times, 2, 1), chain(times, 2, 2));
        for rule in [Resampling::Multinomial, Resampling::Stratified, Resampling::Systematic] {
            for (chooses_ancestors, lineage) in [(false, Lineage::Traced), (true, Lineage::Ancestors)] {
                for threshold in [1.0, 0.85] {
                    let mistake = Mistake::None;
                    let sketch = Sketch { particles, rule, chooses_ancestors, threshold, mistake };
                    let kernel = kernel(particles, rule, threshold, lineage);
                    let ours = transition(&kernel, &model, &mut Steps { model: &model, proposal: &proposal });
                    let same = ours.equals(&transition_of_sketch(&sketch, times).matrix);
                    assert!(error(&same) < TOLERANCE, "{rule:?} {lineage:?}: {}", error(&same));
                }
            }
        }
    }
}

#[test]
fn every_mistake_is_seen() {
    let multinomial = Sketch {
        particles: 2,
        rule: Resampling::Multinomial,
        chooses_ancestors: false,
        threshold: 1.0,
        mistake: Mistake::None,
    };
    let ancestors = Sketch { chooses_ancestors: true, ..multinomial };
    let systematic = Sketch { rule: Resampling::Systematic, ..multinomial };
    let stratified = Sketch { rule: Resampling::Stratified, ..multinomial };
    let adaptive = Sketch { threshold: 0.85, ..multinomial };
    let cases = [
        ("none, multinomial", multinomial, Mistake::None),
        ("none, ancestors chosen", ancestors, Mistake::None),
        ("none, systematic", systematic, Mistake::None),
        ("none, stratified", stratified, Mistake::None),
        ("none, adaptive", adaptive, Mistake::None),
        ("retained path dropped at one step", multinomial, Mistake::Dropped),
        ("ancestor without likelihood", ancestors, Mistake::NoLikelihood),
        ("ancestor weight as printed", ancestors, Mistake::Printed),
        ("weights kept when resampled", multinomial, Mistake::Kept),
        ("weights forgotten when not resampled", adaptive, Mistake::Forgotten),
        ("systematic, naively overwritten", systematic, Mistake::Naive),
        ("stratified, retained always first", stratified, Mistake::First),
    ];
    let mut matrix = Matrix::default();
    for (name, sketch, mistake) in cases {
        for (law, times, particles) in [(SMALL, 2, 2), (LONG, 3, 2), (WIDE, 2, 3)] {
            let found = transition_of_sketch(&Sketch { particles, mistake, ..sketch }, times).keeps_target();
            println!("{name:<37} {law:<22} {:.1e}", error(&found));
            let check = Check::exact(law, error(&found), TOLERANCE, "");
            matrix.add(name, &Report::new("", vec![check]));
        }
        assert_eq!(matrix.caught(name), mistake != Mistake::None, "{name}");
    }
    println!("{matrix}");
}
