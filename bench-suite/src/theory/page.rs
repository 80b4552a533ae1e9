//! Results of the claims as a self-contained HTML page.

use mcsa_core::counted;
use mcsa_theory::claims::{Examined, Judgement, Paper, Standing};

use super::listing::{count, witnessed, worst};
use crate::report::{document, escape};

const STANDINGS: [Standing; 4] =
    [Standing::Violated, Standing::Tight, Standing::Holds, Standing::NotCheckable];

fn word(standing: Standing) -> String {
    standing.to_string().to_lowercase()
}

fn class(standing: Standing) -> String {
    word(standing).replace(' ', "-")
}

fn badge(standing: Standing) -> String {
    format!("<span class=\"badge\">{}</span>", word(standing))
}

/// The page, after links to the others of a report.
pub(super) fn page(judgements: &[Judgement], navigation: &str) -> String {
    let mut papers: Vec<Paper> = judgements.iter().map(|judgement| judgement.paper).collect();
    papers.dedup();
    let sections: Vec<String> = papers.iter().map(|paper| section(*paper, judgements)).collect();
    let body = format!(
        "{navigation}<header>\n<p class=\"over\">Markov chain score ascent</p>\n<h1>What the papers claim, tried</h1>\n\
         <p class=\"lead\">Sentences about bias, variance and rates of Markov chain score ascent. Both sides of each are \
         computed without sampling, on worked examples, on random cases and on climbs from the worst of them. {} of the \
         claims are ours, the others are printed in the papers. What holds \
         has survived a search, which is evidence and not a proof; what is violated is shown with a case to check by \
         hand.</p>\n{}</header>\n{}\
         <footer>Weights are w = p/q, normalised; w* is the largest and r = 1 − 1/w*. Made by <code>cargo xtask \
         theory</code>; the same command gives the same page.</footer>\n",
        judgements.iter().filter(|judgement| judgement.paper.key == "ours").count(),
        counts(judgements),
        sections.concat(),
    );
    document("What the papers claim", &body)
}

/// Number of claims by standing; each also selects the claims that are shown.
fn counts(judgements: &[Judgement]) -> String {
    let tile = |class: &str, word: &str, number: usize, checked: &str| {
        format!(
            "<label class=\"{class}\"><input type=\"radio\" name=\"show\" id=\"show-{class}\"{checked}>\
             <b>{number}</b>{word}</label>\n"
        )
    };
    let mut tiles = tile("all", "claims", judgements.len(), " checked");
    for standing in STANDINGS {
        tiles += &tile(&class(standing), &word(standing), count(judgements, standing), "");
    }
    format!("<fieldset class=\"counts\" aria-label=\"Show\">\n{tiles}</fieldset>\n")
}

fn section(paper: Paper, judgements: &[Judgement]) -> String {
    let of_paper = judgements.iter().filter(|judgement| judgement.paper == paper);
    let cards: Vec<String> = of_paper.map(card).collect();
    let Paper { key, title, .. } = paper;
    format!(
        "<section>\n<h2>{} <small>{} · {}</small></h2>\n{}</section>\n",
        escape(title),
        escape(key),
        counted(cards.len(), "claim"),
        cards.concat()
    )
}

fn card(judgement: &Judgement) -> String {
    let Judgement { id, place, printed, .. } = judgement;
    let standing = judgement.standing();
    let mut html = format!(
        "<article class=\"claim {}\" id=\"{id}\">\n<header><a class=\"id\" href=\"#{id}\">{id}</a>\
         <span class=\"place\">{}</span>{}</header>\n<p class=\"formula\">{}</p>\n{}",
        class(standing),
        escape(place),
        badge(standing),
        typeset(&printed.formula),
        gauge(printed),
    );
    if standing == Standing::NotCheckable {
        html += &format!("<p class=\"note\">{}</p>\n", escape(printed.method));
    }
    if let Some(witness) = printed.finding.shown().filter(|witness| witness.refutes) {
        let sentence = witnessed(witness);
        let (sides, case) = sentence.split_once(" at ").unwrap_or((&sentence, ""));
        html += &format!("<p class=\"case\"><b>{}</b> at {}</p>\n", escape(sides), escape(case));
    }
    let notes = [judgement.assumptions, judgement.remark];
    for (note, what) in notes.iter().zip(["Assumes: ", ""]).filter(|(note, _)| !note.is_empty()) {
        html += &format!("<p class=\"note\">{what}{}</p>\n", escape(note));
    }
    for corrected in &judgement.corrected {
        html += &format!(
            "<div class=\"instead {}\"><div class=\"head\">Instead{}</div>\n<p class=\"formula\">{}</p>\n{}</div>\n",
            class(corrected.finding.standing),
            badge(corrected.finding.standing),
            typeset(&corrected.formula),
            gauge(corrected),
        );
    }
    html + &details(judgement) + "</article>\n"
}

/// Width of a ratio of 1; the gauge ends at 2.
const ONE: f64 = 72.0;

/// Gauge of the worst ratio of left to right side, with a mark at 1. For identities, the largest difference as text; empty
/// if there is no worst case.
fn gauge(examined: &Examined) -> String {
    let finding = &examined.finding;
    let Some(badness) = finding.worst_badness() else {
        return String::new();
    };
    let number = worst(examined);
    if finding.worst.iter().chain(&finding.examples).any(|witness| witness.identity) {
        let number = number.trim_start_matches("+-");
        return format!("<div class=\"gauge\">both sides differ by up to {number}</div>\n");
    }
    let width = ONE * badness.min(2.0);
    let number = if badness.is_infinite() { "\u{221e}".into() } else { number };
    format!(
        "<div class=\"gauge\"><svg viewBox=\"0 0 144 12\" role=\"img\" aria-label=\"ratio {number}\">\
         <rect class=\"track\" y=\"4\" width=\"144\" height=\"4\" rx=\"2\"/>\
         <rect class=\"fill\" y=\"4\" width=\"{width:.1}\" height=\"4\" rx=\"2\"/>\
         <path class=\"one\" d=\"M{ONE} 0V12\"/></svg>left side up to {number} times the right</div>\n"
    )
}

