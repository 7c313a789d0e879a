use serde_json::json;

use super::*;

/// Paths with who has changed them.
fn told(comparison: &Comparison) -> Vec<(&str, ChangedBy)> {
    comparison.changes.iter().map(|change| (change.path.as_str(), change.by)).collect()
}

fn compared(before: &str, upstream: &str, own: &str, first: Side) -> Comparison {
    let trees = Three { before, upstream, own }.map(|text| tree(text).unwrap());
    compare(trees.as_ref(), first)
}

const BEFORE: &str = "metadata: {version: '1'}
variables:
  port: {type: integer, default: 80}
  name: {type: string}
execution:
  run:
    - name: Start it # with care
      timeout: 10
      properties: {compose: {services: {web: {image: 'web:1', command: [a, b]}}}}
    - {name: Lead visitors there}
";

#[test]
fn each_field_is_told_with_who_has_changed_it() {
    let upstream = BEFORE.replace("'1'", "'2'").replace("web:1", "web:2").replace("default: 80", "default: 81");
    let upstream = upstream.replace("[a, b]", "[a, c]").replace("  name: {type: string}\n", "");
    let own =
        BEFORE.replace("timeout: 10", "timeout: 20").replace("web:1", "web:2").replace("default: 80", "default: 90");
    let own = own.replace("# with care", "# slowly");
    let comparison = compared(BEFORE, &upstream, &own, Side::Own);
    let image = "execution.run[Start it].properties.compose.services.web.image";
    let command = "execution.run[Start it].properties.compose.services.web.command";
    let expected = [
        ("metadata.version", ChangedBy::Upstream),
        ("variables.port.default", ChangedBy::Conflict),
        ("variables.name", ChangedBy::Upstream),
        ("execution.run[Start it].timeout", ChangedBy::Own),
        (image, ChangedBy::Both),
        (command, ChangedBy::Upstream),
    ];
    assert_eq!(told(&comparison), expected);
    let values = Three { before: Some(json!(80)), upstream: Some(json!(81)), own: Some(json!(90)) };
    assert_eq!(comparison.conflicts().map(|change| &change.values).collect::<Vec<_>>(), [&values]);
    assert_eq!(comparison.of_upstream(), 4);
    assert_eq!(comparison.merged["variables"], json!({ "port": { "type": "integer", "default": 90 } }));
    let other = compared(BEFORE, &upstream, &own, Side::Upstream);
    assert_eq!(other.merged["variables"]["port"]["default"], 81);
    assert_eq!(other.merged["execution"]["run"][0]["timeout"], 20);
}

