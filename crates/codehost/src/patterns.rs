//! Patterns of names and paths: `*` stands for anything but `/`, `**` for anything, `?` for one character but `/`.

use std::collections::HashMap;

/// Whether the whole text fits.
pub fn matches(pattern: &str, text: &str) -> bool {
    Pattern::new(pattern).is_some_and(|pattern| pattern.matches(text))
}

/// A place for each part of the longest pattern, and one for its end.
const WORDS: usize = 8;
const MOST_PARTS: usize = WORDS * 64 - 1;

type Places = [u64; WORDS];

/// Goes through a text once, with all places in the pattern that the text may have reached so far, whatever the pattern is: users choose
/// the pattern, and code hosts the text.
struct Pattern {
    /// Parts that are this character.
    same: HashMap<char, Places>,
    /// Parts that are one character but `/`.
    any: Places,
    stars: Places,
    wide_stars: Places,
    length: usize,
}

impl Pattern {
    /// None for one that is too long.
    fn new(text: &str) -> Option<Self> {
        let mut pattern =
            Self { same: HashMap::new(), any: [0; WORDS], stars: [0; WORDS], wide_stars: [0; WORDS], length: 0 };
        let mut rest = text.chars().peekable();
        while let Some(next) = rest.next() {
            if pattern.length >= MOST_PARTS {
                return None;
            }
            let (word, bit) = (pattern.length / 64, 1 << (pattern.length % 64));
            match next {
                '*' => {
                    // Any number of stars is one, and as wide as the widest.
                    let mut is_wide = false;
                    while rest.next_if_eq(&'*').is_some() {
                        is_wide = true;
                    }
                    if is_wide { pattern.wide_stars[word] |= bit } else { pattern.stars[word] |= bit }
                }
                '?' => pattern.any[word] |= bit,
                other => pattern.same.entry(other).or_default()[word] |= bit,
            }
            pattern.length += 1;
        }
        Some(pattern)
    }

    fn matches(&self, text: &str) -> bool {
        let mut reached: Places = [0; WORDS];
        reached[0] = 1;
        self.pass_stars(&mut reached);
        for next in text.chars() {
            let (same, is_slash) = (self.same.get(&next), next == '/');
            let (mut stays, mut steps): (Places, Places) = ([0; WORDS], [0; WORDS]);
            for word in 0..WORDS {
                let single = if is_slash { 0 } else { self.any[word] };
                let star = if is_slash { 0 } else { self.stars[word] };
                steps[word] = reached[word] & (same.map_or(0, |same| same[word]) | single);
                stays[word] = reached[word] & (star | self.wide_stars[word]);
            }
            reached = shifted(&steps);
            for word in 0..WORDS {
                reached[word] |= stays[word];
            }
            self.pass_stars(&mut reached);
            if reached == [0; WORDS] {
                return false;
            }
        }
        reached[self.length / 64] & (1 << (self.length % 64)) != 0
    }

    /// A star may stand for nothing; two are never side by side.
    fn pass_stars(&self, reached: &mut Places) {
        let mut at_stars: Places = [0; WORDS];
        for word in 0..WORDS {
            at_stars[word] = reached[word] & (self.stars[word] | self.wide_stars[word]);
        }
        for (word, passed) in shifted(&at_stars).into_iter().enumerate() {
            reached[word] |= passed;
        }
    }
}

/// One place further.
fn shifted(places: &Places) -> Places {
    let mut carried = 0;
    places.map(|word| {
        let moved = (word << 1) | carried;
        carried = word >> 63;
        moved
    })
}

/// Whether one of the files is among those that are watched. The last pattern that fits a file decides; one that begins with `!` says
/// that it is not. A path without stars stands for the file or for all of the folder.
pub fn is_watched(watched: &[String], files: &[String]) -> bool {
    let rules: Vec<_> = watched.iter().map(|text| Rule::new(text)).collect();
    // Only exceptions: the rest is watched.
    let everything = rules.iter().all(|rule| rule.is_exception);
    files.iter().any(|file| {
        let last = rules.iter().rev().find(|rule| rule.covers(file));
        last.map_or(everything, |rule| !rule.is_exception)
    })
}

struct Rule {
    is_exception: bool,
    /// The file itself, and what is below a folder; neither for everything.
    patterns: Vec<Pattern>,
    is_everything: bool,
}

impl Rule {
    fn new(text: &str) -> Self {
        let pattern = text.strip_prefix('!').unwrap_or(text);
        let pattern = pattern.trim_start_matches("./").trim_matches('/');
        let below = format!("{pattern}/**");
        Self {
            is_exception: text.starts_with('!'),
            patterns: [pattern, &below].into_iter().filter_map(Pattern::new).collect(),
            is_everything: matches!(pattern, "" | "."),
        }
    }

    fn covers(&self, file: &str) -> bool {
        self.is_everything || self.patterns.iter().any(|pattern| pattern.matches(file))
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars() {
        for (pattern, text, fits) in [
            ("v*", "v1.2.3", true),
            ("v*", "release/v1", false),
            ("v*", "v1/2", false),
            ("v**", "v1/2", true),
            ("v?.?", "v1.2", true),
            ("v?.?", "v1.22", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("release-*-final", "release-7-final", true),
            ("*a*b", "xaxaxb", true),
            ("*a*b", "xaxax", false),
            ("**/*.rs", "crates/api/src/lib.rs", true),
            ("**/*.rs", "crates/api/src/lib.rst", false),
            ("apps/*/src/**", "apps/web/src/a/b.ts", true),
            ("apps/*/src/**", "apps/web/lib/a.ts", false),
            ("a/**/z", "a/b/c/z", true),
            ("東*", "東京", true),
            ("?", "京", true),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn patterns_made_to_be_slow_are_not() {
        let (text, began) = ("a".repeat(200_000), std::time::Instant::now());
        for pattern in ["*a".repeat(100), "**a*".repeat(50), "**a*aaaaaaaa".into(), "a?".repeat(100)] {
            assert!(!matches(&format!("{pattern}b"), &text));
        }
        let watched = vec![format!("{}b", "**a*".repeat(60)); 100];
        assert!(!is_watched(&watched, &vec!["a".repeat(200); 100]));
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "{:?}", began.elapsed());
    }

    #[test]
    fn watched_paths() {
        let list = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (watched, files, expected) in [
            ("apps/web", "apps/web/main.ts", true),
            ("/apps/web/", "apps/web/main.ts", true),
            ("apps/web", "apps/website/main.ts", false),
            ("apps/web", "docs/a.md apps/web/x", true),
            ("apps/web/**", "apps/web/a/b", true),
            ("apps/*", "apps/web/a/b", true),
            ("Dockerfile", "Dockerfile", true),
            ("Dockerfile", "apps/Dockerfile", false),
            ("**/*.ts", "apps/web/a.ts", true),
            ("!docs", "docs/a.md", false),
            ("!docs", "docs/a.md src/a.rs", true),
            ("apps !apps/docs", "apps/docs/a.md", false),
            ("apps !apps/docs apps/docs/build.ts", "apps/docs/build.ts", true),
            (".", "x", true),
            ("/", "x", true),
            ("apps", "", false),
        ] {
            assert_eq!(is_watched(&list(watched), &list(files)), expected, "{watched} | {files}");
        }
    }
}
