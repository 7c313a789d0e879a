use super::*;

const PRINTED: &str =
    "key \"windlass\" {\n\talgorithm hmac-sha256;\n\tsecret \"EYL1MRE4PfD80zPE5D+XdNtLXx8YcF7Y2+yBnFADqQQ=\";\n};\n";

#[test]
fn a_key_shows_its_name_and_hides_its_secret() {
    let key = TsigKey::parse(PRINTED).unwrap();
    assert_eq!((key.name().as_str(), key.algorithm().as_str()), ("windlass", "hmac-sha256"));
    assert_eq!(format!("{key:?}"), "TsigKey { name: \"windlass\", .. }");
}

#[test]
fn what_is_wrong_is_said_without_the_secret() {
    let cases = [
        (PRINTED.replace("key", "Key"), "the word key"),
        (PRINTED.replace("\"windlass\"", "windlass"), "name in quotes"),
        (PRINTED.replace("windlass", "wind lass"), "name of DNS"),
        (PRINTED.replace("sha256", "md5"), "neither hmac-sha256 nor hmac-sha512"),
        (PRINTED.replace("QQ=", "QQ"), "not base64"),
        (PRINTED.replace("EYL1MRE4PfD80zPE5D+XdNtLXx8YcF7Y2+yBnFADqQQ=", "EYL1MRE4"), "less than 16 bytes"),
        (PRINTED.replace("};", "}"), "does not end"),
        (format!("{PRINTED}{PRINTED}"), "one key"),
        (format!("# a comment\n{PRINTED}"), "the word key"),
        (" ".repeat(5_000), "too long"),
        (String::new(), "the word key"),
    ];
    for (text, words) in cases {
        let refusal = TsigKey::parse(&text).unwrap_err().to_string();
        assert!(refusal.contains(words) && !refusal.contains("EYL1"), "{text}: {refusal}");
    }
}
