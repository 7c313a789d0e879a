use serde_json::{Value as Json, json};
use windlass_extension::{MASK, Values, values};

use crate::documents::{document, extension, filled, given};

const STEP: &str = "- {name: Wait, type: wait, properties: {seconds: 1}}";
const VARIABLES: &str = r#"
title: {type: string, default: Notes, validation_pattern: "[A-Za-z ]+"}
port: {type: integer, default: 8080, validation_pattern: "[0-9]{2,5}"}
tls: {type: boolean}
hosts: {type: array, validation_pattern: "[a-z]+"}
password: {type: secret, is_required: true}
owner: {type: string, is_required: true}
note: {type: string}
"#;

fn problems(pairs: &[(&str, Json)]) -> Vec<String> {
    let extension = extension(&document("run", VARIABLES, STEP));
    let result = values(&extension, &given(pairs), &mut || "made".into());
    result.err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn texts(pairs: &[(&str, Json)]) -> Vec<String> {
    let values = filled(&extension(&document("run", VARIABLES, STEP)), pairs);
    ["title", "port", "tls", "hosts", "password", "owner", "note"]
        .iter()
        .map(|name| values.text(name).unwrap().into_owned())
        .collect()
}

#[test]
fn defaults_are_filled_in_and_secrets_made() {
    let given = [("owner", json!("ada"))];
    assert_eq!(texts(&given), ["Notes", "8080", "false", "", "generated-secret", "ada", ""]);
}

#[test]
fn values_come_as_texts_or_as_json() {
    let as_texts = [
        ("title", json!("My Wiki")),
        ("port", json!(" 443 ")),
        ("tls", json!("True")),
        ("hosts", json!("a, b,,c")),
        ("password", json!("s3cret-word")),
        ("owner", json!("ada")),
        ("note", json!("two\nlines")),
    ];
    let expected = ["My Wiki", "443", "true", "a,b,c", "s3cret-word", "ada", "two\nlines"];
    assert_eq!(texts(&as_texts), expected);
    let as_json = [
        ("title", json!("My Wiki")),
        ("port", json!(443)),
        ("tls", json!(true)),
        ("hosts", json!(["a", "b", "c"])),
        ("password", json!("s3cret-word")),
        ("owner", json!("ada")),
        ("note", json!("two\nlines")),
    ];
    assert_eq!(texts(&as_json), expected);
    let hosts = [("owner", json!("ada")), ("hosts", json!("[\"a\",\"b\"]"))];
    assert_eq!(texts(&hosts)[3], "a,b");
}

#[test]
fn everything_wrong_is_told_at_once_and_no_value_is_shown() {
    let told = problems(&[
        ("titel", json!("x")),
        ("title", json!("UNSEEN-1")),
        ("port", json!("UNSEEN")),
        ("tls", json!("UNSEEN")),
        ("hosts", json!(["a", "UNSEEN"])),
        ("password", json!({ "UNSEEN": 1 })),
        ("owner", json!("")),
        ("note", json!("UNSEEN\u{0}")),
    ]);
    assert_eq!(
        told,
        [
            "titel: the extension has no such variable; did you mean title?",
            "title: must match the pattern [A-Za-z ]+",
            "port: must be a whole number",
            "tls: must be true or false",
            "hosts: must match the pattern [a-z]+",
            "password: must be a text",
            "owner: is required; give a value",
            "note: must not contain control characters",
        ]
    );
}

#[test]
fn wrong_types_are_refused() {
    let owner = ("owner", json!("ada"));
    for (name, value) in [
        ("title", json!(5)),
        ("port", json!(1.5)),
        ("port", json!("1e3")),
        ("port", json!("99999999999999999999")),
        ("port", json!(7)),
        ("tls", json!(1)),
        ("tls", json!("yes")),
        ("hosts", json!({})),
        ("hosts", json!([["a"]])),
        ("hosts", json!("[\"a\"")),
        ("hosts", json!(["a,b"])),
        ("hosts", json!([""])),
        ("password", json!(MASK)),
        ("note", json!("x".repeat(17 * 1024))),
    ] {
        assert_eq!(problems(&[owner.clone(), (name, value.clone())]).len(), 1, "{name}: {value}");
    }
}

#[test]
fn an_empty_text_is_empty_where_that_is_possible() {
    let extension = extension(&document("run", VARIABLES, STEP));
    let values = filled(&extension, &[("owner", json!("ada")), ("title", json!("")), ("port", json!(""))]);
    assert_eq!(values.text("title").unwrap(), "");
    assert_eq!(values.text("port").unwrap(), "8080");
}

#[test]
fn a_secret_that_its_pattern_refuses_must_be_given() {
    let text = document("run", "pin: {type: secret, validation_pattern: '[0-9]{4}'}", STEP);
    let extension = extension(&text);
    let made = values(&extension, &given(&[]), &mut || "letters".into()).unwrap_err();
    assert_eq!(made[0].message, "cannot be generated, because of its pattern; give a value");
    let mut number = 0;
    let mut generate = || {
        number += 1;
        if number < 3 { "letters".into() } else { "1234".into() }
    };
    assert_eq!(values(&extension, &given(&[]), &mut generate).unwrap().text("pin").unwrap(), "1234");
}

#[test]
fn secrets_are_known_masked_and_not_shown() {
    let text = document("run", "a: {type: secret}\nb: {type: secret}\nc: {type: string}", STEP);
    let extension = extension(&text);
    let pairs = [("a", json!("s3cret-word")), ("b", json!("s3cret-word-and-more")), ("c", json!("seen"))];
    let values = filled(&extension, &pairs);
    assert_eq!(values.secrets(), ["s3cret-word-and-more", "s3cret-word"]);
    assert!(values.is_secret("a") && !values.is_secret("c") && !values.is_secret("d"));
    assert!(!format!("{values:?}").contains("s3cret-word") && format!("{values:?}").contains("seen"));
    let masked = values.masked();
    assert_eq!(masked.text("a").unwrap(), MASK);
    assert_eq!(masked.text("c").unwrap(), "seen");
    let stored = serde_json::to_string(&values).unwrap();
    let read: Values = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, values);
    assert_eq!(Json::from(values.to_json()), json!({ "a": "s3cret-word", "b": "s3cret-word-and-more", "c": "seen" }));
}

#[test]
fn all_values_together_have_a_bound() {
    let names: Vec<_> = (0..10).map(|number| format!("v{number}")).collect();
    let variables: String = names.iter().map(|name| format!("{name}: {{type: string}}\n")).collect();
    let extension = extension(&document("run", &variables, STEP));
    let pairs: Vec<_> = names.iter().map(|name| (name.as_str(), json!("x".repeat(16_000)))).collect();
    let told = values(&extension, &given(&pairs), &mut String::new).unwrap_err();
    assert!(told[0].message.contains("all values together"), "{told:?}");
}
