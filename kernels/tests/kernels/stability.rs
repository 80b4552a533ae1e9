//! Pinned first values of each kernel at `Seed::new(1)`, to ten digits: other processors may round differently.
//!
//! They may be changed in a commit that says so.

use mcsa_core::{ChainState, Kernel, Seed};
use mcsa_kernels::{Elliptical, GaussianPrior, Hmc, Leapfrog, Mala, Mass, NoProposal, Nuts, Rwm, Selection};

use crate::law::targets::Banana;

/// Two chains after three steps: positions chain by chain, then densities.
fn numbers<K: Kernel<Banana>>(kernel: &K) -> Vec<f64> {
    let start = faer::mat![[0.5, -1.0], [0.2, 1.0]];
    let mut state = kernel.init(&Banana, start).expect("the start fits");
    let mut work = vec![0.0; kernel.work_len(&Banana, 2)];
    for step in 0..3 {
        let mut lanes = Seed::new(1).streams(2, step);
        kernel.step(&Banana, &mut NoProposal { dim: 2 }, &mut state, &mut lanes, &mut work);
    }
    let chains = state.chains();
    let positions = (0..2).flat_map(|j| chains.positions.col_as_slice(j).iter().copied());
    positions.chain(chains.log_p.iter().copied()).collect()
}

fn pinned<K: Kernel<Banana>>(kernel: &K, expected: [f64; 6]) {
    let found = numbers(kernel);
    let is_same = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-10 * expected.abs();
    assert!(found.iter().zip(&expected).all(is_same), "found {found:?}");
}

#[cfg(test)]
mod kernels {
    use super::*;

    fn leapfrog() -> Leapfrog {
        Leapfrog::new(0.4, Mass::diagonal(vec![0.7, 1.9]).unwrap()).unwrap()
    }

    #[test]
    fn rwm() {
        pinned(
            &Rwm::with(0.8, vec![1.0, 1.5]).unwrap(),
            [
                0.0479907405494,
                0.389841508317,
                -0.503979962064,
                0.117312913864,
                -0.076691495265,
                -0.12704480057,
            ],
        );
    }

    #[test]
    fn mala() {
        pinned(
            &Mala::with(0.8, leapfrog().mass().clone()).unwrap(),
            [
                -0.436447367641,
                -0.333374967933,
                0.326241389868,
                0.342276884224,
                -0.187099898882,
                -0.0949946108571,
            ],
        );
    }

    #[test]
    fn hmc_end_point() {
        pinned(
            &Hmc::with(leapfrog(), 4, Selection::EndPoint).unwrap(),
            [
                -0.705166147936,
                0.0939474161397,
                0.719616184609,
                -0.435533435116,
                -0.260592944539,
                -0.500059101288,
            ],
        );
    }

    #[test]
    fn hmc_multinomial() {
        pinned(
            &Hmc::with(leapfrog(), 4, Selection::Multinomial).unwrap(),
            [
                0.786353199742,
                0.931539031672,
                0.0633313687872,
                0.286756719415,
                -0.50284374976,
                -0.0425470792245,
            ],
        );
    }

    #[test]
    fn nuts() {
        pinned(
            &Nuts::with(leapfrog(), 5).unwrap(),
            [
                -0.658065104166,
                -1.40009650045,
                -0.921390215652,
                1.48803318151,
                -1.52325712093,
                -0.990052687187,
            ],
        );
    }

    #[test]
    fn elliptical() {
        let prior = GaussianPrior::new(vec![0.5, -0.3], vec![vec![1.5], vec![0.6, 2.0]]).unwrap();
        pinned(
            &Elliptical::new(prior),
            [
                -0.302289975223,
                -0.222564881308,
                -0.343491696739,
                -0.207885731285,
                -0.0816698518368,
                -0.094605474292,
            ],
        );
    }
}
