//! Directions along which derivatives are compared with differences.

use mcsa_core::Stream;

/// Direction in a space, with a name for messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Direction {
    /// The name, such as `coordinate 3`.
    pub name: String,
    /// The vector.
    pub v: Vec<f64>,
}

impl Direction {
    /// `v . gradient`: the derivative along this direction.
    pub fn dot(&self, gradient: &[f64]) -> f64 {
        self.v.iter().zip(gradient).map(|(v, g)| v * g).sum()
    }

    /// Writes `z + t v`.
    pub fn move_into(&self, z: &[f64], t: f64, out: &mut [f64]) {
        for ((out, z), v) in out.iter_mut().zip(z).zip(&self.v) {
            *out = z + t * v;
        }
    }
}

/// Test directions of a space whose coordinates have these `scales` and are called `noun`: every coordinate if there are at most
/// 48, else the first and the last `ends` of them and `16 - ends` others; and three directions that mix all coordinates.
///
/// ```
/// use mcsa_core::Seed; use mcsa_testing::law::directions;
/// let all = directions("param", &[1.0, 2.0], 0, &mut Seed::new(1).stream(0, 0));
/// assert_eq!((all.len(), all[1].name.as_str(), all[1].v.as_slice()), (5, "param 1", &[0.0, 2.0][..]));
/// ```
pub fn directions(noun: &str, scales: &[f64], ends: usize, stream: &mut Stream) -> Vec<Direction> {
    let (dim, ends) = (scales.len(), ends.min(16));
    let chosen: Vec<usize> = if dim <= 48 {
        (0..dim).collect()
    } else {
        let others = (ends..16).map(|_| (stream.uniform() * dim as f64) as usize);
        (0..ends).chain(dim - ends..dim).chain(others).collect()
    };
    let coordinate = |k: usize| {
        let mut v = vec![0.0; dim];
        v[k] = scales[k];
        Direction { name: format!("{noun} {k}"), v }
    };
    let mut all: Vec<_> = chosen.into_iter().map(coordinate).collect();
    for k in 0..if dim == 0 { 0 } else { 3 } {
        let v = scales.iter().map(|s| s * stream.normal() / (dim as f64).sqrt()).collect();
        all.push(Direction { name: format!("mixed direction {k}"), v });
    }
    all
}

/// Random unit vector, uniform on the sphere.
pub fn unit(dim: usize, stream: &mut Stream) -> Vec<f64> {
    let mut u: Vec<f64> = (0..dim).map(|_| stream.normal()).collect();
    let length = u.iter().map(|u| u * u).sum::<f64>().sqrt();
    u.iter_mut().for_each(|u| *u /= length);
    u
}
