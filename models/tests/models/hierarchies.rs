//! Conformance suite on the hierarchical models.

use mcsa_core::Stream;
use mcsa_models::{Centring, EightSchools, Radon};
use mcsa_testing::model::Case;

fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

fn schools() -> Vec<Case<EightSchools>> {
    let empty = EightSchools::new(vec![], vec![], Centring::Centred).expect("known");
    vec![
        Case::new(EightSchools::centred()),
        Case::new(EightSchools::non_centred()),
        Case::new(EightSchools::non_centred()).with_spread(3.0),
        Case::new(empty),
    ]
}

mcsa_testing::model_suite!(eight_schools, schools().into_iter().map(crate::printed), meter, gradient separable constrained);

/// Houses drawn from the model, with some counties without houses and some with one floor only.
fn synthetic(counties: usize, rows: usize, stream: &mut Stream) -> Radon {
    let effects: Vec<(f64, f64)> =
        (0..counties).map(|_| (1.4 + 0.3 * stream.normal(), -0.6 + 0.3 * stream.normal())).collect();
    let (mut county, mut x, mut y) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rows {
        let c = ((stream.uniform() * counties as f64) as usize).min(counties - 1);
        let floor = if c.is_multiple_of(3) || stream.uniform() < 0.8 { 0.0 } else { 1.0 };
        county.push(c);
        x.push(floor);
        y.push(effects[c].0 + effects[c].1 * floor + 0.7 * stream.normal());
    }
    Radon::new(counties, county, x, y).expect("known")
}

fn radons() -> Vec<Case<Radon>> {
    let mut stream = mcsa_core::Seed::new(7).stream(0, 0);
    [(1, 4), (7, 30), (8, 20), (21, 30), (85, 919)]
        .map(|(counties, rows)| Case::new(synthetic(counties, rows, &mut stream)).with_spread(0.5))
        .into()
}

mcsa_testing::model_suite!(radon, radons().into_iter().map(crate::printed), meter, gradient separable constrained);
