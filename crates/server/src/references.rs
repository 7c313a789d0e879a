//! References in values: `${{shared.NAME}}` stands for a shared variable, and `$${{` for `${{`. Nothing else has a meaning.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use windlass_api::{VariableMap, shown_name};

const OPENING: &str = "${{";
const SHARED: &str = "shared.";
const CLOSING: &str = "}}";

/// Of shared variables that refer to each other.
const MOST_DEPTH: usize = 10;
/// Of all that one value can refer to, names and values filled in: those of an organization and of an environment. References to references
/// could make more of it than there is memory.
const MOST_BYTES: usize = 2 * VariableMap::BYTES;

/// A shared variable as it is stored.
#[derive(Clone, Copy)]
pub struct Definition<'a> {
    pub value: &'a str,
    pub is_secret: bool,
}

/// A value with everything filled in.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Filled {
    pub value: String,
    /// Whether something secret is in it.
    pub is_secret: bool,
    /// What of it is secret. A program may print a part by itself.
    pub secrets: BTreeSet<String>,
    depth: usize,
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    Unreadable,
    Unknown(String),
    Circle(Vec<String>),
    TooDeep,
    TooLong,
    TooMuch,
}

/// A shared variable that cannot be filled in, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Trouble {
    pub variable: String,
    pub problem: Problem,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => f.write_str(
                "a reference must be written ${{shared.NAME}}; write $${{ if the characters themselves are meant",
            ),
            Self::Unknown(name) => write!(f, "there is no shared variable {}", shown_name(name)),
            Self::Circle(names) => {
                let names: Vec<_> = names.iter().map(|name| shown_name(name)).collect();
                write!(f, "it refers to itself: {}", names.join(", "))
            }
            Self::TooDeep => write!(f, "it refers to others over more than {MOST_DEPTH} shared variables"),
            Self::TooLong => {
                let kib = VariableMap::VALUE_BYTES / 1024;
                write!(f, "with what it refers to, the value must have at most {kib} KiB")
            }
            Self::TooMuch => {
                let kib = MOST_BYTES / 1024;
                write!(f, "with what they refer to, shared variables must have at most {kib} KiB in all")
            }
        }
    }
}

enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

fn pieces(value: &str) -> Result<Vec<Piece<'_>>, Problem> {
    let (mut pieces, mut rest) = (Vec::new(), value);
    while let Some(at) = rest.find(OPENING) {
        let (before, inside) = (&rest[..at], &rest[at + OPENING.len()..]);
        if let Some(before) = before.strip_suffix('$') {
            pieces.extend([Piece::Text(before), Piece::Text(OPENING)]);
            rest = inside;
            continue;
        }
        pieces.push(Piece::Text(before));
        rest = match inside.trim_start().strip_prefix(SHARED) {
            Some(named) => {
                let (name, after) = named.split_once(CLOSING).ok_or(Problem::Unreadable)?;
                let name = Some(name.trim()).filter(|name| !name.is_empty()).ok_or(Problem::Unreadable)?;
                pieces.push(Piece::Name(name));
                after
            }
            // Another language's, which has a meaning to the program.
            None => {
                pieces.push(Piece::Text(OPENING));
                inside
            }
        };
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

/// The shared variables that a value refers to. None of a value that cannot be read.
pub fn names(value: &str) -> BTreeSet<&str> {
    let all = pieces(value).unwrap_or_default().into_iter();
    all.filter_map(|piece| if let Piece::Name(name) = piece { Some(name) } else { None }).collect()
}

/// Whether something is to be filled in, or is wrong.
pub fn refers(value: &str) -> bool {
    !pieces(value).is_ok_and(|pieces| pieces.iter().all(|piece| matches!(piece, Piece::Text(_))))
}

/// What becomes the value again when it is filled in.
pub fn literal(value: &str) -> String {
    value.replace(OPENING, "$${{")
}

/// The shared variables that an application can refer to, each filled in.
#[derive(Clone, Default)]
pub struct Scope(BTreeMap<String, Filled>);

impl Scope {
    pub fn of(definitions: &BTreeMap<&str, Definition<'_>>) -> Result<Self, Trouble> {
        let mut filling = Filling { definitions, done: BTreeMap::new(), path: Vec::new(), bytes: 0 };
        for name in definitions.keys() {
            filling.fill(name)?;
        }
        Ok(Self(filling.done))
    }

    pub fn fill(&self, value: &str) -> Result<Filled, Problem> {
        fill(value, &self.0)
    }
}

fn fill(value: &str, known: &BTreeMap<String, Filled>) -> Result<Filled, Problem> {
    let (mut filled, mut seen) = (Filled::default(), BTreeSet::new());
    for piece in pieces(value)? {
        let text = match piece {
            Piece::Text(text) => text,
            Piece::Name(name) => {
                let found = known.get(name).ok_or_else(|| Problem::Unknown(name.to_owned()))?;
                if seen.insert(name) {
                    filled.is_secret |= found.is_secret;
                    filled.secrets.extend(found.secrets.iter().cloned());
                    filled.depth = filled.depth.max(found.depth);
                }
                &found.value
            }
        };
        if filled.value.len() + text.len() > VariableMap::VALUE_BYTES {
            return Err(Problem::TooLong);
        }
        filled.value.push_str(text);
    }
    Ok(filled)
}

/// Shared variables on their way into a [`Scope`].
struct Filling<'a> {
    definitions: &'a BTreeMap<&'a str, Definition<'a>>,
    done: BTreeMap<String, Filled>,
    /// The ones that are being filled in, each because the one before it refers to it.
    path: Vec<&'a str>,
    bytes: usize,
}

