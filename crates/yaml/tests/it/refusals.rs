use crate::problem;

#[test]
fn what_nobody_means_is_refused_where_it_stands() {
    let cases = [
        ("a: 1\nb: 2\na: 3\n", "line 3, column 1: a: the key is already on line 1, column 1; remove one of them"),
        (
            "a:\n  b: {c: 1, d: 2, 'c': 3}\n",
            "line 2, column 19: a.b.c: the key is already on line 2, column 7; remove one of them",
        ),
        ("a: &a [1, *a]\n", "line 1, column 11: a[1]: the alias is inside of what it stands for; write the value out"),
        (
            "a: &a {b: {c: *a}}\n",
            "line 1, column 15: a.b.c: the alias is inside of what it stands for; write the value out",
        ),
        ("{[a]: b}", "line 1, column 2: a key must be a text, not a list or a map"),
        ("? {a: b}\n: c\n", "line 1, column 3: a key must be a text, not a list or a map"),
        ("a: &x b\n*x : c\n", "line 2, column 1: an alias cannot be a key; write the key out"),
        (
            "a: b\n---\nc: d\n",
            "line 2, column 1: a second document begins here; only one is allowed, so remove the line ---",
        ),
        ("a:\n - 1\n - !secret x\n", "line 3, column 12: a[1]: the tag \"!secret\" is not supported; leave it out"),
        ("a: !!binary x\n", "line 1, column 13: a: the tag \"!!binary\" is not supported; leave it out"),
        ("a: !!int x\n", "line 1, column 10: a: the value does not fit its tag !!int; leave the tag out"),
        ("a: !!map [1]\n", "line 1, column 10: a: the tag \"!!map\" is not supported; leave it out"),
        ("a: !!set {b: }\n", "line 1, column 10: a: the tag \"!!set\" is not supported; leave it out"),
        ("!!int 1: a\n", "line 1, column 7: the tag \"!!int\" is not supported; leave it out"),
        ("'': 1\n", "line 1, column 1: a key must have 1 to 1024 bytes"),
        ("a:\n  : 1\n", "line 2, column 3: a: a key must have 1 to 1024 bytes"),
    ];
    for (text, message) in cases {
        assert_eq!(problem(text), message, "{text:?}");
    }
}

/// The parser's own messages, with the place where it stopped.
#[test]
fn what_is_not_yaml_is_refused_where_it_stops_being_yaml() {
    let texts = [
        "a:\n\tb: 1\n",
        "a: [1, 2\n",
        "a: 'x\n",
        "a: b: c\n",
        "a: *x\n",
        "a: @x\n",
        "a: \"\\q\"\n",
        "  a: 1\n b: 2\n",
        "a: \u{0}\n",
        "a: [1] ]\n",
    ];
    let problems = texts.map(|text| format!("{text:?}\n  {}", problem(text)));
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("not_yaml", problems.join("\n"));
    });
}
