//! What a shell expands: backquotes, `$( )`, `${ }` and arithmetic.

use super::Token;
use super::scan::{DEEPEST, Scanner};
use super::words::Words;

const BACKQUOTES: &str = "inside backquotes, where quotes mean something else; use $( ) instead of them";
const DOLLAR: &str = "directly behind a $; remove the $";
const PARAMETER: &str = "inside ${ }; put the value into a variable before, such as value={{ name }}";
const ARITHMETIC: &str = "where the shell calculates, which can run what is in a value; use expr instead";

impl Scanner<'_> {
    pub fn backquotes(&mut self, words: &mut Words) {
        words.begin();
        self.copy();
        self.refuse_during(BACKQUOTES, |scanner| {
            while let Some(token) = scanner.peek(0) {
                match token {
                    Token::Char('`') => return scanner.copy(),
                    Token::Char('\\') => scanner.escape(None),
                    Token::Char(_) => scanner.copy(),
                    Token::Name(name) => scanner.value(name, "", &Words::default()),
                }
            }
            scanner.unclear("a backquote is not closed");
        });
    }

    /// A dollar sign, and what begins with it.
    pub fn dollar(&mut self, in_double: bool, words: &mut Words) {
        words.begin();
        match self.peek(1) {
            Some(Token::Name(name)) => {
                self.copy();
                self.refuse_during(DOLLAR, |scanner| {
                    scanner.value(name, "", &Words::default());
                });
            }
            Some(Token::Char('(')) if self.next_is(2, '(') => {
                self.copy();
                self.arithmetic();
            }
            Some(Token::Char('(')) => {
                self.copy();
                self.copy();
                self.command(true);
            }
            Some(Token::Char('{')) => self.parameter(in_double),
            Some(Token::Char('[')) => {
                self.unclear("$[ means different things in different shells");
                self.copy();
            }
            Some(Token::Char('\'')) if !in_double => {
                self.unclear("$' means different things in different shells");
                self.copy();
            }
            // One of the parameters with a sign as their name: the number of the process, and so on.
            Some(Token::Char('$' | '!' | '?' | '#' | '*' | '@' | '-')) => {
                self.copy();
                self.copy();
            }
            _ => self.copy(),
        }
    }

    /// `${…}`, with what may be nested in it.
    fn parameter(&mut self, in_double: bool) {
        self.copy();
        self.copy();
        self.depth += 1;
        if self.depth > DEEPEST {
            self.unclear("${ } is nested too deeply");
        }
        let mut words = Words::default();
        self.refuse_during(PARAMETER, |scanner| {
            while let Some(token) = scanner.peek(0) {
                match token {
                    Token::Char('}') => return scanner.copy(),
                    Token::Char('\\') => scanner.escape(None),
                    Token::Char('\'') if in_double => {
                        scanner.unclear("a single quote stands inside ${ } in double quotes");
                        scanner.copy();
                    }
                    Token::Char('\'') => scanner.single(&mut words),
                    Token::Char('"') => scanner.double(&mut words),
                    Token::Char('$') => scanner.dollar(in_double, &mut words),
                    Token::Char('`') => scanner.backquotes(&mut words),
                    Token::Char(character) => scanner.quoted(character, &mut words),
                    Token::Name(name) => scanner.value(name, "", &words),
                }
            }
            scanner.unclear("${ is not closed");
        });
        self.depth -= 1;
    }

    /// From `((` to its `))`. Some shells run what stands in the index of an array there, so a value never may.
    pub fn arithmetic(&mut self) {
        let mut parentheses = 0_usize;
        self.refuse_during(ARITHMETIC, |scanner| {
            while let Some(token) = scanner.peek(0) {
                match token {
                    Token::Char('(') => parentheses += 1,
                    Token::Char(')') => parentheses = parentheses.saturating_sub(1),
                    Token::Char('\'' | '"' | '`' | '\\' | '#') => scanner.unclear("quotes stand inside (( ))"),
                    Token::Char('\n') if !scanner.waiting.is_empty() => {
                        scanner.unclear("a line ends inside (( )) before the lines of a here-document");
                    }
                    Token::Char(_) => {}
                    Token::Name(name) => {
                        scanner.value(name, "", &Words::default());
                        continue;
                    }
                }
                scanner.copy();
                if parentheses == 0 {
                    return;
                }
            }
            scanner.unclear("(( is not closed");
        });
    }
}
