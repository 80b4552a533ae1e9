//! Gallery: one figure of every kind, for inspection: `cargo run -p mcsa-bench-suite --example gallery -- <directory>`.

use std::error::Error;
use std::path::Path;

use mcsa_plot::{Anchor, Axis, Figure, Layer, Legend, Panel, Style, Summary};

/// Reproducible numbers in (-1, 1) for pictures, from a linear congruential generator.
struct Ripple(u64);

impl Ripple {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Approximately normal.
    fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() / 2.0
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("say which directory the pictures go to")?;
    let directory = Path::new(&directory);
    std::fs::create_dir_all(directory)?;
    let figures = [
        ("decay", decay()),
        ("multiples", multiples()),
        ("shades", shades()),
        ("forest", forest()),
        ("boxes", boxes()),
        ("histogram", histogram()),
        ("scatter", scatter()),
        ("stepsize", stepsize()),
        ("offsets", offsets()),
        ("degenerate", degenerate()),
        ("crowded", crowded()),
    ];
    for (name, figure) in figures {
        let drawing = figure.draw()?;
        std::fs::write(directory.join(name).with_extension("svg"), &drawing.svg)?;
        std::fs::write(directory.join(name).with_extension("png"), drawing.png(300.0)?)?;
    }
    Ok(())
}

const METHODS: [&str; 4] = ["pMCSA (*N* = 10)", "JSA", "MSC", "MSC-RB"];

/// A falling curve with noise: iterations, median, lower and upper ends.
fn curve(ripple: &mut Ripple, level: f64, rate: f64) -> [Vec<f64>; 4] {
    let x: Vec<f64> = (0..41).map(|at| 10f64.powf(1.0 + f64::from(at) / 10.0)).collect();
    let y: Vec<f64> =
        x.iter().map(|x| level * (x / 10.0).powf(-rate) * (0.12 * ripple.next()).exp()).collect();
    let low = y.iter().map(|y| y * 0.75).collect();
    let high = y.iter().map(|y| y * 1.33).collect();
    [x, y, low, high]
}

fn with_curves(mut panel: Panel, seed: u64, curves: usize) -> Panel {
    let mut ripple = Ripple(seed);
    for (index, method) in METHODS.iter().enumerate().take(curves) {
        let [x, y, low, high] = curve(&mut ripple, 1.8 - 0.3 * index as f64, 0.25 + 0.12 * index as f64);
        let style = Style::series(index);
        panel = panel
            .with(Layer::band(x.clone(), low, high).styled(style))
            .with(Layer::line(x, y).styled(style).named(*method));
    }
    panel
}

fn decay() -> Figure {
    let panel = Panel::new(Axis::log("Iteration"), Axis::log("KL(*q* ∥ *p*)"));
    Figure::new(vec![with_curves(panel, 7, 3)]).captioned(
        "Median of 100 replicates; bands from the 10^{th} to the 90^{th} percentile. Preset *paper*.",
    )
}

fn multiples() -> Figure {
    let panels =
        ["pima", "heart", "german", "sonar", "ionosphere", "breast"].iter().zip(1..).map(|(name, seed)| {
            let panel = Panel::new(Axis::log("Iteration"), Axis::log("KL(*q* ∥ *p*)")).titled(*name);
            with_curves(panel, 31 * seed, 4)
        });
    Figure::new(panels.collect()).as_multiples(3).captioned(
        "Median and 80 % percentile interval over 20 replicates, *T* = 10^{5} iterations, ADAM at 0.01.",
    )
}

fn shades() -> Figure {
    let mut panel = Panel::new(
        Axis::linear("Iteration").spanning(0.0, 10_000.0),
        Axis::log("Gradient variance tr Cov(*g*_{*t*})"),
    );
    for member in 0..5 {
        let chains = 8.0 * 2f64.powi(member);
        let x: Vec<f64> = (0..50).map(|at| f64::from(at) * 200.0).collect();
        let y: Vec<f64> = x.iter().map(|x| 64.6 / chains * (0.02 + (-x / 1800.0).exp())).collect();
        let style = Style::shade(0, member as usize, 5);
        panel = panel.with(Layer::line(x, y).styled(style).named(format!("*N* = {chains}")));
    }
    Figure::new(vec![panel]).captioned("Means of 8 replicates, 512 auxiliary chains each.")
}

