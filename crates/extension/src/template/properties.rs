//! Any text around any names, and any text at all.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// A text as an author must write it, and what it says when each name has its value.
fn pieces() -> impl Strategy<Value = Vec<(String, String)>> {
    let literal = "[a-z} \u{e4}$']{0,5}".prop_map(|text| (text.clone(), text));
    let open = Just((LITERAL_OPEN.to_owned(), OPEN.to_owned()));
    let name = ("[ \t]{0,2}", "[a-c_][a-c0-9_]{0,3}")
        .prop_map(|(space, name)| (format!("{{{{{space}{name} }}}}"), format!("<{name}>")));
    vec(prop_oneof![literal, open, name], 0..6)
}

proptest! {
    #[test]
    fn names_get_their_values_and_the_rest_stays(pieces in pieces()) {
        let (written, meant): (Vec<_>, Vec<_>) = pieces.into_iter().unzip();
        let template = Template::parse(&written.concat()).unwrap();
        let rendered = template.render(|name| Some(format!("<{name}>").into()));
        assert_eq!(rendered.as_ref(), Ok(&meant.concat()));
        assert_eq!(template.size(|name| name.len() + 2), meant.concat().len());
        assert!(template.names().all(is_name));
    }

    #[test]
    fn values_are_not_looked_at(value in any::<String>()) {
        let rendered = Template::parse("a{{ b }}c").unwrap().render(|_| Some(value.as_str().into()));
        assert_eq!(rendered, Ok(format!("a{value}c")));
    }

    #[test]
    fn any_text_is_taken_or_refused(text in prop_oneof![any::<String>(), "[{} a]{0,12}"]) {
        match Template::parse(&text) {
            Ok(template) => {
                assert!(template.names().all(is_name));
                // What is taken has an end for each beginning, so writing it again gives the same.
                let again: String = template.parts.iter().map(|part| match part {
                    Part::Text(text) => text.replace(OPEN, LITERAL_OPEN),
                    Part::Name(name) => format!("{{{{{name}}}}}"),
                }).collect();
                assert_eq!(Template::parse(&again), Ok(template), "{again:?}");
            }
            Err(problem) => assert!(problem.lines().count() == 1 && problem.len() < 400, "{problem}"),
        }
    }
}
