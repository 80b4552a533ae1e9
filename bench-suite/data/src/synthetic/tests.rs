use super::precipitation::Field;
use crate::{Catalogue, Kind, Task};
use mcsa_core::Seed;

fn made(name: &str, rows: usize) -> super::Dataset {
    Catalogue::new(None).stand_in(name, Some(rows), Seed::new(1)).unwrap()
}

#[test]
fn a_stand_in_has_the_shape_and_says_what_it_is() {
    let catalogue = Catalogue::new(None);
    for entry in
        catalogue.entries().iter().filter(|entry| entry.stand_in.is_some() && entry.kind != Kind::Series)
    {
        let data = made(&entry.name, 700);
        assert_eq!(
            (data.rows(), data.x.nrows(), data.inputs()),
            (700, 700, entry.inputs()),
            "{}",
            entry.name
        );
        assert!(data.origin.is_synthetic() && data.origin.to_string().starts_with("SYNTHETIC"));
        assert!((0..700).all(|row| (0..data.inputs()).all(|column| data.x[(row, column)].is_finite())));
        if data.task == Task::Classification {
            let ones: f64 = data.y.iter().sum();
            assert!(
                data.y.iter().all(|y| *y == 0.0 || *y == 1.0) && (100.0..600.0).contains(&ones),
                "{ones}"
            );
        }
    }
}

#[test]
fn rows_do_not_depend_on_their_number_and_the_seed_decides() {
    for name in ["susy", "higgs", "miniboone", "covtype", "sml"] {
        let (few, many) = (made(name, 20), made(name, 50));
        assert_eq!(few.y, many.y[..20], "{name}");
        assert!((0..20).all(|row| few.x.row(row) == many.x.row(row)), "{name}");
        let other = Catalogue::new(None).stand_in(name, Some(20), Seed::new(2)).unwrap();
        assert_ne!(few.x, other.x, "{name}");
    }
    assert_eq!(made("wasp_precipitation_2010", 100), made("wasp_precipitation_2010", 100));
}

#[test]
fn categories_are_coded_by_a_single_one() {
    let data = made("covtype", 2_000);
    for row in 0..data.rows() {
        let ones = |from: usize, to: usize| (from..to).map(|column| data.x[(row, column)]).sum::<f64>();
        assert_eq!((ones(10, 14), ones(14, 54)), (1.0, 1.0));
    }
}

#[test]
fn missing_rows_are_as_many_as_upstream() {
    let data = made("miniboone", 600);
    let missing: Vec<usize> = (0..600).filter(|row| data.x[(*row, 0)] == -999.0).collect();
    assert_eq!(missing, [0, 278, 556]);
    assert_eq!(130_064_usize.div_ceil(278), 468);
}

#[test]
fn the_field_has_its_kernel() {
    // A mean of 1024 cosines has a standard error below 0.023: 0.1 is more than 4 standard errors, at each of 4 distances.
    let field = Field::new(8.0, &mut Seed::new(5).stream(0, 0));
    for distance in [0.0, 4.0, 8.0, 20.0] {
        let scaled = 3.0_f64.sqrt() * distance / 8.0;
        let kernel = (1.0 + scaled) * (-scaled).exp();
        assert!((field.covariance([distance, 0.0]) - kernel).abs() < 0.1);
        assert!((field.covariance([0.6 * distance, 0.8 * distance]) - kernel).abs() < 0.1);
    }
}

#[test]
fn what_cannot_be_made_is_refused() {
    let catalogue = Catalogue::new(None);
    assert!(catalogue.stand_in("pima", None, Seed::new(1)).is_err());
    assert!(catalogue.stand_in("susy", Some(0), Seed::new(1)).is_err());
    let error = catalogue.stand_in("sml", Some(5_000), Seed::new(1)).unwrap_err().to_string();
    assert_eq!(error, "sml: 5000 rows asked for; a stand-in has 1 to 4137");
}

#[test]
fn levels_are_a_series_with_clusters_of_volatility() {
    let catalogue = Catalogue::new(None);
    let levels = catalogue.series_stand_in("sp500_close_2007_2017", Seed::new(1)).unwrap();
    assert!(levels.origin.is_synthetic());
    assert_eq!((levels.dates.len(), levels.levels.nrows(), levels.columns.len()), (2519, 2519, 1));
    assert!(
        levels.dates.is_sorted()
            && levels.levels.col(0).iter().all(|level| (100.0..20_000.0).contains(level))
    );
    let returns = levels.log_returns();
    let squares: Vec<f64> = returns.col(0).iter().map(|change| change * change).collect();
    let mean = squares.iter().sum::<f64>() / squares.len() as f64;
    let lagged = |lag: usize| -> f64 {
        squares.iter().zip(&squares[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    // Independent returns of this law have an autocorrelation of squares of 0.02 at most.
    assert!(lagged(1) / lagged(0) > 0.1, "{}", lagged(1) / lagged(0));
    assert_eq!(levels, catalogue.series_stand_in("sp500_close_2007_2017", Seed::new(1)).unwrap());
    assert_ne!(
        levels.levels,
        catalogue.series_stand_in("sp500_close_2007_2017", Seed::new(2)).unwrap().levels
    );
    assert!(catalogue.series_stand_in("fx_ecb_18", Seed::new(1)).is_err());
    assert!(catalogue.stand_in("sp500_close_2007_2017", None, Seed::new(1)).is_err());
}
