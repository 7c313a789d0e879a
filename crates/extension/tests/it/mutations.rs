//! Texts that are almost right: the check says what is wrong, soon, and at a place of the text.

use std::time::{Duration, Instant};

use windlass_extension::{catalog, check, draft, resolve, values};

use crate::documents::{given, shown};

/// Numbers that look random and are the same in every run (xorshift).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

const PIECES: &[&str] = &[
    "{{",
    "}}",
    "{{ x }}",
    "{{{{",
    "'",
    "\"",
    "\\",
    "$",
    "${",
    "$(",
    "`",
    "#",
    ": ",
    "- ",
    "&a ",
    "*a",
    "<<: ",
    "!!str ",
    "!x ",
    "|",
    ">",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\n",
    "\t",
    " ",
    "\u{0}",
    "\u{FEFF}",
    "é",
    "👩‍🚀",
    "null",
    "true",
    "0x10",
    "1e999",
    "-1",
    "99999999999999999999",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "? ",
    "\r\n",
    "\u{2028}",
    "~",
    "<<EOF",
    "name",
    "type: wait",
];

fn mutated(text: &str, numbers: &mut Numbers) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(lines.len());
        let other = numbers.below(lines.len());
        match numbers.below(9) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[other].clone()),
            2 => lines.swap(at, other),
            3 => lines[at].insert_str(0, &" ".repeat(numbers.below(5))),
            4 => lines[at] = lines[at].trim_start().to_owned(),
            5 => lines[at] = cut(&lines[at], numbers),
            6 => lines.truncate(at + 1),
            7 => lines[at] = lines[at].replacen(char::is_alphabetic, numbers.pick(PIECES), 1),
            _ => {
                let end = boundary(&lines[at], numbers);
                lines[at].insert_str(end, numbers.pick(PIECES));
            }
        }
        if lines.is_empty() {
            lines.push(String::new());
        }
    }
    lines.join("\n")
}

fn boundary(text: &str, numbers: &mut Numbers) -> usize {
    let ends: Vec<_> = text.char_indices().map(|(index, _)| index).chain([text.len()]).collect();
    numbers.pick(&ends)
}

fn cut(text: &str, numbers: &mut Numbers) -> String {
    text[..boundary(text, numbers)].to_owned()
}

/// Breaks of YAML, with which it counts lines.
fn lines_of(text: &str) -> Vec<usize> {
    text.replace("\r\n", "\n").split(['\n', '\r']).map(|line| line.chars().count()).collect()
}

fn examine(text: &str) {
    let started = Instant::now();
    let checked = check(text);
    let took = started.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?} for\n{text}");
    assert_eq!(checked.extension.is_some(), checked.problems.is_empty());
    assert!(checked.problems.len() <= 100);
    assert!(checked.problems.windows(2).all(|pair| pair[0].place <= pair[1].place), "{}", shown(&checked.problems));
    let lines = lines_of(text);
    for problem in &checked.problems {
        let line = usize::try_from(problem.place.line).unwrap();
        let column = usize::try_from(problem.place.column).unwrap();
        let length = lines.get(line - 1).copied();
        assert!(length.is_some_and(|length| column <= length + 1), "{problem}\n{text:?}");
        assert!(!problem.message.contains('\n') && problem.message.chars().count() < 1000, "{problem}");
    }
    draft(text);
    if let Some(extension) = checked.extension
        && let Ok(values) = values(&extension, &given(&[]), &mut || "generatedSecret000000000000000000000".into())
    {
        // Whether it is resolved or not: it ends, and the places are those of the text.
        if let Err(problems) = resolve(&extension, &values, "mine") {
            assert!(problems.iter().all(|problem| usize::try_from(problem.place.line).unwrap() <= lines.len()));
        }
        assert!(check(&extension.canonical_json()).problems.is_empty(), "{text}");
    }
}

#[test]
fn mutations_are_told_of_and_never_break_the_check() {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    for _ in 0..1500 {
        let (_, text) = numbers.pick(catalog::ALL);
        let text = mutated(text, &mut numbers);
        examine(&text);
    }
}

#[test]
fn texts_that_ask_for_much_end_soon() {
    let head = "metadata: {id: test, name: T, description: D, author: A, category: Other, type: run}\n";
    let steps =
        |step: &str, count: usize| format!("{head}execution:\n  run:\n{}", format!("    - {step}\n").repeat(count));
    let quotes = "\\\"' $( ${ ` (( <<A ".repeat(2000);
    let texts = [
        "a: ".repeat(50_000),
        "[".repeat(100_000),
        "- ".repeat(100_000),
        format!("{head}execution: &a [*a, *a]"),
        "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c]\n".into(),
        steps("{name: S, type: wait, properties: {seconds: 1}}", 101),
        steps("{name: S, type: wait, properties: {seconds: 1}, wrong: 1}", 100),
        steps(&format!("{{name: S, type: command, properties: {{cmd: {:?}}}}}", "{{ x }}".repeat(9000)), 1),
        steps(&format!("{{name: S, type: command, properties: {{cmd: {}}}}}", serde_json::json!(format!("{{{{ installation_name }}}} {quotes}"))), 1),
        steps(&format!("{{name: S, type: command, properties: {{cmd: {:?}}}}}", format!("{{{{ installation_name }}}}{}", "<<a\n".repeat(10_000))), 1),
        format!("{head}variables:\n{}execution: {{run: []}}", (0..3000).map(|n| format!("  v{n}: {{type: string}}\n")).collect::<String>()),
        format!(
            "{head}variables:\n{}execution: {{run: []}}",
            (0..100).map(|n| format!("  v{n}: {{type: string, default: a, validation_pattern: '(a{{1,90}}){{1,90}}'}}\n")).collect::<String>()
        ),
    ];
    for text in texts {
        assert!(!check(&text).problems.is_empty());
        examine(&text);
    }
}