impl<'a> Filling<'a> {
    fn fill(&mut self, name: &'a str) -> Result<(), Trouble> {
        if self.done.contains_key(name) {
            return Ok(());
        }
        let Some(definition) = self.definitions.get(name).copied() else {
            return Err(self.trouble(Problem::Unknown(name.to_owned())));
        };
        if let Some(at) = self.path.iter().position(|before| *before == name) {
            let circle = self.path[at..].iter().chain([&name]).map(|name| (*name).to_owned()).collect();
            return Err(self.trouble(Problem::Circle(circle)));
        }
        if self.path.len() == MOST_DEPTH {
            return Err(self.trouble(Problem::TooDeep));
        }
        self.path.push(name);
        for piece in pieces(definition.value).map_err(|problem| self.trouble(problem))? {
            if let Piece::Name(name) = piece {
                self.fill(name)?;
            }
        }
        let filled = fill(definition.value, &self.done).map_err(|problem| self.trouble(problem))?;
        self.keep(name, definition.is_secret, filled)?;
        self.path.pop();
        Ok(())
    }

    fn keep(&mut self, name: &str, is_secret: bool, mut filled: Filled) -> Result<(), Trouble> {
        filled.is_secret |= is_secret;
        filled.depth += 1;
        self.bytes += name.len() + filled.value.len();
        if filled.depth > MOST_DEPTH {
            return Err(self.trouble(Problem::TooDeep));
        }
        if self.bytes > MOST_BYTES {
            return Err(self.trouble(Problem::TooMuch));
        }
        if filled.is_secret && !filled.value.is_empty() {
            filled.secrets.insert(filled.value.clone());
        }
        self.done.insert(name.to_owned(), filled);
        Ok(())
    }

