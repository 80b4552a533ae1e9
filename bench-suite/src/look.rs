//! Names, colours and markers of methods and families in all figures.

use crate::catalog::Method;
use mcsa_plot::{Color, Dash, Marker, Style};

/// Kind, name in legends and tables, colour, dash, marker.
type Look = (&'static str, &'static str, Color, Dash, Marker);

/// Looks of methods, then others. Colours of Okabe and Ito, then some of Tol that differ from them under any colour vision. Methods with
/// chains have solid lines, methods without chains broken ones.
static LOOKS: [Look; 43] = [
    ("pmcsa", "pMCSA", Color(0x00, 0x72, 0xB2), Dash::Solid, Marker::Circle),
    ("jsa", "JSA", Color(0xD5, 0x5E, 0x00), Dash::Solid, Marker::Square),
    ("msc", "MSC", Color(0x00, 0x9E, 0x73), Dash::Solid, Marker::Triangle),
    ("msc-rb", "MSC-RB", Color(0xCC, 0x79, 0xA7), Dash::Solid, Marker::Diamond),
    ("msc-prior", "MSC (prior)", Color(0x11, 0x77, 0x33), Dash::Solid, Marker::Plus),
    ("snis", "SNIS", Color(0xE6, 0x9F, 0x00), Dash::Long, Marker::Wedge),
    ("elbo", "ELBO", Color(0x00, 0x00, 0x00), Dash::Short, Marker::Plus),
    ("minibatched", "ELBO (minibatches)", Color(0xAA, 0x44, 0x99), Dash::Long, Marker::Circle),
    ("hmc", "single-HMC", Color(0x56, 0xB4, 0xE9), Dash::Solid, Marker::Ring),
    ("stl", "ELBO (path)", Color(0x40, 0x40, 0x40), Dash::Short, Marker::Circle),
    ("rws", "RWS", Color(0x88, 0x22, 0x55), Dash::Dotdash, Marker::Square),
    ("pmcsa-cv", "pMCSA, controlled", Color(0x33, 0x22, 0x88), Dash::Solid, Marker::Wedge),
    ("ep", "EP", Color(0x77, 0x77, 0x77), Dash::Short, Marker::Square),
    ("smc", "SMC", Color(0x44, 0xAA, 0x99), Dash::Long, Marker::Square),
    ("nuts-cs", "NUTS-CS", Color(0xDD, 0xCC, 0x77), Dash::Dotdash, Marker::Triangle),
    ("hmcecs", "HMCECS", Color(0x66, 0x66, 0x00), Dash::Long, Marker::Triangle),
    ("chivi", "CHIVI", Color(0x99, 0x99, 0x33), Dash::Dotted, Marker::Diamond),
    ("chivi-max", "CHIVI (maximum)", Color(0xCC, 0x66, 0x77), Dash::Dotted, Marker::Triangle),
    // Methods of inference: running moments in colours of their families, score ascent in greens, the exclusive divergence in greys.
    ("moments-mean-field", "moments, mean field", Color(0xCC, 0x79, 0xA7), Dash::Short, Marker::Plus),
    ("moments-low-rank", "moments, low rank", Color(0x56, 0xB4, 0xE9), Dash::Short, Marker::Triangle),
    ("moments-full-rank", "moments, Gaussian", Color(0xE6, 0x9F, 0x00), Dash::Long, Marker::Square),
    ("moments-student-t", "moments, Student t", Color(0x00, 0x72, 0xB2), Dash::Solid, Marker::Circle),
    ("moments-mixture", "moments, mixture of t", Color(0x33, 0x22, 0x88), Dash::Solid, Marker::Diamond),
    ("fit", "mcsa::fit", Color(0xAA, 0x44, 0x99), Dash::Solid, Marker::Ring),
    ("pmcsa-adam", "pMCSA, mean field", Color(0x00, 0x9E, 0x73), Dash::Dotdash, Marker::Plus),
    ("pmcsa-flow", "pMCSA, flow", Color(0x11, 0x77, 0x33), Dash::Dotdash, Marker::Diamond),
    ("elbo-mean-field", "ELBO, mean field", Color(0xBB, 0xBB, 0xBB), Dash::Dotted, Marker::Plus),
    ("elbo-low-rank", "ELBO, low rank", Color(0xA0, 0xA0, 0xA0), Dash::Dotted, Marker::Triangle),
    ("elbo-full-rank", "ELBO, Gaussian", Color(0x88, 0x88, 0x88), Dash::Dotted, Marker::Square),
    ("elbo-flow", "ELBO, flow", Color(0x44, 0x44, 0x44), Dash::Dotted, Marker::Diamond),
    ("batch-match", "batch and match", Color(0x88, 0x22, 0x55), Dash::Long, Marker::Wedge),
    ("pathfinder", "Pathfinder", Color(0x99, 0x99, 0x33), Dash::Long, Marker::Triangle),
    ("nuts", "NUTS", Color(0xD5, 0x5E, 0x00), Dash::Solid, Marker::Square),
    // Families; annealed paths by their surrogates.
    ("mean-field", "mean field", Color(0xCC, 0x79, 0xA7), Dash::Short, Marker::Plus),
    ("low-rank", "low rank", Color(0x56, 0xB4, 0xE9), Dash::Dotted, Marker::Triangle),
    ("full-rank", "Gaussian", Color(0xE6, 0x9F, 0x00), Dash::Long, Marker::Square),
    ("student-t", "Student t", Color(0xD5, 0x5E, 0x00), Dash::Dotdash, Marker::Wedge),
    ("affine-flow", "affine flow", Color(0x00, 0x72, 0xB2), Dash::Solid, Marker::Circle),
    ("block-neural", "B-NAF", Color(0x56, 0xB4, 0xE9), Dash::Dotted, Marker::Ring),
    ("minibatch", "NS-DAIS", Color(0xD5, 0x5E, 0x00), Dash::Dotdash, Marker::Diamond),
    ("surrogate", "SL-DAIS", Color(0x00, 0x72, 0xB2), Dash::Solid, Marker::Circle),
    ("posterior", "DAIS", Color(0x33, 0x22, 0x88), Dash::Solid, Marker::Triangle),
    ("spline-flow", "spline flow", Color(0x00, 0x9E, 0x73), Dash::Solid, Marker::Diamond),
];

