//! Here-documents: `<<WORD`, and the lines that come after the line in which it stands.

use super::Token;
use super::scan::Scanner;
use super::words::Words;

const DELIMITER: &str = "in the delimiter of a here-document; write the delimiter out";
const QUOTED: &str =
    "in a here-document whose delimiter is quoted, where the shell does not read a value; remove the quotes";
const EXPANSION: &str = "inside $( ) or ${ } in a here-document; put what it gives into a variable before";
const MOST_WAITING: usize = 16;

pub(super) struct HereDocument {
    delimiter: String,
    /// `<<-`: tabs at the beginning of lines do not count.
    strips_tabs: bool,
    /// The delimiter was quoted: the shell reads nothing in the lines.
    is_quoted: bool,
    /// The program that reads the lines as code.
    reader: Option<&'static str>,
}

impl Scanner<'_> {
    /// From `<<` to the end of the delimiter.
    pub(super) fn here_document(&mut self, words: &Words) {
        self.copy();
        self.copy();
        let strips_tabs = self.next_is(0, '-');
        if strips_tabs {
            self.copy();
        }
        while self.next_is(0, ' ') || self.next_is(0, '\t') {
            self.copy();
        }
        let (delimiter, is_quoted) = self.delimiter();
        if delimiter.is_empty() {
            self.unclear("<< has no delimiter behind it");
        }
        if self.waiting.len() == MOST_WAITING {
            self.unclear("too many here-documents begin on one line");
        }
        self.waiting.push(HereDocument { delimiter, strips_tabs, is_quoted, reader: words.input_reader() });
    }

    fn delimiter(&mut self) -> (String, bool) {
        let mut delimiter = String::new();
        let (mut quote, mut is_quoted) = (None, false);
        while let Some(token) = self.peek(0) {
            match (token, quote) {
                (Token::Char('\n'), _) | (Token::Char(' ' | '\t' | ';' | '&' | '|' | '<' | '>' | '(' | ')'), None) => {
                    break;
                }
                (Token::Char(sign), Some(open)) if sign == open => quote = None,
                (Token::Char(sign @ ('\'' | '"')), None) => {
                    quote = Some(sign);
                    is_quoted = true;
                }
                (Token::Char('\\'), None) => is_quoted = true,
                (Token::Char('$' | '`' | '\\'), _) => self.unclear("the delimiter of a here-document has a $, ` or \\"),
                (Token::Char(character), _) => delimiter.push(character),
                (Token::Name(name), _) => {
                    self.refuse_during(DELIMITER, |scanner| {
                        scanner.value(name, "", &Words::default());
                    });
                    continue;
                }
            }
            self.copy();
        }
        if quote.is_some() {
            self.unclear("the delimiter of a here-document has a quote that is not closed");
        }
        (delimiter, is_quoted)
    }

    /// The lines, to the one with the delimiter. `reader` is the last program of the line before them: `cat <<END | sh`.
    pub(super) fn here_lines(&mut self, document: &HereDocument, reader: Option<&'static str>) {
        let Some((lines_end, document_end)) = self.find_end(document) else {
            return self.unclear("a here-document is not closed");
        };
        let end = std::mem::replace(&mut self.end, lines_end);
        self.here_text(document, document.reader.or(reader));
        self.end = end;
        while self.at < document_end {
            self.copy();
        }
    }

    fn here_text(&mut self, document: &HereDocument, reader: Option<&'static str>) {
        let mut words = Words::default();
        while let Some(token) = self.peek(0) {
            match token {
                Token::Name(name) if document.is_quoted => {
                    self.refuse_during(QUOTED, |scanner| {
                        scanner.value(name, "", &Words::default());
                    });
                }
                Token::Name(name) => match reader {
                    Some(reader) => self.value_as_input(name, reader),
                    None => self.value(name, "", &Words::of_text()),
                },
                Token::Char('\\') if !document.is_quoted => self.escape(None),
                Token::Char('$') if !document.is_quoted => {
                    self.refuse_during(EXPANSION, |scanner| scanner.dollar(true, &mut words));
                }
                Token::Char('`') if !document.is_quoted => self.backquotes(&mut words),
                Token::Char(_) => self.copy(),
            }
        }
    }

    /// Where the line with the delimiter begins, and where it ends.
    fn find_end(&mut self, document: &HereDocument) -> Option<(usize, usize)> {
        let mut line = self.at;
        let mut is_continued = false;
        while line < self.end {
            let rest = &self.tokens[line..self.end];
            let length = rest.iter().position(|token| *token == Token::Char('\n')).unwrap_or(rest.len());
            let tokens = &rest[..length];
            if is_delimiter(tokens, document) {
                if is_continued && !document.is_quoted {
                    self.unclear("the line before the end of a here-document ends with a backslash");
                }
                return Some((line, line + length));
            }
            is_continued = tokens.last() == Some(&Token::Char('\\'));
            line += length + 1;
        }
        None
    }
}

fn is_delimiter(line: &[Token<'_>], document: &HereDocument) -> bool {
    let tabs = line.iter().take_while(|token| **token == Token::Char('\t')).count();
    let line = if document.strips_tabs { &line[tabs..] } else { line };
    let mut expected = document.delimiter.chars().map(Token::Char);
    line.iter().all(|token| expected.next() == Some(*token)) && expected.next().is_none()
}
