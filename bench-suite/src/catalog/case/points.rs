//! Log-Gaussian Cox process on points of the unit square: synthetic ones, or those of a file.

use mcsa_core::{Error, Stream};
use mcsa_models::{Centring, CoxProcess};

/// Number of SYNTHETIC points: that of the pines of Møller et al. (1998), whose places are not carried.
const POINTS: usize = 126;
/// Cells on a side of the field that the points are drawn from.
const GRID: usize = 40;

/// Log-Gaussian Cox process of the points of a file, or of SYNTHETIC ones.
pub(super) fn cox_process(
    grid: usize,
    centred: bool,
    points: Option<&str>,
    stream: &mut Stream,
) -> Result<CoxProcess, Error> {
    let points = match points {
        Some(file) => read_points(file)?,
        None => synthetic_points(stream)?,
    };
    let centring = if centred { Centring::Centred } else { Centring::NonCentred };
    CoxProcess::new(grid, &CoxProcess::counts(grid, &points)?, centring)
}

/// SYNTHETIC points of a log-Gaussian Cox process.
fn synthetic_points(stream: &mut Stream) -> Result<Vec<[f64; 2]>, Error> {
    let process = CoxProcess::new(GRID, &vec![0.0; GRID * GRID], Centring::Centred)?;
    Ok(process.draw_points(POINTS, stream))
}

/// Points of a file: two numbers in a line, separated by a comma or blanks; a line of letters at the top is skipped.
fn read_points(file: &str) -> Result<Vec<[f64; 2]>, Error> {
    let text = crate::text::read(file.as_ref())?;
    points_of(&text).map_err(|error| error.within(file))
}

fn points_of(text: &str) -> Result<Vec<[f64; 2]>, Error> {
    let point = |(at, line): (usize, &str)| {
        let mut numbers =
            line.split([',', ' ', '\t']).filter(|field| !field.is_empty()).map(str::parse::<f64>);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(x)), Some(Ok(y)), None) => Some(Ok([x, y])),
            (None, ..) => None,
            _ if at == 0 => None,
            _ => Some(Err(Error::invalid(format!("line {}: two numbers expected, found {line:?}", at + 1)))),
        }
    };
    text.lines().enumerate().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    #[test]
    fn a_file_of_points_is_read() {
        assert_eq!(points_of("x,y\n0.1,0.2\n\n 1 0\n").unwrap(), [[0.1, 0.2], [1.0, 0.0]]);
        let refused = points_of("0.1 0.2\n0.1\n").unwrap_err().to_string();
        assert_eq!(refused, "line 2: two numbers expected, found \"0.1\"");
        assert!(read_points("no such file").unwrap_err().to_string().starts_with("no such file: "));
    }

    #[test]
    fn synthetic_points_are_as_many_as_the_pines() {
        let points = synthetic_points(&mut Seed::new(1).stream(0, 0)).unwrap();
        assert_eq!(points.len(), 126);
        assert!(points.iter().flatten().all(|x| (0.0..1.0).contains(x)));
    }
}
