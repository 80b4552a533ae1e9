//! The report in a browser: well formed, self-contained, without dangling links, nothing cut off.
#![expect(clippy::print_stderr, reason = "a check that was skipped says so")]

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use crate::process::{folder, run};

/// Elements without a closing tag.
const VOID: [&str; 4] = ["meta", "br", "hr", "img"];

/// A tag with its attributes.
struct Tag<'t> {
    name: &'t str,
    attributes: Vec<(&'t str, &'t str)>,
}

/// The opening tags of a page and the text of its styles.
struct Page<'t> {
    tags: Vec<Tag<'t>>,
    styles: Vec<&'t str>,
}

fn attributes<'t>(mut text: &'t str, place: &str) -> Result<Vec<(&'t str, &'t str)>, String> {
    let mut all = Vec::new();
    loop {
        text = text.trim_start();
        if text.is_empty() || text == "/" {
            return Ok(all);
        }
        let (name, rest) =
            text.split_once("=\"").ok_or(format!("an attribute without quotes in <{place}>"))?;
        let (value, rest) =
            rest.split_once('"').ok_or(format!("an attribute that does not end in <{place}>"))?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-:_".contains(c);
        if name.is_empty()
            || !name.chars().all(is_name)
            || value.contains('<')
            || all.iter().any(|(n, _)| *n == name)
        {
            return Err(format!("the attribute {name:?} in <{place}>"));
        }
        escaped(value)?;
        all.push((name, value));
        text = rest;
    }
}

/// Checks that every ampersand begins a character reference.
fn escaped(text: &str) -> Result<(), String> {
    for rest in text.split('&').skip(1) {
        let word = rest.split(';').next().filter(|word| rest.len() > word.len()).unwrap_or_default();
        let is_known = matches!(word, "amp" | "lt" | "gt" | "quot" | "apos") || word.starts_with('#');
        if !is_known {
            return Err(format!("a bare & before {:?}", rest.chars().take(20).collect::<String>()));
        }
    }
    Ok(())
}

/// Parses a page; the error says what is not well formed.
fn read(text: &str) -> Result<Page<'_>, String> {
    let mut rest = text.strip_prefix("<!doctype html>").ok_or("no document type")?;
    let (mut open, mut page) = (Vec::new(), Page { tags: Vec::new(), styles: Vec::new() });
    while let Some((before, tag)) = rest.split_once('<') {
        escaped(before)?;
        let (inside, after) = tag.split_once('>').ok_or("a tag that does not end")?;
        rest = after;
        if let Some(name) = inside.strip_prefix('/') {
            let last = open.pop();
            if last != Some(name) {
                return Err(format!("</{name}> closes {last:?}"));
            }
            continue;
        }
        let name = inside.split([' ', '\n', '/']).next().unwrap_or_default();
        page.tags.push(Tag { name, attributes: attributes(&inside[name.len()..], inside)? });
        if name == "style" {
            let (style, after) = rest.split_once("</style>").ok_or("a style that does not end")?;
            page.styles.push(style);
            rest = after;
        } else if !inside.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(page) } else { Err(format!("never closed: {open:?}")) }
}

impl<'t> Page<'t> {
    fn values(&self, name: &str) -> Vec<&'t str> {
        let all = self.tags.iter().flat_map(|tag| &tag.attributes);
        all.filter(|(known, _)| *known == name).map(|(_, value)| *value).collect()
    }

    /// All references: links, sources, and `url(..)` in styles and attributes.
    fn references(&self) -> Vec<String> {
        let mut all: Vec<String> = ["href", "src", "xlink:href", "srcset", "poster", "data"]
            .iter()
            .flat_map(|name| self.values(name))
            .map(str::to_owned)
            .collect();
        let values = self.tags.iter().flat_map(|tag| tag.attributes.iter().map(|(_, value)| *value));
        for text in values.chain(self.styles.iter().copied()) {
            let found = text.split("url(").skip(1).filter_map(|rest| rest.split(')').next());
            all.extend(found.map(|found| found.trim_matches(['"', '\'']).to_owned()));
        }
        all
    }

    /// Dangling references: to another machine, to an absent part of the page, or to an absent file.
    fn dangling(&self, folder: &Path) -> Vec<String> {
        let ids: HashSet<&str> = self.values("id").into_iter().collect();
        let leads = |to: &String| match to.strip_prefix('#') {
            Some(part) => ids.contains(part),
            None => {
                to.starts_with("data:")
                    || (!to.contains(':') && !to.starts_with('/') && folder.join(to).is_file())
            }
        };
        self.references().into_iter().filter(|to| !leads(to)).collect()
    }
}

