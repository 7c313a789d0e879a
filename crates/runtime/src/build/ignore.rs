//! What a `.dockerignore` file leaves out of a build. Its author may be hostile: there is a bound on what a look at one path costs.

use std::path::Path;

#[derive(Default)]
pub(super) struct Ignore {
    patterns: Vec<Pattern>,
    /// Sent whatever the patterns say, because the engine needs them.
    needed: Vec<String>,
}

/// Files in use have some dozens, and some thousand characters.
const MOST_PATTERNS: usize = 1_000;
const MOST_BYTES: usize = 64 << 10;

struct Pattern {
    spares: bool,
    /// What a path must begin with, so that most are told apart at once.
    beginning: String,
    parts: Vec<Part>,
}

/// The number of the last pattern that matches a path or a folder above it, counted from 1. 0 when none does.
#[derive(Clone, Copy, Default)]
pub(super) struct LastMatch(usize);

enum Part {
    Exactly(char),
    /// `?`
    OneCharacter,
    /// `*`
    Within,
    /// `**` at the end
    Everything,
    /// `**/` or `**` elsewhere: any folders, or none
    Folders,
    /// `[a-z]`
    OneOf {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Ignore {
    pub(super) fn parse(text: &str, needed: &[&str]) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.len() > MOST_BYTES {
            return Err(format!("it may have at most {} KiB", MOST_BYTES >> 10));
        }
        let patterns: Vec<Pattern> = text.lines().filter_map(pattern).collect();
        if patterns.len() > MOST_PATTERNS {
            return Err(format!("it may have at most {MOST_PATTERNS} patterns"));
        }
        Ok(Self { patterns, needed: needed.iter().map(|path| clean(path)).collect() })
    }

    /// For a path whose folder has `above`: only patterns behind that one can change anything.
    pub(super) fn last_match(&self, path: &Path, above: LastMatch) -> LastMatch {
        let path = path.to_string_lossy();
        let behind = self.patterns.iter().enumerate().skip(above.0).rev();
        let last = behind.into_iter().find(|(_, pattern)| pattern.matches(&path));
        last.map_or(above, |(index, _)| LastMatch(index + 1))
    }

    /// The last pattern that matches the path or a folder above it decides.
    pub(super) fn covers(&self, path: &Path, last: LastMatch) -> bool {
        let path = path.to_string_lossy();
        if self.needed.iter().any(|needed| *needed == path || needed.starts_with(&format!("{path}/"))) {
            return false;
        }
        last.0.checked_sub(1).and_then(|index| self.patterns.get(index)).is_some_and(|pattern| !pattern.spares)
    }

    pub(super) fn may_spare_something_below(&self) -> bool {
        self.patterns.iter().any(|pattern| pattern.spares)
    }
}

fn pattern(line: &str) -> Option<Pattern> {
    if line.starts_with('#') {
        return None;
    }
    let line = line.trim();
    let (spares, line) = match line.strip_prefix('!') {
        Some(rest) => (true, rest.trim()),
        None => (false, line),
    };
    if line.is_empty() {
        return None;
    }
    let parts = parts(&clean(line));
    let plain = |part: &Part| if let Part::Exactly(character) = part { Some(*character) } else { None };
    let beginning = parts.iter().map_while(plain).collect();
    Some(Pattern { spares, beginning, parts })
}

/// Without what does not change where a path leads: `/a//b/./c/../d/` is `a/b/d`.
fn clean(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(kept.pop()),
            part => kept.push(part),
        }
    }
    kept.join("/")
}

fn parts(pattern: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = pattern.chars().peekable();
    while let Some(next) = rest.next() {
        parts.push(match next {
            '*' if rest.next_if_eq(&'*').is_some() => {
                rest.next_if_eq(&'/');
                if rest.peek().is_none() { Part::Everything } else { Part::Folders }
            }
            '*' => Part::Within,
            '?' => Part::OneCharacter,
            '[' => one_of(&mut rest),
            '\\' => Part::Exactly(rest.next().unwrap_or('\\')),
            other => Part::Exactly(other),
        });
    }
    parts
}

