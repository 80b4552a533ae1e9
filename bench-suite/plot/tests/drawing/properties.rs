//! Law: a figure of any data is drawn within the page, and missing values are counted.

use crate::sheet::Sheet;
use mcsa_plot::{Axis, Figure, Layer, Panel, Reason, Style, Summary};
use proptest::prelude::*;

/// Ordinary numbers and extreme ones.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -10.0..10.0f64,
        2 => any::<f64>(),
        1 => prop_oneof![
            Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(0.0), Just(-0.0), Just(1e300),
            Just(-1e300), Just(1e-300), Just(f64::MAX), Just(f64::MIN), Just(5e-324), Just(1.0),
        ],
    ]
}

fn axis() -> impl Strategy<Value = Axis> {
    let range = prop::option::of((-2.0..2.0f64, 1e-3..5.0f64));
    let spacing = prop_oneof![
        Just(Axis::linear("*x*_{i}")),
        Just(Axis::log("10^{2} & <")),
        prop::collection::vec(".{0,12}", 0..4).prop_map(|names| Axis::categories("", names)),
    ];
    (spacing, range).prop_map(|(axis, range)| match range {
        Some((low, width)) if axis == Axis::log("10^{2} & <") => {
            axis.spanning(low.exp(), low.exp() * (1.0 + width))
        }
        Some((low, width)) => axis.spanning(low, low + width),
        None => axis,
    })
}

fn layer() -> impl Strategy<Value = Layer> {
    let column = || prop::collection::vec(value(), 6);
    let columns = (0..6usize, column(), column(), column(), column());
    let shape = (columns, 0..9usize, value()).prop_map(|((length, a, b, c, d), kind, lone)| {
        let [a, b, c, d] = [a, b, c, d].map(|column| column[..length].to_vec());
        match kind {
            0 => Layer::line(a, b),
            1 => Layer::band(a, b, c),
            2 => Layer::points(a, b),
            3 => Layer::intervals(a, b, c, d),
            4 => Layer::intervals(a, b, c, d).horizontal().dodged(1, 3),
            5 => Layer::boxes(a, vec![Summary::of(&b); length]).dodged(0, 2),
            6 => Layer::bars(a, b.into_iter().skip(1).collect::<Vec<_>>()),
            7 => Layer::vertical_rule(lone),
            _ => Layer::horizontal_rule(lone),
        }
    });
    (shape, ".{0,20}", 0..40usize)
        .prop_map(|(layer, name, series)| layer.styled(Style::series(series)).named(name))
}

fn panel() -> impl Strategy<Value = Panel> {
    let layers = prop::collection::vec(layer(), 0..4);
    (axis(), axis(), layers, ".{0,30}")
        .prop_map(|(x, y, layers, title)| Panel { layers, ..Panel::new(x, y).titled(title) })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_figure_is_drawn_on_the_page(panels in prop::collection::vec(panel(), 1..4), shares in any::<bool>()) {
        let mut figure = Figure::new(panels).captioned("*T* = 10^{4}");
        if shares {
            figure = figure.as_multiples(2);
        }
        let drawing = figure.draw().expect("bad values are no reason");
        let sheet = Sheet::of(&drawing);
        let (width, height) = sheet.size;
        for (x, y) in sheet.coordinates() {
            // Markers at the frame extend a little beyond it.
            prop_assert!((-500.0..=width + 500.0).contains(&x) && (-500.0..=height + 500.0).contains(&y), "{x} {y}");
        }
        prop_assert_eq!(figure.draw(), Ok(drawing));
    }

    #[test]
    fn a_cloud_is_drawn_or_counted(data in prop::collection::vec((value(), value()), 0..40), log in any::<bool>()) {
        let (x, y): (Vec<f64>, Vec<f64>) = data.iter().copied().unzip();
        let axis = if log { Axis::log("y") } else { Axis::linear("y") };
        let points = Layer::points(x, y).styled(Style::series(0).faint(0.5)); // faint points are not merged
        let drawing = Figure::new(vec![Panel::new(Axis::linear("x"), axis).with(points)]).draw().unwrap();
        let drawn = Sheet::of(&drawing).discs.len();
        let lost: usize = drawing.notes.iter().map(|note| note.count).sum();
        prop_assert_eq!(drawn + lost, data.len());
        let count = |reason| drawing.notes.iter().filter(|note| note.reason == reason).map(|note| note.count).sum::<usize>();
        let infinite = data.iter().filter(|(x, y)| !(x.is_finite() && y.is_finite())).count();
        prop_assert_eq!(count(Reason::NotFinite), infinite);
        prop_assert_eq!(count(Reason::Outside), 0, "an automatic range holds all that can be drawn");
    }
}