/// Place, name and style of a kind of method or family; one that is not in the list is the last.
pub fn of(kind: &str) -> (usize, &str, Style) {
    match LOOKS.iter().position(|look| look.0 == kind) {
        Some(place) => {
            let (_, name, color, dash, marker) = LOOKS[place];
            (place, name, Style { color, dash, marker, ..Style::series(0) })
        }
        None => (LOOKS.len(), kind, Style::series(0)),
    }
}

/// The name of a kind of method in legends and tables.
pub fn name(kind: &str) -> &str {
    of(kind).1
}

/// The style of a method's series.
pub fn style(method: &Method) -> Style {
    of(method.kind()).2
}

/// The style of member number `member` of the `members` series of one method, from light to dark.
pub fn shade(method: &Method, member: usize, members: usize) -> Style {
    let style = style(method);
    let strength = 0.4 + 0.6 * ((member + 1) as f64 / members.max(1) as f64);
    Style { color: style.color.lighter(strength), dash: Dash::Solid, ..style }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_a_look_of_its_own() {
        for (kind, ..) in Method::ALL {
            assert!(of(kind).0 < 18, "{kind}");
        }
        for looks in [&LOOKS[..18], &LOOKS[18..33]] {
            for (k, a) in looks.iter().enumerate() {
                assert!(looks[..k].iter().all(|b| a.2 != b.2 && (a.3, a.4) != (b.3, b.4)), "{}", a.0);
            }
        }
    }
}
