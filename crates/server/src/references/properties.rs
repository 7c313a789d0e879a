//! Whatever stands in a value.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use windlass_api::VariableMap;

use super::*;

/// What has a meaning, and what looks like it.
const PIECES: [&str; 22] = [
    "a",
    "$",
    "$$",
    "{",
    "{{",
    "${",
    "${{",
    "$${{",
    "$$${{",
    "}",
    "}}",
    " ",
    "\n",
    "shared.",
    "shared",
    ".",
    "A",
    "B",
    "${{shared.A}}",
    "${{ shared.B }}",
    "$${{shared.A}}",
    "ä",
];

fn value() -> impl Strategy<Value = String> {
    prop_oneof![3 => vec(select(&PIECES[..]), 0..12).prop_map(|all| all.concat()), 1 => any::<String>()]
}

/// Some of them refer to each other.
fn stored() -> impl Strategy<Value = BTreeMap<String, (String, bool)>> {
    btree_map("[A-E]", (value(), any::<bool>()), 0..6)
}

fn definitions(stored: &BTreeMap<String, (String, bool)>) -> BTreeMap<&str, Definition<'_>> {
    let all = stored.iter();
    all.map(|(name, (value, is_secret))| (name.as_str(), Definition { value, is_secret: *is_secret })).collect()
}

proptest! {
    #[test]
    fn a_literal_becomes_the_value_again(value in value()) {
        let filled = Scope::default().fill(&literal(&value));
        assert!(filled.is_ok_and(|filled| filled.value == value && !filled.is_secret), "{value:?}");
        assert!(!refers(&literal(&value)));
    }

    #[test]
    fn what_refers_to_nothing_needs_nothing(value in value()) {
        assert_eq!(refers(&value), Scope::default().fill(&value).is_err());
        if !value.contains(OPENING) {
            assert!(Scope::default().fill(&value).is_ok_and(|filled| filled.value == value));
        }
    }

    #[test]
    fn nothing_secret_gets_into_what_is_not(stored in stored(), value in value()) {
        if let Ok(scope) = Scope::of(&definitions(&stored)) {
            if let Ok(filled) = scope.fill(&value) {
                let reached = names(&value).iter().any(|name| scope.0[*name].is_secret);
                assert_eq!(filled.is_secret, reached);
                assert!(filled.secrets.iter().all(|secret| filled.value.contains(secret.as_str())));
                assert!(filled.value.len() <= VariableMap::VALUE_BYTES);
            }
            for (name, filled) in &scope.0 {
                let (value, is_marked) = &stored[name];
                let inherits = names(value).iter().any(|name| scope.0[*name].is_secret);
                assert_eq!(filled.is_secret, *is_marked || inherits);
            }
        }
    }
}
