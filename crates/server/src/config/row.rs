//! How a row of the table of settings is read.

use std::cell::RefCell;
use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::{Mul, RangeInclusive};
use std::str::FromStr;
use std::time::Duration;

use windlass_api::{MASK, choices};

use super::given::GivenSettings;
use super::parse::{self, split_list};
use super::setting::{Kind, Section, Setting, Subcommand};
use crate::vault::ring::Ring;

/// The table while it is read from top to bottom: what was given, the rows so far, and what is wrong.
pub(super) struct Table {
    given: RefCell<GivenSettings>,
    settings: RefCell<Vec<Setting>>,
}

impl Table {
    pub fn of(given: GivenSettings) -> Self {
        Self { given: RefCell::new(given), settings: RefCell::default() }
    }

    pub const fn section(&self, section: Section, commands: &'static [Subcommand]) -> Rows<'_> {
        Rows { table: self, section, commands }
    }

    /// The master key, when the environment gives it. It is no setting: a flag would show it to all users.
    pub fn master_key(&self) -> Option<Ring> {
        self.given.borrow_mut().master_key.take()
    }

    /// The rows, and what is wrong.
    pub fn into_parts(self) -> (Vec<Setting>, Vec<String>) {
        (self.settings.into_inner(), self.given.into_inner().problems)
    }
}

/// The rows of one section, and the commands that take most of them.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    table: &'a Table,
    section: Section,
    commands: &'static [Subcommand],
}

impl<'a> Rows<'a> {
    /// `help` is one sentence without its full stop.
    pub const fn row(self, name: &'static str, help: &'static str) -> Row<'a> {
        let Self { table, section, commands } = self;
        Row { table, section, commands, name, help }
    }
}

/// A row. Its last method says what the setting's value is, and answers with it; when what was given is wrong, it notes
/// that and answers with any value, so that the reading goes on.
pub(super) struct Row<'a> {
    table: &'a Table,
    section: Section,
    commands: &'static [Subcommand],
    name: &'static str,
    help: &'static str,
}

