//! The report in a browser: well formed pages without dangling links, which need no network.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use resvg::usvg::roxmltree::Document;

use crate::process::{figures, folder};

/// The page as XML, with HTML's elements without a closing tag closed.
fn xml(text: &str) -> String {
    let text = text.strip_prefix("<!doctype html>").expect("a document type");
    let closed = text.split('<').map(|part| match part.split_once('>') {
        Some((tag, rest))
            if !tag.ends_with('/')
                && ["meta", "br", "hr", "img"]
                    .contains(&tag.split([' ', '\n']).next().unwrap_or_default()) =>
        {
            format!("{tag}/>{rest}")
        }
        _ => part.to_owned(),
    });
    closed.collect::<Vec<_>>().join("<")
}

fn values<'p>(page: &'p Document<'_>, names: &[&str]) -> Vec<&'p str> {
    let all = page.descendants().flat_map(|element| element.attributes().collect::<Vec<_>>());
    all.filter(|one| names.is_empty() || names.contains(&one.name())).map(|one| one.value()).collect()
}

fn styles(page: &Document<'_>) -> String {
    let styles = page.descendants().filter(|element| element.has_tag_name("style"));
    styles.filter_map(|style| style.text()).collect()
}

/// True if a file is there, and the part of it that a link names.
fn is_there(to: &str, folder: &Path) -> bool {
    let (file, part) = to.split_once('#').map_or((to, None), |(file, part)| (file, Some(part)));
    let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    folder.join(file).is_file() && part.is_none_or(|part| text.contains(&format!("id=\"{part}\"")))
}

/// Dangling references, among links, sources, and `url(..)` in styles and attributes: to another machine, to an absent part of the
/// page, or to an absent file.
fn dangling(page: &Document<'_>, folder: &Path) -> Vec<String> {
    let ids = values(page, &["id"]);
    let leads = |to: &str| match to.strip_prefix('#') {
        Some(part) => ids.contains(&part),
        None => {
            to.starts_with("data:") || (!to.contains(':') && !to.starts_with('/') && is_there(to, folder))
        }
    };
    let links = values(page, &["href", "src", "srcset", "poster", "data"]);
    let mut all: Vec<String> = links.into_iter().map(str::to_owned).collect();
    for text in values(page, &[]).into_iter().chain([styles(page).as_str()]) {
        let found = text.split("url(").skip(1).filter_map(|rest| rest.split(')').next());
        all.extend(found.map(|found| found.trim_matches(['"', '\'']).to_owned()));
    }
    all.retain(|to| !leads(to));
    all
}

/// Texts of the pages of a report, by name.
fn pages(report: &Path) -> BTreeMap<String, String> {
    let files = std::fs::read_dir(report).expect("a folder").flatten().map(|file| file.path());
    let pages = files.filter(|path| path.extension().is_some_and(|ending| ending == "html"));
    let named = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("it was written");
        (path.file_stem().expect("a name").to_string_lossy().into_owned(), text)
    };
    pages.map(named).collect()
}

