//! The words of one command, as far as they tell whether a program will read one of them as code.

/// Programs that read a text as commands when an option with one of the letters comes before it.
const INTERPRETERS: &[(&str, &str)] = &[
    ("sh", "c"),
    ("bash", "c"),
    ("dash", "c"),
    ("ash", "c"),
    ("ksh", "c"),
    ("mksh", "c"),
    ("zsh", "c"),
    ("fish", "c"),
    ("su", "c"),
    ("runuser", "c"),
    ("python", "c"),
    ("python3", "c"),
    ("perl", "eE"),
    ("ruby", "e"),
    ("node", "ep"),
    ("php", "r"),
    ("lua", "e"),
];

/// After these a command begins anew: they are not its name.
const BEFORE_A_COMMAND: &[&str] =
    &["if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "command", "builtin", "exec"];

/// Everything after these is read as commands.
const READ_ALL: &[&str] = &["eval", "trap"];

#[derive(Clone, Copy)]
struct Interpreter {
    name: &'static str,
    letters: &'static str,
}

#[derive(Default)]
pub(super) struct Words {
    /// The word that is being read, without its quotes.
    word: String,
    in_word: bool,
    has_words: bool,
    has_name: bool,
    interpreter: Option<Interpreter>,
    /// Who reads the next word as code.
    reader: Option<&'static str>,
    /// Who reads all further words as code.
    reads_all: Option<&'static str>,
    /// The next word belongs to the option before it.
    skips_next: bool,
    /// The next word is the file of a redirection.
    after_redirection: bool,
    /// The program reads its input as code, whatever words come.
    reads_input: Option<&'static str>,
    in_double_brackets: bool,
    /// Between `case` and `esac`, where a pattern looks like the beginning of a command.
    in_case: bool,
}

impl Words {
    /// For a text that is no command.
    pub fn of_text() -> Self {
        Self { has_name: true, ..Self::default() }
    }

    pub fn push(&mut self, character: char) {
        self.in_word = true;
        self.word.push(character);
    }

    /// A quote or an expansion: there is a word now, even if it turns out empty.
    pub fn begin(&mut self) {
        self.in_word = true;
    }

    pub fn in_word(&self) -> bool {
        self.in_word
    }

    pub fn in_double_brackets(&self) -> bool {
        self.in_double_brackets
    }

    /// Which program reads the word that is being read as code.
    pub fn code_reader(&self) -> Option<&'static str> {
        let inside_option = || {
            let interpreter = self.interpreter?;
            self.word.starts_with("--command=").then_some(interpreter.name)
        };
        self.reads_all.or(self.reader).or_else(inside_option)
    }

    /// Which program reads its input as code.
    pub fn input_reader(&self) -> Option<&'static str> {
        self.reads_input.or(self.interpreter.map(|interpreter| interpreter.name))
    }

    /// Whether no word has come.
    pub fn is_empty(&self) -> bool {
        !self.has_words
    }

    /// Whether what comes now is the name of the program.
    pub fn at_name(&self) -> bool {
        !self.has_name && self.word.is_empty() && !self.after_redirection && !self.in_case
    }

    /// `<` or `>`, with the number before it if there is one.
    pub fn redirect(&mut self) {
        if self.word.bytes().all(|byte| byte.is_ascii_digit()) {
            self.word.clear();
            self.in_word = false;
        }
        self.end_word();
        self.after_redirection = true;
    }

    /// Ends a word, and says what it was.
    pub fn end_word(&mut self) -> String {
        let word = std::mem::take(&mut self.word);
        if !std::mem::take(&mut self.in_word) {
            return word;
        }
        self.has_words = true;
        if std::mem::take(&mut self.after_redirection) {
            return word;
        }
        match word.as_str() {
            "[[" => self.in_double_brackets = true,
            "]]" => self.in_double_brackets = false,
            "case" if !self.has_name => self.in_case = true,
            "esac" => self.in_case = false,
            _ => self.note(&word),
        }
        word
    }

    fn note(&mut self, word: &str) {
        if self.reader.take().is_some() {
            // The code was given: what comes now are its arguments, and the input is its own.
            self.interpreter = None;
            return;
        }
        if std::mem::take(&mut self.skips_next) {
            return;
        }
        if !self.has_name && !BEFORE_A_COMMAND.contains(&word) && !word.contains('=') {
            self.has_name = true;
            self.reads_all = READ_ALL.iter().copied().find(|known| *known == word);
        }
        match self.interpreter {
            Some(interpreter) if word.starts_with(['-', '+']) => self.note_option(interpreter, word),
            // A file with the program, or for su the name of a user.
            Some(Interpreter { name: "su" | "runuser", .. }) => {}
            _ => self.interpreter = interpreter(word),
        }
    }

    fn note_option(&mut self, interpreter: Interpreter, word: &str) {
        let is_code = word == "--command"
            || !word.starts_with("--") && word.len() > 1 && word[1..].contains(|c| interpreter.letters.contains(c));
        if is_code {
            self.reader = Some(interpreter.name);
        }
        if interpreter.letters == "c" && !word.starts_with("--") && word.contains('s') {
            self.reads_input = Some(interpreter.name);
        }
        self.skips_next = matches!(word, "-o" | "+o" | "-O" | "+O");
    }

    pub fn end_command(&mut self) {
        // `[[ a && b ]]` is one command, and `case` lasts until `esac`.
        *self = Self { in_double_brackets: self.in_double_brackets, in_case: self.in_case, ..Self::default() };
    }
}

/// Whether a program reads one of its arguments as code, for arguments that no shell has to read first.
#[derive(Default)]
pub(crate) struct CodeReader(Words);

impl CodeReader {
    /// Takes the next argument, none for one that is not known yet, and says whether such a one would be read as code.
    pub fn reads(&mut self, word: Option<&str>) -> bool {
        let is_code = word.is_none() && self.0.code_reader().is_some();
        self.0.begin();
        word.unwrap_or_default().chars().for_each(|character| self.0.push(character));
        self.0.end_word();
        is_code
    }
}

fn interpreter(word: &str) -> Option<Interpreter> {
    let program = word.rsplit('/').next()?;
    let (name, letters) = INTERPRETERS.iter().copied().find(|(name, _)| *name == program)?;
    Some(Interpreter { name, letters })
}
