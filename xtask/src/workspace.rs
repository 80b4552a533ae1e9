//! Root and text files of the workspace on disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One text file, with its path relative to the root, separated by `/`.
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The directory of the workspace manifest.
pub(crate) fn root() -> PathBuf {
    let ours = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let ours = PathBuf::from(ours);
    ours.parent().map(Path::to_path_buf).unwrap_or(ours)
}

/// The folder of what is built.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Every text file that is tracked by git or not ignored; without git, every text file outside build folders.
pub(crate) fn text_files(root: &Path) -> io::Result<Vec<TextFile>> {
    let mut paths = match listed_by_git(root) {
        Some(paths) => paths,
        None => {
            let mut found = Vec::new();
            walk(root, "", &mut found)?;
            found
        }
    };
    paths.sort();
    paths.dedup();
    let read = |path: String| {
        let bytes = fs::read(root.join(&path)).ok()?; // deleted but still listed
        let text = String::from_utf8(bytes).ok()?;
        (!text.contains('\0')).then_some(TextFile { path, text })
    };
    Ok(paths.into_iter().filter_map(read).collect())
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = git.stderr(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    let names = String::from_utf8(listed.stdout).ok()?;
    let names: Vec<String> = names.split_terminator('\0').map(String::from).collect();
    (!names.is_empty()).then_some(names) // empty: a copy inside somebody else's repository
}

fn walk(root: &Path, below: &str, found: &mut Vec<String>) -> io::Result<()> {
    const BUILT: [&str; 4] = [".git", "target", "results", "report"];
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() && !BUILT.contains(&name.as_str()) {
            walk(root, &path, found)?;
        } else if kind.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_and_git_both_find_this_file() {
        let mut walked = Vec::new();
        walk(&root(), "xtask/src", &mut walked).expect("readable");
        assert!(walked.iter().any(|path| path == "xtask/src/workspace.rs"));
        let files = text_files(&root()).expect("readable");
        assert!(files.iter().any(|file| file.path == "xtask/src/workspace.rs"));
    }
}
