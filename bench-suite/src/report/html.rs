//! HTML elements of the pages.

/// A whole page with its style; `end` stands after its main part.
pub(crate) fn document(title: &str, style: &str, body: &str, end: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n\
         {body}</main>\n{end}</body>\n</html>\n"
    )
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

/// A table whose cells are HTML, with bars between the titles of its columns; the class determines their style. Each cell carries the
/// heading of its column, which is shown beside it on screens too narrow for columns.
pub(super) fn table(class: &str, head: &str, rows: Vec<Vec<String>>) -> String {
    grouped(class, &head.split(" | ").collect::<Vec<_>>(), &[(String::new(), rows)])
}

pub(super) type Group = (String, Vec<Vec<String>>);

pub(super) fn grouped(class: &str, head: &[&str], groups: &[Group]) -> String {
    let heads: String = head.iter().map(|cell| format!("<th scope=\"col\">{cell}</th>")).collect();
    let labels: Vec<String> = head.iter().map(|head| label(head)).collect();
    let cell = |(k, cell): (usize, &String)| match labels.get(k).filter(|label| !label.is_empty()) {
        Some(label) => format!("<td data-label=\"{label}\">{cell}</td>"),
        None => format!("<td>{cell}</td>"),
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
        for row in rows {
            let cells: String = row.iter().enumerate().map(cell).collect();
            text.push_str(&format!("<tr>{cells}</tr>\n"));
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
