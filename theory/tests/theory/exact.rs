//! Counterexamples and identities behind claims of MSC, CW and SL-DAIS, in exact fractions and closed forms.

use mcsa_core::numeric::quadrature::integrate;
use mcsa_theory::dais::{LinearDais, Normal, Quadratic};
use mcsa_theory::{Instance, Number, Rational, Square, dot, rational, total_variation};

use crate::claims::example;

fn r(text: &str) -> Rational {
    rational(text).unwrap()
}

fn instance(pi: &str, q: &str, s: &str) -> Instance<Rational> {
    let numbers = |text: &str| text.split(' ').map(r).collect::<Vec<_>>();
    Instance::new(&numbers(pi), &numbers(q), &numbers(s)).unwrap()
}

/// 003-T1: two transitions at r = 1/2 leave a bias of (1/2 + 1/4)/2 times that of the start, which is 3/2 of 1 - p(z*).
#[test]
fn the_average_of_a_chain_is_worse_than_its_end() {
    let case = instance("1/4 3/4", "1/8 7/8", "1 -1");
    let bias = case.sequential(&case.imh(), 2).biases(&case.mean());
    let printed = r("2") * case.rate().power(2);
    assert_eq!((bias[0].clone(), printed.clone()), (r("9/16"), r("1/2")));
    let corrected = r("2") * (case.largest_weight() - r("1")) * (r("1") - case.rate().power(2)) / r("2");
    assert_eq!(corrected, r("3/4"));
}

/// 003-T2 with a guide that follows the chain: the chain converges to a distribution other than the target.
#[test]
fn an_adapted_chain_leaves_the_target() {
    let kernels = [instance("1/2 1/2", "1/2 1/2", "0 1").imh(), instance("1/2 1/2", "3/4 1/4", "0 1").imh()];
    let target = [r("1/2"), r("1/2")];
    let mut law = [r("1"), r("0")];
    let distances = [0, 1, 2, 3].map(|_| {
        law = [0, 1].map(|y| law[0].clone() * &kernels[0].row(0)[y] + law[1].clone() * &kernels[1].row(1)[y]);
        total_variation(&law, &target)
    });
    assert_eq!(distances, [r("0"), r("1/8"), r("5/32"), r("21/128")]);
    assert!(distances[2] > r("1/8") && distances[3] > r("1/16"));
    let limit = (0..60).fold(law, |law, _| {
        [0, 1].map(|y| law[0].clone() * &kernels[0].row(0)[y] + law[1].clone() * &kernels[1].row(1)[y])
    });
    assert!((total_variation(&limit, &target).to_f64() - 1.0 / 6.0).abs() < 1e-15);
}

/// 003-T2 along every path of stochastic ascent on a softmax, p = (0.3, 0.7): each state of each path has its own
/// lambda. The largest rate anywhere on the tree, to the power of the number of steps, is no bound.
#[test]
fn ascent_itself_is_adapted() {
    let target = [0.3, 0.7];
    let guide = |lambda: f64| {
        let one = 1.0 / (1.0 + (-lambda).exp());
        [one, 1.0 - one]
    };
    let mut paths = vec![(1.0, 1, -1.0)];
    let mut largest: f64 = 0.0;
    for _ in 0..5 {
        let mut next = Vec::new();
        for (probability, z, lambda) in paths {
            let q = guide(lambda);
            let step = Instance::new(&target, &q, &[0.0, 1.0]).unwrap();
            largest = largest.max(step.largest_weight());
            for (y, k) in step.imh().row(z).iter().enumerate() {
                let score = f64::from(u8::from(y == 0)) - q[0];
                next.push((probability * k, y, lambda + 0.5 * score));
            }
        }
        paths = next;
    }
    let one: f64 = paths.iter().filter(|(_, z, _)| *z == 1).map(|(p, ..)| p).sum();
    let (far, bound) = ((one - target[1]).abs(), (1.0 - 1.0 / largest).powi(5));
    assert!((far - 0.026487).abs() < 1e-6 && (bound - 0.007526).abs() < 1e-6);
    assert!(far > bound);
}