fn forest() -> Figure {
    let sets = ["yacht", "concrete", "airfoil", "energy", "wine", "boston", "sml", "gas"];
    let axis = Axis::categories("", sets);
    let mut panel =
        Panel::new(Axis::linear("Test log predictive density"), axis).with(Layer::vertical_rule(0.0));
    let mut ripple = Ripple(5);
    for (index, method) in METHODS.iter().enumerate() {
        let at: Vec<f64> = (0..sets.len()).map(|at| at as f64).collect();
        let value: Vec<f64> =
            at.iter().map(|at| 0.4 * at - 2.2 + 0.3 * ripple.next() - 0.15 * index as f64).collect();
        let half: Vec<f64> = at.iter().map(|_| 0.12 + 0.1 * ripple.next().abs()).collect();
        let low: Vec<f64> = value.iter().zip(&half).map(|(value, half)| value - half).collect();
        let high: Vec<f64> = value.iter().zip(&half).map(|(value, half)| value + half).collect();
        let layer = Layer::intervals(at, value, low, high).horizontal().dodged(index, METHODS.len());
        panel = panel.with(layer.styled(Style::series(index)).named(*method));
    }
    Figure::new(vec![panel]).captioned("Means over 20 splits with 95 % bootstrap intervals.")
}

fn boxes() -> Figure {
    let axis = Axis::categories("Dimension", (1..=9).map(|at| at.to_string()));
    let mut panel =
        Panel::new(axis, Axis::linear("log *σ*_{MSC} − log *σ*_{IS}")).with(Layer::horizontal_rule(0.0));
    let mut ripple = Ripple(11);
    for (index, name) in ["*S* = 10", "*S* = 50"].iter().enumerate() {
        let samples = (0..9).map(|at| {
            let values: Vec<f64> = (0..100).map(|_| 0.05 * f64::from(at) + 0.2 * ripple.bell()).collect();
            Summary::of(&values)
        });
        let at: Vec<f64> = (0..9).map(f64::from).collect();
        let layer = Layer::boxes(at, samples.collect::<Vec<_>>()).dodged(index, 2);
        panel = panel.with(layer.styled(Style::series(index)).named(*name));
    }
    Figure::new(vec![panel]).captioned("100 splits; boxes are quartiles, whiskers reach 1.5 box lengths.")
}

fn histogram() -> Figure {
    let mut ripple = Ripple(3);
    let edges: Vec<f64> = (0..=40).map(|at| -4.0 + 0.2 * f64::from(at)).collect();
    let mut heights = vec![0.0; 40];
    for _ in 0..4000 {
        let at = ((ripple.bell() + 4.0) / 0.2).floor();
        if (0.0..40.0).contains(&at) {
            heights[at as usize] += 1.0 / (4000.0 * 0.2);
        }
    }
    let x: Vec<f64> = (0..161).map(|at| -4.0 + 0.05 * f64::from(at)).collect();
    let density = |x: &f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let y: Vec<f64> = x.iter().map(density).collect();
    let panel = Panel::new(Axis::linear("*z*"), Axis::linear("Density"))
        .with(Layer::bars(edges, heights).styled(Style::series(0)).named("chain"))
        .with(Layer::line(x, y).styled(Style::series(1).solid()).named("*p*(*z*)"))
        .with(Layer::vertical_rule(1.96))
        .with(Layer::text(1.96, 0.3, "97.5 %", Anchor::Start));
    Figure::new(vec![panel]).captioned("4000 draws in 40 bins.")
}

fn scatter() -> Figure {
    let mut panel = Panel::new(Axis::linear("KL(*p* ∥ *q*)"), Axis::log("Variance of the score"));
    let mut ripple = Ripple(23);
    for (index, chains) in [4.0, 8.0, 16.0].into_iter().enumerate() {
        let x: Vec<f64> = (0..1024).map(|_| 6.0 * ripple.next().powi(2)).collect();
        let y: Vec<f64> = x.iter().map(|x| (0.3 * x + 0.4 * ripple.bell()).exp() / chains).collect();
        let line: Vec<f64> = (0..=12).map(|at| 0.5 * f64::from(at)).collect();
        let trend: Vec<f64> = line.iter().map(|x| (0.3 * x).exp() / chains).collect();
        let style = Style::series(index);
        panel = panel
            .with(Layer::points(x, y).styled(style.faint(0.3).sized(2.2)))
            .with(Layer::line(line, trend).styled(style).named(format!("*N* = {chains}")));
    }
    Figure::new(vec![panel]).captioned("2048 parameters each; lines are median regressions.")
}

fn stepsize() -> Figure {
    let panels = ["SGD", "ADAM"].iter().zip(0..).map(|(name, place)| {
        let mut panel =
            Panel::new(Axis::log("Stepsize *γ*"), Axis::linear("KL(*p* ∥ *q*)").spanning(0.0, 60.0))
                .titled(*name)
                .with(Layer::horizontal_rule(6.65).named("floor"));
        for (index, method) in METHODS.iter().enumerate() {
            let x: Vec<f64> = (0..20).map(|at| 10f64.powf(-3.0 + 3.0 * f64::from(at) / 19.0)).collect();
            let best = -1.2 - 0.5 * f64::from(place) - 0.1 * index as f64;
            let y: Vec<f64> =
                x.iter().map(|x| 6.7 + (12.0 + 9.0 * index as f64) * (x.log10() - best).powi(2)).collect();
            let style = Style::series(index).sized(3.4);
            panel = panel
                .with(Layer::line(x.clone(), y.clone()).styled(style).named(*method))
                .with(Layer::points(x, y).styled(style).named(*method));
        }
        panel
    });
    Figure::new(panels.collect()).captioned("Median of 20 replicates after 10^{4} iterations.")
}