    /// About the one that is being filled in.
    fn trouble(&self, problem: Problem) -> Trouble {
        Trouble { variable: self.path.last().copied().unwrap_or_default().to_owned(), problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definitions<'a>(all: &'a [(&'a str, &'a str)]) -> BTreeMap<&'a str, Definition<'a>> {
        let is_secret = |name: &str| name.starts_with("KEY");
        all.iter().map(|(name, value)| (*name, Definition { value, is_secret: is_secret(name) })).collect()
    }

    fn scope(all: &[(&str, &str)]) -> Scope {
        Scope::of(&definitions(all)).unwrap_or_else(|trouble| panic!("{trouble:?}"))
    }

    fn trouble(all: &[(&str, &str)]) -> (String, Problem) {
        let Err(Trouble { variable, problem }) = Scope::of(&definitions(all)) else { panic!("they can be filled in") };
        (variable, problem)
    }

    #[test]
    fn references_are_filled_in_and_nothing_else_is() {
        let scope =
            scope(&[("HOST", "db.example.org"), ("KEY", "sesame"), ("URL", "pg://:${{shared.KEY}}@${{shared.HOST}}")]);
        for (value, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("${{shared.HOST}}", "db.example.org"),
            ("${{ shared.HOST }}:${{\tshared.HOST}}", "db.example.org:db.example.org"),
            ("<${{shared.URL}}>", "<pg://:sesame@db.example.org>"),
            ("$${{shared.HOST}}", "${{shared.HOST}}"),
            ("$$${{shared.HOST}}", "$${{shared.HOST}}"),
            ("$${{x}}${{shared.HOST}}", "${{x}}db.example.org"),
            (
                "${{ github.ref }} ${HOST} $HOST {{shared.HOST}} ${{shared}}",
                "${{ github.ref }} ${HOST} $HOST {{shared.HOST}} ${{shared}}",
            ),
            ("${{{shared.HOST}}", "${{{shared.HOST}}"),
            ("${{${{shared.HOST}}", "${{db.example.org"),
        ] {
            let found = scope.fill(value).unwrap_or_else(|problem| panic!("{value}: {problem}"));
            assert_eq!(found.value, expected, "{value}");
        }
        let found = scope.fill("${{shared.URL}}").ok().unwrap();
        let secrets: Vec<_> = found.secrets.iter().map(String::as_str).collect();
        assert_eq!((found.is_secret, secrets), (true, vec!["pg://:sesame@db.example.org", "sesame"]));
        assert!(!scope.fill("${{shared.HOST}}").ok().unwrap().is_secret);
        assert_eq!(names("a ${{shared.B}} ${{ shared.A }} $${{shared.C}}").into_iter().collect::<Vec<_>>(), ["A", "B"]);
        assert!(refers("${{shared.A}}") && refers("${{shared.") && !refers("$${{shared.A}} ${{ x }}"));
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        let scope = scope(&[("A", "1")]);
        for (value, problem) in [
            ("${{shared.B}}", Problem::Unknown("B".into())),
            ("${{shared.a}}", Problem::Unknown("a".into())),
            ("${{shared.}}", Problem::Unreadable),
            ("${{shared.A}", Problem::Unreadable),
            ("${{ shared.A } }", Problem::Unreadable),
        ] {
            assert!(scope.fill(value).err() == Some(problem), "{value}");
        }
        assert_eq!(trouble(&[("A", "${{shared.B}}")]), ("A".into(), Problem::Unknown("B".into())));
        let circle = ["A", "B", "C", "A"].map(String::from).to_vec();
        let all = [("A", "${{shared.B}}"), ("B", "${{shared.C}}"), ("C", "${{shared.A}}")];
        assert_eq!(trouble(&all), ("C".into(), Problem::Circle(circle)));
        assert_eq!(trouble(&[("A", "${{shared.A}}")]).1, Problem::Circle(vec!["A".into(), "A".into()]));
        let long_name = Problem::Unknown("\u{1b}[1m".repeat(500)).to_string();
        assert!(long_name.len() < 700 && !long_name.contains('\u{1b}'), "{long_name}");
    }

    /// In whichever order their names come.
    #[test]
    fn chains_and_sizes_have_a_bound() {
        for is_forward in [true, false] {
            let chain = |length: usize| -> Vec<(String, String)> {
                let name =
                    |number: usize| if is_forward { format!("N{number:02}") } else { format!("N{:02}", 99 - number) };
                let link = |number| (name(number), format!("${{{{shared.{}}}}}", name(number + 1)));
                (1..length).map(link).chain([(name(length), "end".to_owned())]).collect()
            };
            for (length, is_fine) in [(MOST_DEPTH, true), (MOST_DEPTH + 1, false), (90, false)] {
                let all = chain(length);
                let all: Vec<_> = all.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                match Scope::of(&definitions(&all)) {
                    Ok(_) => assert!(is_fine, "{length}"),
                    Err(trouble) => assert!(!is_fine && trouble.problem == Problem::TooDeep, "{length}: {trouble:?}"),
                }
            }
        }
        // Each is ten times the one before.
        let ten = |name: &str| format!("${{{{shared.{name}}}}}").repeat(10);
        let (b, c, d, e) = (ten("A"), ten("B"), ten("C"), ten("D"));
        let all = [("A", "0123456789"), ("B", &b), ("C", &c), ("D", &d), ("E", &e)];
        assert_eq!(trouble(&all), ("E".into(), Problem::TooLong));
        let half = "x".repeat(VariableMap::VALUE_BYTES);
        let all: Vec<(String, &str)> = (0..5).map(|number| (format!("N{number}"), half.as_str())).collect();
        let all: Vec<_> = all.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(trouble(&all).1, Problem::TooMuch);
    }
}

#[cfg(test)]
mod properties;
