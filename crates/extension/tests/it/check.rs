use serde_json::json;
use windlass_extension::{Action, draft};

use crate::documents::{document, extension, problems, resolved};

#[test]
fn all_problems_come_at_once_with_their_places() {
    let text = r#"metadata:
  id: -x
  name: ""
  description: 5
  author: A
  category: Databse
  type: instal
  version: 1.2
vairables: {}
execution:
  run:
    - name: One
      type: comand
      properties: {cmd: ls}
    - type: command
      propertys: {}
    - name: Three
      type: file
      timeout: 4000
      ignore_errors: sometimes
      condition: missing
      properties:
        action: write
        dest: notes/{{ nmae }}
        src: /x
"#;
    let expected = r#"line 2, column 7: metadata.id: must be 3 to 50 lower-case letters, digits and hyphens, with no hyphen at the ends
line 3, column 9: metadata.name: must have 1 to 100 characters, and has 0
line 4, column 16: metadata.description: must be a text, and is a number; write it in quotes
line 6, column 13: metadata.category: "Databse" is not known; did you mean Database?
line 7, column 9: metadata.type: "instal" is not known; did you mean install?
line 8, column 12: metadata.version: must be a text of three numbers; write it in quotes, such as "1.2.0"
line 9, column 1: vairables: unknown key "vairables"; did you mean "variables"?
line 13, column 13: execution.run[0].type: "comand" is not known; did you mean command?
line 15, column 7: execution.run[1]: has no name; add it
line 15, column 7: execution.run[1].properties: has no cmd, which a step of type command needs; add it
line 16, column 7: execution.run[1].propertys: unknown key "propertys"; did you mean "properties"?
line 19, column 16: execution.run[2].timeout: must be a number of seconds from 1 to 3600
line 20, column 22: execution.run[2].ignore_errors: must be true or false, and is a text
line 21, column 18: execution.run[2].condition: there is no variable missing; declare it under variables
line 23, column 9: execution.run[2].properties: has no content, which a step of type file needs for write; add it
line 24, column 15: execution.run[2].properties.dest: there is no variable nmae; declare it under variables
line 25, column 9: execution.run[2].properties.src: has no meaning for the action write; leave it out
"#;
    assert_eq!(problems(text), expected);
}

/// The one problem of a step, without the name of the step's list.
fn step_problem(kind: &str, properties: &str) -> String {
    let step = format!("- {{name: Step, type: {kind}, properties: {properties}}}");
    let text = document("install", "v: {type: string}\nflag: {type: boolean}", &step);
    let told = problems(&text);
    assert!(told.lines().count() <= 1, "{told}");
    told.trim().split_once("execution.run[0]").map(|(_, told)| told.to_owned()).unwrap_or_default()
}

