//! Walks through the text of a command and knows at each place what the shell would make of an expansion there.

use super::Token;
use super::here::HereDocument;
use super::words::Words;

/// Functions here call themselves for what is nested, so the depth has a bound.
pub(super) const DEEPEST: usize = 20;

const SINGLE: &str = "inside single quotes, where the shell does not read a value; use double quotes";
const BACKSLASH: &str = "behind a backslash, which would change what it means; remove the backslash";
const COMMENT: &str = "in a comment, where it has no meaning; remove it";

pub(super) struct Scanner<'t> {
    pub tokens: &'t [Token<'t>],
    pub at: usize,
    /// Where the text ends: the end of all, or of the here-document that is being read.
    pub end: usize,
    pub out: String,
    pub depth: usize,
    /// Here-documents whose first line has not come yet.
    pub waiting: Vec<HereDocument>,
    /// Why no template may stand here.
    refused: Option<&'static str>,
    /// What makes us unsure where quotes begin and end.
    unclear: Option<&'static str>,
    /// The names whose values the commands use, in order.
    used: Vec<String>,
    problems: Vec<String>,
}

/// The commands of the text, or those of one `$( )`.
struct Level {
    words: Words,
    parentheses: usize,
    nested: bool,
    /// How many here-documents waited for their lines when it began.
    waiting: usize,
    /// How many names were used before the first command of `a | b | c`, and before the last one.
    pipeline: usize,
    last: usize,
}

