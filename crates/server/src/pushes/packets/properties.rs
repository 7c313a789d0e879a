//! Pushes in whichever pieces, and bytes that are none.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

fn commands() -> impl Strategy<Value = Vec<(String, String, String)>> {
    let hash = || prop_oneof!["0{40}", "[0-9a-f]{40}", "[0-9a-f]{64}"];
    vec((hash(), hash(), "refs/heads/[a-z\u{e4}/-]{1,12}"), 1..4)
}

fn written(commands: &[(String, String, String)], objects: &[u8]) -> Vec<u8> {
    let abilities = "\0report-status side-band-64k  agent=git/2.39\n";
    let lines = commands.iter().enumerate().map(|(index, (old, new, reference))| {
        line_of(format!("{old} {new} {reference}{}", if index == 0 { abilities } else { "\n" }).as_bytes())
    });
    [lines.collect::<Vec<_>>().concat(), b"0000".to_vec(), objects.to_vec()].concat()
}

proptest! {
    #[test]
    fn a_push_is_read_as_it_was_written(commands in commands(), objects in any::<Vec<u8>>(), cut in any::<Index>()) {
        let bytes = written(&commands, &objects);
        let beginning = read_beginning(&bytes).unwrap().unwrap();
        let found: Vec<_> = beginning.commands.iter().cloned().map(|it| (it.old, it.new, it.reference)).collect();
        assert_eq!(found, commands);
        assert_eq!(&bytes[beginning.length..], objects);
        // What the program gets is a push too, of the same commands, which asks for no side band.
        assert_eq!(read_beginning(&beginning.for_program), Err("this git is too old: it cannot show what happens meanwhile"));
        let cut = cut.index(bytes.len());
        let part = read_beginning(&bytes[..cut]);
        assert!(if cut < beginning.length { part == Ok(None) } else { part == Ok(Some(beginning)) });
    }

    #[test]
    fn what_is_passed_on_has_the_length_that_it_says(bytes in prop_oneof![
        any::<Vec<u8>>(),
        vec(("[0-9a-f+ ]{38,42}", "[ -~\n\0]{0,20}"), 0..3).prop_map(|lines| {
            let each = lines.iter().flat_map(|(hash, rest)| line_of(format!("{hash} {hash} {rest}").as_bytes()));
            each.chain(*b"0000").collect::<Vec<u8>>()
        }),
        "[0-9a-f+-]{0,12}".prop_map(String::into_bytes),
    ]) {
        let Ok(Some(beginning)) = read_beginning(&bytes) else { return Ok(()) };
        assert!(beginning.length <= bytes.len() && beginning.for_program.len() <= beginning.length);
        let (mut at, mut lines) = (0, 0);
        while let Some((Some(_), length)) = packet(&beginning.for_program[at..]).unwrap() {
            (at, lines) = (at + length, lines + 1);
        }
        assert_eq!((lines, &beginning.for_program[at..]), (beginning.commands.len(), &b"0000"[..]));
        assert!(beginning.commands.iter().all(|command| is_hash(&command.old) && is_hash(&command.new)));
    }

    #[test]
    fn lengths_are_digits_and_nothing_else(digits in "[0-9a-fA-F+ -]{4}", rest in vec(any::<u8>(), 0..40)) {
        let read = packet(&[digits.as_bytes(), rest.as_slice()].concat()).map(|found| found.map(|(_, length)| length));
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            assert!(read.is_err(), "{digits}");
        } else if let Ok(Some(length)) = read {
            assert!(length >= 4 && length <= rest.len() + 4);
        }
    }

    #[test]
    fn reports(lines in vec("[ -~\u{e4}]{1,20}", 0..5), reference in "[a-z/]{1,8}", cut in any::<Index>()) {
        let report = Report { lines };
        let bytes = report.bytes();
        assert_eq!(Report::read(&bytes), Some(report));
        assert_eq!(Report::read(&bytes[..cut.index(bytes.len())]), None);
        let mut done = Report { lines: vec![format!("ok {reference}")] };
        done.refuse(&reference, "no");
        assert!(!done.is_done(&reference));
    }

    #[test]
    fn any_bytes_are_a_report_or_none(bytes in any::<Vec<u8>>(), text in any::<String>()) {
        let _ = Report::read(&bytes);
        // Nothing that is told can end the line early, or move the cursor of the one who pushes.
        let line = progress(&text);
        let (found, length) = packet(&line).unwrap().unwrap();
        let shown = String::from_utf8(found.unwrap()[1..].to_vec()).unwrap();
        assert!(length == line.len() && shown.ends_with('\n') && !shown.trim_end_matches('\n').contains(|c: char| c.is_control() && c != '\t'));
    }
}
