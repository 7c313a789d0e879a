//! What git writes: bounded, and cleaned so that it can be shown.

use std::ops::ControlFlow;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::logs::text::clean;

/// How much of the end of git's complaints is kept.
const KEPT: usize = 64 * 1024;
/// How much of them goes into an error.
const SHOWN: usize = 2000;
/// How much is read at once.
const PIECE: usize = 16 * 1024;

/// What git adds to every failure of ssh, whatever it was.
const CHATTER: [&str; 3] = [
    "fatal: Could not read from remote repository",
    "Please make sure you have the correct access rights",
    "and the repository exists",
];

/// Takes a piece of what a program writes, and says whether it wants more.
pub type Take<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + Send + 'a;

/// Gives everything to `take`, piece by piece, until the end. A program that writes on after `take` wants no more is ended by that.
pub async fn pass(mut from: impl AsyncRead + Unpin, take: &mut Take<'_>) {
    let mut piece = vec![0; PIECE];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        if take(&piece[..length]).is_break() {
            return;
        }
    }
}

/// The last of everything.
pub async fn tail(from: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut kept = Vec::new();
    pass(from, &mut |piece| {
        kept.extend_from_slice(piece);
        if kept.len() > 2 * KEPT {
            kept.drain(..kept.len() - KEPT);
        }
        ControlFlow::Continue(())
    })
    .await;
    kept.drain(..kept.len().saturating_sub(KEPT));
    kept
}

/// Lines for people: without colours, progress, empty lines and secrets, joined by semicolons, and not too many.
pub fn for_people(bytes: &[u8], secrets: &[String]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().map(|line| clean(last_state(line)).replace('\t', " "));
    let lines = lines.map(|line| line.trim().trim_end_matches('.').to_owned());
    let lines: Vec<_> =
        lines.filter(|line| !line.is_empty() && !is_progress(line) && !CHATTER.contains(&line.as_str())).collect();
    let mut text = lines.join("; ");
    for secret in secrets {
        text = text.replace(secret.as_str(), "***");
    }
    let surplus = text.chars().count().saturating_sub(SHOWN);
    text.chars().skip(surplus).collect()
}

/// A line that was written over shows what was written last.
fn last_state(line: &str) -> &str {
    line.trim_end_matches('\r').rsplit('\r').next().unwrap_or(line)
}

fn is_progress(line: &str) -> bool {
    let line = line.strip_prefix("remote: ").unwrap_or(line);
    [
        "Enumerating objects",
        "Counting objects",
        "Compressing objects",
        "Receiving objects",
        "Resolving deltas",
        "Total ",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown() {
        let said = b"remote: Counting objects: 5% (1/20)\rremote: Counting objects: 100% (20/20), done.\n\
            \x1b[31mfatal:\x1b[0m bad hunter2\x07.\r\n\nhint:\ttry\n";
        assert_eq!(for_people(said, &["hunter2".to_owned()]), "fatal: bad ***\u{2407}; hint: try");
        assert_eq!(for_people("\u{20ac}".repeat(5000).as_bytes(), &[]).chars().count(), SHOWN);
    }

    #[tokio::test]
    async fn the_end_is_kept() {
        let said = [vec![b'a'; 10 * KEPT], b"the end".to_vec()].concat();
        let kept = tail(said.as_slice()).await;
        assert!(kept.ends_with(b"the end") && kept.len() == KEPT);
    }
}
