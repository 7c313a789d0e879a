//! What holds for every line of a server, and for every text of a mail.

use std::time::{Duration, SystemTime};

use proptest::collection::vec;
use proptest::prelude::*;

use crate::connection::parts;
use crate::mail::{as_data, write};
use crate::{Mail, Sender};

fn hostile() -> impl Strategy<Value = String> {
    let known = prop_oneof![
        Just("\r\n"),
        Just("\n"),
        Just("\r"),
        Just("."),
        Just("\r\n.\r\n"),
        Just("\n.\n"),
        Just("\r\nBcc: eve@evil.example\r\n"),
        Just("--=_windlass"),
        Just("<eve@evil.example>, "),
        Just("\""),
        Just("\\"),
        Just("=?utf-8?q?a?="),
        Just("é"),
        Just("🦀"),
        Just("\0"),
        Just("a long word "),
    ];
    vec(prop_oneof![3 => known.prop_map(str::to_owned), 1 => any::<String>()], 0..20).prop_map(|pieces| pieces.concat())
}

/// What of a header with names is not in quotation marks, where a backslash takes the meaning of the letter after it.
fn outside_quotes(text: &str) -> String {
    let (mut outside, mut is_quoted) = (String::new(), false);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if is_quoted => drop(letters.next()),
            '"' => is_quoted = !is_quoted,
            _ if !is_quoted => outside.push(letter),
            _ => {}
        }
    }
    outside
}

proptest! {
    #[test]
    fn any_line_has_a_number_or_none(line in vec(any::<u8>(), 0..20)) {
        if let Some((number, _, _)) = parts(&line) {
            prop_assert!((200..600).contains(&number));
        }
    }

    #[test]
    fn numbers_are_read(number in 200..600u16, is_last in any::<bool>(), text in "[ -~]{0,40}") {
        let line = format!("{number}{}{text}", if is_last { ' ' } else { '-' });
        prop_assert_eq!(parts(line.as_bytes()), Some((number, is_last, text)));
    }

    /// Only its end ends it, whatever a server takes for the end of a line.
    #[test]
    fn nothing_in_a_message_ends_it(message in hostile()) {
        let data = String::from_utf8(as_data(message.as_bytes())).unwrap();
        let inside = data.strip_suffix(".\r\n").unwrap();
        prop_assert!(inside.is_empty() || inside.ends_with("\r\n"));
        let bare = inside.replace("\r\n", "");
        prop_assert!(!bare.contains(['\r', '\n']));
        prop_assert!(inside.split("\r\n").all(|line| line != "."));
        let lines: Vec<&str> = inside.split("\r\n").map(|line| line.strip_prefix('.').unwrap_or(line)).collect();
        let given = message.replace("\r\n", "\n").replace('\r', "\n");
        let read = lines.join("\n");
        prop_assert_eq!(read.trim_end_matches('\n'), given.trim_end_matches('\n'));
    }

    #[test]
    fn no_text_becomes_a_header_or_a_part(name in hostile(), subject in hostile(), text in hostile(), html in hostile()) {
        let mail = Mail {
            from: Sender { name, address: "windlass@example.org".to_owned() },
            to: vec!["ada@example.org".to_owned()],
            subject,
            text,
            html: Some(html),
            message_id: "1@example.org".to_owned(),
            date: SystemTime::UNIX_EPOCH + Duration::from_secs(1),
        };
        let data = String::from_utf8(write(&mail).unwrap().data).unwrap();
        prop_assert!(data.is_ascii() && data.split("\r\n").all(|line| line.len() < 998));
        let (head, body) = data.split_once("\r\n\r\n").unwrap();
        let names: Vec<&str> = head.split("\r\n").filter(|line| !line.starts_with([' ', '\t'])).map(|line| line.split(':').next().unwrap()).collect();
        let known = [
            "From", "Subject", "Message-ID", "Date", "Auto-Submitted", "X-Auto-Response-Suppress", "To", "MIME-Version", "Content-Type",
        ];
        prop_assert!(names.iter().all(|name| known.contains(name)), "{head}");
        prop_assert_eq!(names.len(), known.len());
        let unfolded = head.replace("\r\n ", " ").replace("\r\n\t", " ");
        let from = unfolded.split("\r\n").find_map(|line| line.strip_prefix("From: ")).unwrap();
        let address = outside_quotes(from).split_once('<').map(|(name, address)| (name.contains(','), address.to_owned()));
        let only = from == "windlass@example.org" || address == Some((false, "windlass@example.org>".to_owned()));
        prop_assert!(only, "{}", from);
        prop_assert_eq!(body.split("\r\n").filter(|line| line.starts_with("--=_windlass")).count(), 3);
    }
}
