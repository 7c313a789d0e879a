//! Values in commands.
//!
//! A command is a text that `/bin/sh -c` reads, and a value never becomes a part of that text: `{{ name }}` becomes the expansion of an
//! environment variable of the same name, and the shell does not read what an expansion gives. Outside of quotes we write `"${name}"`,
//! inside double quotes and here-documents `${name}`. Where an expansion would mean something else (single quotes, comments,
//! backquotes, arithmetic), and where another program would read the value as code (`sh -c`, `eval`), a template is refused.
//!
//! So we only have to know whether we are inside double quotes. If we were wrong about a text that we do not understand, a value
//! would be split into words; it would still not be run.

mod expansions;
mod here;
mod scan;
mod words;

use crate::template::{Part, Template};
pub(crate) use words::CodeReader;

/// The text for `/bin/sh -c`; the values come through the environment. All that is wrong otherwise.
pub(crate) fn script(template: &Template) -> Result<String, Vec<String>> {
    let tokens = tokens(template);
    match template.literal() {
        Some(text) => Ok(text.into()),
        None => scan::Scanner::new(&tokens).run(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Char(char),
    Name(&'a str),
}

fn tokens(template: &Template) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for part in &template.parts {
        match part {
            Part::Text(text) => tokens.extend(text.chars().map(Token::Char)),
            Part::Name(name) => tokens.push(Token::Name(name)),
        }
    }
    tokens
}

#[cfg(test)]
mod tests;