#[test]
fn properties_are_checked() {
    for (kind, properties, told) in [
        ("command", "{cmd: ls}", ""),
        ("command", "{cmd: ''}", ".properties.cmd: must be a command, and is empty"),
        ("command", "{cmd: \"echo '{{ v }}'\"}", ".properties.cmd: {{ v }} stands inside single quotes"),
        ("command", "{cmd: ls, user: -x}", ".properties.user: must be the name of a user"),
        ("file", "{action: upload, dest: /a/b}", ".properties.action: is not supported; use write"),
        ("file", "{action: wirte, dest: /a/b}", ".properties.action: \"wirte\" is not known; did you mean write?"),
        ("file", "{dest: /a/b}", ".properties: has no action; add it"),
        ("file", "{action: delete, dest: ~/x}", ".properties.dest: must begin with / (~ is not known here)"),
        ("file", "{action: delete, dest: /etc}", ".properties.dest: must not be a whole directory"),
        ("file", "{action: delete, dest: /etc/../x}", ".properties.dest: must not have"),
        ("file", "{action: mkdir, dest: /srv/x, mode: 644}", ".properties.mode: must be a text, and is a number"),
        ("file", "{action: mkdir, dest: /srv/x, mode: '0888'}", ".properties.mode: must be the octal text"),
        ("file", "{action: mkdir, dest: /srv/x, mode: 0755, owner: 'www-data:www-data'}", ""),
        (
            "service",
            "{name: nginx, action: start, revert_action: stop}",
            ".properties.revert_action: is not supported: ",
        ),
        ("service", "{name: --now, action: start}", ".properties.name: must be the name of a service"),
        ("user", "{username: ada, action: modify}", ".properties.action: is not supported; use ensure"),
        ("user", "{username: root, action: delete}", ".properties.username: must not be root"),
        ("user", "{username: ada, action: add_groups, groups: [a, 'b,c']}", ""),
        ("user", "{username: ada, action: add_groups, groups: []}", ".properties.groups: must not be empty"),
        ("package", "{name: [nginx, curl], state: present}", ""),
        ("package", "{name: 'nginx -y', state: present}", ".properties.name: must be the name of a package"),
        ("package", "{name: nginx, state: installed}", ".properties.state: \"installed\" is not known; use one of: "),
        ("docker_compose", "{action: down, args: x}", ".properties.args: is not supported: "),
        ("docker_compose", "{action: build}", ".properties.action: is not supported; images are not built"),
        ("proxy", "{action: add, domain: '{{ v }}', port: 80}", ": no step starts a container; add one before"),
        ("proxy", "{action: add, domain: 'a b', port: 80}", ".properties.domain: must be a host name"),
        ("proxy", "{action: add, domain: a.example, port: 0}", ".properties.port: must be a port"),
        ("wait", "{seconds: 5}", ""),
        ("wait", "{seconds: 5000}", ".properties.seconds: must be a number of seconds"),
        ("wait", "{}", ".properties: must have exactly one of seconds and service"),
        ("wait", "{seconds: 5, port: 80}", ".properties.port: belongs to service"),
    ] {
        let found = step_problem(kind, properties);
        assert!(
            if told.is_empty() { found.is_empty() } else { found.starts_with(told) },
            "{kind} {properties}: {found}"
        );
    }
}

#[test]
fn what_lasts_needs_an_installation() {
    for properties in [
        "type: docker, properties: {action: run, name: web, image: nginx}",
        "type: docker_compose, properties: {action: up, compose: {services: {web: {image: nginx}}}}",
    ] {
        let step = format!("- {{name: Start, {properties}}}");
        assert!(problems(&document("run", "", &step)).contains("write type: install in the metadata"));
        assert_eq!(problems(&document("install", "", &step)), "");
    }
}

#[test]
fn variables_are_checked() {
    let step = "- {name: Wait, type: wait, properties: {seconds: 1}}";
    for (variables, told) in [
        ("1a: {type: string}", "a variable's name has letters"),
        ("PATH: {type: string}", "this name means something to programs"),
        ("LD_PRELOAD: {type: string}", "this name means something to programs"),
        ("installation_name: {type: string}", "this name is always there"),
        ("a: {type: text}", "\"text\" is not known; use one of: string"),
        ("a: {type: strng}", "did you mean string?"),
        ("a: {}", "has no type"),
        ("a: string", "must be a map, and is a text"),
        ("a: {type: secret, default: x}", "a secret has no default"),
        ("a: {type: integer, default: x}", "must be a whole number"),
        ("a: {type: string, default: x1, validation_pattern: '[a-z]+'}", "must match the pattern"),
        ("a: {type: string, validation_pattern: '('}", "is not a regular expression"),
        ("a: {type: string, is_required: 1}", "must be true or false"),
        ("a: {type: string, required: true}", "unknown key \"required\""),
    ] {
        let found = problems(&document("run", variables, step));
        assert!(found.contains(told) && found.lines().count() == 1, "{variables}: {found}");
    }
    let fine = "a: {type: string, default: 8080}\nb: {type: array, default: [1, b]}\nc: {type: boolean, default: false}\nd:\n  type: string\n  default:";
    assert_eq!(problems(&document("run", fine, step)), "");
}

