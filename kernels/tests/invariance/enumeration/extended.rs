//! Exact transition matrices of kernels on an extended space, where several noises lead to one point.

use mcsa_core::{Parametric, Pushforward};
use mcsa_kernels::{ExtendedSpace, ExtendedTarget, NoProposal};

use super::*;

/// Distribution from which the noise of a given point is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Backward {
    Known,
    Unknown,
    /// A mistake: the distribution of a fresh noise that leads to the point.
    Fresh,
}

/// Pushforward of finitely many noises to the points 0, 1, 2, ..
#[derive(Debug, Clone)]
struct Noises {
    /// The point, the weight of a fresh draw, and the weight among the noises of this point.
    noises: Vec<(usize, f64, f64)>,
    backward: Backward,
}

impl Noises {
    fn forward(&self, k: usize) -> f64 {
        self.noises[k].1 / self.noises.iter().map(|noise| noise.1).sum::<f64>()
    }

    /// `r(k | z)`, with z the point of noise k.
    fn share(&self, k: usize) -> f64 {
        let (point, _, weight) = self.noises[k];
        weight / self.noises.iter().filter(|noise| noise.0 == point).map(|noise| noise.2).sum::<f64>()
    }

    fn log_q(&self, k: usize) -> f64 {
        (self.forward(k) / self.share(k)).ln()
    }

    /// Marginal on points of a matrix on noises: starts draw their noise from the backward law.
    fn marginal(&self, matrix: &Mat<f64>, points: usize) -> Mat<f64> {
        let mut marginal = Mat::zeros(points, points);
        for (k, from) in self.noises.iter().enumerate() {
            for (l, to) in self.noises.iter().enumerate() {
                marginal[(from.0, to.0)] += self.share(k) * matrix[(k, l)];
            }
        }
        marginal
    }

    /// Extended target and proposals, on noises.
    fn extended(&self, p: &[f64]) -> [Vec<f64>; 2] {
        let all = 0..self.noises.len();
        [
            all.clone().map(|k| p[self.noises[k].0] * self.share(k)).collect(),
            all.map(|k| self.forward(k)).collect(),
        ]
    }
}

impl Parametric for Noises {
    fn dim(&self) -> usize {
        1
    }
    fn num_params(&self) -> usize {
        0
    }
}

impl Pushforward for Noises {
    fn sample_noise_into(&self, lanes: &mut [Stream], mut noise: MatMut<'_, f64>) {
        let weights: Vec<f64> = self.noises.iter().map(|noise| noise.1.ln()).collect();
        let each = noise.ncols() / lanes.len();
        for j in 0..noise.ncols() {
            noise[(0, j)] = lanes[j / each].choose(&weights).expect("some noise is possible") as f64;
        }
    }
    fn push(
        &self,
        _: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        _: &mut [f64],
    ) {
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let k = noise[(0, j)] as usize;
            z[(0, j)] = self.noises[k].0 as f64;
            *log_q = self.log_q(k);
        }
    }
    fn add_push_gradients(
        &self,
        _: &[f64],
        _: MatRef<'_, f64>,
        _: MatRef<'_, f64>,
        _: &[f64],
        _: &mut [f64],
        _: &mut [f64],
    ) {
    }
    fn sample_reverse_into(
        &self,
        _: &[f64],
        z: MatRef<'_, f64>,
        lanes: &mut [Stream],
        mut noise: MatMut<'_, f64>,
        log_q: &mut [f64],
        _: &mut [f64],
    ) -> bool {
        for (j, log_q) in log_q.iter_mut().enumerate().filter(|_| self.backward != Backward::Unknown) {
            let weight = |&(point, fresh, share): &(usize, f64, f64)| match self.backward {
                _ if point as f64 != z[(0, j)] => f64::NEG_INFINITY,
                Backward::Fresh => fresh.ln(),
                _ => share.ln(),
            };
            let weights: Vec<f64> = self.noises.iter().map(weight).collect();
            let k = lanes[j].choose(&weights).expect("some noise leads to every point");
            noise[(0, j)] = k as f64;
            *log_q = self.log_q(k);
        }
        self.backward != Backward::Unknown
    }
}

/// A problem with one to three noises per point.
fn noisy(most: usize) -> impl Strategy<Value = (Problem, Noises)> {
    problems(most).prop_flat_map(|problem| {
        let points = prop::collection::vec(prop::collection::vec((0..6_u8, 1..6_u8), 1..3), problem.p.len());
        points.prop_filter_map("some noise is possible", move |points| {
            let each = |(z, noises): (usize, Vec<(u8, u8)>)| {
                noises.into_iter().map(move |(fresh, share)| (z, f64::from(fresh), f64::from(share)))
            };
            let noises: Vec<_> = points.into_iter().enumerate().flat_map(each).collect();
            let noises = Noises { noises, backward: Backward::Known };
            noises.noises.iter().any(|noise| noise.1 > 0.0).then(|| (problem.clone(), noises))
        })
    })
}

