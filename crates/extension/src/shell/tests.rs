use super::*;

fn rendered(text: &str) -> Result<String, Vec<String>> {
    script(&Template::parse(text).unwrap())
}

#[test]
fn each_place_gets_its_expansion() {
    for (text, expected) in [
        ("echo {{ a }}", r#"echo "${a}""#),
        ("> {{ a }}", r#"> "${a}""#),
        ("x={{ a }} ls", r#"x="${a}" ls"#),
        ("/opt/{{ a }}/run", r#"/opt/"${a}"/run"#),
        ("echo x{{ a }}y", r#"echo x"${a}"y"#),
        ("echo \"x {{ a }} y\"", r#"echo "x ${a} y""#),
        ("echo \"a\"{{ a }}'b'", r#"echo "a""${a}"'b'"#),
        (r#"echo "\"{{ a }}""#, r#"echo "\"${a}""#),
        (r"echo \'{{ a }}", r#"echo \'"${a}""#),
        (r"echo \\{{ a }}", r#"echo \\"${a}""#),
        (r#"echo "\\{{ a }}""#, r#"echo "\\${a}""#),
        (r#"echo "\${{ a }}""#, r#"echo "\$${a}""#),
        ("x=$(cat {{ a }})", r#"x=$(cat "${a}")"#),
        (r#"x="$(cat {{ a }})""#, r#"x="$(cat "${a}")""#),
        (r#"x="$(cat "{{ a }}")""#, r#"x="$(cat "${a}")""#),
        (r#"x="$(cat "$(ls {{ a }})") {{ a }}""#, r#"x="$(cat "$(ls "${a}")") ${a}""#),
        ("(cd {{ a }} && (ls))", r#"(cd "${a}" && (ls))"#),
        ("echo $(( 1 + 2 )) {{ a }}", r#"echo $(( 1 + 2 )) "${a}""#),
        ("x=$( (ls; ls) ); echo {{ a }}", r#"x=$( (ls; ls) ); echo "${a}""#),
        ("echo $$ $# $? {{ a }}", r#"echo $$ $# $? "${a}""#),
        ("echo $${{ a }}", r#"echo $$"${a}""#),
        ("echo ${x:-'}'} {{ a }}", r#"echo ${x:-'}'} "${a}""#),
        (r#"echo "${x:-"a b"} {{ a }}""#, r#"echo "${x:-"a b"} ${a}""#),
        ("# it's\necho {{ a }}", "# it's\necho \"${a}\""),
        ("echo a#'{{{{' {{ a }}", "echo a#'{{' \"${a}\""),
        ("echo `ls '` {{ a }}", "echo `ls '` \"${a}\""),
        ("echo 2>&1 > {{ a }}", "echo 2>&1 > \"${a}\""),
        (
            "case {{ a }} in x) ls;; *) ls '1';; esac; ls {{ a }}",
            "case \"${a}\" in x) ls;; *) ls '1';; esac; ls \"${a}\"",
        ),
        ("echo a\\\n#{{ a }}", "echo a\\\n#\"${a}\""),
        ("no template 'at all", "no template 'at all"),
    ] {
        assert_eq!(rendered(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn here_documents() {
    for (text, expected) in [
        ("cat <<END\n{{ a }} \" ' #\nEND\necho {{ a }}", "cat <<END\n${a} \" ' #\nEND\necho \"${a}\""),
        ("cat <<-END > {{ b }}\n\t{{ a }}\n\tEND\necho {{ a }}", "cat <<-END > \"${b}\"\n\t${a}\n\tEND\necho \"${a}\""),
        ("cat << 'END'\n'\nEND\necho {{ a }}", "cat << 'END'\n'\nEND\necho \"${a}\""),
        ("cat <<A <<B\n{{ a }}\nA\n{{ b }}\nB\nls {{ a }}", "cat <<A <<B\n${a}\nA\n${b}\nB\nls \"${a}\""),
        ("x=$(cat <<A\n{{ a }}\nA\n) ; ls {{ a }}", "x=$(cat <<A\n${a}\nA\n) ; ls \"${a}\""),
        ("cat <<END\nENDING\nEND", "cat <<END\nENDING\nEND"),
        ("cat <<END\n$x $(ls) {{ a }}\nEND", "cat <<END\n$x $(ls) ${a}\nEND"),
    ] {
        assert_eq!(rendered(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn refused_places_are_named_with_the_fix() {
    for (text, reason) in [
        (
            "echo '{{ a }}'",
            "{{ a }} stands inside single quotes, where the shell does not read a value; use double quotes",
        ),
        ("# {{ a }}", "in a comment"),
        ("ls # {{ a }}\nls", "in a comment"),
        ("echo `ls {{ a }}`", "inside backquotes"),
        ("echo \"`ls {{ a }}`\"", "inside backquotes"),
        ("echo $(({{ a }} + 1))", "where the shell calculates"),
        ("(({{ a }} + 1))", "where the shell calculates"),
        ("echo ${x:-{{ a }}}", "inside ${ }"),
        ("echo \"${x:-{{ a }}}\"", "inside ${ }"),
        ("echo ${x:-$(ls {{ a }})}", "inside ${ }"),
        ("echo ${{ a }}", "directly behind a $"),
        ("echo \"${{ a }}\"", "directly behind a $"),
        ("echo \\{{ a }}", "behind a backslash"),
        ("echo \"\\{{ a }}\"", "behind a backslash"),
        ("cat <<'END'\n{{ a }}\nEND", "whose delimiter is quoted"),
        ("cat <<\\END\n{{ a }}\nEND", "whose delimiter is quoted"),
        ("cat <<\"END\"\n{{ a }}\nEND", "whose delimiter is quoted"),
        ("cat <<END\n\\{{ a }}\nEND", "behind a backslash"),
        ("cat <<END\n$(ls {{ a }})\nEND", "in a here-document"),
        ("cat <<END\n`ls {{ a }}`\nEND", "inside backquotes"),
        ("cat <<{{ a }}\nEND", "in the delimiter"),
        ("[[ {{ a }} -eq 1 ]]", "inside [[ ]]"),
        ("[[ 1 -eq 1 && {{ a }} -eq 1 ]]", "inside [[ ]]"),
    ] {
        let problems = rendered(text).unwrap_err();
        assert!(problems[0].contains(reason), "{text}: {problems:?}");
    }
}

#[test]
fn what_is_not_certain_is_refused() {
    for text in [
        "echo {{ a }} 'open",
        "echo {{ a }} \"open",
        "echo {{ a }} `open",
        "echo {{ a }} $(open",
        "echo {{ a }} ${open",
        "echo {{ a }} $((open)",
        "cat <<END\n{{ a }}",
        "cat {{ a }} <<END",
        "cat <<END \"a\n\"\n{{ a }}\nEND",
        "cat <<END $(ls\n)\n{{ a }}\nEND",
        "x=$(case a in a) echo {{ a }};; esac)",
        "echo $'a\\'' {{ a }}",
        "echo $[1] {{ a }}",
        "cat <<<{{ a }}",
        "echo \"${x:-'}'}\" {{ a }}",
        "cat <<END\n{{ a }}\\\nEND\nEND",
        "echo $((1 + '1')) {{ a }}",
        "cat <<E$x\n{{ a }}\nE$x",
    ] {
        let problems = rendered(text).unwrap_err();
        assert!(problems.iter().any(|problem| problem.contains("not certain")), "{text}: {problems:?}");
    }
    let deep = format!("{}ls{} {{{{ a }}}}", "$(".repeat(10_000), ")".repeat(10_000));
    assert!(rendered(&deep).unwrap_err()[0].contains("nested too deeply"));
    let deep = format!("{}x{} {{{{ a }}}}", "${a:-".repeat(10_000), "}".repeat(10_000));
    assert!(rendered(&deep).unwrap_err()[0].contains("nested too deeply"));
}

#[test]
fn a_value_is_not_run_as_a_program() {
    for text in [
        "{{ a }}",
        "\"{{ a }}\" x",
        "ls; {{ a }}",
        "ls && {{ a }} x",
        "ls | {{ a }}",
        "if {{ a }}; then ls; fi",
        "x=1 {{ a }}",
        "> out {{ a }}",
        "2>&1 {{ a }}",
        "exec {{ a }}",
        "(cd /; {{ a }})",
        "x=$({{ a }})",
        "f() { {{ a }}; }",
    ] {
        let problems = rendered(text).unwrap_err();
        assert!(problems[0].contains("would be run as a program"), "{text}: {problems:?}");
    }
    let text = "case x in\n a) ls ;;\n {{ a }}) ls ;;\nesac";
    assert!(rendered(text).is_ok());
    assert!(rendered(&format!("{text}\n{{{{ a }}}}")).is_err());
}

#[test]
fn a_value_is_not_given_to_a_program_as_code() {
    for text in [
        "sh -c {{ a }}",
        "sh -c \"echo {{ a }}\"",
        "/bin/bash -lc \"echo {{ a }}\"",
        "bash -o pipefail -c \"echo {{ a }}\"",
        "sudo -u x sh -ec \"{{ a }}\"",
        "docker exec x sh -c \"ls {{ a }}\"",
        "su - postgres -c \"psql {{ a }}\"",
        "su --command=\"ls {{ a }}\" x",
        "runuser -u x -c \"ls {{ a }}\"",
        "if sh -c \"{{ a }}\"; then ls; fi",
        "x=$(sh -c \"{{ a }}\")",
        "eval ls {{ a }}",
        "x=1 eval {{ a }}",
        "if eval {{ a }}; then ls; fi",
        "trap \"rm {{ a }}\" EXIT",
        "python3 -c \"print('{{ a }}')\"",
        "perl -pi -e \"s/x/{{ a }}/\" file",
        "sh <<END\nls {{ a }}\nEND",
        "bash -s <<END\nls {{ a }}\nEND",
        "cat <<END | sh\nls {{ a }}\nEND",
        "cat <<END |\nls {{ a }}\nEND\nsh",
        "echo {{ a }} | sh",
        "echo \"ls {{ a }}\" | tee log | sudo bash -s -- x",
        "echo {{ a }} |\n sh",
        "echo {{ a }} |& sh; ls",
        "x=$(echo {{ a }} | sh)",
        "sh > log 2>&1 -c \"{{ a }}\"",
    ] {
        let problems = rendered(text).unwrap_err();
        assert!(problems[0].contains("would be read as commands"), "{text}: {problems:?}");
    }
    for text in [
        "sh -c 'echo \"$1\"' sh {{ a }}",
        "sh script.sh -c {{ a }}",
        "python3 manage.py -c {{ a }}",
        "python3 -c 'pass' {{ a }}",
        "echo {{ a }}; sh -c 'ls'",
        "sh -c 'cat' <<END\n{{ a }}\nEND",
        "sh -c ls; ls {{ a }}",
        "grep -c {{ a }} file",
        "cat <<END > script.sh\n{{ a }}\nEND",
        "echo {{ a }} || sh",
        "echo {{ a }}; ls | sh",
        "echo {{ a }} | grep x",
        "echo {{ a }} | sh script.sh",
        "echo {{ a }} | sh -c 'cat'",
        "echo x | sh; echo {{ a }}",
        "x={{ a }}\nsh",
    ] {
        assert!(rendered(text).is_ok(), "{text}: {:?}", rendered(text));
    }
}
