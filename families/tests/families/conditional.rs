//! The conditional location-scale family: conformance, and the change of coordinates that it gives.

use faer::mat;
use mcsa_core::{Family, Gradient, LogDensity, Parametric, Transport, Whitened};
use mcsa_families::{Conditional, ConditionalMap, Degree, Parts};
use mcsa_models::EightSchools;
use mcsa_testing::family::Case;

use crate::altered::meter;

const ALL: Parts =
    Parts { dense: true, saturating: true, shrinking: true, drifting: true, degree: Degree::Quadratic };

fn case(dim: usize, drivers: &[usize], parts: Parts) -> Case<Conditional> {
    let (centre, scale) = (vec![0.2; drivers.len()], vec![1.3; drivers.len()]);
    let family = Conditional::new(dim, drivers, centre, scale, parts).expect("distinct drivers");
    let params = (0..family.num_params()).map(|k| 0.3 * (k as f64 * 1.3).sin()).collect();
    Case { draws: 1 << 15, ..Case::new(family, params) }
}

fn cases() -> Vec<Case<Conditional>> {
    let none = Parts::default();
    let saturating = Parts { saturating: true, shrinking: true, ..none };
    let drifting = Parts { drifting: true, degree: Degree::Linear, ..none };
    let dense = Parts { dense: true, ..none };
    let shapes: [(usize, &[usize], Parts); 11] = [
        (0, &[], ALL),
        (1, &[], none),
        (1, &[0], ALL),
        (2, &[0], none),
        (2, &[1], saturating),
        (2, &[0], drifting),
        (2, &[1, 0], none),
        (2, &[], dense),
        (4, &[2], ALL),
        (6, &[4, 1], ALL),
        (7, &[0], dense),
    ];
    shapes.into_iter().map(|(dim, drivers, parts)| case(dim, drivers, parts)).collect()
}

mcsa_testing::family_suite!(of_conditional, cases(), meter);

/// Density, gradient and inverse in the coordinates of a map onto the eight schools.
#[test]
fn the_map_is_a_change_of_coordinates() {
    let (schools, case) = (EightSchools::centred(), case(10, &[1, 0], ALL));
    let map = ConditionalMap::new(case.family.clone(), case.params.clone()).unwrap();
    let white = Whitened::new(&schools, map.clone()).unwrap();
    let mut work = vec![f64::NAN; white.work_len(1).max(case.family.work_len(1))];
    for shift in [0.0, 0.7, 2.0] {
        let e: Vec<f64> = (0..10).map(|i| 1.5 * (i as f64 * 2.1 + shift).sin()).collect();
        let (mut z, mut back, mut gradient) = (vec![0.0; 10], vec![0.0; 10], vec![0.0; 10]);
        let log_volume = map.image_into(&e, &mut z, &mut work);
        let log_q = case.family.log_prob(&case.params, &z, &mut work);
        let normal = -0.5 * e.iter().map(|e| e * e + (2.0 * std::f64::consts::PI).ln()).sum::<f64>();
        assert!((normal - log_volume - log_q).abs() < 1e-10);
        assert!((map.preimage_into(&z, &mut back, &mut work) - log_volume).abs() < 1e-10);
        assert!(e.iter().zip(&back).all(|(e, back)| (e - back).abs() < 1e-10));
        let log_p = white.gradient_into(&e, &mut gradient, &mut work);
        assert!((log_p - schools.log_density(&z, &mut []) - log_volume).abs() < 1e-12 * log_p.abs());
        let h = 1e-3;
        for i in 0..10 {
            let mut at = |t: f64| {
                let mut e = e.clone();
                e[i] += t;
                white.log_density(&e, &mut work)
            };
            let slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
            assert!(
                (gradient[i] - slope).abs() < 1e-6 * slope.abs().max(1.0),
                "{i}: {} {slope}",
                gradient[i]
            );
        }
        let used = meter(&mut || {
            white.gradient_into(&e, &mut gradient, &mut work);
            map.preimage_into(&z, &mut back, &mut work);
        });
        assert_eq!(used, 0);
    }
    // Counterexample: without the pull-back the gradient is that of the target.
    let mut gradient = vec![1.0; 10];
    map.pull_back(&[0.0; 10], &mut gradient, &mut work);
    assert!(gradient.iter().any(|slope| (slope - 1.0).abs() > 0.1));
    let error = Conditional::new(2, &[1, 1], vec![0.0; 2], vec![1.0; 2], ALL).unwrap_err().to_string();
    assert!(error.starts_with("Conditional: driver 1 of 2"), "{error}");
}

/// Neal's funnel is the member with slope one half and nothing else.
#[test]
fn a_funnel_is_a_member() {
    let q = Conditional::new(3, &[0], vec![0.0], vec![1.0], Parts::default()).unwrap();
    let funnel = mcsa_models::Funnel::new(3, 3.0).unwrap();
    let (z, mut work) = (mat![[2.0, -5.0], [0.3, 0.01], [-1.0, 0.1]], vec![0.0; q.work_len(1)]);
    let mut gap = |slope: f64, j: usize| {
        let params = [0.0, 3.0_f64.ln(), 0.0, 0.0, slope, slope, 0.0, 0.0];
        let z = z.col_as_slice(j);
        (q.log_prob(&params, z, &mut work) - funnel.log_density(z, &mut [])).abs()
    };
    assert!((0..2).all(|j| gap(0.5, j) < 1e-12));
    // Counterexample: another slope.
    assert!(gap(0.4, 1) > 0.1);
}
