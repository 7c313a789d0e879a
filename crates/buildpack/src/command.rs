//! Commands: of users and manifests, for `/bin/sh`.

use crate::error::{Error, Result};

/// A line of a Dockerfile has at most 64 KiB, and six bytes of it can stand for one of a command.
pub const MOST_COMMAND_BYTES: usize = 8 << 10;

/// A command that can be an argument of a program. `from` says where it was written.
pub fn checked(command: &str, from: &str) -> Result<String> {
    let command = command.trim();
    let problem = if command.len() > MOST_COMMAND_BYTES {
        format!("the command has more than {MOST_COMMAND_BYTES} bytes")
    } else if command.contains('\0') {
        "the command has a zero byte".to_owned()
    } else {
        return Ok(command.to_owned());
    };
    Err(Error::Malformed { file: from.to_owned(), problem })
}

/// The same command, with the shell replaced by its last program where that is safe to say: signals must arrive there.
pub fn with_exec(command: &str) -> String {
    match command.rsplit_once("&&") {
        Some((before, last)) if is_open(before) && !before.contains("||") && takes_exec(last.trim()) => {
            format!("{before}&& {}", exec(last.trim()))
        }
        None if takes_exec(command) => exec(command),
        _ => command.to_owned(),
    }
}

fn exec(command: &str) -> String {
    // `exec A=b program` would look for a program of the name `A=b`.
    if is_assignment(first_word(command)) { format!("exec env {command}") } else { format!("exec {command}") }
}

/// What comes after it is not in quotes, in a comment, or in brackets.
fn is_open(before: &str) -> bool {
    !before.contains(['\n', '\'', '"', '\\', '`', '(', '{', '#'])
}

/// A command without what is in quotes, which the shell takes as it is or expands, but never as more commands. Nothing if a quote stays open.
fn without_quotes(command: &str) -> Option<String> {
    let mut kept = String::new();
    let mut quote = None;
    for character in command.chars() {
        match quote {
            Some(open) if character == open => quote = None,
            Some('"') if character == '\\' => return None,
            Some(_) => {}
            None if character == '\\' => return None,
            None if character == '\'' || character == '"' => quote = Some(character),
            None => kept.push(character),
        }
    }
    quote.is_none().then_some(kept)
}

/// One program with its arguments, and no builtin of the shell.
fn takes_exec(command: &str) -> bool {
    const BUILTINS: [&str; 19] = [
        ".", ":", "!", "{", "case", "cd", "command", "eval", "exec", "exit", "export", "for", "if", "set", "source",
        "time", "trap", "until", "while",
    ];
    let mut words = command.split_whitespace().skip_while(|word| is_assignment(word));
    // A quote in an assignment may hold a blank, and then the next word is not where it seems.
    let is_plain_start = !(is_assignment(first_word(command)) && command.contains(['\'', '"']));
    let is_program = words.next().is_some_and(|word| !BUILTINS.contains(&word));
    let has_one_command = |rest: String| !rest.contains(['|', '&', ';', '<', '>', '(', ')', '`', '\n', '#', '{']);
    is_program && is_plain_start && without_quotes(command).is_some_and(has_one_command)
}

fn first_word(command: &str) -> &str {
    command.split_whitespace().next().unwrap_or_default()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| crate::text::is_identifier(name))
}

/// Does a command run one of these programs?
pub fn mentions(command: &str, programs: &[&str]) -> bool {
    let is_separator = |character: char| character.is_whitespace() || ";&|()'\"`".contains(character);
    command.split(is_separator).any(|word| programs.contains(&word.rsplit('/').next().unwrap_or(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_program_takes_the_place_of_the_shell() {
        for (command, with) in [
            ("node server.js", "exec node server.js"),
            ("NODE_ENV=production node .", "exec env NODE_ENV=production node ."),
            ("prisma migrate deploy && node .", "prisma migrate deploy && exec node ."),
            ("a && B=c d", "a && exec env B=c d"),
            ("gunicorn 'app:create_app()'", "exec gunicorn 'app:create_app()'"),
            ("echo \"a", "echo \"a"),
            ("echo \"a\\\"; b\"", "echo \"a\\\"; b\""),
            ("node -e \"x\"", "exec node -e \"x\""),
            ("echo 'a && b'", "echo 'a && b'"),
            ("(a && b)", "(a && b)"),
            ("if a; then b && c; fi", "if a; then b && c; fi"),
            ("cd app && node .", "cd app && exec node ."),
            ("a || b && c", "a || b && c"),
            ("cd app", "cd app"),
            ("exec node .", "exec node ."),
            ("A='b c' node .", "A='b c' node ."),
            ("a; b", "a; b"),
            ("a\nb", "a\nb"),
            ("", ""),
        ] {
            assert_eq!(with_exec(command), with, "{command}");
        }
    }

    #[test]
    fn programs_are_found_in_commands() {
        assert!(mentions("cross-env X=1 pnpm start", &["pnpm"]));
        assert!(mentions("./node_modules/.bin/next start", &["next"]));
        assert!(!mentions("node nextjs.js", &["next"]));
    }
}
