//! Tests of the vector functions without references: results do not depend on neighbours or alignment, special values are right,
//! reductions agree with compensated sums, and columns of a batch have the bits of each alone.

use faer::Mat;
use mcsa_numeric::{self as numeric, Backend, Columns, scalar};

type Elementwise =
    (&'static str, fn(Backend, &mut [f64]), fn(&mut [f64]), fn(&[f64], &mut [f64]), fn(f64) -> f64);

macro_rules! table {
    ($($name:ident, $into:ident;)*) => {
        const TABLE: &[Elementwise] = &[
            $((
                stringify!($name),
                |backend, x| backend.$name(x),
                numeric::$name,
                numeric::$into,
                scalar::$name,
            )),*
        ];
    };
}

table! {
    exp, exp_into;
    ln, ln_into;
    ln_1p, ln_1p_into;
    ln_expm1, ln_expm1_into;
    ln_1p_exp, ln_1p_exp_into;
    log_sigmoid, log_sigmoid_into;
    sigmoid, sigmoid_into;
    tanh, tanh_into;
    erfc, erfc_into;
    log_ndtr, log_ndtr_into;
    ndtr_hazard, ndtr_hazard_into;
}

fn backends() -> impl Iterator<Item = Backend> {
    Backend::ALL.into_iter().filter(|b| b.is_available())
}

/// Test arguments: moderate, large, tiny and special numbers.
fn numbers(count: usize) -> Vec<f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..count)
        .map(|i| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let unit = (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
            match i % 11 {
                0 => f64::NAN,
                1 => f64::INFINITY * unit.signum(),
                2 => 0.0 * unit,
                3 => unit * 1e-310,
                4 => unit * 1e300,
                5 => unit * 1400.0,
                6 => unit * 1e-12,
                7 => unit * 70.0,
                _ => unit * 6.0,
            }
        })
        .collect()
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// True if every element of every window of `apply` equals its value computed alone.
fn neighbours_do_not_matter(apply: impl Fn(&mut [f64])) -> bool {
    let buffer = numbers(80);
    let alone: Vec<f64> = buffer
        .iter()
        .map(|&x| {
            let mut one = [x];
            apply(&mut one);
            one[0]
        })
        .collect();
    (0..=67).all(|length| {
        (0..8).all(|offset| {
            let mut x = buffer.clone();
            apply(&mut x[offset..offset + length]);
            let inside = offset..offset + length;
            (0..x.len()).all(|i| same(x[i], if inside.contains(&i) { alone[i] } else { buffer[i] }))
        })
    })
}

#[test]
fn elements_do_not_depend_on_their_neighbours() {
    for (name, on, ..) in TABLE {
        for backend in backends() {
            assert!(neighbours_do_not_matter(|x| on(backend, x)), "{name} on {backend:?}");
        }
    }
}

#[test]
fn a_scalar_tail_is_caught() {
    assert!(!neighbours_do_not_matter(|x| {
        let body = x.len() / 8 * 8;
        let (body, tail) = x.split_at_mut(body);
        numeric::ln_1p_exp(body);
        tail.iter_mut().for_each(|v| *v = v.max(0.0) + (-v.abs()).exp().ln_1p());
    }));
}

#[test]
fn the_three_forms_agree() {
    let x = numbers(75);
    for (name, on, in_place, into, one) in TABLE {
        let (mut a, mut b, mut c) = (x.clone(), x.clone(), vec![0.0; x.len()]);
        on(Backend::best(), &mut a);
        in_place(&mut b);
        into(&x, &mut c);
        for i in 0..x.len() {
            let d = one(x[i]);
            assert!(same(a[i], b[i]) && same(a[i], c[i]) && same(a[i], d), "{name} of {:e}", x[i]);
        }
    }
}

