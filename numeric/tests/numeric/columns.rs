//! Tests of batched reductions: results are bit-identical to those of single columns.

use faer::Mat;
use mcsa_numeric::Backend;
use mcsa_numeric::Columns;

fn backends() -> impl Iterator<Item = Backend> {
    Backend::ALL.into_iter().filter(|b| b.is_available())
}

/// The batched, the single and the sloped form give one sum; slopes are those of `sigmoid`.
#[test]
fn forms_of_sum_log_sigmoid_agree_in_every_bit() {
    for b in backends() {
        for (rows, stride, columns) in [(0, 0, 3), (5, 8, 1), (64, 64, 2), (691, 704, 10), (40, 40, 33)] {
            let x: Vec<f64> =
                (0..stride * columns).map(|i| ((i * 389) % 1024) as f64 * 0.02 - 10.0).collect();
            let (mut sums, mut slopes) = (vec![f64::NAN; columns], vec![f64::NAN; rows]);
            b.sums_log_sigmoid(&x, stride, rows, &mut sums);
            for (c, sum) in sums.iter().enumerate() {
                let x = &x[c * stride..][..rows];
                assert_eq!(sum.to_bits(), b.sum_log_sigmoid(x).to_bits(), "{rows} rows, column {c}, {b:?}");
                let with_slopes = b.sum_log_sigmoid_with_slopes(x, &mut slopes);
                assert_eq!(sum.to_bits(), with_slopes.to_bits(), "{rows} rows, column {c}, {b:?}");
                let mut expected: Vec<f64> = x.iter().map(|x| -x).collect();
                b.sigmoid(&mut expected);
                assert_eq!(slopes, expected, "{rows} rows, column {c}, {b:?}");
            }
        }
        // More factors than one product can hold without overflow.
        let x: Vec<f64> = (0..30_000).map(|i| f64::from(i % 7) - 3.0).collect();
        let mut slopes = vec![f64::NAN; x.len()];
        assert_eq!(b.sum_log_sigmoid(&x), b.sum_log_sigmoid_with_slopes(&x, &mut slopes));
        assert!(slopes.iter().all(|s| *s > 0.0 && *s < 1.0));
    }
}

/// The batched, the single and the sloped form give one sum; slopes are those of `ndtr_hazard` up to rounding.
#[test]
fn forms_of_sum_log_ndtr_agree_in_every_bit() {
    for b in backends() {
        for (rows, stride, columns) in [(0, 0, 3), (5, 8, 1), (64, 64, 2), (691, 704, 10), (40, 40, 33)] {
            for (scale, shift) in [(0.02, -10.0), (0.02, 9.0), (40.0, -3e4)] {
                let x: Vec<f64> =
                    (0..stride * columns).map(|i| ((i * 389) % 1024) as f64 * scale + shift).collect();
                let (mut sums, mut slopes) = (vec![f64::NAN; columns], vec![f64::NAN; rows]);
                b.sums_log_ndtr(&x, stride, rows, &mut sums);
                for (c, sum) in sums.iter().enumerate() {
                    let x = &x[c * stride..][..rows];
                    assert_eq!(sum.to_bits(), b.sum_log_ndtr(x).to_bits(), "{rows} rows, column {c}, {b:?}");
                    let with_slopes = b.sum_log_ndtr_with_slopes(x, &mut slopes);
                    assert_eq!(sum.to_bits(), with_slopes.to_bits(), "{rows} rows, column {c}, {b:?}");
                    let mut expected = x.to_vec();
                    b.ndtr_hazard(&mut expected);
                    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 8.0 * f64::EPSILON * b.abs();
                    assert!(slopes.iter().zip(&expected).all(near), "{rows} rows, column {c}, {b:?}");
                }
            }
        }
    }
}

#[test]
fn columns_of_squares_have_the_bits_of_each_alone() {
    for b in backends() {
        for (d, n) in [(0, 2), (1, 1), (11, 10), (40, 3)] {
            let z = Mat::from_fn(d, n, |i, j| ((i * 7 + j * 3) % 11) as f64 / 3.0 - 1.5);
            let (mean, scale): (Vec<f64>, Vec<f64>) =
                (0..d).map(|i| (0.1 * i as f64, 1.0 + 0.3 * i as f64)).unzip();
            let (mut scaled, mut squares) = (vec![f64::NAN; n], vec![f64::NAN; n]);
            b.sums_squares_scaled(z.as_ref(), &mean, &scale, &mut scaled);
            b.sums_squares(z.as_ref(), &mut squares);
            for j in 0..n {
                let z = z.as_ref().column(j);
                assert_eq!(scaled[j].to_bits(), b.sum_squares_scaled(z, &mean, &scale).to_bits());
                assert_eq!(squares[j].to_bits(), b.dot(z, z).to_bits());
            }
        }
    }
}

#[test]
fn weighted_sums_have_the_bits_of_sums_column_by_column() {
    for b in backends() {
        for (d, n) in [(0, 2), (1, 1), (3, 0), (11, 10), (40, 3), (8, 2)] {
            let z = Mat::from_fn(d, n, |i, j| ((i * 7 + j * 3) % 11) as f64 / 3.0 - 1.5);
            let weights: Vec<f64> = (0..n).map(|j| 0.3 + 0.1 * j as f64).collect();
            let (mut together, mut one_by_one) = (vec![f64::NAN; d], vec![0.0; d]);
            b.weighted_sum(z.as_ref(), &weights, &mut together);
            for (j, &weight) in weights.iter().enumerate() {
                b.axpy(weight, z.as_ref().column(j), &mut one_by_one);
            }
            assert_eq!(together, one_by_one, "{d} {n} {b:?}");
            // Twin: other weights give another sum.
            if d > 1 && n > 0 {
                let others: Vec<f64> = weights.iter().map(|weight| weight + 1e-3).collect();
                b.weighted_sum(z.as_ref(), &others, &mut together);
                assert_ne!(together, one_by_one, "{d} {n} {b:?}");
            }
        }
    }
}

/// With the number that is not below the bound at every place, of every length up to two blocks and more.
#[test]
fn one_number_that_is_not_below_the_bound_is_found() {
    for b in backends() {
        assert!(b.all_below(&[], 1.0));
        for length in (1..70).chain([257]) {
            let mut x: Vec<f64> = (0..length).map(|i| (i as f64 - 20.0).sin()).collect();
            assert!(b.all_below(&x, 1.0) && b.all_below(&x, f64::INFINITY), "{length} {b:?}");
            for place in 0..length {
                let before = x[place];
                for above in [1.0, -1.0, 5.0, f64::NEG_INFINITY, f64::NAN] {
                    x[place] = above;
                    assert!(!b.all_below(&x, 1.0), "{length} {place} {above} {b:?}");
                    assert_eq!(
                        b.all_below(&x, f64::INFINITY),
                        above.is_finite(),
                        "{length} {place} {above} {b:?}"
                    );
                }
                x[place] = before;
            }
        }
    }
}

#[test]
fn padding_that_counts_is_caught() {
    let x = [0.5, -1.0, 0.0, 2.0, 0.25, 0.0];
    let sums = |rows| {
        let mut sums = [0.0; 2];
        Backend::best().sums_log_sigmoid(&x, 3, rows, &mut sums);
        sums
    };
    assert_ne!(sums(2), sums(3));
}