/// 003-P2: at N = 1 the printed formula is twice the variance; read with i < j it is 5/8, where the true value is 3/4.
#[test]
fn pairs_count_twice() {
    let case = instance("1/2 1/2", "1/4 3/4", "1 -1");
    let found = case.sequential_stationary(&case.imh(), 2);
    assert_eq!(found.sum(), r("3/4"));
    assert_eq!(found.diagonal.clone() + found.covariance / r("2"), r("5/8"));
}

/// 003-T3 at p = (999/1000, 1/1000), q = (1/2, 1/2), s = (0, 1), one fresh candidate, from the first atom.
#[test]
fn the_variance_is_below_its_lower_bound() {
    let case = instance("999/1000 1/1000", "1/2 1/2", "0 1");
    let (cis, importance) = (case.cis(2), case.snis(1).variance);
    let w = case.w()[0].clone();
    assert_eq!((w.clone(), importance.clone()), (r("999/500"), r("1/4")));
    let printed = importance / (w + r("1")).power(4);
    assert!((printed.to_f64() - 0.0030947).abs() < 1e-7);
    assert_eq!(cis.selected_variances[0], r("1999/4000000"));
    assert_eq!(cis.weighted_variances[0], r("1/4000000"));
    assert_eq!(case.variance(), r("999/1000000"));
    assert!(case.variance() < printed);
}

/// 003-EQ13 at a retained weight of 900: the variance grows like N, its leading order is the corrected formula, and the
/// printed one can be wrong by any factor.
#[test]
fn with_a_large_weight_the_value_there_matters() {
    // The retained atom is rarely proposed; the others have weights 1/2 and 3/2.
    let (p, q) = (9e-7, 1e-9);
    let case = Instance::new(&[p, 0.25, 0.75 - p], &[q, 0.5, 0.5 - q], &[0.5, 1.0, -1.0]).unwrap();
    let weighted = |fresh: usize| case.cis(fresh + 1).weighted_variances[0];
    let slopes: Vec<f64> = (0..6).map(|k| (weighted(2 << k) / weighted(1 << k)).log2()).collect();
    assert!(slopes[0] > 0.99 && slopes.windows(2).all(|pair| pair[1] < pair[0]) && slopes[5] > 0.85);
    let product: Vec<f64> = case.w().iter().zip(case.s()).map(|(w, s)| w * (s - 0.5)).collect();
    let mean = dot(case.q(), &product);
    let spread = dot(case.q(), &product.iter().map(|x| (x - mean).powi(2)).collect::<Vec<_>>());
    let leading = mcsa_theory::bounds::cw::weighted_variance(900.0, 1, spread);
    assert!((weighted(1) / leading - 1.0).abs() < 5.0 / 900.0);
    // A function that is constant except at the retained atom: importance sampling has no variance at all.
    let alone = case.with_statistic(&[1.0, 0.0, 0.0]);
    let cis = alone.cis(2);
    let printed = (1.0 - cis.rejections[0]).powi(2) * alone.snis(1).variance;
    assert!(printed < 1e-6 * cis.weighted_variances[0]);
}

/// 003-T4 at p = (1/10, 9/10), q = (999/1000, 1/1000), one fresh candidate.
#[test]
fn the_gap_is_above_its_bound() {
    let case = instance("1/10 9/10", "999/1000 1/1000", "0 1");
    assert_eq!(case.largest_weight(), r("900"));
    let kept = dot(case.pi(), &case.cis(2).rejections);
    assert_eq!(kept, r("1707401/1798400"));
    let kl = case.kl().exp();
    assert!((kl - 362.128).abs() < 1e-3);
    let h = |w: Rational| w.clone() / (w + r("1"));
    let mean = dot(case.pi(), case.w());
    let gap = h(mean.clone()) - dot(case.pi(), &case.w().iter().cloned().map(h).collect::<Vec<_>>());
    assert!((gap.to_f64() - 0.09067).abs() < 1e-5 && gap.to_f64() > 900.0 / (kl * kl));
    assert!(kept.to_f64() < kl / (kl + 1.0) - 900.0 / (kl * kl));
    let corrected = case.with_statistic(case.w()).variance() / (mean + r("1")).power(2);
    assert!(gap <= corrected && corrected < r("1"));
}