#[test]
fn conditions_are_checked_and_decide() {
    let variables = "tls: {type: boolean}\nport: {type: integer}\nkind: {type: string, default: small}";
    let with = |condition: &str| {
        let step = format!("- {{name: Wait, type: wait, properties: {{seconds: 1}}, {condition}}}");
        document("run", variables, &step)
    };
    assert!(problems(&with("condition: tls == yes")).contains("is of type boolean, which never has that text"));
    assert!(problems(&with("condition: port == abc")).contains("is of type integer"));
    assert!(problems(&with("condition: tls, conditions: [tls]")).contains("condition is given too"));
    assert!(problems(&with("condition: true")).contains("must be a text"));
    let skipped = |condition: &str| resolved(&with(condition), &[("tls", json!(true))]).unwrap()[0].skipped.clone();
    assert_eq!(skipped("condition: tls"), None);
    assert_eq!(skipped("condition: not tls").as_deref(), Some("the condition not tls does not hold"));
    assert_eq!(skipped("conditions: [tls, kind == small]"), None);
    assert_eq!(
        skipped("conditions: [tls, kind != small]").as_deref(),
        Some("the condition kind != small does not hold")
    );
}

#[test]
fn values_are_checked_where_they_are_put() {
    let variables = "v: {type: string, default: ok}\nlist: {type: array, default: [ok]}";
    for (kind, properties) in [
        ("command", "{cmd: ls, user: '{{ v }}'}"),
        ("file", "{action: write, dest: '{{ v }}/x', content: x}"),
        ("file", "{action: mkdir, dest: /srv/x, owner: '{{ v }}'}"),
        ("service", "{action: start, name: '{{ v }}'}"),
        ("user", "{action: ensure, username: '{{ v }}'}"),
        ("user", "{action: ensure, username: ada, groups: '{{ v }}'}"),
        ("user", "{action: ensure, username: ada, shell: '{{ v }}'}"),
        ("package", "{state: present, name: '{{ v }}'}"),
        ("docker", "{action: pull, image: '{{ v }}'}"),
        ("docker", "{action: pull, image: ok, tag: '{{ v }}'}"),
        ("proxy", "{action: add, domain: '{{ v }}', port: 80}"),
        ("wait", "{seconds: '{{ v }}'}"),
    ] {
        let container = "- {name: C, type: docker, properties: {action: run, name: web, image: nginx}}";
        let step = format!("{container}\n- {{name: S, type: {kind}, properties: {properties}}}");
        let text = document("install", variables, &step);
        for value in ["../..", "-rf", "--purge", "a$(id)", "a;id", "a\nb", "..", "a`b"] {
            let told = resolved(&text, &[("v", json!(value))]).unwrap_err();
            assert!(told.contains("it comes from the variable v"), "{kind} {properties} with {value:?}: {told}");
            assert!(!told.contains(value) || value == "..", "{told}");
        }
    }
}

#[test]
fn only_an_array_gives_several_names() {
    let step = "- {name: S, type: package, properties: {state: present, name: 'curl, {{ one }}, {{ more }}'}}";
    let text = document("run", "one: {type: string, default: git}\nmore: {type: array}", step);
    let names = |pairs: &[_]| match &resolved(&text, pairs)?[0].action {
        Action::Package { names, .. } => Ok::<_, String>(names.join(" ")),
        other => panic!("{other:?}"),
    };
    assert_eq!(names(&[]).unwrap(), "curl git");
    assert_eq!(names(&[("more", json!(["nginx", "vim"]))]).unwrap(), "curl git nginx vim");
    assert!(names(&[("one", json!("nginx,vim"))]).is_err());
    assert!(names(&[("one", json!("nginx vim"))]).is_err());
    assert!(names(&[("more", json!(["--purge"]))]).is_err());
    let step = "- {name: S, type: package, properties: {state: present, name: '{{ more }}'}}";
    let told = resolved(&document("run", "more: {type: array}", step), &[]).unwrap_err();
    assert!(told.contains("must name at least one, and is blank; it comes from the variable more"), "{told}");
}

