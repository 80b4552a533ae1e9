//! HTML elements of the pages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A whole page, in the style of `report.css` beside it.
pub(crate) fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{}</title>\n<link rel=\"stylesheet\" href=\"report.css\"/>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(title)
    )
}

/// Style of all pages, with their fonts.
pub(super) fn style() -> String {
    let font = |(style, bytes): (&str, &[u8])| {
        format!(
            "@font-face{{font-family:\"DejaVu Sans\";font-style:{style};src:local(\"DejaVu Sans\"),\
             url(data:font/ttf;base64,{})}}\n",
            STANDARD.encode(bytes)
        )
    };
    let fonts = [("normal", dejavu::sans::regular()), ("italic", dejavu::sans::oblique())].map(font);
    include_str!("page.css").to_owned() + &fonts.concat()
}

/// Text escaped for HTML, also inside of attributes.
pub(crate) fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// Text of a heading without its markup, as an attribute.
fn label(head: &str) -> String {
    let words = head.split('<').enumerate().map(|(k, part)| match k {
        0 => part,
        _ => part.split_once('>').map_or("", |(_, words)| words),
    });
    words.collect::<String>().replace('"', "&quot;")
}

/// A row of a table: attributes of its element, and cells as HTML.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) attributes: String,
    pub(super) cells: Vec<String>,
}

impl From<Vec<String>> for Row {
    fn from(cells: Vec<String>) -> Self {
        Self { attributes: String::new(), cells }
    }
}

/// A table whose cells are HTML, with bars between the titles of its columns; the class determines their style.
pub(super) fn table<R: Clone + Into<Row>>(class: &str, head: &str, rows: Vec<R>) -> String {
    grouped(class, &head.split(" | ").collect::<Vec<_>>(), &[(String::new(), rows)])
}

/// Longest text of a cell that is never broken.
const UNBROKEN: usize = 16;

/// A table in groups with names. Each cell carries the heading of its column, which is shown beside it on screens too narrow for columns,
/// where empty cells are left out.
pub(super) fn grouped<R: Clone + Into<Row>>(
    class: &str,
    head: &[&str],
    groups: &[(String, Vec<R>)],
) -> String {
    let heads: String = head.iter().map(|cell| format!("<th scope=\"col\">{cell}</th>")).collect();
    let labels: Vec<String> = head.iter().map(|head| label(head)).collect();
    let cell = |(k, cell): (usize, &String)| {
        let label = labels.get(k).filter(|label| !label.is_empty());
        let label = label.map_or_else(String::new, |label| format!(" data-label=\"{label}\""));
        let class = match cell.chars().count() {
            0 => " class=\"nil\"",
            1..=UNBROKEN => " class=\"whole\"",
            _ => "",
        };
        format!("<td{class}{label}>{cell}</td>")
    };
    let mut text =
        format!("<div class=\"scroll\"><table class=\"{class}\"><thead><tr>{heads}</tr></thead>\n");
    for (name, rows) in groups {
        text.push_str("<tbody>\n");
        if !name.is_empty() {
            let span = head.len();
            text.push_str(&format!(
                "<tr><th class=\"group\" scope=\"rowgroup\" colspan=\"{span}\">{name}</th></tr>\n"
            ));
        }
        for row in rows.iter().cloned().map(Into::<Row>::into) {
            let cells: String = row.cells.iter().enumerate().map(cell).collect();
            text.push_str(&format!("<tr{}>{cells}</tr>\n", row.attributes));
        }
        text.push_str("</tbody>\n");
    }
    text + "</table></div>\n"
}

pub(super) fn details(summary: &str, body: &str) -> String {
    format!("<details><summary>{summary}</summary>\n{body}</details>\n")
}

/// A number with about four digits, a typographic minus sign, and a dash for NaN.
pub(super) fn number(value: f64) -> String {
    let text = match value {
        v if v.is_nan() => return "–".to_owned(),
        v if v == f64::INFINITY => return "∞".to_owned(),
        v if v == f64::NEG_INFINITY => return "−∞".to_owned(),
        0.0 => "0".to_owned(),
        v if v.abs() >= 1e6 || v.abs() < 1e-4 => format!("{v:.2e}"),
        v if v.abs() >= 1000.0 => format!("{v:.0}"),
        v if v.abs() >= 100.0 => format!("{v:.1}"),
        v if v.abs() >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    };
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let found = [-0.5123, 12.345, 1234.5, 2e-7, f64::NAN, f64::INFINITY].map(number);
        assert_eq!(found, ["−0.512", "12.35", "1234", "2.00e−7", "–", "∞"]);
    }
}