fn details(judgement: &Judgement) -> String {
    let mut text = String::new();
    let corrected = judgement.corrected.iter().map(|corrected| ("Instead", corrected));
    for (what, examined) in std::iter::once(("As printed", &judgement.printed)).chain(corrected) {
        let finding = &examined.finding;
        let Some(found) = &finding.worst else { continue };
        text += &format!(
            "<p>{what}: {} cases, {}. Worst found by the search: {}</p>\n",
            finding.tried,
            escape(examined.method),
            escape(&witnessed(found)),
        );
        if let Some(twin) = &examined.twin {
            let fate = if twin.finding.search_refutes() { "refuted" } else { "NOT refuted" };
            text += &format!("<p>Made too strong ({}): {fate}.</p>\n", typeset(&twin.formula));
        }
    }
    let details = format!("<details><summary>How it was tried</summary>\n{text}</details>\n");
    if text.is_empty() { text } else { details }
}

/// Words in formulas, with the signs that replace them; between letters they are parts of other words.
const SIGNS: [(&str, &str); 18] = [
    ("<=", "\u{2264}"),
    (">=", "\u{2265}"),
    ("||", "\u{2225}"),
    ("(x)", "\u{2297}"),
    ("...", "\u{2026}"),
    ("sum", "\u{2211}"),
    ("prod", "\u{220f}"),
    ("int", "\u{222b}"),
    ("grad", "\u{2207}"),
    ("sqrt", "\u{221a}"),
    ("lambda", "\u{3bb}"),
    ("sigma", "\u{3c3}"),
    ("inf", "\u{221e}"),
    ("chi", "\u{3c7}"),
    ("mu", "\u{3bc}"),
    ("eta", "\u{3b7}"),
    ("eps", "\u{3b5}"),
    ("gamma", "\u{3b3}"),
];

/// Converts a formula such as `x_i^2 <= sum_{j} y_j`, with sub- and superscripts and signs.
pub(super) fn typeset(formula: &str) -> String {
    let mut html = String::new();
    let mut rest = formula;
    while let Some(first) = rest.chars().next() {
        let after_word = html.ends_with(|c: char| c.is_alphabetic());
        let sign = SIGNS.iter().find(|(word, _)| {
            let is_word = word.starts_with(char::is_alphabetic);
            let after = rest.strip_prefix(word);
            after.is_some_and(|rest| !is_word || !(after_word || rest.starts_with(char::is_alphabetic)))
        });
        if let Some((word, sign)) = sign {
            html += sign;
            rest = &rest[word.len()..];
        } else if first == '^' || first == '_' {
            let tag = if first == '^' { "sup" } else { "sub" };
            let (script, after) = script(&rest[1..]);
            html += &format!("<{tag}>{}</{tag}>", typeset(script));
            rest = after;
        } else {
            html += &escape(&first.to_string());
            rest = &rest[first.len_utf8()..];
        }
    }
    html
}

/// Operand of a `^` or `_` without its brackets, and the remaining text.
fn script(rest: &str) -> (&str, &str) {
    if let Some((open, close)) =
        [('(', ')'), ('{', '}')].into_iter().find(|(open, _)| rest.starts_with(*open))
    {
        let mut depth = 0;
        for (at, c) in rest.char_indices() {
            depth += i32::from(c == open) - i32::from(c == close);
            if depth == 0 {
                return (&rest[1..at], &rest[at + 1..]);
            }
        }
    }
    let sign = usize::from(rest.starts_with('-'));
    let end = rest[sign..].find(|c: char| !c.is_alphanumeric()).map_or(rest.len(), |end| sign + end);
    rest.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_theory::claims::{self, Effort};

    #[test]
    fn the_page_stands_alone_and_names_every_claim() {
        let effort = Effort { cases: 20, climbs: 1, iterations: 20 };
        let judgements: Vec<Judgement> = claims::all().iter().map(|claim| claim.examine(effort)).collect();
        let page = page(&judgements, "");
        for judgement in &judgements {
            assert!(page.contains(&format!("id=\"{}\"", judgement.id)), "{}", judgement.id);
        }
        for elsewhere in ["http", "<script", "src=", "@import", "url("] {
            assert!(!page.contains(elsewhere), "{elsewhere}");
        }
        for tag in ["article", "details", "section", "sup", "sub", "div", "p"] {
            let opened =
                page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert!(page.contains("width=device-width"));
    }

    #[test]
    fn scripts_and_signs() {
        assert_eq!(typeset("w*^2 <= chi_N^2"), "w*<sup>2</sup> \u{2264} \u{3c7}<sub>N</sub><sup>2</sup>");
        assert_eq!(typeset("r^(n-1)"), "r<sup>n-1</sup>");
        assert_eq!(typeset("E_{K(z)} s"), "E<sub>K(z)</sub> s");
        assert_eq!(typeset("beta < n^-2"), "beta &lt; n<sup>-2</sup>");
        // An open bracket is no panic.
        assert_eq!(typeset("x^("), "x<sup></sup>(");
        assert_eq!(typeset("x_"), "x<sub></sub>");
    }
}
