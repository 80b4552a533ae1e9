//! Synthetic rows of a logistic regression with a rare class.

use faer::Mat;
use mcsa_core::{Error, Seed, Stream, numeric};
use mcsa_data::{Dataset, Origin, Task};

use super::Target;

/// Settings of the rows.
struct Rows {
    count: usize,
    dim: usize,
    rate: f64,
    correlation: f64,
}

impl Target {
    /// Training rows and held-out rows of a synthetic logistic regression.
    ///
    /// # Errors
    /// If the target is another, or a setting is invalid.
    pub(super) fn synthetic_rows(&self) -> Result<(Dataset, Dataset), Error> {
        let Self::SyntheticLogistic { name, rows, held_out, dim, rate, correlation, seed, .. } = self else {
            return Err(Error::invalid(format!("{} has no synthetic rows", self.kind())));
        };
        let refuse = |name, value, expected| Err(Error::parameter(name, value, expected).within(self.kind()));
        if !name.starts_with("synthetic") {
            return Err(Error::invalid(format!("name is {name:?}, expected one that begins with synthetic")));
        }
        if *rows < 2 || *held_out == 0 {
            return Err(Error::invalid("expected at least 2 rows, and 1 held out").within(self.kind()));
        }
        if *dim < 2 {
            return refuse("dim", *dim as f64, "at least 2");
        }
        if !(*rate > 0.0 && *rate < 1.0) {
            return refuse("rate", *rate, "between 0 and 1");
        }
        if !(0.0..1.0).contains(correlation) {
            return refuse("correlation", *correlation, "at least 0 and less than 1");
        }
        let drawn = Rows { count: rows + held_out, dim: *dim, rate: *rate, correlation: *correlation };
        let seed = Seed::new(*seed).named(self.kind());
        let all = drawn.draw(name, seed, &mut seed.stream(0, 0));
        let part = |from: usize, to: usize| all.select(&(from..to).collect::<Vec<_>>());
        Ok((part(0, *rows), part(*rows, rows + held_out)))
    }
}

impl Rows {
    /// Rows and labels.
    ///
    /// ```text
    /// u_k = sqrt(c) f + sqrt(1 - c) e_k,   x = [1; u standardised],   y ~ Bernoulli(sigmoid(a + sum_k (-1)^k x_k))
    /// ```
    /// with standard normal f and e, and a such that the mean probability is the rate.
    fn draw(&self, name: &str, seed: Seed, stream: &mut Stream) -> Dataset {
        let &Self { count, dim, rate, correlation } = self;
        let (common, own) = (correlation.sqrt(), (1.0 - correlation).sqrt());
        let mut x = Mat::from_fn(count, dim, |_, _| 1.0);
        for i in 0..count {
            let factor = common * stream.normal();
            (1..dim).for_each(|k| x[(i, k)] = factor + own * stream.normal());
        }
        for k in 1..dim {
            let column = x.col_as_slice_mut(k);
            let mean = column.iter().sum::<f64>() / count as f64;
            let square = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count as f64;
            column.iter_mut().for_each(|x| *x = (*x - mean) / square.sqrt());
        }
        let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
        let slopes: Vec<f64> = (0..count).map(|i| (1..dim).map(|k| sign(k) * x[(i, k)]).sum()).collect();
        let probability = |intercept: f64, slope: f64| numeric::scalar::sigmoid(intercept + slope);
        let mean = |a: f64| slopes.iter().map(|slope| probability(a, *slope)).sum::<f64>() / count as f64;
        // The mean probability rises with the intercept from 0 to 1.
        let (mut low, mut high) = (-100.0 * dim as f64, 100.0 * dim as f64);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if mean(middle) < rate { low = middle } else { high = middle }
        }
        let y = slopes.iter().map(|slope| f64::from(u8::from(stream.uniform() < probability(low, *slope))));
        Dataset {
            name: name.to_owned(),
            task: Task::Classification,
            columns: (0..dim).map(|k| format!("x{k}")).collect(),
            y: y.collect(),
            x,
            origin: Origin::Synthetic { stands_for: "no data set".to_owned(), seed },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(rate: f64, seed: u64) -> Target {
        let (name, rows, held_out, dim) = ("synthetic".to_owned(), 15_000, 5_000, 4);
        Target::SyntheticLogistic {
            name,
            rows,
            held_out,
            dim,
            rate,
            correlation: 0.8,
            prior_scale: 1.0,
            seed,
        }
    }

    /// Correlation and rate over 20 000 rows: the standard errors are at most 0.003, and the test allows six of them.
    #[test]
    fn rows_are_standardised_correlated_and_of_the_rate() {
        let (train, test) = target(0.1, 3).synthetic_rows().unwrap();
        assert_eq!((train.rows(), test.rows(), train.inputs()), (15_000, 5_000, 4));
        let value = |i: usize, k: usize| {
            if i < 15_000 { train.x[(i, k)] } else { test.x[(i - 15_000, k)] }
        };
        let mean = |of: &dyn Fn(usize) -> f64| (0..20_000).map(of).sum::<f64>() / 20_000.0;
        assert!((1..4).all(|k| mean(&|i| value(i, k)).abs() < 1e-10));
        assert!((1..4).all(|k| (mean(&|i| value(i, k).powi(2)) - 1.0).abs() < 1e-10));
        assert!((0..20_000).all(|i| value(i, 0) == 1.0));
        assert!((mean(&|i| value(i, 1) * value(i, 2)) - 0.8).abs() < 0.02);
        let rate = |train: &Dataset, test: &Dataset| train.y.iter().chain(&test.y).sum::<f64>() / 20_000.0;
        assert!((rate(&train, &test) - 0.1).abs() < 0.013);
        let (other, others) = target(0.3, 3).synthetic_rows().unwrap();
        assert!((rate(&other, &others) - 0.1).abs() > 0.1, "another rate is seen");
        assert_eq!(target(0.1, 3).synthetic_rows().unwrap().0, train);
        assert_ne!(target(0.1, 4).synthetic_rows().unwrap().0.x, train.x);
    }

    #[test]
    fn settings_are_refused_by_name() {
        let refused = |change: fn(&mut Target)| {
            let mut changed = target(0.1, 1);
            change(&mut changed);
            changed.synthetic_rows().unwrap_err().to_string()
        };
        macro_rules! with {
            ($field:ident = $value:expr) => {
                refused(|target| {
                    if let Target::SyntheticLogistic { $field, .. } = target {
                        *$field = $value;
                    }
                })
            };
        }
        assert!(with!(name = "pima".to_owned()).contains("synthetic"));
        assert!(with!(rows = 1).contains("rows") && with!(held_out = 0).contains("held out"));
        assert!(with!(dim = 1).contains("dim") && with!(rate = 1.0).contains("rate"));
        assert!(with!(correlation = f64::NAN).contains("correlation"));
    }
}