impl Row<'_> {
    /// Other commands than for the rest of the section.
    pub const fn taken_by(self, commands: &'static [Subcommand]) -> Self {
        Self { commands, ..self }
    }

    pub fn number<T: FromStr + PartialOrd + Display>(self, default: T, range: RangeInclusive<T>) -> T {
        self.bounded(Kind::Number, default, &range)
    }

    pub fn limit<T: FromStr + PartialOrd + Display>(self, default: T, range: RangeInclusive<T>) -> T {
        self.bounded(Kind::Limit, default, &range)
    }

    /// A limit that is a time.
    pub fn seconds(self, default: u64, range: RangeInclusive<u64>) -> Duration {
        Duration::from_secs(self.limit(default, range))
    }

    /// A limit in days, as seconds.
    pub fn days(self, default: i64, range: RangeInclusive<i64>) -> i64 {
        86_400 * self.limit(default, range)
    }

    /// A limit in hours, as seconds.
    pub fn hours(self, default: i64, range: RangeInclusive<i64>) -> i64 {
        3_600 * self.limit(default, range)
    }

    /// A limit in KiB, as bytes.
    pub fn kib(self, default: usize, range: RangeInclusive<usize>) -> usize {
        1024 * self.limit(default, range)
    }

    /// A limit in MiB, as bytes.
    pub fn mib<T>(self, default: T, range: RangeInclusive<T>) -> T
    where
        T: FromStr + PartialOrd + Display + From<u32> + Mul<Output = T>,
    {
        T::from(1024 * 1024) * self.limit(default, range)
    }

    pub fn switch(self, default: bool) -> bool {
        let text = self.given_text(Kind::Switch, "BOOL", "true or false", &default.to_string());
        text.parse().unwrap_or_else(|_| self.note(&text, "must be true or false", default))
    }

    /// One word of several, each with its meaning.
    pub fn one_of<T: Copy, const N: usize>(self, default: &str, words: [(&str, T); N]) -> T {
        let value_name = self.name.rsplit('-').next().unwrap_or_default().to_uppercase();
        let problem = choices(words.iter().map(|(word, _)| *word));
        let text = self.given_text(Kind::Text, &value_name, problem.trim_start_matches("must be "), default);
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, meaning)) => *meaning,
            None => self.note(&text, &problem, words[0].1),
        }
    }

    pub fn text<T: Default>(self, value_name: &str, default: &str, parse: fn(&str) -> Result<T, String>) -> T {
        let text = self.given_text(Kind::Text, value_name, "", default);
        parse(&text).unwrap_or_else(|problem| self.note(&text, &problem, T::default()))
    }

    /// A text that no message shows.
    pub fn secret<T: Default>(self, value_name: &str, default: &str, parse: fn(&str) -> Result<T, String>) -> T {
        let text = self.given_text(Kind::Text, value_name, "", default);
        if let Some(row) = self.table.settings.borrow_mut().last_mut().filter(|row| !row.value.is_empty()) {
            row.value = MASK.into();
        }
        parse(&text).unwrap_or_else(|problem| {
            self.add_problem(&problem);
            T::default()
        })
    }

    /// By default empty.
    pub fn list<T>(self, value_name: &str, parse: fn(&str) -> Result<T, String>) -> Vec<T> {
        let texts = self.given(Kind::List, value_name, "", "");
        let read = |text: &String| match parse(text) {
            Ok(value) => Some(value),
            Err(problem) => self.note(text, &problem, None),
        };
        texts.iter().filter_map(read).collect()
    }

    /// Addresses to listen at; a name stands for all that it has.
    pub fn addresses(self, default: &str) -> Vec<SocketAddr> {
        let texts = self.given(Kind::List, "ADDRESS", "", default);
        let (addresses, problems) = parse::addresses(&texts);
        for problem in problems {
            self.add_problem(&problem);
        }
        addresses
    }

    fn bounded<T: FromStr + PartialOrd + Display>(self, kind: Kind, default: T, range: &RangeInclusive<T>) -> T {
        let value_name = match self.name.rsplit('-').next() {
            Some(unit @ ("days" | "hours" | "seconds" | "kib" | "mib")) => unit.to_uppercase(),
            _ => "N".into(),
        };
        let allowed = format!("{} to {}", range.start(), range.end());
        let text = self.given_text(kind, &value_name, &allowed, &default.to_string());
        let problem = || format!("must be a whole number from {} to {}", range.start(), range.end());
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.unwrap_or_else(|| self.note(&text, &problem(), default))
    }

    fn given_text(&self, kind: Kind, value_name: &str, allowed: &str, default: &str) -> String {
        self.given(kind, value_name, allowed, default).into_iter().next().unwrap_or_default()
    }

    /// Enters the row, and finds what was given for it.
    fn given(&self, kind: Kind, value_name: &str, allowed: &str, default: &str) -> Vec<String> {
        let Self { section, commands, name, help, .. } = *self;
        let (value_name, allowed, default) = (value_name.to_owned(), allowed.to_owned(), default.to_owned());
        let given = self.table.given.borrow_mut().take(name);
        let texts = given.unwrap_or_else(|| match kind {
            Kind::List => split_list(&default),
            Kind::Number | Kind::Limit | Kind::Switch | Kind::Text => vec![default.clone()],
        });
        let value = texts.join(",");
        let setting = Setting { name, section, commands, help, kind, value_name, allowed, default, value };
        self.table.settings.borrow_mut().push(setting);
        texts
    }

    fn note<T>(&self, text: &str, problem: &str, instead: T) -> T {
        self.add_problem(&format!("{problem} (it is {text:?})"));
        instead
    }

    fn add_problem(&self, problem: &str) {
        self.table.given.borrow_mut().add_problem(format!("{}: {problem}", self.name));
    }
}
