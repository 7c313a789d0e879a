//! A commit's tree before it is put on the disk: what it holds and whether it may.

use std::ops::ControlFlow::{Break, Continue};

use super::error::{FetchError, classify};
use super::git_run::GitRun;
use super::source::Commit;

const MAX_TEXT: usize = 200;
/// Longer than any path that the system takes, so that a list without ends of lines does not fill the memory.
const MAX_ENTRY: usize = 64 * 1024;
/// Submodules of one repository, those of its submodules included.
pub const MOST_LINKS: usize = 100;
/// Longer than any path that the system takes.
const LONGEST_PATH: usize = 4096;
pub const ADDRESSES: &str = ".gitmodules";
/// How a file begins whose content is in Git LFS.
const POINTER: &str = "^version https://git-lfs.github.com/spec/v1$";

/// What a commit's tree holds.
pub struct Contents {
    pub entries: usize,
    pub bytes: u64,
    pub links: Vec<Link>,
    /// Whether it says where submodules are.
    pub has_addresses: bool,
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
        if survey.entries > run.most_files() || survey.links.len() > MOST_LINKS || run.check_size(survey.bytes).is_err()
        {
            Break(())
        } else {
            Continue(())
        }
    };
    let list = run.command(&["ls-tree", "-r", "-t", "-l", "-z", "--full-tree", hash])?;
    let (success, said) = run.run_command(list, take).await?;
    run.check_size(survey.bytes)?;
    if survey.entries > run.most_files() {
        return Err(FetchError::TooManyFiles { limit: run.most_files() });
    }
    if survey.links.len() > MOST_LINKS {
        return Err(FetchError::TooManySubmodules { limit: MOST_LINKS });
    }
    run.check_success(success, &said)?;
    match lfs_pointer(run, hash, survey.has_attributes).await? {
        Some(path) => Err(FetchError::Lfs { path }),
        None => Ok(Contents {
            entries: survey.entries,
            bytes: survey.bytes,
            links: survey.links,
            has_addresses: survey.has_addresses,
        }),
    }
}

/// Many repositories only say which files would be in LFS; it matters when there is one.
async fn lfs_pointer(run: &GitRun<'_>, hash: &str, has_attributes: bool) -> Result<Option<String>, FetchError> {
    if !has_attributes || first_match(run, "filter=lfs", hash, &[":(glob)**/.gitattributes"]).await?.is_none() {
        return Ok(None);
    }
    first_match(run, POINTER, hash, &[]).await
}

/// The first file in which a line matches.
async fn first_match(
    run: &GitRun<'_>,
    pattern: &str,
    hash: &str,
    paths: &[&str],
) -> Result<Option<String>, FetchError> {
    let fixed = ["grep", "--files-with-matches", "-I", "-e", pattern, hash, "--"];
    let arguments: Vec<_> = fixed.iter().chain(paths).copied().collect();
    let mut found = Vec::new();
    let take = &mut |piece: &[u8]| {
        found.extend_from_slice(&piece[..piece.len().min(MAX_ENTRY.saturating_sub(found.len()))]);
        Continue(())
    };
    // Finding nothing is a failure to git, but one without a complaint.
    let (success, said) = run.run_command(run.command(&arguments)?, take).await?;
    if !success && !said.is_empty() {
        return Err(classify(run.for_people(&said)));
    }
    let found = String::from_utf8_lossy(&found).into_owned();
    let first = found.lines().next().map(|line| line.split_once(':').map_or(line, |(_, path)| path));
    Ok(first.map(|path| path.chars().take(MAX_TEXT).collect()))
}

/// What is learned from `git ls-tree`, which writes `mode type hash size TAB path NUL` for each file and folder.
#[derive(Default)]
struct Survey {
    entry: Vec<u8>,
    entries: usize,
    bytes: u64,
    links: Vec<Link>,
    has_addresses: bool,
    has_attributes: bool,
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
        self.entries += 1;
        let mut fields = head.split_whitespace();
        let (mode, hash) = (fields.next(), fields.nth(1).unwrap_or_default());
        self.bytes = self.bytes.saturating_add(fields.next().and_then(|size| size.parse().ok()).unwrap_or(0));
        if mode == Some("160000") {
            // A longer one is none, and would not be found.
            self.links.push(Link { path: path.chars().take(LONGEST_PATH).collect(), hash: hash.to_owned() });
        }
        self.has_addresses |= path == ADDRESSES;
        self.has_attributes |= path == ".gitattributes" || path.ends_with("/.gitattributes");
    }
}

/// The commit's author and message.
pub async fn describe(run: &GitRun<'_>, hash: String) -> Result<Commit, FetchError> {
    let format = "--format=%an%x00%s";
    let answer = run.run(&["log", "-1", "--no-show-signature", "--encoding=UTF-8", format, &hash]).await?;
    let mut fields = answer.trim_end_matches('\n').splitn(2, '\0');
    let mut next = || fields.next().unwrap_or_default();
    let (author, message) = (printable(next()), printable(next()));
    Ok(Commit { hash, author, message })
}

fn printable(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(MAX_TEXT).collect()
}
