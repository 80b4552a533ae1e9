//! Semi-DAIS: gradients of the paths and of theta, and the bound of a model whose local posterior is known.

use mcsa_annealed::{LocalFamily, LocalLatents, LocalMinibatch};

use mcsa_annealed::dais::{Mass, SemiAnnealed, Slope};
use mcsa_core::{Gradient, Parametric, Pushforward, Seed};
use mcsa_core::{batch, batch_mut};
use mcsa_models::LocalRobustRegression;
use mcsa_testing::family::{Case, check_pushforward, push_allocates_nothing};

fn model() -> LocalRobustRegression {
    let x = faer::Mat::from_fn(5, 2, |i, k| if k == 0 { 1.0 } else { (1.9 * i as f64).sin() });
    let y = [0.3, -0.8, 2.9, 0.1, -0.4];
    LocalRobustRegression::new(x.as_ref(), &y, 4.0, 2.0).unwrap()
}

fn family(steps: usize, shared: bool) -> (SemiAnnealed<LocalRobustRegression>, Vec<f64>) {
    let family = SemiAnnealed { shared, longest: 0.6, ..SemiAnnealed::new(model(), steps) };
    let mut params = family.at(&[0.1, -0.3, 0.2], &[0.3, 0.2, 0.25], 0.7, 0.2).unwrap();
    assert_eq!(params.len(), family.num_params());
    for (k, param) in params.iter_mut().enumerate() {
        *param += 0.1 * (k as f64 * 1.3).sin();
    }
    (family, params)
}

fn families() -> Vec<(SemiAnnealed<LocalRobustRegression>, Vec<f64>)> {
    let mut all: Vec<_> =
        [(2, false), (2, true), (0, false)].map(|(steps, shared)| family(steps, shared)).into();
    let (other, params) = family(3, true);
    all.push((SemiAnnealed { law: Mass::Deviation, slope: Slope::Scaled, ..other }, params));
    all
}

#[test]
fn parts_of_semi_annealed_families_conform() {
    for (family, params) in families() {
        for rows in [&[1, 3][..], &[4, 0, 2], &[0, 1, 2, 3, 4]] {
            let mut case = Case::new(family.on(rows), params.clone());
            if rows.len() < 5 {
                case = case
                    .without("push_follows_the_density", "log q of local points has the factor N/B")
                    .unwrap();
            }
            check_pushforward(&case).unwrap_or_else(|failure| panic!("{}: {failure}", family.config()));
            push_allocates_nothing(&case, &mut |call| allocation_counter::measure(call).count_total).unwrap();
        }
    }
}

/// On all rows the minibatch is the model, value and gradient.
#[test]
fn all_rows_are_the_model() {
    let (model, rows) = (model(), [0, 1, 2, 3, 4]);
    let z = [0.2, -0.4, 0.3, 0.5, -0.7, 1.1, 0.0, 0.2];
    let (mut whole, mut part, mut work) = ([0.0; 8], [0.0; 8], [0.0; 64]);
    let expected = model.gradient_into(&z, &mut whole, &mut work);
    let found = LocalMinibatch::new(&model, &rows).unwrap().gradient_into(&z, &mut part, &mut work);
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    assert!(whole.iter().zip(&part).all(|(a, b)| (a - b).abs() < 1e-12), "{whole:?} {part:?}");
    // The failing twin: two rows with their factor are another model.
    let two = LocalMinibatch::new(&model, &[0, 1]).unwrap().gradient_into(&z[..5], &mut part[..5], &mut work);
    assert!((two - expected).abs() > 0.1);
    assert!(LocalMinibatch::new(&model, &[5]).is_err() && LocalMinibatch::new(&model, &[]).is_err());
}

/// Mean over paths of `exp(l_n(w) - log q)` at a fixed theta is the Student t density of the datum, by 40 000 paths within 5 standard
/// errors (false alarms below 1e-6).
#[test]
fn mean_weight_of_a_local_path_is_the_marginal() {
    let (family, mut params) = family(3, false);
    let (model, row) = (model(), 2);
    // Theta next to its mean: scales of e^-18.
    params[3..6].fill(-18.0);
    let (rows, count) = ([row], 40_000);
    let part = family.on(&rows);
    let mut noise = vec![0.0; part.noise_dim() * count];
    let mut lane = [Seed::new(6).stream(0, 1)];
    part.sample_noise_into(&mut lane, batch_mut(&mut noise, part.noise_dim(), count));
    let (mut z, mut log_q) = (vec![0.0; part.dim() * count], vec![0.0; count]);
    let mut work = vec![0.0; part.work_len(count)];
    let eps = batch(&noise, part.noise_dim(), count);
    part.push(&params, eps, batch_mut(&mut z, part.dim(), count), &mut log_q, &mut work);
    let theta = &params[..3];
    let term = model.term(row, theta);
    let weights: Vec<f64> = (0..count)
        .map(|j| {
            let eps = &noise[j * part.noise_dim()..][..3];
            let of_theta: f64 =
                eps.iter().map(|e| -0.5 * e * e - 0.5 * std::f64::consts::TAU.ln() + 18.0).sum();
            // The part's log q is log q(theta) + 5 log q_n.
            let of_path = (log_q[j] - of_theta) / 5.0;
            (term.log_density(z[j * 4 + 3]) - of_path - term.log_integral()).exp()
        })
        .collect();
    let mean = weights.iter().sum::<f64>() / count as f64;
    let variance = weights.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / count as f64;
    let error = (variance / count as f64).sqrt();
    assert!((mean - 1.0).abs() < 5.0 * error && error < 0.01, "{mean} +- {error}");
    assert_eq!(model.local_dim(), 1);
}
