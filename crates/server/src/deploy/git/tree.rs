//! A commit's tree before it is put on the disk: what it holds and whether it may.

use std::ops::ControlFlow::{Break, Continue};

use super::error::FetchError;
use super::git_run::GitRun;
use super::lfs;
use super::source::Commit;

const MAX_TEXT: usize = 200;
/// Longer than any path that the system takes, so that a list without ends of lines does not fill the memory.
const MAX_ENTRY: usize = 64 * 1024;
/// Submodules of one repository, those of its submodules included.
pub const MOST_LINKS: usize = 100;
/// Longer than any path that the system takes.
const LONGEST_PATH: usize = 4096;
pub const ADDRESSES: &str = ".gitmodules";

/// What a commit's tree holds.
#[derive(Default)]
pub struct Contents {
    pub entries: usize,
    pub bytes: u64,
    pub links: Vec<Link>,
    /// Whether it says where submodules are.
    pub has_addresses: bool,
    /// Whether it says anything of how files are kept, such as that they are in Git LFS.
    pub has_attributes: bool,
    /// Whether it has settings of Git LFS.
    pub has_lfs_settings: bool,
}

/// A submodule: a commit of another repository.
pub struct Link {
    pub path: String,
    pub hash: String,
}

/// Writes the tree, without its submodules.
pub async fn check_out(run: &GitRun<'_>, hash: &str) -> Result<Contents, FetchError> {
    let contents = check(run, hash).await?;
    run.run(&["checkout", "--quiet", "--force", "--detach", hash]).await?;
    Ok(contents)
}

/// Refuses what would not be complete, or would not fit, before anything is written.
async fn check(run: &GitRun<'_>, hash: &str) -> Result<Contents, FetchError> {
    let mut survey = Survey::default();
    // A tree can name one folder many times, so a small repository can list more files than there is time for.
    let take = &mut |piece: &[u8]| {
        survey.take(piece);
        let Contents { entries, bytes, links, .. } = &survey.contents;
        let is_too_much = *entries > run.most_files() || links.len() > MOST_LINKS || run.check_size(*bytes).is_err();
        if is_too_much { Break(()) } else { Continue(()) }
    };
    let list = run.command(&["ls-tree", "-r", "-t", "-l", "-z", "--full-tree", hash])?;
    let (success, said) = run.run_command(list, take).await?;
    run.check_size(survey.contents.bytes)?;
    if survey.contents.entries > run.most_files() {
        return Err(FetchError::TooManyFiles { limit: run.most_files() });
    }
    if survey.contents.links.len() > MOST_LINKS {
        return Err(FetchError::TooManySubmodules { limit: MOST_LINKS });
    }
    run.check_success(success, &said)?;
    Ok(survey.contents)
}

/// What is learned from `git ls-tree`, which writes `mode type hash size TAB path NUL` for each file and folder.
#[derive(Default)]
struct Survey {
    entry: Vec<u8>,
    contents: Contents,
}

impl Survey {
    fn take(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == 0) {
            let space = MAX_ENTRY.saturating_sub(self.entry.len());
            self.entry.extend_from_slice(&part[..part.len().min(space)]);
            if part.ends_with(&[0]) {
                let entry = std::mem::take(&mut self.entry);
                self.look_at(&String::from_utf8_lossy(&entry));
            }
        }
    }

    fn look_at(&mut self, entry: &str) {
        let Some((head, path)) = entry.trim_end_matches('\0').split_once('\t') else { return };
        let contents = &mut self.contents;
        contents.entries += 1;
        let mut fields = head.split_whitespace();
        let (mode, hash) = (fields.next(), fields.nth(1).unwrap_or_default());
        contents.bytes = contents.bytes.saturating_add(fields.next().and_then(|size| size.parse().ok()).unwrap_or(0));
        if mode == Some("160000") {
            // A longer one is none, and would not be found.
            contents.links.push(Link { path: path.chars().take(LONGEST_PATH).collect(), hash: hash.to_owned() });
        }
        contents.has_addresses |= path == ADDRESSES;
        contents.has_attributes |= path == ".gitattributes" || path.ends_with("/.gitattributes");
        contents.has_lfs_settings |= path == lfs::SETTINGS && mode.is_some_and(|mode| mode.starts_with("100"));
    }
}

/// The commit's author and message.
pub async fn describe(run: &GitRun<'_>, hash: String) -> Result<Commit, FetchError> {
    let format = "--format=%an%x00%s";
    let answer = run.run(&["log", "-1", "--no-show-signature", "--encoding=UTF-8", format, &hash]).await?;
    let mut fields = answer.trim_end_matches('\n').splitn(2, '\0');
    let mut next = || fields.next().unwrap_or_default();
    let (author, message) = (printable(next()), printable(next()));
    Ok(Commit { hash, author, message, files_in_lfs: 0 })
}

fn printable(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(MAX_TEXT).collect()
}