fn proposing<K>(kernel: K, noises: &Noises) -> ExtendedSpace<K, Noises> {
    ExtendedSpace::new(kernel, noises.clone(), vec![]).expect("there are no parameters")
}

/// Transition matrix of several steps.
fn after<K: Kernel<Finite>>(problem: &Problem, kernel: &K, steps: usize, chains: usize) -> Transition {
    let (target, mut proposals) = (finite(&problem.p), vec![NoProposal { dim: 1 }; steps]);
    let mut proposals: Vec<_> =
        proposals.iter_mut().map(|proposal| proposal as &mut dyn mcsa_core::Proposal).collect();
    transition_matrix_along(kernel, &target, &mut proposals, target.atoms(), chains, LIMIT)
        .expect("a finite kernel")
}

/// One step, and two, without and with a refreshment: the closed form `once` on noises, summed to points.
fn has_closed_form<K>(
    problem: &Problem,
    noises: &Noises,
    kernel: K,
    once: &Mat<f64>,
) -> Result<(), TestCaseError>
where
    ExtendedSpace<K, Noises>: Kernel<Finite>,
{
    let (kernel, points) = (proposing(kernel, noises), problem.p.len());
    let marginal = noises.marginal(once, points);
    let found = after(problem, &kernel, 1, 1);
    every_law(&found)?;
    holds(found.is_reversible())?;
    holds(found.equals(&marginal))?;
    let kept = after(problem, &kernel, 2, 1);
    every_law(&kept)?;
    holds(kept.equals(&noises.marginal(&(once * once), points)))?;
    let refreshed = after(problem, &kernel.refreshed().unwrap(), 2, 1);
    every_law(&refreshed)?;
    holds(refreshed.equals(&(&marginal * &marginal)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn extended_kernels_have_their_closed_forms((problem, noises) in noisy(3)) {
        let [target, forward] = noises.extended(&float(&problem.p));
        has_closed_form(&problem, &noises, Imh::default(), &closed::imh(&target, &forward))?;
        has_closed_form(&problem, &noises, Cis { candidates: 3 }, &closed::cis(&target, &forward, 3))?;
        let barker = closed::power(&closed::barker(&target, &forward), 2);
        let sweeps = after(&problem, &proposing(imh(Acceptance::Barker, 2), &noises), 1, 1);
        holds(sweeps.equals(&noises.marginal(&barker, problem.p.len())))?;
        every_law(&after(&problem, &proposing(Imh::default(), &noises), 1, 2))?;
    }

    /// A surrogate screens the draws of a pushforward.
    #[test]
    fn delayed_acceptance_works_on_the_extended_space((problem, noises) in noisy(3)) {
        let surrogate = finite(&problem.s);
        let delayed = DelayedAcceptance { inner: Imh::default(), surrogate: ExtendedTarget(&surrogate) };
        let kernel = proposing(delayed, &noises);
        let found = after(&problem, &kernel, 2, 1);
        every_law(&found)?;
        holds(found.is_reversible())?;
        every_law(&after(&problem, &kernel.refreshed().unwrap(), 2, 1))?;
    }
}

/// Two noises lead to the second point: one is a lucky draw, with a small log q.
fn lucky(backward: Backward) -> (Problem, Noises) {
    let problem = Problem { p: vec![1, 2], q: vec![1, 1], r: vec![1, 1], s: vec![1, 1] };
    (problem, Noises { noises: vec![(0, 2.0, 1.0), (1, 1.0, 3.0), (1, 3.0, 1.0)], backward })
}

/// The twin: log q at the retained point, computed again from another noise than its own.
#[test]
fn another_noise_of_the_retained_point_is_caught() {
    let keeps = |backward, refreshes| {
        let (problem, noises) = lucky(backward);
        let kernel = proposing(Imh::default(), &noises);
        let kernel = if refreshes { kernel.refreshed().unwrap() } else { kernel };
        after(&problem, &kernel, 2, 1).keeps_target()
    };
    assert!(keeps(Backward::Known, false).holds() && keeps(Backward::Known, true).holds());
    assert!(keeps(Backward::Fresh, true).fails());
    // Without the backward law, the first step is a draw of the pushforward: no start is stationary.
    assert!(keeps(Backward::Unknown, false).fails());
}

#[test]
fn chains_without_a_noise_accept_the_first_draw() {
    let (problem, noises) = lucky(Backward::Unknown);
    let found = after(&problem, &proposing(Imh::default(), &noises), 1, 1);
    let forward = Mat::from_fn(2, 2, |_, z| [2.0 / 6.0, 4.0 / 6.0][z]);
    assert!(found.equals(&forward).holds());
    assert!(found.record_equals("acceptance", &[1.0, 1.0]).holds());
    let refused = proposing(Imh::default(), &noises).refreshed().unwrap_err().to_string();
    assert!(refused.contains("does not know its backward law"), "{refused}");
}