#[test]
fn steps_are_told_apart_by_their_names() {
    let upstream = BEFORE.replace("  run:\n", "  run:\n    - {name: Look}\n").replace("timeout: 10", "timeout: 30");
    let own = BEFORE.to_owned() + "    - {name: Tell}\n";
    let comparison = compared(BEFORE, &upstream, &own, Side::Own);
    let expected = [
        ("execution.run[Look]", ChangedBy::Upstream),
        ("execution.run[Start it].timeout", ChangedBy::Upstream),
        ("execution.run[Tell]", ChangedBy::Own),
    ];
    assert_eq!(told(&comparison), expected);
    let names = |comparison: &Comparison| {
        let steps = comparison.merged["execution"]["run"].as_array().unwrap().iter();
        steps.map(|step| step["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&comparison), ["Look", "Start it", "Lead visitors there", "Tell"]);
    // It is not said which of both comes first.
    let upstream = BEFORE.to_owned() + "    - {name: Look}\n";
    for (first, last) in [(Side::Own, ["Tell", "Look"]), (Side::Upstream, ["Look", "Tell"])] {
        let comparison = compared(BEFORE, &upstream, &own, first);
        assert_eq!(told(&comparison)[0], ("execution.run", ChangedBy::Conflict));
        assert_eq!(names(&comparison)[2..], last);
    }
    let moved = "execution: {run: [{name: b}, {name: a}]}";
    let comparison = compared(
        "execution: {run: [{name: a}, {name: b}]}",
        moved,
        "execution: {run: [{name: a, x: 1}, {name: b}]}",
        Side::Own,
    );
    assert_eq!(told(&comparison)[0], ("execution.run", ChangedBy::Upstream));
    assert_eq!(comparison.merged, json!({ "execution": { "run": [{ "name": "b" }, { "name": "a", "x": 1 }] } }));
}

#[test]
fn what_one_side_takes_away_and_the_other_changes_is_a_conflict() {
    let without = BEFORE.replace("  port: {type: integer, default: 80}\n", "");
    let changed = BEFORE.replace("default: 80", "default: 90");
    let comparison = compared(BEFORE, &without, &changed, Side::Own);
    assert_eq!(told(&comparison), [("variables.port", ChangedBy::Conflict)]);
    assert_eq!(comparison.merged["variables"]["port"]["default"], 90);
    assert!(compared(BEFORE, &without, &changed, Side::Upstream).merged["variables"].get("port").is_none());
}

fn text(before: &str, upstream: &str, own: &str) -> MergedText {
    let comparison = compared(before, upstream, own, Side::Own);
    merged_text(Three { before, upstream, own }, &comparison, Side::Own).unwrap()
}

#[test]
fn comments_stay_where_lines_can_be_put_together() {
    let upstream = BEFORE.replace("'1'", "'2'");
    let own = BEFORE.replace("timeout: 10", "timeout: 20 # it is slow here");
    let both = own.replace("'1'", "'2'");
    assert_eq!(text(BEFORE, &upstream, &own), MergedText { text: both, is_rewritten: false });
    assert_eq!(text(BEFORE, &upstream, BEFORE), MergedText { text: upstream.clone(), is_rewritten: false });
    // The line right above too.
    let upstream =
        BEFORE.replace("- name: Start it # with care", "- name: Start it # with great care\n      ignore_errors: true");
    assert!(text(BEFORE, &upstream, &own).is_rewritten, "they have another number of lines");
    let upstream = BEFORE.replace("properties: {compose", "properties: {action: up, compose");
    let both = own.replace("properties: {compose", "properties: {action: up, compose");
    assert_eq!(text(BEFORE, &upstream, &own), MergedText { text: both, is_rewritten: false });
    assert_eq!(text(BEFORE, BEFORE, &own), MergedText { text: own.clone(), is_rewritten: false });
}

/// Two fields of one line were changed: the lines meet, the fields do not.
#[test]
fn what_lines_cannot_say_is_written_anew() {
    let upstream = BEFORE.replace("type: integer", "type: string");
    let own = BEFORE.replace("default: 80", "default: 90");
    let merged = text(BEFORE, &upstream, &own);
    assert!(merged.is_rewritten);
    let port = &tree(&merged.text).unwrap()["variables"]["port"];
    assert_eq!(*port, json!({ "type": "string", "default": 90 }));
    assert!(merged.text.contains("  run:\n    - name: Start it\n      timeout: 10\n"), "{}", merged.text);
}

#[test]
fn values_stand_in_the_place_of_defaults() {
    let text = "metadata: {id: wiki, name: W, description: D, author: A, category: Utility, type: run, version: 1.0.0}
variables:
  port: {type: integer, default: '80'}
  name: {type: string, default: x}
  open: {type: boolean}
  none: {type: string}
  free: {type: array}
  made: {type: secret}
execution: {run: [{name: a, type: wait, properties: {seconds: 1}}]}
";
    let checked = crate::check(text);
    let installed = checked.extension.unwrap_or_else(|| panic!("{:?}", checked.problems));
    let given = [("port", json!(90)), ("free", json!(["a"])), ("made", json!("correct-staple"))];
    let given = given.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let values = crate::values(&installed, &given, &mut String::new).unwrap();
    let before = with_defaults(tree(text).unwrap(), &installed);
    assert_eq!(before["variables"]["port"]["default"], 80);
    let shown = |hides: bool| {
        let own = with_values(before.clone(), &installed, &values, &|_| hides);
        let comparison = compare(Three { before: &before, upstream: &before, own: &own }, Side::Own);
        let change = |change: Change| (change.path, change.values.own.unwrap());
        comparison.changes.into_iter().map(change).collect::<Vec<_>>()
    };
    let [port, free] = ["port", "free"].map(|name| format!("variables.{name}.default"));
    assert_eq!(shown(false), [(port.clone(), json!(90)), (free.clone(), json!(["a"]))]);
    assert_eq!(shown(true), [(port, json!("********")), (free, json!("********"))]);
}

#[test]
fn hostile_texts_take_no_time() {
    let begun = std::time::Instant::now();
    let map = |letter: char| (0..19_000).map(|number| format!("{letter}{number}: 1\n")).collect::<String>();
    let comparison = compared(&map('a'), &map('b'), &map('c'), Side::Own);
    assert_eq!(comparison.changes.len(), 57_000);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(tree("a: &a [1, 2]\nb: [*a, *a]\n").is_ok() && tree("a: [").is_err());
}