#[test]
fn a_value_does_not_lead_out_of_its_path() {
    let step = "- {name: S, type: file, properties: {action: write, dest: '/srv/{{ v }}/x', content: x}}";
    let text = document("run", "v: {type: string}", step);
    for value in ["..", "../../etc", "a/../..", "a\nb", "", "."] {
        assert!(resolved(&text, &[("v", json!(value))]).is_err(), "{value}");
    }
    assert!(resolved(&text, &[("v", json!("-a b"))]).is_ok());
}

#[test]
fn a_blank_value_leaves_an_optional_property_out() {
    let step = "- {name: S, type: command, properties: {cmd: ls, user: '{{ v }}'}}";
    let steps = resolved(&document("run", "v: {type: string}", step), &[]).unwrap();
    assert!(matches!(&steps[0].action, Action::Command { user: None, .. }));
}

#[test]
fn a_blank_domain_skips_the_step() {
    let step = "- {name: C, type: docker, properties: {action: run, name: web, image: nginx}}\n\
                - {name: S, type: proxy, properties: {action: add, domain: '{{ domain }}', port: 80}}";
    let steps = resolved(&document("install", "domain: {type: string}", step), &[]).unwrap();
    assert_eq!(steps[1].skipped.as_deref(), Some("the domain is blank"));
}

#[test]
fn a_skipped_step_may_have_values_that_make_no_sense() {
    let step = "- {name: S, type: service, condition: v, properties: {action: start, name: '{{ v }}'}}";
    let text = document("run", "v: {type: string}", step);
    let steps = resolved(&text, &[]).unwrap();
    assert_eq!(steps[0].action, Action::Skipped);
    assert!(steps[0].needs_host_access().is_empty());
    assert_eq!(
        resolved(&text, &[("v", json!("ssh"))]).unwrap()[0].needs_host_access(),
        ["starts the service ssh on the host"]
    );
}

#[test]
fn a_short_text_cannot_grow_without_bound() {
    let content = "{{ v }}".repeat(2000);
    let step = format!("- {{name: S, type: file, properties: {{action: write, dest: /srv/x, content: '{content}'}}}}");
    let told = resolved(&document("run", "v: {type: string}", &step), &[("v", json!("x".repeat(16_000)))]).unwrap_err();
    assert!(told.contains("more than 4194304 bytes"), "{told}");
}

#[test]
fn equal_meanings_have_one_canonical_text() {
    let step = "- {name: S, type: wait, properties: {seconds: 1}}";
    let one = document("run", "a: {type: string}", step);
    let other = document(
        "run",
        "a: {type: string, is_required: false, default: }",
        "- {type: wait, name: S, timeout: 0, conditions: [], properties: {seconds: 1}}",
    );
    let canonical = extension(&one).canonical_json();
    assert_eq!(canonical, extension(&other).canonical_json());
    assert_eq!(canonical, extension(&canonical).canonical_json());
    assert!(
        canonical.starts_with(r#"{"execution":{"run":[{"conditions":[],"ignore_errors":false,"name":"S","#),
        "{canonical}"
    );
}

#[test]
fn drafts_show_what_can_be_read() {
    let found = draft("metadata:\n  id: x\n  name: My Draft\n  version: 1.2\n  type: later\n  icon: [1]\nwrong: 1\n");
    assert_eq!(found.id.as_deref(), Some("x"));
    assert_eq!(found.name.as_deref(), Some("My Draft"));
    assert_eq!(found.version.as_deref(), Some("1.2"));
    assert_eq!(found.kind.as_deref(), Some("later"));
    assert_eq!((found.icon, found.author), (None, None));
    for text in ["", "a: [", "metadata: 5", "- 1"] {
        assert_eq!(draft(text), draft("nothing"));
    }
}