/// 003-WANG: a rejection probability of 1/2 with a distance of 1/4; with the mass of the atom added, the bound holds.
#[test]
fn a_rejection_can_exceed_the_distance() {
    let case = instance("1/2 1/2", "1/4 3/4", "1 -1");
    let (rejection, far) = (case.imh_rejections()[0].clone(), total_variation(case.imh().row(0), case.pi()));
    assert_eq!((rejection.clone(), far.clone()), (r("1/2"), r("1/4")));
    assert!(rejection <= far + &case.pi()[0]);
}

/// 002-CIS in exact fractions, and importance resampling without the retained point, which must fail.
#[test]
fn the_target_is_kept_to_the_last_digit() {
    let pi = [r("1/7"), r("2/7"), r("4/7")];
    let case = Instance::new(&pi, &[r("1/2"), r("1/3"), r("1/6")], &[r("0/1"), r("1/1"), r("5/1")]).unwrap();
    for candidates in 2..6 {
        let kernel = case.cis(candidates).transition;
        assert_eq!(kernel.push(&pi), pi);
        for (z, y) in [(0, 1), (0, 2), (1, 2)] {
            assert_eq!(pi[z].clone() * &kernel.row(z)[y], pi[y].clone() * &kernel.row(y)[z]);
        }
    }
    let forgetful = Square::from_fn(3, |_, y| case.q()[y].clone());
    assert_ne!(forgetful.push(&pi), pi);
}

/// 002-P2 with replacement: two data, batches of two, likelihoods (1/2, 1/4) and (1, 1/4), a flat prior. If batches are weighted
/// by their probabilities the first atom has 9/10, if each set counts once 28/31.
#[test]
fn multiplicities_matter() {
    let (at, other) = ([r("1/2"), r("1/1")], [r("1/4"), r("1/4")]);
    let pairs = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let share = |pairs: &[(usize, usize)]| {
        let sum = |l: &[Rational; 2]| pairs.iter().fold(r("0/1"), |sum, &(i, j)| sum + l[i].clone() * &l[j]);
        sum(&at) / (sum(&at) + sum(&other))
    };
    assert_eq!(share(&pairs), r("9/10"));
    assert_eq!(share(&[pairs[0], pairs[1], pairs[3]]), r("28/31"));
    let (found, _) = example("002-P2-REPLACED");
    // The mean step of a softmax is the difference of the two.
    assert!((found - (9.0 / 10.0 - 28.0 / 31.0_f64).abs()).abs() < 1e-15);
}

/// 002-ODE at q = N(lambda, 1), p = N(0, 1): the mean score is `-lambda`, so its negative leads away from the optimum 0.
#[test]
fn the_printed_flow_leaves_the_optimum() {
    let normal = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    for lambda in [-1.5, 0.25, 2.0] {
        let mean_score = integrate(-12.0, 12.0, 1e-13, |z| (z - lambda) * normal(z));
        assert!((mean_score.value + lambda).abs() < 1e-12 && mean_score.error < 1e-12);
        let (printed, corrected) = (-mean_score.value, mean_score.value);
        assert!(printed * lambda > 0.0 && corrected * lambda < 0.0);
    }
}

/// With a wrong surrogate more steps reduce the gap to the divergence of the surrogate's posterior, and no further;
/// with the likelihood itself they reduce it to zero.
#[test]
fn the_gap_goes_to_the_surrogates_divergence() {
    let prior = Normal::scalar(0.0, 1.0).unwrap();
    let (likelihood, wrong) = (Quadratic::scalar(2.0, 3.0), Quadratic::scalar(2.6, 3.8));
    let posterior = |likelihood: &Quadratic| prior.posterior(likelihood).unwrap().0;
    let limit = posterior(&wrong).divergence(&posterior(&likelihood));
    let gaps = |surrogate: &Quadratic| {
        [256, 4096, 65_536].map(|steps: usize| {
            let step_size = (steps as f64).powf(-0.25);
            LinearDais::from_prior(&prior, surrogate, steps, step_size).gap(&posterior(&likelihood))
        })
    };
    let found = gaps(&wrong);
    assert!(found.windows(2).all(|pair| pair[1] < pair[0]) && found[2] > limit);
    assert!(found[2] - limit < 0.3 * (found[1] - limit));
    let right = gaps(&likelihood);
    assert!(right[2] < 0.3 * right[1] && right[1] < 0.4 * right[0] && limit > 1e-3);
}
