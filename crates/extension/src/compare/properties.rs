//! Any three trees.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;

fn trees() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (0..3_i64).prop_map(Json::from),
        "[ab:# \n]{0,4}".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        let map = btree_map("[a-e]", inner.clone(), 0..5);
        let named = (btree_map("[a-e]", inner.clone(), 0..5), any::<bool>());
        prop_oneof![
            map.prop_map(|entries| Json::Object(entries.into_iter().collect())),
            vec(inner, 0..3).prop_map(Json::from),
            named.prop_map(|(items, is_turned)| {
                let mut items: Vec<Json> = items
                    .into_iter()
                    .map(|(name, value)| serde_json::json!({ "name": name, "value": value }))
                    .collect();
                if is_turned {
                    items.reverse();
                }
                Json::from(items)
            }),
        ]
    })
}

fn conflicts(comparison: &Comparison) -> Vec<&str> {
    let mut paths: Vec<_> = comparison.conflicts().map(|change| change.path.as_str()).collect();
    paths.sort_unstable();
    paths
}

proptest! {
    #[test]
    fn what_one_side_changes_is_taken(before in trees(), after in trees()) {
        let own = compare(Three { before: &before, upstream: &before, own: &after }, Side::Upstream);
        prop_assert_eq!(&own.merged, &after);
        prop_assert!(own.changes.iter().all(|change| change.by == ChangedBy::Own));
        prop_assert_eq!(own.changes.is_empty(), before == after);
        let upstream = compare(Three { before: &before, upstream: &after, own: &before }, Side::Own);
        prop_assert_eq!(&upstream.merged, &after);
        prop_assert_eq!(upstream.of_upstream(), own.changes.len());
        let both = compare(Three { before: &before, upstream: &after, own: &after }, Side::Own);
        prop_assert_eq!(&both.merged, &after);
        prop_assert!(both.changes.iter().all(|change| change.by == ChangedBy::Both));
    }

    #[test]
    fn sides_are_alike(before in trees(), one in trees(), other in trees()) {
        let there = compare(Three { before: &before, upstream: &one, own: &other }, Side::Own);
        let back = compare(Three { before: &before, upstream: &other, own: &one }, Side::Upstream);
        prop_assert_eq!(conflicts(&there), conflicts(&back));
        prop_assert_eq!(there.changes.len(), back.changes.len());
    }

    #[test]
    fn the_merged_text_says_what_is_meant(before in trees(), one in trees(), other in trees()) {
        let written = Three { before: &before, upstream: &one, own: &other }.map(windlass_yaml::write);
        let texts = written.as_ref().map(String::as_str);
        let comparison = compare(Three { before: &before, upstream: &one, own: &other }, Side::Own);
        let merged = merged_text(texts, &comparison, Side::Own).unwrap();
        prop_assert_eq!(tree(&merged.text).unwrap(), comparison.merged);
    }
}
