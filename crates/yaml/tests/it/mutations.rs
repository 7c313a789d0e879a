//! Valid texts, changed at random: whatever comes of it, it is read or refused in a moment, at a place inside the text.
//! `WINDLASS_MUTATIONS` says how many.

use std::time::{Duration, Instant};

use windlass_yaml::Problem;

use crate::read;

const DOCUMENTS: [&str; 5] = [
    "a: 1\nb: [x, 'y', \"z\\n\", {c: null}]\nd: |\n  one\n   two\ne: >-\n  three\n  four\n",
    "x: &x\n  image: 'a:1'\n  list:\n    - one\n    - two: 3\ny:\n  <<: *x\n  other: ~\nz: {<<: [*x, {q: 1}]}\n",
    "%YAML 1.2\n---\n# comment\n!!map\n\"k\": !!str 5 # more\n? explicit\n: value\n...\n",
    "- &a [1, 0x2, 0o3, 4.5, .inf]\n- *a\n-\n  - - nested\n  -\n    k: v\n- \u{e4}\u{4e2d}\u{1f600}: \"\\u00e4\"\n",
    "[a, [b, {c: d, e: [f]}], 'g''h', \"i\\\"j\",\n  k: l, ? m : n, ]\r\n",
];

const PIECES: [&str; 40] = [
    "[",
    "]",
    "{",
    "}",
    ",",
    ": ",
    ":",
    "- ",
    "-",
    "? ",
    "&a ",
    "*a",
    "*x",
    "!!int ",
    "!",
    "|",
    ">",
    "|2-\n",
    "'",
    "\"",
    "#",
    " #",
    "%",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "  ",
    "---\n",
    "...\n",
    "<<: ",
    "\\",
    "\u{0}",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "\u{1f600}",
    "@",
    "`",
    "0x",
];

/// The same numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).unwrap()
    }
}

fn mutate(text: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(chars.len() + 1);
        let end = (at + random.below(12)).min(chars.len());
        match random.below(5) {
            0 => drop(chars.drain(at..end)),
            1 => drop(chars.splice(at..at, PIECES[random.below(PIECES.len())].chars())),
            2 => drop(chars.splice(at..end, PIECES[random.below(PIECES.len())].chars())),
            3 => {
                let piece: Vec<char> = chars[at..end].to_vec();
                let to = random.below(chars.len() + 1);
                drop(chars.splice(to..to, piece));
            }
            _ => chars.truncate(at),
        }
    }
    chars.into_iter().collect()
}

fn assert_inside(problem: &Problem, text: &str) {
    let (line, column) = (problem.place.line as usize, problem.place.column as usize);
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    let found = unified.split('\n').nth(line - 1);
    let length = found.unwrap_or_else(|| panic!("{problem} is not in {text:?}")).chars().count();
    assert!((1..=length + 1).contains(&column), "{problem} is not in {text:?}");
}

#[test]
fn changed_texts_are_read_or_refused() {
    let rounds = std::env::var("WINDLASS_MUTATIONS").map_or(10_000, |rounds| rounds.parse().unwrap());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..rounds {
        let text = mutate(DOCUMENTS[round % DOCUMENTS.len()], &mut random);
        let start = Instant::now();
        let result = std::panic::catch_unwind(|| read(&text).and_then(windlass_yaml::Node::merged));
        let Ok(result) = result else { panic!("panics: {text:?}") };
        assert!(start.elapsed() < Duration::from_secs(2), "{text:?}");
        if let Err(problem) = result {
            assert_inside(&problem, &text);
        }
    }
}
