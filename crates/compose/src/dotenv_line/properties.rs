//! What is written is read again as it was.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::dotenv_line;
use crate::dotenv::read_alone;

/// What the format gives a meaning to.
const PIECES: [&str; 25] = [
    "a", "B1", " ", "  ", "\t", "\n", "\r\n", "\r", "#", " #", "'", "\"", "\\", "\\n", "\\'", "\\\"", "$", "$$",
    "${A}", "${", "}", "=", "export ", "\u{feff}", "\u{85}",
];

fn value() -> impl Strategy<Value = String> {
    prop_oneof![3 => vec(select(&PIECES[..]), 0..12).prop_map(|all| all.concat()), 1 => any::<String>()]
        .prop_map(|value| value.replace('\0', ""))
}

proptest! {
    #[test]
    fn a_file_of_lines_is_read_as_it_was_written(values in vec((value(), "[A-Za-z0-9_.-]{1,3}"), 0..6)) {
        let named = values.into_iter().enumerate().map(|(index, (value, name))| (format!("{name}{index}"), value));
        let variables: Vec<(String, String)> = named.collect();
        let lines = variables.iter().map(|(name, value)| dotenv_line(name, value).unwrap() + "\n");
        let text: String = lines.collect();
        assert_eq!(read_alone(&text).unwrap(), variables, "{text:?}");
        // Also where an editor has changed the ends of lines; what is inside of values changes with them.
        let is_one_line = variables.iter().all(|(_, value)| !value.contains('\n'));
        if is_one_line {
            assert_eq!(read_alone(&text.replace('\n', "\r\n")).unwrap(), variables);
        }
    }

    #[test]
    fn any_name_is_written_or_refused(name in any::<String>(), value in value()) {
        if let Some(line) = dotenv_line(&name, &value) {
            assert_eq!(read_alone(&line).unwrap(), [(name, value)]);
        }
    }
}