#[test]
fn special_values() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let expected: &[(&str, &[(f64, f64)])] = &[
        ("exp", &[(inf, inf), (-inf, 0.0), (nan, nan), (0.0, 1.0), (-0.0, 1.0)]),
        ("ln", &[(inf, inf), (-inf, nan), (nan, nan), (0.0, -inf), (-0.0, -inf), (-1.0, nan), (1.0, 0.0)]),
        (
            "ln_1p",
            &[(inf, inf), (-inf, nan), (nan, nan), (0.0, 0.0), (-0.0, -0.0), (-1.0, -inf), (-2.0, nan)],
        ),
        ("ln_expm1", &[(inf, inf), (-inf, nan), (nan, nan), (0.0, -inf), (-0.0, -inf), (-1.0, nan)]),
        ("ln_1p_exp", &[(inf, inf), (-inf, 0.0), (nan, nan), (1e300, 1e300)]),
        ("log_sigmoid", &[(inf, -0.0), (-inf, -inf), (nan, nan), (-1e300, -1e300)]),
        ("sigmoid", &[(inf, 1.0), (-inf, 0.0), (nan, nan), (0.0, 0.5), (-0.0, 0.5)]),
        ("tanh", &[(inf, 1.0), (-inf, -1.0), (nan, nan), (0.0, 0.0), (-0.0, -0.0)]),
        ("erfc", &[(inf, 0.0), (-inf, 2.0), (nan, nan), (0.0, 1.0)]),
        ("log_ndtr", &[(inf, 0.0), (-inf, -inf), (nan, nan)]),
        ("ndtr_hazard", &[(inf, 0.0), (-inf, inf), (nan, nan)]),
    ];
    for (name, on, ..) in TABLE {
        let (_, cases) =
            expected.iter().find(|(n, _)| n == name).expect("every function has its special values");
        for backend in backends() {
            for &(x, want) in *cases {
                let mut y = [x];
                on(backend, &mut y);
                assert!(same(y[0], want), "{name}({x}) on {backend:?} is {}", y[0]);
            }
        }
    }
    for f in [scalar::ln_gamma, scalar::digamma] {
        assert!(f(nan).is_nan() && f(-1.5).is_nan() && f(inf) == inf);
    }
    assert_eq!(scalar::ln_gamma(0.0), inf);
    assert_eq!(scalar::digamma(0.0), -inf);
}

#[test]
fn log_sigmoid_is_minus_the_softplus_of_minus_x() {
    for backend in backends() {
        let (mut a, mut b) = (numbers(300), numbers(300));
        b.iter_mut().for_each(|x| *x = -*x);
        backend.log_sigmoid(&mut a);
        backend.ln_1p_exp(&mut b);
        assert!(a.iter().zip(&b).all(|(&a, &b)| same(a, -b)), "{backend:?}");
    }
}

/// Near `ln 2` the inverse softplus is `2 d - d^2 + d^3 - ...`, `d = x - ln 2`; the rounding error of `x` is corrected.
#[test]
fn inverse_softplus_crosses_zero_within_its_absolute_error() {
    let ln_2_low = 2.319_046_813_846_3e-17;
    for i in -200..=200 {
        let d = f64::from(i) * 1e-7;
        let x = core::f64::consts::LN_2 + d;
        let exact = (x - core::f64::consts::LN_2) - ln_2_low;
        let want = 2.0 * exact - exact * exact + exact * exact * exact;
        assert!((scalar::ln_expm1(x) - want).abs() < 2e-16, "at ln 2 + {d:e}");
    }
}

/// Sum with Neumaier's compensation.
fn compensated(parts: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0);
    for x in parts {
        let t = sum + x;
        lost += if sum.abs() >= x.abs() { (sum - t) + x } else { (x - t) + sum };
        sum = t;
    }
    sum + lost
}

fn moderate(count: usize, scale: f64) -> Vec<f64> {
    numbers(count * 11).into_iter().skip(8).step_by(11).map(|x| x * scale).collect()
}

#[test]
fn reductions_agree_with_compensated_sums() {
    for n in [0, 1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 100, 691, 5000] {
        let (x, y, s) = (moderate(n, 1.0), moderate(n + 3, 0.3), moderate(n + 5, 2.0));
        let (y, s) = (&y[3..], &s[5..]);
        let size: f64 = x.iter().map(|v| v.abs()).sum::<f64>() * 20.0 + 1.0;
        for backend in backends() {
            let close = |got: f64, want: f64| {
                assert!((got - want).abs() <= 1e-15 * size, "{got} {want} {n} {backend:?}")
            };
            close(backend.sum(&x), compensated(x.iter().copied()));
            close(backend.dot(&x, y), compensated(x.iter().zip(y).map(|(a, b)| a * b)));
            close(
                backend.sum_squares_scaled(&x, y, s),
                compensated((0..n).map(|i| ((x[i] - y[i]) * s[i]).powi(2))),
            );
            let mut z = y.to_vec();
            backend.axpy(1.5, &x, &mut z);
            for i in 0..n {
                close(z[i], y[i] + 1.5 * x[i]);
            }
            assert_eq!(backend.sum(&x).to_bits(), Backend::Portable.sum(&x).to_bits());
        }
    }
}

/// True if a reduction gives the same bits at eight alignments.
fn alignment_does_not_matter(reduce: impl Fn(&[f64]) -> f64) -> bool {
    (0..=150).all(|n| {
        let x = moderate(n, 1.0);
        let mut values = (0..8).map(|offset| {
            let mut buffer = vec![f64::NAN; offset];
            buffer.extend(&x);
            reduce(&buffer[offset..]).to_bits()
        });
        let first = values.next();
        values.all(|v| Some(v) == first)
    })
}

