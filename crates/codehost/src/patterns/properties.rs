//! The quick matcher agrees with a plain one.

use proptest::prelude::*;

use super::*;

/// Trying everything, character by character.
fn fits(pattern: &[char], text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['*', '*', rest @ ..] => {
            let rest = &rest[rest.iter().take_while(|c| **c == '*').count()..];
            (0..=text.len()).any(|at| fits(rest, &text[at..]))
        }
        ['*', rest @ ..] => {
            let within = text.iter().position(|c| *c == '/').unwrap_or(text.len());
            (0..=within).any(|at| fits(rest, &text[at..]))
        }
        [wanted, rest @ ..] => {
            let is_it = |c: &char| if *wanted == '?' { *c != '/' } else { c == wanted };
            text.first().is_some_and(is_it) && fits(rest, &text[1..])
        }
    }
}

proptest! {
    #[test]
    fn what_fits(pattern in "[ab/?*\u{e4}]{0,10}", text in "[ab/\u{e4}]{0,10}") {
        let characters = |text: &str| text.chars().collect::<Vec<_>>();
        assert_eq!(matches(&pattern, &text), fits(&characters(&pattern), &characters(&text)));
    }

    /// Places of a pattern are bits of several words: across their borders nothing is different.
    #[test]
    fn long_patterns(before in 55..140_usize, pattern in "[a?*]{1,6}", text in "a{0,8}") {
        let (pattern, text) = (["a".repeat(before), pattern].concat(), ["a".repeat(before), text].concat());
        let characters = |text: &str| text.chars().collect::<Vec<_>>();
        assert_eq!(matches(&pattern, &text), fits(&characters(&pattern), &characters(&text)));
    }

    #[test]
    fn the_last_rule_decides(rules in prop::collection::vec("!?(\\./)?[ab*/]{0,4}", 0..4), files in prop::collection::vec("[ab](/[ab]){0,2}", 0..3)) {
        let covers = |rule: &String, file: &str| {
            let pattern = rule.strip_prefix('!').unwrap_or(rule).trim_start_matches("./").trim_matches('/');
            let ends = file.match_indices('/').map(|(at, _)| at).chain([file.len()]);
            // A folder, or everything in it.
            pattern.is_empty() || ends.into_iter().any(|end| matches(pattern, &file[..end]))
        };
        let is_wanted = |file: &String| match rules.iter().rfind(|rule| covers(rule, file)) {
            Some(rule) => !rule.starts_with('!'),
            None => rules.iter().all(|rule| rule.starts_with('!')),
        };
        assert_eq!(is_watched(&rules, &files), files.iter().any(is_wanted), "{rules:?} {files:?}");
    }
}