fn offsets() -> Figure {
    let x: Vec<f64> = (0..100).map(|at| f64::from(at) * 1e6).collect();
    let far: Vec<f64> = x.iter().map(|x| -32_000.0 + 8_000.0 * (1.0 - (-x / 2e7).exp())).collect();
    let narrow: Vec<f64> = x.iter().map(|x| 3.0 + 0.8 * (x / 1e8)).collect();
    let wide: Vec<f64> = x.iter().map(|x| 10f64.powf(-12.0 + 20.0 * x / 1e8)).collect();
    let near: Vec<f64> = x.iter().map(|x| 1e9 + x / 1e8).collect();
    let panel = |y: Axis, values: &[f64]| {
        Panel::new(Axis::linear("Evaluations"), y).with(Layer::line(x.clone(), values))
    };
    Figure::new(vec![
        panel(Axis::linear("log *Z*"), &far).titled("large numbers"),
        panel(Axis::log("less than a decade"), &narrow),
        panel(Axis::log("twenty decades"), &wide),
        panel(Axis::linear("far from zero"), &near),
    ])
}

fn degenerate() -> Figure {
    let axes = || (Axis::linear("*x*"), Axis::log("*y*"));
    let panel = |title: &str| {
        let (x, y) = axes();
        Panel::new(x, y).titled(title)
    };
    let x: Vec<f64> = (0..30).map(f64::from).collect();
    let holes: Vec<f64> = (0..30)
        .map(|at| match at {
            5 | 12 | 14 => f64::NAN,
            20 => -1.0,
            25 => f64::INFINITY,
            _ => f64::from(at + 1),
        })
        .collect();
    let low: Vec<f64> = x.iter().map(|x| x - 4.0).collect();
    let high: Vec<f64> = x.iter().map(|x| x + 4.0).collect();
    let mut ripple = Ripple(1);
    let many: Vec<f64> = (0..200_000).map(f64::from).collect();
    let noise: Vec<f64> = many.iter().map(|x| (2.0 * ripple.next()).exp() + x / 4e4).collect();
    let mut crowded = panel("a legend that is too long");
    for index in 0..9 {
        let y: Vec<f64> = x.iter().map(|x| (1.0 + x) * (1.0 + f64::from(index))).collect();
        let name = format!("method {index} with <a> rather long & wordy name");
        crowded = crowded.with(Layer::line(x.clone(), y).styled(Style::series(index as usize)).named(name));
    }
    let names = ["*a* short one", "a name that goes on and on", "<&>\"'", "数 ∂ λ → ∞"];
    let categories =
        Panel::new(Axis::categories("", names), Axis::linear("*y*")).titled("names to be turned");
    Figure::new(vec![
        panel("nothing"),
        panel("one point").with(Layer::points([3.0], [7.0]).named("alone")),
        panel("all equal").with(Layer::line(x.clone(), vec![2.0; 30])),
        panel("holes")
            .with(Layer::band(x.clone(), low, high).named("band"))
            .with(Layer::line(x.clone(), holes).named("line")),
        panel("200 000 points").with(Layer::line(many, noise)),
        crowded.legend(Legend::Auto),
        panel("1e−300 to 1e300").with(Layer::line([0.0, 1.0], [1e-300, 1e300])),
        categories.with(Layer::boxes([0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0].map(|at| Summary::of(&[at, at + 1.0])))),
    ])
    .titled("What a program may hand over: a title so long that it does not fit on one line and must be broken somewhere about here")
}

fn crowded() -> Figure {
    let long = "A label that is far too long for the axis it belongs to, but must be read all the same";
    let names = ["one", "another name", "the most detailed of all names"];
    let axes = [
        (Axis::log("Iteration"), Axis::log("KL(*q* ∥ *p*)")),
        (Axis::linear(long), Axis::linear(long)),
        (Axis::categories("", names), Axis::log("*y*")),
        (Axis::linear("*x*"), Axis::categories("", names)),
    ];
    let panels = axes.into_iter().map(|(x, y)| {
        let at = [0.5, 1.0, 2.0];
        let layer = Layer::intervals(at, [1.0, 2.0, 3.0], [0.5, 1.5, 2.0], [2.0, 2.5, 5.0]);
        let panel = Panel::new(x, y).titled("A title of some length");
        panel.with(layer.named("intervals")).legend(Legend::Below)
    });
    let mut figure = Figure::new(panels.collect());
    figure.columns = 4;
    figure
}
