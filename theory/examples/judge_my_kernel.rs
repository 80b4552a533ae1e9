//! A kernel of one's own, judged: it proposes from the guide and forgets to divide by its density.

#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use faer::Mat;
use mcsa::{Ensemble, Error, Guide, Kernel, LogDensity, Stream, batch_mut, one};
use mcsa_theory::{Finite, FiniteGuide, exact::Banana, judge, transition_matrix};

struct Mine {
    divides: bool,
}

impl<P: LogDensity + ?Sized> Kernel<P> for Mine {
    type State = Ensemble;
    type Info = ();

    fn columns(&self, _: usize) -> usize {
        1
    }
    fn work_len(&self, target: &P, _: usize) -> usize {
        target.work_len(1)
    }
    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Ensemble, Error> {
        Ensemble::new(target, positions)
    }
    fn step(&self, p: &P, q: &mut dyn Guide, chains: &mut Ensemble, lanes: &mut [Stream], work: &mut [f64]) {
        for j in 0..chains.len() {
            let (mut z, mut log_q, mut log_q_here) = (vec![0.0; p.dim()], [0.0], [0.0]);
            q.sample_into(&mut lanes[j..=j], batch_mut(&mut z, p.dim(), 1), &mut log_q);
            q.log_probs(one(chains.positions.col_as_slice(j)), &mut log_q_here);
            let log_p = p.log_density(&z, work);
            let correction = if self.divides { log_q_here[0] - log_q[0] } else { 0.0 };
            if lanes[j].accept(log_p - chains.log_p[j] + correction) {
                chains.place(j, &z, log_p);
            }
        }
    }
}

fn main() -> Result<(), Error> {
    for divides in [true, false] {
        let kernel = Mine { divides };
        let target = Finite::on_line(&[1.0, 2.0, 3.0])?;
        let mut guide = FiniteGuide::new(Finite::on_line(&[3.0, 1.0, 1.0])?);
        let found = transition_matrix(&kernel, &target, &mut guide, target.atoms(), 1, 1_000)?;
        println!("{}", found.report("on three atoms"));
        println!("{}", judge(1e-4).of(&kernel, &Banana::default()));
    }
    Ok(())
}
