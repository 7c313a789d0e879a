use std::time::{Duration, Instant};

use windlass_yaml::{Limits, parse};

use crate::{problem, read};

/// The problem of a text, found in a moment. The bound is wide, because tests share the machine.
fn soon(text: &str) -> String {
    let start = Instant::now();
    let problem = problem(text);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}: {problem}", start.elapsed());
    problem
}

#[test]
fn aliases_of_aliases_are_counted() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..=20 {
        let before = level - 1;
        text +=
            &format!("a{level}: &a{level} [*a{before}, *a{before}, *a{before}, *a{before}, *a{before}, *a{before}]\n");
    }
    assert_eq!(
        soon(&text),
        "line 6, column 10: a5[0]: with its aliases expanded, the document has more than 20000 values"
    );
}

#[test]
fn aliases_of_long_texts_are_counted() {
    let text = format!("a: &a {}\nb: [{}*a]\n", "x".repeat(50_000), "*a, ".repeat(10_000));
    assert_eq!(
        soon(&text),
        "line 2, column 21: b[4]: with its aliases expanded, the document has more than 262144 bytes"
    );
}

#[test]
fn deep_texts_are_refused() {
    // The parser looks ahead for a key, and gives up by itself.
    let reasons = ["nested deeper than 32 levels", "recursion limit exceeded", "a key must be a text"];
    for open in ["[", "{a: ", "- ", "? ", "[a: ", "{", "[[", "!!seq [", "&a [", "? - "] {
        let problem = soon(&open.repeat(200_000 / open.len()));
        assert!(reasons.iter().any(|reason| problem.contains(reason)), "{open}: {problem}");
    }
    let lines: String = (0..300).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert!(soon(&lines).contains("nested deeper than 32 levels"));
}

#[test]
fn aliases_cannot_make_a_text_deep() {
    let mut text = String::from("a0: &a0 [x]\n");
    for level in 1..=40 {
        text += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
    }
    assert_eq!(soon(&text), "line 32, column 12: a31[0]: lists and maps are nested deeper than 32 levels here");
}

#[test]
fn no_limits_allow_a_tree_that_overflows_the_stack() {
    let limits = Limits { bytes: usize::MAX, depth: usize::MAX, nodes: usize::MAX };
    let problem = parse(&"- ".repeat(100_000), &limits).unwrap_err();
    assert!(problem.message.contains("nested deeper than 128 levels"), "{problem}");
}

#[test]
fn lengths_are_bounded() {
    assert!(soon(&"x".repeat(256 * 1024 + 1)).contains("the text has 262145 bytes; at most 262144 are allowed"));
    assert!(soon(&format!("a: {}", "x".repeat(64 * 1024 + 1))).contains("a: the text has 65537 bytes; at most 65536"));
    assert!(soon(&format!("? {}\n: 1\n", "x".repeat(1025))).contains("a key must have 1 to 1024 bytes"));
    assert!(soon(&"- 1\n".repeat(20_000)).contains("more than 20000 values"));
    assert!(read(&"- 1\n".repeat(19_999)).is_ok());
}

/// Texts that would make a careless parser go through what it has read again and again.
#[test]
fn long_texts_end_soon() {
    let whole = |part: &str| part.repeat(255 * 1024 / part.len());
    for part in [
        "a ",
        "a\n",
        "\n",
        " ",
        "#\n",
        "- \n",
        "-\n",
        "a: \n",
        "? a\n",
        "&a ",
        "!a ",
        "%a b\n",
        "'",
        "\"",
        "\\",
        "''",
        "|\n",
        ">\n\n",
        "---\n",
        "...\n",
        "\t",
        "\r",
        ",",
        "]",
        "}",
        ": ",
        ":",
        "*a ",
        "\u{feff}",
        "\u{2028}",
        "%TAG ! a\n",
        "a\n ",
        "\"\n",
        "'\n ",
    ] {
        for before in ["", "a: ", "[", "{", "\"", "'", "a: |\n", "a: >\n ", "- "] {
            let text = format!("{before}{}", whole(part));
            let start = Instant::now();
            let _ = read(&text);
            assert!(start.elapsed() < Duration::from_secs(5), "{before:?} {part:?}: {:?}", start.elapsed());
        }
    }
}
