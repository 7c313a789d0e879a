use super::*;
use crate::{Values, check, resolve, values};

const TEXT: &str = r#"
metadata: {id: wiki, name: Wiki, description: d, author: a, category: Other, type: install, version: 1.0.0}
variables:
  domain: {type: string, is_required: true}
  admin_domain: {type: string}
  password: {type: secret}
execution:
  run:
    - name: Run it
      type: docker_compose
      properties:
        action: up
        compose:
          services:
            web: {image: "wiki:1", environment: {URL: "https://{{ domain }}"}, volumes: ["data:/data"]}
            admin: {image: "wiki:1"}
          volumes: {data: {}}
    - {name: Lead, type: proxy, properties: {action: add, domain: "{{ domain }}", service: web, port: 80}}
    - {name: Lead too, type: proxy, properties: {action: add, domain: "{{ admin_domain }}", service: admin, port: 81}}
  validate:
    - {name: Wait, type: wait, properties: {service: web}}
"#;

fn extension(text: &str) -> Extension {
    let checked = check(text);
    checked.extension.unwrap_or_else(|| panic!("{:?}", checked.problems))
}

fn given(extension: &Extension, admin_domain: &str) -> Values {
    let given = [("domain", "wiki.example.org"), ("admin_domain", admin_domain)];
    let given = given.map(|(name, value)| (name.to_owned(), Json::from(value))).into_iter().collect();
    values(extension, &given, &mut || "a-secret-of-16-ch".to_owned()).unwrap()
}

fn stack_of(text: &str, admin_domain: &str) -> Result<Stack, Vec<String>> {
    let extension = extension(text);
    stack(&resolve(&extension, &given(&extension, admin_domain), "wiki").unwrap())
}

#[test]
fn services_and_domains() {
    let stack = stack_of(TEXT, "admin.example.org").unwrap();
    let names: Vec<_> = stack.project.services.iter().map(|service| service.name.as_str()).collect();
    assert_eq!((names, stack.project.volumes.len()), (vec!["web", "admin"], 1));
    let route = |domain: &str, service: &str, port| Route { domain: domain.into(), service: service.into(), port };
    let routes = [route("wiki.example.org", "web", 80), route("admin.example.org", "admin", 81)];
    assert_eq!(stack.routes, routes);
    assert_eq!(stack.others("wiki.example.org").collect::<Vec<_>>(), [&routes[1]]);
    // The text may name another main domain than the application has by now.
    assert_eq!(stack.others("moved.example.org").collect::<Vec<_>>(), [&routes[1]]);
    // A blank domain is none.
    assert_eq!(stack_of(TEXT, "").unwrap().routes, routes[..1]);
}

#[test]
fn the_main_domain_has_a_variable_if_it_is_nothing_else() {
    let name = |text: &str| extension(text).main_domain_variable().map(|variable| variable.name.clone());
    assert_eq!(name(TEXT).as_deref(), Some("domain"));
    let first = r#"domain: "{{ domain }}", service"#;
    for other in [r#"domain: "www.{{ domain }}", service"#, r#"domain: "wiki.example.org", service"#] {
        assert_eq!(name(&TEXT.replace(first, other)), None);
    }
}

#[test]
fn what_is_no_application_says_why() {
    let without = TEXT.replace("    - {name: Lead, ", "    - {name: Lead, condition: admin_domain == x, ");
    let problems = stack_of(&without, "").unwrap_err();
    assert!(problems.len() == 1 && problems[0].contains("no step sends visitors"), "{problems:?}");
    let command =
        TEXT.replace("  validate:", "    - {name: Tell, type: command, properties: {cmd: date}}\n  validate:");
    let problems = stack_of(&command, "").unwrap_err();
    assert!(problems.len() == 1 && problems[0].starts_with("Tell: a step that reaches the machine"), "{problems:?}");
    let ports = TEXT.replace("service: admin, port: 81", "service: web, port: 81");
    let problems = stack_of(&ports, "admin.example.org").unwrap_err();
    assert!(problems.len() == 1 && problems[0].contains("web at the ports 80 and 81"), "{problems:?}");
    let problems = stack_of(TEXT, "wiki.example.org").unwrap_err();
    assert_eq!(problems, ["wiki.example.org leads to several services"]);
}

#[test]
fn the_main_domain_is_no_value() {
    let text = TEXT.replace("domain: {type: string, is_required: true}", "domain: {type: string, default: a.example}");
    let extension =
        extension(&text.replace("admin_domain: {type: string}", "admin_domain: {type: string, default: b.example}"));
    let values = values_after(&extension, &extension, &BTreeMap::new(), &[]);
    assert_eq!(values, BTreeMap::from([("admin_domain".to_owned(), "b.example".to_owned())]));
}
