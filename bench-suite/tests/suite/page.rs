//! The report in a browser: well formed, self-contained, without dangling links.

use std::collections::HashSet;
use std::path::Path;

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

/// Dangling references, among links, sources, and `url(..)` in styles and attributes: to another machine, to an absent part of the
/// page, or to an absent file.
fn dangling(page: &Document<'_>, folder: &Path) -> Vec<String> {
    let ids = values(page, &["id"]);
    let leads = |to: &str| match to.strip_prefix('#') {
        Some(part) => ids.contains(&part),
        None => {
            to.starts_with("data:")
                || (!to.contains(':') && !to.starts_with('/') && folder.join(to).is_file())
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

#[test]
fn the_page_stands_by_itself() {
    let folder = folder("page");
    figures(&folder, &["pmcsa/tab-cost"]);
    let ids = [
        "pmcsa/tab-cost",
        "cw/fig7-conditional-variance",
        "cw/tab2-kernels",
        "pmcsa/tab-neural-regression",
        "mcmc-se/fig2-bias-bound",
    ];
    figures(&folder, &[ids.as_slice(), &["--no-run"]].concat());
    let report = folder.join("report");
    let text = std::fs::read_to_string(report.join("index.html")).expect("it was written");
    // What has not been run is shown too.
    for words in ["576 of 576 jobs have not been run", "not enough evidence", "not reproducible"] {
        assert!(text.contains(words), "{words}");
    }
    for name in ["cw-fig7-conditional-variance-variance.png", "cw-fig7-conditional-variance.csv"] {
        assert!(report.join(name).is_file(), "{name}");
    }
    let text = xml(&text);
    let page = Document::parse(&text).expect("well formed");

    assert_eq!(dangling(&page, &report), Vec::<String>::new());
    let has = |name: &str, attribute: (&str, &str)| {
        let mut found = page.descendants().filter(|element| element.has_tag_name(name));
        found.any(|element| element.attribute(attribute.0) == Some(attribute.1))
    };
    let count = |name| page.descendants().filter(|element| element.tag_name().name() == name).count();
    assert!(["script", "link", "iframe", "object"].into_iter().all(|name| count(name) == 0));
    let ids = values(&page, &["id"]);
    assert_eq!(ids.len(), ids.iter().collect::<HashSet<_>>().len(), "an id is one place: {ids:?}");
    assert!(count("svg") >= 6, "{} figures", count("svg"));
    assert!(has("meta", ("name", "viewport")) && has("html", ("lang", "en")));
    let style = styles(&page);
    assert!(!style.contains("@import"));
    for needed in ["prefers-color-scheme: dark", "@media print", "color-scheme: light dark", "@font-face"] {
        assert!(style.contains(needed), "{needed}");
    }
    // Every colour is defined for light, dark and print, before it is used.
    let used: HashSet<&str> = style.split("var(").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    for name in used {
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
        "<style>p { background: url(//example.org/x.png) }</style>",
        "<g clip-path=\"url(#absent)\"></g>",
    ] {
        let text = page(body);
        let page = Document::parse(&text).expect("well formed");
        assert_eq!(dangling(&page, nowhere).len(), 1, "{body}");
    }
}
