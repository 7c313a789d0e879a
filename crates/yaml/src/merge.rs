use std::collections::HashSet;

use crate::{Key, Node, Problem, Value, at_index, at_key};

const MERGE: &str = "<<";

impl Node {
    /// The tree with every `<<` replaced by the entries of the maps that it names. A key that is written beside `<<` wins over one that
    /// comes through it; of several maps the first one wins.
    ///
    /// The tree does not grow: aliases are already copies, and their entries are moved.
    pub fn merged(self) -> Result<Node, Problem> {
        merge(self, "")
    }
}

fn merge(node: Node, path: &str) -> Result<Node, Problem> {
    let value = match node.value {
        Value::List(items) => {
            let items = items.into_iter().enumerate().map(|(index, item)| merge(item, &at_index(path, index)));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        Value::Map(entries) => Value::Map(merge_entries(entries, path)?),
        scalar => scalar,
    };
    Ok(Node { value, ..node })
}

fn merge_entries(entries: Vec<(Key, Node)>, path: &str) -> Result<Vec<(Key, Node)>, Problem> {
    let mut known: HashSet<String> =
        entries.iter().map(|(key, _)| key.text.clone()).filter(|key| key != MERGE).collect();
    let mut all = Vec::with_capacity(entries.len());
    for (key, node) in entries {
        let path = at_key(path, &key.text);
        let node = merge(node, &path)?;
        if key.text == MERGE {
            let new = sources(node, &path)?.into_iter().filter(|(key, _)| known.insert(key.text.clone()));
            all.extend(new);
        } else {
            all.push((key, node));
        }
    }
    Ok(all)
}

/// The entries that the value of `<<` stands for: those of a map, or of a list of maps.
fn sources(node: Node, path: &str) -> Result<Vec<(Key, Node)>, Problem> {
    match node.value {
        Value::Map(entries) => Ok(entries),
        Value::List(items) => {
            let mut all = Vec::new();
            for (index, item) in items.into_iter().enumerate() {
                let place = item.place;
                let Value::Map(entries) = item.value else {
                    return Err(Problem::new(
                        place,
                        at_index(path, index),
                        "must be a map, such as *name of an anchor",
                    ));
                };
                all.extend(entries);
            }
            Ok(all)
        }
        other => {
            let message = format!("must be a map or a list of maps, and is {}", other.kind());
            Err(Problem::new(node.place, path, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Limits, parse};

    fn merged(text: &str) -> Result<String, String> {
        let node = parse(text, &Limits::default()).unwrap();
        node.merged().map(|node| node.to_json().to_string()).map_err(|problem| problem.to_string())
    }

    #[test]
    fn what_is_written_beside_wins() {
        let text = "a: &a {x: 1, y: 2}\nb: {y: 3, <<: *a}\nc: {<<: *a, y: 4}\n";
        assert_eq!(merged(text).unwrap(), r#"{"a":{"x":1,"y":2},"b":{"y":3,"x":1},"c":{"x":1,"y":4}}"#);
    }

    #[test]
    fn of_several_maps_the_first_wins() {
        let text = "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\n";
        assert_eq!(merged(text).unwrap(), r#"{"a":{"x":1},"b":{"x":2,"y":2},"c":{"x":1,"y":2}}"#);
    }

    #[test]
    fn merges_inside_of_merged_maps_are_resolved() {
        let text = "a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: [{<<: *b, z: {<<: *a}}]\n";
        assert_eq!(merged(text).unwrap(), r#"{"a":{"x":1},"b":{"x":1,"y":2},"c":[{"x":1,"y":2,"z":{"x":1}}]}"#);
    }

    #[test]
    fn only_maps_can_be_merged() {
        let problem = merged("a: {<<: 1}").unwrap_err();
        assert_eq!(problem, "line 1, column 9: a.<<: must be a map or a list of maps, and is a number");
        let problem = merged("a: {<<: [{}, 1]}").unwrap_err();
        assert_eq!(problem, "line 1, column 14: a.<<[1]: must be a map, such as *name of an anchor");
    }
}