/// A run of some experiments adds to the report; what has not been run is shown without figures.
#[test]
fn pages_stand_by_themselves() {
    let folder = folder("page");
    let report = folder.join("report");
    figures(&folder, &["pmcsa/tab-cost"]);
    let first = pages(&report);
    assert_eq!(first.keys().collect::<Vec<_>>(), ["disagreements", "index", "pmcsa"]);
    let ids = [
        "cw/fig7-conditional-variance",
        "cw/tab2-kernels",
        "pmcsa/tab-neural-regression",
        "mcmc-se/fig2-bias-bound",
    ];
    figures(&folder, &[ids.as_slice(), &["--no-run"]].concat());
    let all = pages(&report);
    assert_eq!(all.keys().collect::<Vec<_>>(), ["cw", "disagreements", "index", "mcmc-se", "pmcsa"]);
    for id in ["pmcsa/tab-cost", "pmcsa/tab-neural-regression"] {
        let section = format!("<section id=\"{id}\">");
        assert_eq!(all["pmcsa"].matches(&section).count(), 1, "{id}");
        assert!(all["index"].contains(&format!("pmcsa.html#{id}")), "{id}");
    }
    assert!(
        all["cw"].contains("576 of 576 jobs have not been run") && !all["cw"].contains("<svg"),
        "no empty figure"
    );
    assert!(!report.join("cw-fig7-conditional-variance-variance.png").exists());
    assert!(report.join("cw-fig7-conditional-variance.csv").is_file());
    assert!(all["cw"].contains("not reproducible") && all["pmcsa"].contains("not enough evidence"));
    assert!(all["mcmc-se"].contains("<svg") && report.join("mcmc-se-fig2-bias-bound-bound.png").is_file());

    for (name, text) in &all {
        let text = xml(text);
        let page = Document::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(dangling(&page, &report), Vec::<String>::new(), "{name}");
        let count = |name| page.descendants().filter(|element| element.tag_name().name() == name).count();
        assert!(["script", "iframe", "object"].into_iter().all(|name| count(name) == 0), "{name}");
        let ids = values(&page, &["id"]);
        assert_eq!(ids.len(), ids.iter().collect::<HashSet<_>>().len(), "an id is one place: {ids:?}");
        let has = |name: &str, attribute: (&str, &str)| {
            let mut found = page.descendants().filter(|element| element.has_tag_name(name));
            found.any(|element| element.attribute(attribute.0) == Some(attribute.1))
        };
        assert!(has("meta", ("name", "viewport")) && has("html", ("lang", "en")), "{name}");
        assert!(has("a", ("aria-current", "page")), "{name}: where it is");
        let drawings = page.descendants().filter(|element| element.tag_name().name() == "svg");
        for drawing in
            drawings.filter(|one| one.parent().is_some_and(|parent| parent.tag_name().name() != "svg"))
        {
            assert_eq!(drawing.attribute("role"), Some("img"), "{name}");
            let title = drawing.children().find(|element| element.tag_name().name() == "title");
            assert!(title.and_then(|title| title.text()).is_some_and(|title| !title.is_empty()), "{name}");
        }
    }
    let style = std::fs::read_to_string(report.join("report.css")).expect("a style");
    assert!(!style.contains("@import"));
    for needed in ["prefers-color-scheme: dark", "@media print", "color-scheme: light dark", "@font-face"] {
        assert!(style.contains(needed), "{needed}");
    }
    let outside = style.split("url(").skip(1).filter(|rest| !rest.starts_with("data:"));
    assert_eq!(outside.count(), 0, "fonts are in the style");
    // Every colour is defined for light, dark and print, before it is used.
    let used: HashSet<&str> = style.split("var(").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    for name in used.into_iter().filter(|name| *name != "--mark") {
        let times = style.matches(&format!("{name}: ")).count();
        assert!(
            times == 3 || (times == 1 && ["--serif", "--sans"].contains(&name)),
            "{name} is defined {times} times"
        );
    }
}

#[test]
fn what_is_not_well_formed_is_seen() {
    let page = |body: &str| xml(&format!("<!doctype html>\n<html lang=\"en\"><body>{body}</body></html>"));
    assert!(Document::parse(&page("<p>one &amp; two<br><svg><g/></svg></p>")).is_ok());
    for body in [
        "<p>",
        "<p></div>",
        "<p>a & b</p>",
        "<a href=x>y</a>",
        "<p class=\"a\" class=\"b\"></p>",
        "<p title=\"a<b\"></p>",
    ] {
        assert!(Document::parse(&page(body)).is_err(), "{body}");
    }
    let nowhere = Path::new("/nowhere");
    for body in [
        "<a href=\"https://example.org\">x</a>",
        "<a href=\"#there\">x</a>",
        "<img src=\"absent.png\">",
        "<a href=\"absent.html#there\">x</a>",
        "<style>p { background: url(//example.org/x.png) }</style>",
        "<g clip-path=\"url(#absent)\"></g>",
    ] {
        let text = page(body);
        let page = Document::parse(&text).expect("well formed");
        assert_eq!(dangling(&page, nowhere).len(), 1, "{body}");
    }
}
