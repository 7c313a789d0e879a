//! Every document of JSON is one of YAML, and means the same.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use crate::read;

/// Without numbers that YAML authors mean as texts: `1.10`, and those with twenty digits.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~\u{e4}\u{6771}\u{1f680}]{0,12}".prop_map(Value::from),
        any::<String>().prop_map(|text| Value::from(text.replace('\0', ""))),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let entry = ("[ -~]{1,8}", inner.clone());
        prop_oneof![
            vec(inner, 0..5).prop_map(Value::from),
            vec(entry, 0..5).prop_map(|entries| {
                // `<<` takes over the entries of another map.
                Value::Object(entries.into_iter().filter(|(name, _)| name != "<<").collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn json_means_the_same(value in json(), is_pretty in any::<bool>()) {
        let text = if is_pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        assert_eq!(read(&text).unwrap().merged().unwrap().to_json(), value, "{text}");
    }

    #[test]
    fn what_is_written_reads_back_as_the_same(value in json(), lines in vec("[ a#:|-]{0,4}", 0..5)) {
        let document = serde_json::json!({ "value": value, "lines": [lines.join("\n"), { "ended": lines.join("\n") + "\n" }] });
        let text = windlass_yaml::write(&document);
        assert_eq!(read(&text).unwrap().merged().unwrap().to_json(), document, "{text}");
    }

    #[test]
    fn any_text_is_read_or_refused_at_a_place_in_it(text in prop_oneof![any::<String>(), "([a-c] ?|[-:?,&*!|>'\"%#{}\\[\\]] ?|\n *){0,30}"]) {
        if let Err(problem) = read(&text).and_then(windlass_yaml::Node::merged) {
            let lines = text.replace("\r\n", "\n").replace('\r', "\n").split('\n').count();
            assert!((1..=lines).contains(&(problem.place.line as usize)), "{problem}");
        }
    }
}