impl<'t> Scanner<'t> {
    pub fn new(tokens: &'t [Token<'t>]) -> Self {
        Self {
            tokens,
            at: 0,
            end: tokens.len(),
            out: String::new(),
            depth: 0,
            waiting: Vec::new(),
            refused: None,
            unclear: None,
            used: Vec::new(),
            problems: Vec::new(),
        }
    }

    pub fn run(mut self) -> Result<String, Vec<String>> {
        self.command(false);
        if !self.waiting.is_empty() {
            self.unclear("a here-document has no lines");
        }
        if let Some(why) = self.unclear {
            let message = "so it is not certain where quotes begin and end; write the command in a simpler way";
            self.problems.push(format!("{why}, {message}"));
        }
        if self.problems.is_empty() { Ok(self.out) } else { Err(self.problems) }
    }

    pub fn unclear(&mut self, why: &'static str) {
        self.unclear.get_or_insert(why);
    }

    /// Nothing more comes once something is unclear: the rest could only be guessed.
    pub fn peek(&self, ahead: usize) -> Option<Token<'t>> {
        let at = self.at + ahead;
        if at < self.end && self.unclear.is_none() { self.tokens.get(at).copied() } else { None }
    }

    pub fn next_is(&self, ahead: usize, character: char) -> bool {
        self.peek(ahead) == Some(Token::Char(character))
    }

    /// Takes a token and writes it, if it is a character.
    pub fn copy(&mut self) {
        if let Some(Token::Char(character)) = self.peek(0) {
            self.out.push(character);
        }
        self.at += 1;
    }

    /// Takes a template: writes the expansion between two `quote`s, or refuses it.
    pub fn value(&mut self, name: &str, quote: &str, words: &Words) {
        self.at += 1;
        let shown = format!("{{{{ {name} }}}}");
        if let Some(why) = self.refused {
            self.problems.push(format!("{shown} stands {why}"));
        } else if words.in_double_brackets() {
            self.problems.push(format!("{shown} stands inside [[ ]], which may calculate with it; use [ ]"));
        } else if let Some(reader) = words.code_reader() {
            self.problems.push(code_problem(&shown, reader));
        } else if words.at_name() {
            self.problems.push(format!("{shown} would be run as a program; write the name of the program out"));
        } else {
            self.used.push(name.into());
            self.out.push_str(&format!("{quote}${{{name}}}{quote}"));
        }
    }

    pub fn value_as_input(&mut self, name: &str, reader: &str) {
        self.at += 1;
        let shown = format!("{{{{ {name} }}}}");
        self.problems.push(code_problem(&shown, reader));
    }

    pub fn refuse_during(&mut self, why: &'static str, read: impl FnOnce(&mut Self)) {
        let before = self.refused;
        self.refused = before.or(Some(why));
        read(self);
        self.refused = before;
    }

    /// Commands to the end of the text, or to the `)` of `$(`.
    pub fn command(&mut self, nested: bool) {
        self.depth += 1;
        if self.depth > DEEPEST {
            self.unclear("$( ) is nested too deeply");
        }
        let (waiting, used) = (self.waiting.len(), self.used.len());
        let mut level = Level { words: Words::default(), parentheses: 0, nested, waiting, pipeline: used, last: used };
        while let Some(token) = self.peek(0) {
            match token {
                Token::Name(name) => {
                    self.value(name, "\"", &level.words);
                    level.words.begin();
                }
                Token::Char(')') if nested && level.parentheses == 0 => break,
                Token::Char(character) => self.character(character, &mut level),
            }
        }
        self.end_word(&mut level);
        self.end_pipeline(&mut level);
        if nested {
            if self.waiting.len() > level.waiting || self.peek(0).is_none() {
                self.unclear("$( is not closed where its lines end");
            }
            self.copy();
        }
        self.depth -= 1;
    }

    fn character(&mut self, character: char, level: &mut Level) {
        match character {
            '\\' => self.escape(Some(&mut level.words)),
            '\'' => self.single(&mut level.words),
            '"' => self.double(&mut level.words),
            '`' => self.backquotes(&mut level.words),
            '$' => self.dollar(false, &mut level.words),
            '#' if !level.words.in_word() => self.comment(),
            '(' if !level.words.in_word() && self.next_is(1, '(') => self.arithmetic(),
            '<' if self.next_is(1, '<') && self.next_is(2, '<') => {
                self.unclear("<<< means different things in different shells");
            }
            '<' if self.next_is(1, '<') => {
                self.end_word(level);
                self.here_document(&level.words);
            }
            '\n' => self.end_line(level),
            ' ' | '\t' => {
                self.end_word(level);
                self.copy();
            }
            '<' | '>' => {
                level.words.redirect();
                self.copy();
            }
            ';' | '&' | '|' | '(' | ')' => self.operator(character, level),
            _ => {
                level.words.push(character);
                self.copy();
            }
        }
    }

    fn operator(&mut self, character: char, level: &mut Level) {
        self.end_word(level);
        match character {
            '(' => level.parentheses += 1,
            ')' => level.parentheses = level.parentheses.saturating_sub(1),
            _ => {}
        }
        match character {
            // `>&` is a redirection, and `|&` a pipe in some shells.
            '&' if self.out.ends_with(['<', '>', '|']) => {}
            '|' if !self.next_is(1, '|') && !self.out.ends_with('|') => {
                level.last = self.used.len();
                level.words.end_command();
            }
            _ => self.end_pipeline(level),
        }
        self.copy();
    }

    /// What the commands before the last one print is its input: that must not have values in it if it is read as code.
    fn end_pipeline(&mut self, level: &mut Level) {
        if let Some(reader) = level.words.input_reader() {
            for name in &self.used[level.pipeline..level.last] {
                self.problems.push(code_problem(&format!("{{{{ {name} }}}}"), reader));
            }
        }
        level.words.end_command();
        (level.pipeline, level.last) = (self.used.len(), self.used.len());
    }

    fn end_word(&mut self, level: &mut Level) {
        // The `)` of its patterns looks like the end of `$(`.
        if level.words.end_word() == "case" && level.nested {
            self.unclear("case stands inside $( )");
        }
    }

    fn end_line(&mut self, level: &mut Level) {
        self.end_word(level);
        let reader = level.words.input_reader();
        // A line that ends with a pipe goes on in the next one, and one without a command ends nothing.
        let goes_on = level.words.is_empty();
        if !goes_on {
            self.end_pipeline(level);
        }
        self.copy();
        if level.waiting > 0 {
            self.unclear("a line ends inside $( ) before the lines of a here-document");
        }
        for document in std::mem::take(&mut self.waiting) {
            self.here_lines(&document, reader);
        }
        if goes_on {
            level.last = self.used.len();
        }
    }

    /// A backslash and what it escapes.
    pub fn escape(&mut self, words: Option<&mut Words>) {
        self.copy();
        match self.peek(0) {
            Some(Token::Name(name)) => self.refuse_during(BACKSLASH, |scanner| {
                scanner.value(name, "", &Words::default());
            }),
            Some(Token::Char(character)) => {
                // A backslash at the end of a line continues it: nothing is there.
                if let Some(words) = words.filter(|_| character != '\n') {
                    words.push(character);
                }
                self.copy();
            }
            None => {}
        }
    }

    pub fn single(&mut self, words: &mut Words) {
        words.begin();
        self.copy();
        self.refuse_during(SINGLE, |scanner| {
            while let Some(token) = scanner.peek(0) {
                match token {
                    Token::Char('\'') => return scanner.copy(),
                    Token::Char(character) => scanner.quoted(character, words),
                    Token::Name(name) => scanner.value(name, "", words),
                }
            }
            scanner.unclear("a single quote is not closed");
        });
    }

    pub fn quoted(&mut self, character: char, words: &mut Words) {
        if character == '\n' && !self.waiting.is_empty() {
            self.unclear("a line ends inside quotes before the lines of a here-document");
        }
        words.push(character);
        self.copy();
    }

    pub fn double(&mut self, words: &mut Words) {
        words.begin();
        self.copy();
        while let Some(token) = self.peek(0) {
            match token {
                Token::Char('"') => return self.copy(),
                Token::Char('\\') => self.escape(Some(words)),
                Token::Char('$') => self.dollar(true, words),
                Token::Char('`') => self.backquotes(words),
                Token::Char(character) => self.quoted(character, words),
                Token::Name(name) => self.value(name, "", words),
            }
        }
        self.unclear("a double quote is not closed");
    }

    fn comment(&mut self) {
        self.refuse_during(COMMENT, |scanner| {
            while let Some(token) = scanner.peek(0) {
                match token {
                    Token::Char('\n') => return,
                    Token::Char(_) => scanner.copy(),
                    Token::Name(name) => scanner.value(name, "", &Words::default()),
                }
            }
        });
    }
}

fn code_problem(shown: &str, reader: &str) -> String {
    match reader {
        "eval" | "trap" => format!("{shown} would be read as commands by {reader}; write the command without {reader}"),
        _ => format!(
            "{shown} would be read as commands by {reader}; give the value as an argument instead, \
             such as sh -c 'echo \"$1\"' sh {shown}"
        ),
    }
}
