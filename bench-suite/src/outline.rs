//! Pages of the report, and the headlines of the papers, as written in `papers/pages.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

const TEXT: &str = include_str!("../papers/pages.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outline {
    pub(crate) picture: Picture,
    #[serde(rename = "page")]
    pub(crate) pages: Vec<Page>,
}

/// The figure on the first page: its file in the report, and what it shows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Picture {
    pub(crate) file: String,
    pub(crate) words: String,
}

/// A page of the report. Those of papers have a key, by which they are cited, and headlines.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    pub(crate) name: String,
    pub(crate) key: Option<String>,
    pub(crate) title: String,
    pub(crate) by: Option<String>,
    #[serde(default)]
    pub(crate) headlines: Vec<String>,
    #[serde(default)]
    experiments: Vec<String>,
}

static OUTLINE: LazyLock<Outline> =
    LazyLock::new(|| toml::from_str(TEXT).expect("a test reads the outline of the repository"));

pub(crate) fn outline() -> &'static Outline {
    &OUTLINE
}

impl Outline {
    /// The page of an experiment: one that names it, or that of its folder, or the last one.
    pub(crate) fn page_of(&self, experiment: &str) -> &Page {
        let is_named = |page: &&Page| page.experiments.iter().any(|name| name == experiment);
        let folder = experiment.split('/').next().unwrap_or_default();
        let found =
            self.pages.iter().find(is_named).or_else(|| self.pages.iter().find(|page| page.name == folder));
        found.unwrap_or(&self.pages[self.pages.len() - 1])
    }

    /// The paper of a citation such as `CW, Fig. 6`.
    pub(crate) fn paper_of(&self, citation: &str) -> Option<&Page> {
        let key = citation.split(", ").next();
        self.pages.iter().find(|page| page.key.is_some() && page.key.as_deref() == key)
    }

    /// Pages of papers.
    pub(crate) fn papers(&self) -> impl Iterator<Item = (&str, &Page)> {
        self.pages.iter().filter_map(|page| Some((page.key.as_deref()?, page)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::REGISTRY;

    #[test]
    fn every_experiment_has_its_page() {
        let of = |id: &str| outline().page_of(id).name.as_str();
        assert_eq!(
            ["cw/fig6-gaussian", "ours/strangers", "ours/gaussian", "mine"].map(of),
            ["cw", "strangers", "ours", "ours"]
        );
        let ids: Vec<String> = REGISTRY.iter().map(|entry| entry.experiment().unwrap().id).collect();
        for name in outline().pages.iter().flat_map(|page| &page.experiments) {
            assert!(ids.contains(name), "{name} is no experiment");
        }
        let paper = |citation: &str| outline().paper_of(citation).map(|page| page.name.as_str());
        assert_eq!(
            ["pMCSA, Tab. 2; MCMC-SE, Tab. 1", "ours", "Dhaka et al. 2021"].map(paper),
            [Some("pmcsa"), None, None]
        );
    }

    /// The three headlines of each paper, each with a claim; a claim that is evidence for another one is an error of its file.
    #[test]
    fn every_headline_has_a_claim() {
        let claims = REGISTRY.iter().flat_map(|entry| entry.claims(&entry.experiment().unwrap()).unwrap());
        let claims: Vec<_> =
            claims.filter_map(|claim| Some((claim.citation.clone(), claim.headline?))).collect();
        assert_eq!(outline().papers().count(), 5);
        for (key, page) in outline().papers() {
            assert_eq!(page.headlines.len(), 3, "{key}");
            for number in 1..=3 {
                let is_it = |(citation, headline): &(String, usize)| {
                    *headline == number
                        && outline().paper_of(citation).is_some_and(|paper| paper.name == page.name)
                };
                assert!(claims.iter().any(is_it), "{key}: headline {number}");
            }
        }
        let entry = REGISTRY.iter().find(|entry| entry.text.contains("headline = 3")).unwrap();
        let text = entry.text.replacen("headline = 3", "headline = 4", 1);
        let error =
            crate::claims::claims("x.toml", &text, &entry.experiment().unwrap(), &crate::experiments::CHECKS);
        assert!(error.unwrap_err().to_string().contains("headline = 4: the paper of "), "of another file");
    }
}