fn figures(out: &str, arguments: &[&str]) {
    let run = run(&[&["figures", "--preset", "quick", "--out", out], arguments].concat());
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn the_page_stands_by_itself() {
    let folder = folder("page");
    let out = folder.to_str().expect("a path in words");
    figures(out, &["pmcsa/tab-cost"]);
    let ids = [
        "pmcsa/tab-cost",
        "cw/fig7-conditional-variance",
        "cw/tab2-kernels",
        "pmcsa/tab-neural-regression",
        "mcmc-se/fig2-bias-bound",
    ];
    figures(out, &[ids.as_slice(), &["--no-run"]].concat());
    let report = folder.join("report");
    let text = std::fs::read_to_string(report.join("index.html")).expect("it was written");
    let page = read(&text).expect("well formed");

    assert_eq!(page.dangling(&report), Vec::<String>::new());
    assert!(!page.tags.iter().any(|tag| ["script", "link", "iframe", "object"].contains(&tag.name)));
    assert!(page.styles.iter().all(|style| !style.contains("@import")));
    let ids = page.values("id");
    assert_eq!(ids.len(), ids.iter().collect::<HashSet<_>>().len(), "an id is one place: {ids:?}");
    let svgs = page.tags.iter().filter(|tag| tag.name == "svg").count();
    assert!(svgs >= 6, "{svgs} figures");

    let viewport = ("name", "viewport");
    assert!(page.tags.iter().any(|tag| tag.name == "meta" && tag.attributes.contains(&viewport)));
    assert!(page.tags.iter().any(|tag| tag.name == "html" && tag.attributes.contains(&("lang", "en"))));
    let style = page.styles.concat();
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

/// Elements of a page that are cut off in a window of this width, as laid out by a browser; `None` if Chromium is not
/// installed or cannot run.
fn cut_off(page: &Path, width: usize) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(page).expect("a page");
    let script = "<script>addEventListener('load', () => { const cut = []; \
        for (const e of document.querySelectorAll('main, .scroll, .plate, pre')) \
        if (e.scrollWidth > e.clientWidth + 1) cut.push(e.tagName + ' ' + e.className + ' ' + \
        (e.closest('section') || {id: 'header'}).id + ' ' + e.scrollWidth + ' of ' + e.clientWidth); \
        document.documentElement.innerHTML = '<body>CUT' + cut.join('|') + 'TUC</body>'; });</script>";
    let measured = page.with_file_name(format!("measured-{width}.html"));
    let profile = page.with_file_name("chromium");
    std::fs::write(
        &measured,
        text.replace("<details>", "<details open>").replace("</body>", &format!("{script}</body>")),
    )
    .expect("a copy");
    let mut browser = Command::new("chromium");
    browser.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]);
    browser.args(["--disable-background-networking", "--disable-component-update", "--dump-dom"]);
    browser.arg(format!("--user-data-dir={}", profile.display())).arg(format!("--window-size={width},2000"));
    let found = browser.arg(format!("file://{}", measured.display())).output().ok()?;
    let dom = String::from_utf8_lossy(&found.stdout).into_owned();
    let (_, cut) = dom.split_once("CUT")?;
    let (cut, _) = cut.split_once("TUC")?;
    Some(cut.split('|').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Checks the summary of all experiments, and every table, list of settings and figure of an experiment that was run.
#[test]
fn nothing_is_cut_off_at_its_right_edge() {
    let folder = folder("widths");
    let out = folder.to_str().expect("a path in words");
    figures(out, &["pmcsa/tab-cost"]);
    figures(out, &["--no-run"]);
    let page = folder.join("report/index.html");
    let Some(cut) = cut_off(&page, 1300) else {
        eprintln!("skipped: no working chromium to lay the page out");
        return;
    };
    assert_eq!(cut, Vec::<String>::new());
    // A phone: figures and wide tables scroll sideways in their frames, the summary and the page do not.
    let cut = cut_off(&page, 500).unwrap_or_default();
    let cut: Vec<&String> =
        cut.iter().filter(|name| name.contains("header") || name.starts_with("MAIN")).collect();
    assert_eq!(cut, Vec::<&String>::new());
}

#[test]
fn what_is_not_well_formed_is_seen() {
    let page = |body: &str| format!("<!doctype html>\n<html lang=\"en\"><body>{body}</body></html>");
    assert!(read(&page("<p>one &amp; two<br><svg><g/></svg></p>")).is_ok());
    for body in [
        "<p>",
        "<p></div>",
        "<p>a & b</p>",
        "<a href=x>y</a>",
        "<p class=\"a\" class=\"b\"></p>",
        "<p title=\"a<b\"></p>",
    ] {
        assert!(read(&page(body)).is_err(), "{body}");
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
        assert_eq!(read(&text).expect("well formed").dangling(nowhere).len(), 1, "{body}");
    }
}
