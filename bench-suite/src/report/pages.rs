//! Pages of the report: a summary, a page for each paper and each board of ours, and the disagreements.

use std::path::Path;

use mcsa_core::{Error, counted};

use super::comparison::Tally;
use super::html::{Row, document, escape, grouped, style, table};
use super::part::{Judged, Part};
use super::section::pill;
use crate::claims::{Cause, Verdict};
use crate::outline::{Page, outline};
use crate::store::{CODE, write_whole};
use crate::tables::in_groups;

/// Names and titles of the pages that are no page of [`outline`].
const INDEX: (&str, &str) = ("index", "Summary");
const DISAGREEMENTS: (&str, &str) = ("disagreements", "Disagreements");
pub(crate) const THEORY: (&str, &str) = ("theory", "Theory");

/// Writes all pages from the parts in the folder of a report.
///
/// # Errors
/// If a page cannot be written.
pub(crate) fn assemble(folder: &Path) -> Result<(), Error> {
    write_whole(&folder.join("report.css"), style().as_bytes())?;
    for (name, html) in pages(folder, &Part::all(folder)) {
        write_whole(&folder.join(format!("{name}.html")), html.as_bytes())?;
    }
    Ok(())
}

/// All pages, by name; none without parts.
pub(super) fn pages(folder: &Path, parts: &[Part]) -> Vec<(&'static str, String)> {
    let page = |(name, title): (&'static str, &str), body: String| {
        (name, document(title, &(navigation(folder, parts, name) + &body)))
    };
    let own = outline().pages.iter().filter(|one| !on(one, parts).is_empty());
    let own: Vec<_> =
        own.map(|one| page((one.name.as_str(), &one.title), page_of(folder, one, parts))).collect();
    let common = || [page(INDEX, index(folder, parts)), page(DISAGREEMENTS, disagreements(parts))];
    if own.is_empty() { own } else { common().into_iter().chain(own).collect() }
}

fn on<'p>(page: &Page, parts: &'p [Part]) -> Vec<&'p Part> {
    parts.iter().filter(|part| part.page().name == page.name).collect()
}

/// Short name of a page in the navigation.
fn short(page: &Page) -> String {
    page.key.clone().unwrap_or_else(|| {
        let mut word = page.name.clone();
        word[..1].make_ascii_uppercase();
        word
    })
}

/// Links of the page of the theory to all others.
pub(crate) fn navigation_of_theory(folder: &Path) -> String {
    navigation(folder, &Part::all(folder), THEORY.0)
}

/// Links to all pages that there are.
fn navigation(folder: &Path, parts: &[Part], current: &str) -> String {
    let own = outline().pages.iter().filter(|page| !on(page, parts).is_empty());
    let mut all: Vec<(String, String)> = own.map(|page| (page.name.clone(), short(page))).collect();
    let named = |(name, title): (&str, &str)| (name.to_owned(), title.to_owned());
    if !parts.is_empty() {
        all.insert(0, named(INDEX));
        all.push(named(DISAGREEMENTS));
    }
    if current == THEORY.0 || folder.join("theory.html").is_file() {
        all.push(named(THEORY));
    }
    let link = |(name, title): &(String, String)| {
        let mark = if name == current { " aria-current=\"page\"" } else { "" };
        format!("<a href=\"{name}.html\"{mark}>{title}</a>\n")
    };
    let links: String = all.iter().map(link).collect();
    format!("<nav id=\"top\" class=\"pages\" aria-label=\"Pages\">\n{links}</nav>\n")
}

/// Headline of a paper with the claims that are evidence for it.
struct Headline<'p> {
    words: &'static str,
    claims: Vec<(&'p Part, &'p Judged)>,
}

impl<'p> Headline<'p> {
    /// Those of a paper of which a claim is judged.
    fn of(page: &'static Page, parts: &'p [Part]) -> Vec<Self> {
        let claims = |number| {
            let all = parts.iter().flat_map(|part| part.claims.iter().map(move |claim| (part, claim)));
            let is_it = move |(_, claim): &(&Part, &Judged)| {
                let paper = outline().paper_of(&claim.citation);
                claim.headline == Some(number) && paper.is_some_and(|paper| paper.name == page.name)
            };
            all.filter(is_it).collect::<Vec<_>>()
        };
        let all =
            page.headlines.iter().zip(1..).map(|(words, number)| Self { words, claims: claims(number) });
        all.filter(|headline| !headline.claims.is_empty()).collect()
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().filter(|(_, claim)| claim.verdict == verdict).count()
    }

