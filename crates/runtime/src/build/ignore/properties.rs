//! What the matcher finds is what a plain reading of each pattern finds, however slowly.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// The same as [`Pattern::matches`], character by character, trying everything.
fn fits(pattern: &[char], path: &[char]) -> bool {
    match pattern {
        [] => path.is_empty(),
        ['*', '*', rest @ ..] => {
            let rest = rest.strip_prefix(&['/']).unwrap_or(rest);
            let behind_a_folder = |at: usize| path[at] == '/' && fits(rest, &path[at + 1..]);
            rest.is_empty() || fits(rest, path) || (0..path.len()).any(behind_a_folder)
        }
        ['*', rest @ ..] => {
            let within = path.iter().position(|c| *c == '/').unwrap_or(path.len());
            (0..=within).any(|at| fits(rest, &path[at..]))
        }
        ['\\', wanted, rest @ ..] => path.first() == Some(wanted) && fits(rest, &path[1..]),
        ['[', rest @ ..] => {
            let (is_in, rest) = class(rest, path.first().copied());
            is_in && fits(rest, &path[1..])
        }
        [wanted, rest @ ..] => {
            let is_it = |c: &char| if *wanted == '?' { *c != '/' } else { c == wanted };
            path.first().is_some_and(is_it) && fits(rest, &path[1..])
        }
    }
}

/// Whether a character is one of `a-z]`, and what of the pattern follows that.
fn class(pattern: &[char], found: Option<char>) -> (bool, &[char]) {
    let (negated, mut rest) = match pattern {
        ['^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut is_in = false;
    loop {
        let (first, after) = match rest {
            [] | [']', ..] => break,
            ['\\', first, after @ ..] | [first, after @ ..] => (*first, after),
        };
        let (last, after) = match after {
            ['-', last, after @ ..] => (*last, after),
            ['-'] => (first, &[][..]),
            after => (first, after),
        };
        is_in |= found.is_some_and(|found| first <= found && found <= last);
        rest = after;
    }
    (found.is_some() && is_in != negated, rest.get(1..).unwrap_or_default())
}

/// Whether the last line that fits the path, or a folder above it, leaves it out.
fn is_left_out(text: &str, path: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut is_left_out = false;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let line = line.trim();
        let pattern = line.strip_prefix('!').map_or(line, str::trim);
        if pattern.is_empty() {
            continue;
        }
        let pattern: Vec<char> = clean(pattern).chars().collect();
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        if ends.into_iter().any(|end| fits(&pattern, &path[..end].chars().collect::<Vec<_>>())) {
            is_left_out = !line.starts_with('!');
        }
    }
    is_left_out
}

/// As the reader of a folder asks, from the root to the path.
fn is_covered(ignore: &Ignore, path: &str) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let last = ends.fold(LastMatch::default(), |above, end| ignore.last_match(Path::new(&path[..end]), above));
    ignore.covers(Path::new(path), last)
}

fn file() -> impl Strategy<Value = String> {
    #[rustfmt::skip]
    const PIECES: &[&str] = &[
        "a", "b", "ab", "c", ".c", "\u{e4}", "*", "**", "**/", "?", "/", "./", "../", "[a-b]", "[^a]", "[b", "[]", "[a-]",
        "]", "-", "\\", "\\*", "!", "! ", "#", " ", "\t", "\r",
    ];
    let line = vec(select(PIECES), 0..6).prop_map(|pieces| pieces.concat());
    vec(line, 0..5).prop_map(|lines| lines.join("\n"))
}

fn path() -> impl Strategy<Value = String> {
    const NAMES: &[&str] = &["a", "b", "ab", "c", ".c", "a.c", "\u{e4}", "*", "!b", "ba"];
    vec(select(NAMES), 1..4).prop_map(|names| names.join("/"))
}

proptest! {
    #[test]
    fn what_is_left_out(text in prop_oneof![4 => file(), 1 => any::<String>()], path in path()) {
        let ignore = Ignore::parse(&text, &[]).unwrap();
        assert_eq!(is_covered(&ignore, &path), is_left_out(&text, &path));
        // The reader passes over a whole folder when nothing in it could be spared.
        let below = format!("{path}/x");
        assert!(ignore.may_spare_something_below() || !is_covered(&ignore, &path) || is_covered(&ignore, &below));
    }

    #[test]
    fn what_the_engine_needs_is_sent(text in file(), needed in path()) {
        let ignore = Ignore::parse(&text, &[&format!("./{needed}")]).unwrap();
        assert!(!is_covered(&ignore, &needed));
    }

    #[test]
    fn cleaned_paths_lead_nowhere_else(path in "[ab./]{0,12}") {
        let cleaned = clean(&path);
        assert!(cleaned.is_empty() || cleaned.split('/').all(|part| !matches!(part, "" | "." | "..")));
        assert_eq!(clean(&cleaned), cleaned);
    }
}