fn one_of(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Part {
    let negated = rest.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    while let Some(first) = rest.next().filter(|first| *first != ']') {
        let first = if first == '\\' { rest.next().unwrap_or('\\') } else { first };
        let last = match rest.next_if_eq(&'-') {
            Some(_) => rest.next().unwrap_or(first),
            None => first,
        };
        ranges.push((first, last));
    }
    Part::OneOf { negated, ranges }
}

impl Pattern {
    /// From the pattern's end to its beginning: from which places of the path on does the rest of the pattern match? So
    /// no pattern is slow, whatever stars it has.
    fn matches(&self, path: &str) -> bool {
        if !path.starts_with(&self.beginning) {
            return false;
        }
        let path: Vec<char> = path.chars().collect();
        let only_at_the_end: Vec<bool> = (0..=path.len()).map(|place| place == path.len()).collect();
        let from = self.parts.iter().rev().fold(only_at_the_end, |after, part| part.matches_before(&path, &after));
        from[0]
    }
}

impl Part {
    fn matches_before(&self, path: &[char], after: &[bool]) -> Vec<bool> {
        let mut from = after.to_vec();
        let mut behind_a_folder = false;
        for place in (0..=path.len()).rev() {
            let next = path.get(place);
            from[place] = match self {
                Self::Everything => true,
                Self::Within => after[place] || next.is_some_and(|next| *next != '/' && from[place + 1]),
                Self::Folders => {
                    behind_a_folder |= next.is_some_and(|next| *next == '/' && after[place + 1]);
                    after[place] || behind_a_folder
                }
                one => next.is_some_and(|next| one.is(*next) && after[place + 1]),
            };
        }
        from
    }

    fn is(&self, character: char) -> bool {
        match self {
            Self::Exactly(wanted) => *wanted == character,
            Self::OneCharacter => character != '/',
            Self::OneOf { negated, ranges } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&character)) != *negated
            }
            Self::Within | Self::Everything | Self::Folders => false,
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests {
    use super::*;

    fn covered(file: &str, path: &str) -> bool {
        is_covered(&Ignore::parse(file, &["Dockerfile", ".dockerignore"]).unwrap(), path)
    }

    /// As the reader of a folder asks, from the root to the path.
    fn is_covered(ignore: &Ignore, path: &str) -> bool {
        let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        let above = |above, part: &str| ignore.last_match(Path::new(part), above);
        ignore.covers(Path::new(path), folders.chain([path]).fold(LastMatch::default(), above))
    }

    #[test]
    fn a_name_covers_what_is_at_the_root_and_below_it() {
        for file in ["target", "/target", "target/", "./target", "a/../target"] {
            assert!(covered(file, "target"), "{file}");
            assert!(covered(file, "target/debug/app"), "{file}");
            assert!(!covered(file, "src/target"), "{file}");
            assert!(!covered(file, "targets"), "{file}");
        }
    }

    #[test]
    fn stars_stay_within_a_folder_and_double_stars_do_not() {
        assert!(covered("*.log", "a.log"));
        assert!(!covered("*.log", "logs/a.log"));
        assert!(covered("*/temp*", "a/temporary.txt"));
        assert!(!covered("*/temp*", "a/b/temporary.txt"));
        for path in ["a.log", "logs/a.log", "x/y/z/a.log"] {
            assert!(covered("**/*.log", path), "{path}");
        }
        assert!(!covered("**/log", "catalog"));
        assert!(covered("**/node_modules", "web/node_modules/left/index.js"));
        assert!(covered("docs/**", "docs/a/b"));
        assert!(!covered("docs/**", "docs"));
        assert!(covered("a/**/z", "a/z"));
        assert!(covered("a/**/z", "a/b/c/z"));
        assert!(!covered("a/**/z", "a/bz"));
        assert!(covered("**", "anything/at/all"));
    }

    #[test]
    fn question_marks_classes_and_escapes() {
        assert!(covered("temp?", "tempa"));
        assert!(!covered("temp?", "temp"));
        assert!(!covered("a?b", "a/b"));
        assert!(covered("file[0-9].txt", "file7.txt"));
        assert!(!covered("file[^0-9].txt", "file7.txt"));
        assert!(covered(r"\*", "*"));
        assert!(!covered(r"\*", "a"));
    }

    #[test]
    fn the_last_line_that_matches_decides() {
        let file = "*.md\n!README*.md\nREADME-secret.md";
        assert!(covered(file, "notes.md"));
        assert!(!covered(file, "README.md"));
        assert!(covered(file, "README-secret.md"));
        let file = "*\n!src\n! keep/this \n";
        assert!(covered(file, "other"));
        assert!(!covered(file, "src/main.rs"));
        assert!(!covered(file, "keep/this"));
        assert!(covered(file, "keep/that"));
    }

    #[test]
    fn comments_and_empty_lines_say_nothing() {
        assert!(!covered("# a\n\n   \n!\n", "# a"));
        assert!(covered("\u{feff}a\r\nb", "a"));
    }

    #[test]
    fn what_the_engine_needs_is_never_covered() {
        assert!(!covered("*", "Dockerfile"));
        assert!(!covered("**/.*", ".dockerignore"));
        let ignore = Ignore::parse("*", &["./deploy/Dockerfile"]).unwrap();
        assert!(!is_covered(&ignore, "deploy"));
        assert!(!is_covered(&ignore, "deploy/Dockerfile"));
        assert!(is_covered(&ignore, "deploy/other"));
    }

    #[test]
    fn more_than_any_file_in_use_has_is_refused() {
        let refused = |text: String| Ignore::parse(&text, &[]).err();
        assert_eq!(refused("a\n".repeat(1_000)), None);
        assert_eq!(refused("a\n".repeat(1_001)).as_deref(), Some("it may have at most 1000 patterns"));
        assert_eq!(refused("*a".repeat(40_000)).as_deref(), Some("it may have at most 64 KiB"));
    }

    #[test]
    fn many_stars_take_no_time() {
        let pattern = format!("{}b", "*a".repeat(200));
        assert!(!covered(&pattern, &"a".repeat(4000)));
    }
}