    fn standing(&self) -> Standing {
        let (all, agree) = (self.claims.len(), self.count(Verdict::Agree));
        let at_odds = self.claims.iter().any(|(_, claim)| claim.verdict.is_at_odds());
        match (at_odds, agree) {
            (false, agree) if agree == all => Standing::Holds,
            (false, _) => Standing::Open,
            (true, 0) => Standing::Fails,
            (true, _) => Standing::InPart,
        }
    }

    /// Verdicts of its claims with their numbers; without a number if there is one claim.
    fn verdicts(&self) -> String {
        let one = |verdict: &Verdict| match (self.count(*verdict), self.claims.len()) {
            (0, _) => None,
            (1, 1) => Some(pill(*verdict)),
            (count, _) => Some(format!("{} {}", count, pill(*verdict))),
        };
        Verdict::ALL.iter().filter_map(one).collect::<Vec<_>>().join("<br>")
    }

    /// Evidence of its claims, the same once, each with links to the claims.
    fn evidence(&self) -> String {
        let groups = in_groups(self.claims.iter().map(|found| (&found.1.evidence, found)));
        let link = |(k, (part, claim)): (usize, &&(&Part, &Judged))| {
            let place = format!("{}.html#{}", part.page().name, claim.anchor);
            match k {
                0 => format!("<a href=\"{place}\">{}</a>", claim.citation),
                _ => format!("<a href=\"{place}\" title=\"{}\">{}</a>", claim.sentence, k + 1),
            }
        };
        let group = |(evidence, claims): &(&String, Vec<&(&Part, &Judged)>)| {
            let links: Vec<String> = claims.iter().enumerate().map(link).collect();
            let colon = if evidence.is_empty() { "" } else { ": " };
            format!("{evidence}{colon}{}", links.join(" "))
        };
        groups.iter().map(group).collect::<Vec<_>>().join("<br>")
    }
}

/// What the claims of a headline say of it together.
#[derive(Clone, Copy, PartialEq)]
enum Standing {
    Holds,
    /// Some claims agree and some do not.
    InPart,
    Fails,
    Open,
}

