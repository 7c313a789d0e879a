//! What holds for every text of a key.

use proptest::prelude::*;

use super::*;

/// Between two parts of a key.
const SPACE: &str = "[ \t\r\n]{0,3}";

fn algorithm_word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["hmac-sha256", "hmac-sha512"])
}

fn written(name: &str, algorithm: &str, secret: &[u8]) -> String {
    let secret = STANDARD.encode(secret);
    format!("key \"{name}\" {{\n\talgorithm {algorithm};\n\tsecret \"{secret}\";\n}};\n")
}

proptest! {
    /// However it is spaced.
    #[test]
    fn a_key_is_read_as_it_was_written(
        name in "[a-zA-Z0-9_]{1,9}(-[a-z_]{1,9})?(\\.[a-z0-9]{1,20}){0,3}",
        algorithm in algorithm_word(),
        secret in prop::collection::vec(any::<u8>(), SHORTEST_SECRET..80),
        spaces in prop::collection::vec(SPACE, 9),
    ) {
        let parts = ["key ", &format!("\"{name}\""), "{", "algorithm ", algorithm, ";", "secret",
            &format!("\"{}\"", STANDARD.encode(&secret)), ";};"];
        let text: String = parts.iter().zip(&spaces).map(|(part, space)| format!("{space}{part}")).collect();
        let key = TsigKey::parse(&text).unwrap();
        prop_assert_eq!(key.name(), name);
        prop_assert_eq!(key.algorithm(), algorithm);
        prop_assert_eq!(key.signer.key(), secret);
    }

    /// Whatever is taken is a whole key: nothing of the text was passed over.
    #[test]
    fn what_is_taken_is_the_same_when_it_is_written_again(
        before in "\\PC{0,3}", algorithm in algorithm_word(), place in 0..120_usize, put in "[\"{};a-z=\\\\ \n]{0,2}", cut in 0..3_usize,
    ) {
        let mut text = format!("{before}{}", written("windlass", algorithm, &[7; 32]));
        let place = (0..=place.min(text.len())).rev().find(|index| text.is_char_boundary(*index)).unwrap();
        let end = (place..=(place + cut).min(text.len())).rev().find(|index| text.is_char_boundary(*index)).unwrap();
        text.replace_range(place..end, &put);
        let Ok(key) = TsigKey::parse(&text) else { return Ok(()) };
        let again = written(&key.name(), &key.algorithm(), key.signer.key());
        let parts = |text: &str| text.split_ascii_whitespace().collect::<String>().replace(".\"", "\"");
        prop_assert_eq!(parts(&again), parts(&text));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        prop_assert!(TsigKey::parse(&text).is_err());
    }
}
