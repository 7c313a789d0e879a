//! Values in what a container runs. There is no shell between us and the program unless the author puts one there, so a value has to stay
//! one argument, and must not be a part of what a shell in the container reads.

use std::borrow::Cow;

use windlass_yaml::{Node, Place, Value, at_key};

use crate::check::Checker;
use crate::shell;
use crate::template::{Part, Template};
use crate::tree::Tree;

const READ_AS_CODE: &str = "would be read as commands inside the container; put the value into the environment, \
                            and write $$NAME here";
const AS_A_LIST: &str = "has {{ }} and ${ } in one text; write it as a list, one argument in each item";

/// Checks one service of a Compose document, and makes lists of commands that are texts.
pub(super) fn guard(service: &mut Tree, path: &str, checker: &mut Checker) {
    let mut all = Vec::new();
    for key in ["entrypoint", "command"] {
        let Some(tree) = service.get_mut(key) else { continue };
        if let Err(message) = split(tree) {
            checker.problem(tree.place(), &at_key(path, key), message);
        }
        all.extend(words_of(tree));
    }
    check_words(&all, &at_key(path, "command"), checker);
    let Some(test) = service.get_mut("healthcheck").and_then(|health| health.get_mut("test")) else { return };
    let path = at_key(&at_key(path, "healthcheck"), "test");
    let words = words_of(test);
    let is_shell =
        matches!(test, Tree::Text(..)) || words.first().is_some_and(|(word, _)| word.as_deref() == Some("CMD-SHELL"));
    if is_shell {
        for (_, place) in words.iter().filter(|(word, _)| word.is_none()) {
            checker.problem(*place, &path, READ_AS_CODE);
        }
    }
    check_words(&words, &path, checker);
}

/// Each argument and its place; none for one with a value in it.
type Words = Vec<(Option<String>, Place)>;

fn words_of(tree: &Tree) -> Words {
    let word = |tree: &Tree| match tree {
        Tree::Plain(node) => (node.scalar_text().map(Cow::into_owned), node.place),
        other => (None, other.place()),
    };
    match tree {
        Tree::List(items, _) => items.iter().map(word).collect(),
        other => vec![word(other)],
    }
}

fn check_words(words: &Words, path: &str, checker: &mut Checker) {
    let mut reader = shell::CodeReader::default();
    for (word, place) in words {
        if reader.reads(word.as_deref()) {
            checker.problem(*place, path, READ_AS_CODE);
        }
    }
}

/// A text with values in it becomes a list, split where the author wrote spaces: those of a value do not make two arguments of it.
fn split(tree: &mut Tree) -> Result<(), &'static str> {
    let Tree::Text(template, place) = tree else { return Ok(()) };
    if template.literals().any(|text| text.contains("${")) {
        return Err(AS_A_LIST);
    }
    let place = *place;
    let word = |template: Template| match template.literal() {
        Some(text) => Tree::Plain(Node::new(Value::Text(text.into()), place)),
        None => Tree::Text(template, place),
    };
    *tree = Tree::List(arguments(template)?.into_iter().map(word).collect(), place);
    Ok(())
}

/// The arguments that a shell would make of a text in which it expands nothing.
fn arguments(template: &Template) -> Result<Vec<Template>, &'static str> {
    let mut words = Splitter::default();
    for part in &template.parts {
        match part {
            Part::Text(text) => text.chars().for_each(|character| words.character(character)),
            Part::Name(name) => words.name(name),
        }
    }
    words.finish()
}

#[derive(Default)]
struct Splitter {
    done: Vec<Template>,
    word: Option<Vec<Part>>,
    quote: Option<char>,
    is_escaped: bool,
}

impl Splitter {
    fn character(&mut self, character: char) {
        if std::mem::take(&mut self.is_escaped) {
            // As in a shell: between double quotes the backslash stays, unless it protects something.
            if self.quote.is_some() && !matches!(character, '"' | '\\' | '$' | '`') {
                self.push('\\');
            }
            return self.push(character);
        }
        match (character, self.quote) {
            ('\\', None | Some('"')) => self.is_escaped = true,
            (character, Some(open)) if character == open => self.quote = None,
            ('\'' | '"', None) => {
                self.quote = Some(character);
                self.word.get_or_insert_default();
            }
            (character, None) if character.is_whitespace() => self.end_word(),
            _ => self.push(character),
        }
    }

    fn push(&mut self, character: char) {
        let word = self.word.get_or_insert_default();
        match word.last_mut() {
            Some(Part::Text(text)) => text.push(character),
            _ => word.push(Part::Text(character.into())),
        }
    }

    fn name(&mut self, name: &str) {
        self.is_escaped = false;
        self.word.get_or_insert_default().push(Part::Name(name.into()));
    }

    fn end_word(&mut self) {
        self.done.extend(self.word.take().map(|parts| Template { parts }));
    }

    fn finish(mut self) -> Result<Vec<Template>, &'static str> {
        if self.quote.is_some() || self.is_escaped {
            return Err("has a quote or a backslash that is not closed; write it as a list, one argument in each item");
        }
        self.end_word();
        Ok(self.done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let words = arguments(&Template::parse(text).unwrap()).unwrap();
        words.iter().map(|word| word.render(|name| Some(format!("<{name}>").into())).unwrap()).collect()
    }

    #[test]
    fn texts_are_split_where_the_author_wrote_spaces() {
        assert_eq!(words("server --password {{ a }}  --x={{ b }}y"), ["server", "--password", "<a>", "--x=<b>y"]);
        assert_eq!(words("a 'b {{ c }} d' \"e {{ f }}\" ''"), ["a", "b <c> d", "e <f>", ""]);
        assert_eq!(words(r#"a\ b "c\"d" 'e\f' "g\h""#), ["a b", "c\"d", "e\\f", "g\\h"]);
        assert!(arguments(&Template::parse("a 'b {{ c }}").unwrap()).is_err());
    }
}