#[test]
fn reductions_do_not_depend_on_alignment() {
    for b in backends() {
        assert!(alignment_does_not_matter(|x| b.sum(x)));
        assert!(alignment_does_not_matter(|x| b.dot(x, x)));
        assert!(alignment_does_not_matter(|x| b.sum_squares_scaled(
            x,
            &vec![0.1; x.len()],
            &vec![0.7; x.len()]
        )));
        assert!(alignment_does_not_matter(|x| b.sum_log_sigmoid(x)));
        assert!(alignment_does_not_matter(|x| b.sum_log_ndtr(x)));
        assert!(alignment_does_not_matter(|x| b.log_sum_exp(x)));
    }
}

#[test]
fn a_sum_that_starts_at_an_aligned_address_is_caught() {
    assert!(!alignment_does_not_matter(|x| {
        let (head, body, tail) = bytemuck::pod_align_to::<f64, [f64; 1]>(x);
        let peel = (x.as_ptr().addr() / 8 % 4).min(body.len());
        let head: f64 = head.iter().chain(body[..peel].as_flattened()).sum();
        let body: f64 = body[peel..].as_flattened().iter().chain(tail).sum();
        head + body
    }));
}

/// A sum of log likelihoods: its name, the sum, sums of columns, the sum with slopes, and a term.
type SumOfLogs = (
    &'static str,
    fn(Backend, &[f64]) -> f64,
    fn(Backend, &[f64], usize, usize, &mut [f64]),
    fn(Backend, &[f64], &mut [f64]) -> f64,
    fn(f64) -> f64,
);

const SUMS: [SumOfLogs; 2] = [
    (
        "sum_log_sigmoid",
        Backend::sum_log_sigmoid,
        Backend::sums_log_sigmoid,
        Backend::sum_log_sigmoid_with_slopes,
        scalar::log_sigmoid,
    ),
    (
        "sum_log_ndtr",
        Backend::sum_log_ndtr,
        Backend::sums_log_ndtr,
        Backend::sum_log_ndtr_with_slopes,
        scalar::log_ndtr,
    ),
];

#[test]
fn sums_of_logs_agree_with_their_terms() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let cases = [
        (0, 1.0, 0.0),
        (1, 1.0, 0.0),
        (33, 1.0, 0.0),
        (691, 2.0, 0.0),
        (691, 1.0, 1.0),
        (5000, 0.01, 0.0),
        (70_000, 0.001, 0.0),
        (5000, 1.0, 9.0),
        (5000, 1.0, 30.0),
        (5000, 1.0, 45.0),
        (5000, 1.0, 700.0),
        (5000, 1.0, -800.0),
        (5000, 1.0, -1e6),
        (40, 1.0, -1e60),
        (31, 100.0, 0.0),
    ];
    for (name, sum, .., term) in SUMS {
        for (n, scale, shift) in cases {
            let x: Vec<f64> = moderate(n, scale).into_iter().map(|v| v + shift).collect();
            let want = compensated(x.iter().map(|&v| term(v)));
            for backend in backends() {
                let got = sum(backend, &x);
                let close = (got - want).abs() <= 1.5e-15 * want.abs();
                assert!(close, "{name}: {got} {want}: {n} {scale} {shift} {backend:?}");
            }
        }
        for b in backends() {
            assert_eq!(sum(b, &[1.0, -inf, 2.0]), -inf);
            assert!(sum(b, &[1.0, nan, -inf]).is_nan());
            assert!(sum(b, &[-2.0, nan]).is_nan());
            assert_eq!(sum(b, &[inf; 40]), 0.0);
        }
    }
    for b in backends() {
        assert_eq!(b.sum_log_ndtr(&[-1e200; 40]), -inf);
    }
}

#[test]
fn log_sum_exp_agrees_with_its_terms() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for b in backends() {
        for (n, scale, shift) in [(1, 1.0, 0.0), (2, 3.0, 1000.0), (40, 1.0, -900.0), (691, 20.0, 0.0)] {
            let x: Vec<f64> = moderate(n, scale).into_iter().map(|v| v + shift).collect();
            let top = x.iter().copied().fold(-inf, f64::max);
            let want = top + compensated(x.iter().map(|v| (v - top).exp())).ln();
            assert!(
                (b.log_sum_exp(&x) - want).abs() <= 4e-16 * want.abs().max(1.0),
                "{n} {scale} {shift} {b:?}"
            );
        }
        assert_eq!(b.log_sum_exp(&[]), -inf);
        assert_eq!(b.log_sum_exp(&[-inf; 33]), -inf);
        assert_eq!(b.log_sum_exp(&[-inf, 2.5]), 2.5);
        assert_eq!(b.log_sum_exp(&[-inf, inf, 1.0]), inf);
        assert_eq!(b.log_sum_exp(&[inf, inf]), inf);
        assert!(b.log_sum_exp(&[nan]).is_nan());
        assert!(b.log_sum_exp(&[1.0, nan, inf]).is_nan());
        assert!(b.log_sum_exp(&[-inf, nan]).is_nan());
        // A small term is not lost by rounding beside a dominating one.
        let small = b.log_sum_exp(&[0.0, -60.0]);
        assert!((small - (-60.0_f64).exp()).abs() < 1e-15 * small);
    }
    let add = numeric::log_add_exp;
    assert!((add(900.0, 900.0 + 3.0_f64.ln()) - 900.0 - 4.0_f64.ln()).abs() < 1e-12);
    assert_eq!((add(-inf, -inf), add(-inf, 2.0), add(2.0, -inf)), (-inf, 2.0, 2.0));
    assert_eq!((add(inf, inf), add(inf, 2.0), add(-inf, inf)), (inf, inf, inf));
    assert!([add(nan, 0.0), add(0.0, nan), add(nan, -inf), add(-inf, nan)].iter().all(|sum| sum.is_nan()));
}

