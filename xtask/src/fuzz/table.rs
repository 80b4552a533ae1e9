//! Tables that pass all checks of the manifest, so that changes of them reach the code behind these checks.

/// Data sets of which whole tables are made: absent ones without labels.
pub(super) const WHOLE: [&str; 3] = ["energy", "sp500_close_2007_2017", "fx_fed_h10_18"];

/// Name of a data set, a header, and rows in which every column `a + b k / n` of numbers has the sum and the order (sum of `k / n` times
/// the value in row `k`) of the manifest; dates ascend. `None` if the manifest does not tell them.
pub(super) fn whole_table(manifest: &str, name: &str) -> Option<Vec<u8>> {
    let (_, entry) = manifest.split_once(&format!("\nname = \"{name}\"\n"))?;
    let entry = entry.split("[[dataset]]").next()?;
    let rows: usize = value(entry, "rows")?.parse().ok()?;
    let columns = list(value(entry, "columns")?);
    let words = value(entry, "text").map(list).unwrap_or_default();
    let [sums, orders] = ["sums", "order"].map(|key| {
        let numbers: Option<Vec<f64>> = list(value(entry, key)?).iter().map(|x| x.parse().ok()).collect();
        numbers
    });
    let mut lines = sums?.into_iter().zip(orders?).map(|(sum, order)| line(rows as f64, sum, order));
    let columns_of_numbers: Vec<Option<(f64, f64)>> = columns
        .iter()
        .map(|column| if words.contains(column) { Some(None) } else { lines.next().map(Some) })
        .collect::<Option<_>>()?;
    let mut text = format!("{name}\n{}\n", columns.join(","));
    for row in 1..=rows {
        let date = format!("{:04}-{:02}-{:02}", 2000 + row / 336, 1 + row % 336 / 28, 1 + row % 28);
        let cell = |line: &Option<(f64, f64)>| match line {
            Some((a, b)) => (a + b * row as f64 / rows as f64).to_string(),
            None => date.clone(),
        };
        text += &columns_of_numbers.iter().map(cell).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    Some(text.into_bytes())
}

/// `a` and `b` of values `a + b k / n` with this sum and this sum of `k / n` times the value.
fn line(n: f64, sum: f64, order: f64) -> (f64, f64) {
    let (one, two) = ((n + 1.0) / 2.0, (n + 1.0) * (2.0 * n + 1.0) / (6.0 * n));
    let b = (order - one * sum / n) / (two - one * one / n);
    ((sum - b * one) / n, b)
}

/// Text after `key = ` on its line.
fn value<'a>(entry: &'a str, key: &str) -> Option<&'a str> {
    entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))
}

/// Elements of a list on one line, without quotation marks.
fn list(text: &str) -> Vec<String> {
    text.trim_matches(['[', ']']).split(',').map(|word| word.trim().trim_matches('"').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[[dataset]]\nname = \"a\"\nrows = 4\ncolumns = [\"date\", \"y\"]\ntext = [\"date\"]\n\
                            sums = [20]\norder = [14]\n\n[[dataset]]\nname = \"b\"\nrows = 2\n";

    #[test]
    fn a_table_has_the_sums_of_the_manifest() {
        let text = String::from_utf8(whole_table(MANIFEST, "a").expect("known")).expect("text");
        assert!(text.starts_with("a\ndate,y\n2000-01-02,"));
        let y: Vec<f64> = text.lines().skip(2).map(|row| row[11..].parse().expect("a number")).collect();
        let order: f64 = y.iter().enumerate().map(|(k, y)| (k + 1) as f64 / 4.0 * y).sum();
        assert!(y.len() == 4 && (y.iter().sum::<f64>() - 20.0).abs() < 1e-12 && (order - 14.0).abs() < 1e-12);
        assert!(whole_table(MANIFEST, "b").is_none() && whole_table(MANIFEST, "c").is_none());
    }

    #[test]
    fn whole_tables_are_of_the_manifest() {
        let path = crate::workspace::root().join("bench-suite/data/manifest.toml");
        let manifest = std::fs::read_to_string(path).expect("readable");
        assert!(WHOLE.iter().all(|name| whole_table(&manifest, name).is_some()));
    }
}
