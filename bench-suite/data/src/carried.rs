//! Data files that are part of the program.

macro_rules! carried {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_bytes!(concat!("../", $name, ".csv")))),+]
    };
}

/// Name and contents of each file.
const FILES: [(&str, &[u8]); 17] = carried![
    "pima",
    "german_credit_numeric",
    "heart_cleveland",
    "heart_cleveland_303",
    "heart_statlog",
    "sonar",
    "ionosphere",
    "breast_wdbc",
    "magic_gamma",
    "yacht",
    "concrete",
    "airfoil",
    "wine_red",
    "boston",
    "radon_mn",
    "fx_ecb_18",
    "eight_schools",
];

/// Contents of a carried file; `None` if there is none of this name.
pub(super) fn file(name: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|(carried, _)| *carried == name).map(|(_, bytes)| *bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entry;

    #[test]
    fn what_the_manifest_calls_carried_is_carried() {
        let entries = Entry::all();
        for entry in &entries {
            assert_eq!(entry.is_carried(), file(&entry.name).is_some(), "{}", entry.name);
        }
        assert_eq!(entries.iter().filter(|entry| entry.is_carried()).count(), FILES.len());
    }
}