#[test]
#[should_panic(expected = "differ in length")]
fn mismatched_lengths_panic() {
    numeric::dot(&[1.0, 2.0], &[1.0]);
}

/// The batched, the single and the sloped form give one sum; slopes are those of the derivative, up to 8 ulp for `ndtr_hazard`.
#[test]
fn forms_of_sums_of_logs_agree_in_every_bit() {
    for b in backends() {
        for (name, sum, sums_of, with_slopes, _) in SUMS {
            for (rows, stride, columns) in [(0, 0, 3), (5, 8, 1), (64, 64, 2), (691, 704, 10), (40, 40, 33)] {
                for (scale, shift) in [(0.02, -10.0), (0.02, 9.0), (40.0, -3e4)] {
                    let x: Vec<f64> =
                        (0..stride * columns).map(|i| ((i * 389) % 1024) as f64 * scale + shift).collect();
                    let (mut sums, mut slopes) = (vec![f64::NAN; columns], vec![f64::NAN; rows]);
                    sums_of(b, &x, stride, rows, &mut sums);
                    for (c, found) in sums.iter().enumerate() {
                        let x = &x[c * stride..][..rows];
                        let place = format!("{name}: {rows} rows, column {c}, {b:?}");
                        assert_eq!(found.to_bits(), sum(b, x).to_bits(), "{place}");
                        assert_eq!(found.to_bits(), with_slopes(b, x, &mut slopes).to_bits(), "{place}");
                        let ulps = if name == "sum_log_sigmoid" { 0.0 } else { 8.0 };
                        let mut expected: Vec<f64> =
                            x.iter().map(|x| if ulps > 0.0 { *x } else { -x }).collect();
                        if ulps > 0.0 {
                            b.ndtr_hazard(&mut expected)
                        } else {
                            b.sigmoid(&mut expected)
                        }
                        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= ulps * f64::EPSILON * b.abs();
                        assert!(slopes.iter().zip(&expected).all(near), "{place}");
                    }
                }
            }
        }
        // More factors than one product can hold without overflow.
        let x: Vec<f64> = (0..30_000).map(|i| f64::from(i % 7) - 3.0).collect();
        let mut slopes = vec![f64::NAN; x.len()];
        assert_eq!(b.sum_log_sigmoid(&x), b.sum_log_sigmoid_with_slopes(&x, &mut slopes));
        assert!(slopes.iter().all(|s| *s > 0.0 && *s < 1.0));
    }
}

/// A sum of 704 exponentials of size up to e^20, and its slopes, against terms added one by one.
#[test]
fn sums_of_exponentials_agree_with_their_terms() {
    for b in backends() {
        assert!(alignment_does_not_matter(|x| b.sum_minus_exp(x)));
        let x: Vec<f64> = (0..1408).map(|i| ((i * 389) % 1024) as f64 * 0.04 - 20.0).collect();
        let (mut sums, mut slopes) = ([f64::NAN; 2], [f64::NAN; 691]);
        b.sums_minus_exp(&x, 704, 691, &mut sums);
        for (x, sum) in x.chunks(704).map(|x| &x[..691]).zip(sums) {
            let want = -compensated(x.iter().map(|x| x.exp()));
            assert!((sum / want - 1.0).abs() < 1e-15, "{sum} {want} {b:?}");
            assert_eq!(sum, b.sum_minus_exp_with_slopes(x, &mut slopes));
            let mut terms = x.to_vec();
            b.exp(&mut terms);
            assert!(slopes.iter().zip(&terms).all(|(slope, term)| *slope == -term), "{b:?}");
        }
        assert_eq!((b.sum_minus_exp(&[]), b.sum_minus_exp(&[f64::NEG_INFINITY; 40])), (0.0, 0.0));
        assert_eq!(b.sum_minus_exp(&[1.0, 800.0]), f64::NEG_INFINITY);
        assert!(b.sum_minus_exp(&[f64::NAN, 800.0]).is_nan());
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