/// Sentences on the headlines of a paper.
fn sentences(headlines: &[Headline<'_>]) -> String {
    let said = |standing: Standing, begin: &str, that: &str| {
        let those = headlines.iter().filter(|headline| headline.standing() == standing);
        let words: Vec<String> = those.map(|headline| format!("{that} {}", escape(headline.words))).collect();
        (!words.is_empty()).then(|| format!("<b>{begin}</b> {}.", words.join(", and ")))
    };
    let all = [
        said(Standing::Holds, "It holds", "that"),
        said(Standing::InPart, "It holds in part", "that"),
        said(Standing::Fails, "It does not hold", "that"),
        said(Standing::Open, "It is open", "whether"),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    escape(&(first + letters.as_str()))
}

/// Rows of headlines: words, verdicts, evidence.
fn headline_rows(headlines: &[Headline<'_>]) -> Vec<Vec<String>> {
    headlines.iter().map(|one| vec![capital(one.words), one.verdicts(), one.evidence()]).collect()
}

const HEADLINES: [&str; 3] = ["Headline", "Verdicts of its claims", "Evidence"];

/// Counts of the sentences of the papers, or of explorations, by verdict: `80 agree, 1 disagrees`.
fn counts(parts: &[&Part], is_of_paper: bool) -> (usize, String) {
    let claims = parts.iter().flat_map(|part| &part.claims).filter(|claim| claim.is_of_paper == is_of_paper);
    Verdict::told(claims.map(|claim| claim.verdict))
}

fn index(folder: &Path, parts: &[Part]) -> String {
    let all: Vec<&Part> = parts.iter().collect();
    let papers: Vec<(&str, &Page, Vec<Headline<'_>>)> =
        outline().papers().map(|(key, page)| (key, page, Headline::of(page, parts))).collect();
    let papers = || papers.iter().filter(|(.., headlines)| !headlines.is_empty());
    let mut tally = Tally::default();
    parts.iter().for_each(|part| tally += part.tally);
    let mut lead = if tally.is_empty() { String::new() } else { format!("<p class=\"lead\">{tally}</p>\n") };
    let paper = |(key, page, headlines): &(&str, &Page, Vec<Headline<'_>>)| {
        let by = page.by.as_deref().unwrap_or_default();
        format!(
            "<dt><a href=\"{}.html\">{key}</a>, <cite>{}</cite>, {by}</dt>\n<dd>{}</dd>\n",
            page.name,
            escape(&page.title),
            sentences(headlines)
        )
    };
    let said: String = papers().map(paper).collect();
    if !said.is_empty() {
        lead.push_str(&format!("<dl class=\"holds\">\n{said}</dl>\n"));
    }
    lead.push_str(&format!("<p>{}</p>\n", on_claims(&all)));
    if !parts.is_empty() && !folder.join("theory.html").is_file() {
        lead.push_str(
            "<p class=\"note\"><code>cargo xtask theory</code> adds the page of what the papers state about bias, variance and rates.</p>\n",
        );
    }
    let groups: Vec<_> =
        papers().map(|(key, _, headlines)| ((*key).to_owned(), headline_rows(headlines))).collect();
    let headlines = match groups.is_empty() {
        true => String::new(),
        false => format!(
            "<h2 id=\"headlines\">Three headlines of each paper</h2>\n{}<p class=\"note\">A headline holds if all its claims agree. Each \
             claim has a link; the evidence is replicates and data, or an exact computation.</p>\n",
            grouped("headlines", &HEADLINES, &groups)
        ),
    };
    let picture = &outline().picture;
    let figure = match folder.join(&picture.file).is_file() {
        true => format!(
            "<figure><div class=\"plate\"><img src=\"{}\" alt=\"{words}\"></div><figcaption>{words}</figcaption></figure>\n",
            picture.file,
            words = escape(&picture.words),
        ),
        false => String::new(),
    };
    let title = if said.is_empty() {
        "Figures, tables and claims"
    } else {
        "What holds of five papers, and what does not"
    };
    format!(
        "<header>\n<p class=\"over\">Markov chain score ascent</p>\n<h1>{title}</h1>\n\
         {lead}</header>\n{headlines}{figure}{}<footer>Made by the version <code>{CODE}</code>.</footer>\n",
        experiments(parts)
    )
}

/// Sentences on the counts of claims, their causes and their age.
fn on_claims(parts: &[&Part]) -> String {
    let [(claims, by_verdict), (explorations, of_ours)] = [true, false].map(|is| counts(parts, is));
    let mut text = String::new();
    if claims > 0 {
        let causes = parts.iter().flat_map(|part| &part.claims).filter(|claim| claim.is_of_paper);
        let causes: Vec<_> = causes.filter_map(|claim| claim.cause.as_ref()).collect();
        let open = causes.iter().filter(|cause| cause[0] == Cause::Open.name()).count();
        let are = if claims == 1 { "is" } else { "are" };
        text.push_str(&format!("{} of the papers {are} judged: {by_verdict}.", counted(claims, "sentence")));
        if !causes.is_empty() {
            let have = if open == 1 { "has" } else { "have" };
            text.push_str(&format!(
                " {open} of the <a href=\"disagreements.html\">disagreements</a> {have} an open cause."
            ));
        }
    }
    if explorations > 0 {
        let further = if claims > 0 { "further " } else { "" };
        let what = match explorations {
            1 => "sentence is an exploration of ours, and no claim of a paper",
            _ => "sentences are explorations of ours, and no claims of the papers",
        };
        text.push_str(&format!(" {explorations} {further}{what}: {of_ours}."));
    }
    let old = parts.iter().filter(|part| part.is_old).count();
    if old > 0 {
        text.push_str(&format!(
            " {old} of {} have results of an older version.",
            counted(parts.len(), "experiment")
        ));
    }
    text.trim().to_owned()
}

/// Kinds of intervals of the report, and why there are several.
const INTERVALS: &str = "Bands of curves show the spread of fits: the 10th to the 90th percentile of replicates. Means and differences have \
                         bootstrap intervals, because replicates follow no known law. The level is 90 % in claims, that of the paper \
                         beside a published table, and stated elsewhere. Rates have exact binomial intervals.";

/// Table of all experiments, by page.
fn experiments(parts: &[Part]) -> String {
    let head = [
        "Experiment",
        "agree",
        "reverses when corrected",
        "disagree",
        "not enough evidence",
        "not reproducible",
        "explorations",
        "pairs in order",
        "replicates",
    ];
    let shown = |count: usize| if count == 0 { String::new() } else { count.to_string() };
    let row = |part: &&Part| {
        let page = &part.page().name;
        let mut cells = vec![format!(
            "<a href=\"{page}.html#{}\">{}</a> <span class=\"cite\">{}</span>",
            escape(&part.id),
            part.title,
            part.source
        )];
        let (papers, ours): (Vec<&Judged>, Vec<&Judged>) = part.claims.iter().partition(|c| c.is_of_paper);
        let count = |verdict| papers.iter().filter(|claim| claim.verdict == verdict).count();
        cells.extend(Verdict::ALL.map(|verdict| shown(count(verdict))));
        cells.push(shown(ours.len()));
        cells.push(part.tally.order.short());
        cells.push(part.replicates.map_or_else(String::new, |count| format!("{count} ({})", part.preset)));
        cells
    };
    let title = |page: &Page| {
        let key = page.key.as_deref().map_or_else(String::new, |key| format!("{key}: "));
        format!("<a href=\"{}.html\">{key}{}</a>", page.name, escape(&page.title))
    };
    let groups =
        outline().pages.iter().map(|page| (title(page), on(page, parts).iter().map(row).collect::<Vec<_>>()));
    let groups: Vec<_> = groups.filter(|(_, rows)| !rows.is_empty()).collect();
    format!(
        "<h2 id=\"experiments\">All experiments</h2>\n{}<p class=\"note\">{INTERVALS}</p>\n",
        grouped("summary", &head, &groups)
    )
}

/// Choice of the verdict whose claims are shown, for verdicts that there are.
fn filter<'c>(claims: impl Iterator<Item = &'c Judged> + Clone) -> String {
    let choice = |name: &str, words: &str, count: usize, checked: &str| {
        format!(
            "<label class=\"{name}\"><input type=\"radio\" name=\"show\" id=\"show-{name}\"{checked}/><b>{count}</b> {words}</label>\n"
        )
    };
    let mut text = choice("all", "all", claims.clone().count(), " checked=\"checked\"");
    for verdict in Verdict::ALL {
        let count = claims.clone().filter(|claim| claim.verdict == verdict).count();
        if count > 0 {
            text.push_str(&choice(verdict.class(), verdict.name(), count, ""));
        }
    }
    format!("<fieldset class=\"counts\" aria-label=\"Show claims\">\n{text}</fieldset>\n")
}

fn page_of(folder: &Path, page: &'static Page, all: &[Part]) -> String {
    let parts = on(page, all);
    let mut tally = Tally::default();
    parts.iter().for_each(|part| tally += part.tally);
    let headlines = Headline::of(page, all);
    let mut head = match &page.by {
        Some(by) => format!("<p class=\"cite\">{by}</p>\n"),
        None => String::new(),
    };
    if !tally.is_empty() {
        head.push_str(&format!("<p class=\"lead\">{tally}</p>\n"));
    }
    head.push_str(&format!("<p>{}</p>\n", on_claims(&parts)));
    if !headlines.is_empty() {
        head.push_str(&grouped("headlines", &HEADLINES, &[(String::new(), headline_rows(&headlines))]));
    }
    if page.name == "scoreboard" {
        head.push_str(&super::scoreboard::kept(folder));
    }
    let claims = || parts.iter().flat_map(|part| &part.claims);
    let filter = if claims().next().is_some() { filter(claims()) } else { String::new() };
    let item = |part: &&Part| format!("<li><a href=\"#{}\">{}</a></li>\n", escape(&part.id), part.title);
    let contents: String = parts.iter().map(item).collect();
    let sections: String = parts.iter().map(|part| part.html.as_str()).collect();
    let over = page.key.as_deref().unwrap_or("Markov chain score ascent");
    format!(
        "<header>\n<p class=\"over\">{over}</p>\n<h1>{}</h1>\n{head}\
         <nav class=\"contents\" aria-label=\"On this page\"><ul>\n{contents}</ul></nav>\n{filter}</header>\n{sections}",
        escape(&page.title),
    )
}

/// Claims that do not hold, with the cause of each and the experiment that decides it.
fn disagreements(parts: &[Part]) -> String {
    let all = |is_of_paper: bool| {
        let all = parts.iter().flat_map(|part| part.claims.iter().map(move |claim| (part, claim)));
        all.filter(move |(_, claim)| claim.cause.is_some() && claim.is_of_paper == is_of_paper)
    };
    let row = |(part, claim): (&Part, &Judged)| {
        let [cause, why, by] = claim.cause.clone().unwrap_or_default();
        let cells = vec![
            format!(
                "{} <span class=\"cite\"><a href=\"{}.html#{}\">{}</a></span>",
                claim.sentence,
                part.page().name,
                claim.anchor,
                claim.citation
            ),
            format!("{}<br>{}", pill(claim.verdict), claim.measured),
            cause,
            format!("{why} <span class=\"ci\">{by}</span>"),
        ];
        Row { attributes: format!(" class=\"claim {}\"", claim.verdict.class()), cells }
    };
    let section = |title: &str, is_of_paper| {
        let rows: Vec<Row> = all(is_of_paper).map(row).collect();
        match rows.len() {
            0 => String::new(),
            count => format!(
                "<h2>{title} ({count})</h2>\n{}",
                table("claims causes", "Claim | Measured | Cause | Reason", rows)
            ),
        }
    };
    let both = all(true).chain(all(false)).map(|(_, claim)| claim);
    format!(
        "<header>\n<p class=\"over\">Markov chain score ascent</p>\n<h1>Disagreements</h1>\n<p class=\"lead\">Sentences that do not \
         hold here, with the cause of each.</p>\n{}</header>\n{}{}",
        filter(both),
        section("Sentences of the papers", true),
        section("Explorations of ours", false),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An experiment of MSC with claims on its first headline and an exploration.
    fn part(verdicts: &[Verdict], exploration: Verdict) -> Part {
        let claim = |(place, verdict): (usize, Verdict), headline| Judged {
            anchor: format!("msc/a.{place}"),
            citation: if headline == Some(1) { "MSC, Fig. 1" } else { "ours" }.to_owned(),
            sentence: format!("sentence {place}"),
            verdict,
            measured: String::new(),
            evidence: "5 replicates, real data".to_owned(),
            cause: verdict.is_at_odds().then(Default::default),
            headline,
            is_of_paper: headline.is_some(),
        };
        let claims = verdicts.iter().copied().enumerate().map(|found| claim(found, Some(1)));
        Part::made_up("msc/fig1-skew-normal", claims.chain([claim((9, exploration), None)]).collect())
    }

    #[test]
    fn a_headline_is_what_its_claims_say() {
        use Verdict::{Agree, Disagree, NotReproducible, Reverses, TooLittle};
        let page = outline().paper_of("MSC, Fig. 1").unwrap();
        let said = |verdicts: &[Verdict]| {
            // An exploration that disagrees changes nothing.
            let parts = [part(verdicts, Disagree)];
            let headlines = Headline::of(page, &parts);
            assert_eq!(headlines.len(), 1, "headlines without claims are left out");
            sentences(&headlines)
        };
        assert!(said(&[Agree, Agree]).starts_with("<b>It holds</b> that Markovian score climbing"));
        assert!(said(&[Agree, Disagree]).starts_with("<b>It holds in part</b> that "));
        assert!(said(&[Disagree, TooLittle]).starts_with("<b>It does not hold</b> that "));
        assert!(said(&[Reverses]).starts_with("<b>It does not hold</b> that "));
        for open in [&[Agree, TooLittle][..], &[TooLittle], &[NotReproducible]] {
            assert!(said(open).starts_with("<b>It is open</b> whether "), "{open:?}");
        }
    }

    #[test]
    fn claims_and_explorations_are_counted_apart() {
        let part = part(&[Verdict::Agree, Verdict::Disagree], Verdict::Agree);
        assert_eq!(counts(&[&part], true), (2, "1 agrees, 1 disagrees".to_owned()));
        assert_eq!(counts(&[&part], false), (1, "1 agrees".to_owned()));
        let page = index(Path::new("/nowhere"), std::slice::from_ref(&part));
        assert!(page.contains("2 sentences of the papers are judged: 1 agrees, 1 disagrees."), "{page}");
        assert!(
            page.contains("1 further sentence is an exploration of ours, and no claim of a paper: 1 agrees."),
            "{page}"
        );
        // Each claim of a headline has a link to its row.
        assert!(
            page.contains("<a href=\"msc.html#msc/a.0\">MSC, Fig. 1</a> <a href=\"msc.html#msc/a.1\""),
            "{page}"
        );
        assert!(!page.contains("msc/a.9"));
    }
}
