//! Joint distributions of several states; the first state is the lowest digit of the index.

use crate::Square;

/// Joint distribution of independent states, from the distribution of each.
pub(super) fn product<'a>(laws: impl IntoIterator<Item = &'a [f64]>) -> Vec<f64> {
    laws.into_iter()
        .fold(vec![1.0], |joint, law| law.iter().flat_map(|p| joint.iter().map(move |q| p * q)).collect())
}

/// Joint distribution of `samples` successive states of one chain, of which the first has the distribution `first`.
pub(super) fn path(first: &[f64], kernel: &Square<f64>, samples: usize) -> Vec<f64> {
    let atoms = first.len();
    let mut joint = first.to_vec();
    for _ in 1..samples {
        let highest = joint.len() / atoms;
        let next =
            |y: usize| joint.iter().enumerate().map(move |(path, p)| p * kernel.row(path / highest)[y]);
        joint = (0..atoms).flat_map(next).collect();
    }
    joint
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_independent_draws_is_a_product() {
        let (law, first) = ([0.2, 0.5, 0.3], [0.1, 0.1, 0.8]);
        let kernel = Square::from_fn(3, |_, y| law[y]);
        let (path, product) = (path(&first, &kernel, 3), product([&first[..], &law, &law]));
        assert!(path.len() == 27 && path.iter().zip(&product).all(|(a, b)| (a - b).abs() < 1e-16));
    }

    /// A chain that never moves has all its mass on constant paths.
    #[test]
    fn a_path_that_stays_is_constant() {
        let path = path(&[0.25, 0.75], &Square::identity(2), 3);
        assert_eq!((path[0], path[7]), (0.25, 0.75));
        assert_eq!(path.iter().sum::<f64>(), 1.0);
    }
}
