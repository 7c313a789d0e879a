use windlass_yaml::{Node, Place, Value};

use crate::{json, read};

/// Every value with its place, one a line.
fn places(node: &Node, path: &str, lines: &mut Vec<String>) {
    lines.push(format!("{path} {}:{}", node.place.line, node.place.column));
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| places(item, &format!("{path}[]"), lines)),
        Value::Map(entries) => {
            for (key, item) in entries {
                places(item, &format!("{path}.{}@{}:{}", key.text, key.place.line, key.place.column), lines);
            }
        }
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_) => {}
    }
}

#[test]
fn every_value_has_its_place() {
    let text = "# first\na:\n  b: text\n  c:\n    - 1\n    - x: y\nd: {e: 'ä', f: [g]}\nh:\ni: |\n  more\n  lines\nj: &k \"l\"\nm: *k\n";
    let mut lines = Vec::new();
    places(&read(text).unwrap(), "", &mut lines);
    let expected = [
        " 2:1",
        ".a@2:1 3:3",
        ".a@2:1.b@3:3 3:6",
        ".a@2:1.c@4:3 5:5",
        ".a@2:1.c@4:3[] 5:7",
        ".a@2:1.c@4:3[] 6:7",
        ".a@2:1.c@4:3[].x@6:7 6:10",
        ".d@7:1 7:4",
        ".d@7:1.e@7:5 7:8",
        ".d@7:1.f@7:13 7:16",
        ".d@7:1.f@7:13[] 7:17",
        ".h@8:1 8:2",
        ".i@9:1 10:3",
        ".j@12:1 12:7",
        ".m@13:1 12:7",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn an_empty_text_is_nothing() {
    for text in ["", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "null"] {
        assert_eq!(read(text).unwrap().value, Value::Null, "{text:?}");
    }
    assert_eq!(read("").unwrap().place, Place::START);
}

#[test]
fn texts_in_quotes_and_blocks_are_texts() {
    assert_eq!(json("['1', \"true\", '', \"\\u00e4\\n\"]"), r#"["1","true","","ä\n"]"#);
    assert_eq!(json("a: |\n  one\n  two\nb: >-\n  one\n  two\n"), r#"{"a":"one\ntwo\n","b":"one two"}"#);
}

/// The specification wants it indented further than its key; people and other parsers do not.
#[test]
fn a_bracket_may_stand_below_its_key() {
    assert_eq!(json("a:\n  b: [\n    'x'\n  ]\n  c: {\n    d: 1\n  }\n"), r#"{"a":{"b":["x"],"c":{"d":1}}}"#);
}

#[test]
fn keys_are_texts() {
    assert_eq!(json("1: a\ntrue: b\n'x y': c\n0x10: d\n"), r#"{"1":"a","true":"b","x y":"c","0x10":"d"}"#);
}

#[test]
fn core_tags_choose_the_type() {
    let text = "[!!str 1, !!int '1', !!float 1, !!bool 'true', !!null '', !!seq [1], !!map {a: 1}, !<tag:yaml.org,2002:str> 2]";
    assert_eq!(json(text), r#"["1",1,1.0,true,null,[1],{"a":1},"2"]"#);
    assert_eq!(json("!!int 0755"), "755");
    assert_eq!(json("a: !!str\nb: !!null\n"), r#"{"a":"","b":null}"#);
    assert_eq!(json("!!str a: 1\n!!merge <<: {}\n"), r#"{"a":1,"<<":{}}"#);
}

#[test]
fn aliases_are_copies() {
    assert_eq!(json("a: &x [1, &y 2]\nb: *x\nc: *y\n"), r#"{"a":[1,2],"b":[1,2],"c":2}"#);
    assert_eq!(json("- &x 1\n- *x\n- &x 2\n- *x\n"), "[1,1,2,2]");
}
