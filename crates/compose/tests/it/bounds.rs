use std::time::{Duration, Instant};

use crate::{problems, project};

#[test]
fn lists_are_bounded() {
    let services =
        |count: usize| -> String { (0..count).map(|number| format!("  s{number}: {{image: x}}\n")).collect() };
    assert!(project(&format!("services:\n{}", services(50))).is_ok());
    assert!(
        problems(&format!("services:\n{}", services(51))).contains("services: has 51 entries; at most 50 are allowed")
    );

    let variables: String = (0..501).map(|number| format!("      V{number}: x\n")).collect();
    let text = format!("services:\n  a:\n    image: x\n    environment:\n{variables}");
    assert!(problems(&text).contains("environment: has 501 entries; at most 500 are allowed"));

    let ports = (1..=3).map(|number| format!("'{number}000-{number}099'")).collect::<Vec<_>>().join(", ");
    assert!(
        problems(&format!("services:\n  a: {{image: x, ports: [{ports}]}}\n"))
            .contains("asks for 300 ports; at most 200")
    );

    let items = "x, ".repeat(201);
    assert!(
        problems(&format!("services:\n  a: {{image: x, command: [{items}]}}\n")).contains("has 201 items; at most 200")
    );
}

/// One content in many places.
#[test]
fn copies_are_bounded() {
    let content = "x".repeat(60_000);
    let services: String = (0..40).map(|number| format!("  s{number}: {{image: x, configs: [a]}}\n")).collect();
    let text = format!("services:\n{services}configs: {{a: {{content: {content}}}}}\n");
    assert!(problems(&text).contains("the files of all services have more than 1048576 bytes"));

    let variables: String = (0..5).map(|number| format!("V{number}: *a, ")).collect();
    let text = format!("x-a: &a {}\nservices:\n  a: {{image: x, environment: {{{variables}}}}}\n", "x".repeat(43_000));
    assert!(project(&text).is_ok());
    let long = |_: &str| Some("x".repeat(60_000));
    let text = "services:\n  a: {image: x, environment: [A, B, C, D, E]}\n";
    let problems =
        windlass_compose::read(&windlass_yaml::parse(text, &windlass_yaml::Limits::default()).unwrap(), &long);
    assert!(problems.unwrap_err()[0].message.contains("has 300005 bytes in all; at most 262144"));
}

#[test]
fn problems_are_bounded() {
    let keys: String = (0..190).map(|number| format!("    k{number}: x\n")).collect();
    assert_eq!(project(&format!("services:\n  a:\n    image: x\n{keys}")).unwrap_err().len(), 100);
}

/// The worst that the bounds of YAML let through.
#[test]
fn large_documents_are_read_in_a_moment() {
    let depends: String = (0..50).map(|number| format!("s{number}, ")).collect();
    let services: String = (0..50)
        .map(|number| format!("  s{number}: {{image: x, depends_on: [{depends}], links: [{depends}]}}\n"))
        .collect();
    let expose: String = (0..200).map(|_| "1-65535, ").collect();
    let texts = [
        format!("services:\n{services}"),
        format!("services:\n  a: {{image: x, expose: [{expose}]}}\n"),
        format!("services:\n  a: {{image: '{}'}}\n", "$PASSWORD".repeat(7000)),
        format!("services:\n  a: {{image: '{}'}}\n", "${X:-".repeat(12_000)),
        format!("services:\n  a: {{image: '{}'}}\n", "${X-{".repeat(12_000)),
        format!("services:\n  a: {{image: '{}{}'}}\n", "${X-".repeat(8000), "}".repeat(8000)),
    ];
    for text in texts {
        let start = Instant::now();
        assert!(project(&text).is_err());
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}: {}", start.elapsed(), &text[..60]);
    }
}
