//! The documents say what is true.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_api::{Can, DeploymentState, ErrorCode, Failure, LogStep, LogStream, Role, RunStatus, UptimeState};

use crate::process::{run, windlass};

/// Printed by the binary; a test of its own compares the two.
const GENERATED: &str = "docs/settings.md";
const KIB: usize = 1024;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub fn read(document: &str) -> String {
    std::fs::read_to_string(root().join(document)).unwrap_or_else(|_| panic!("{document} is missing"))
}

/// The documents for users and operators of Windlass.
pub fn guides() -> Vec<String> {
    let files = std::fs::read_dir(root().join("docs")).unwrap().map(|file| file.unwrap().file_name());
    let names = files.map(|name| format!("docs/{}", name.to_str().unwrap()));
    let mut guides: Vec<_> = names.filter(|name| name.ends_with(".md") && name != GENERATED).collect();
    guides.sort();
    guides
}

fn documents() -> Vec<String> {
    let others = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "bench/README.md"];
    others.map(str::to_owned).into_iter().chain(guides()).collect()
}

fn description() -> Value {
    serde_json::from_str(&read("openapi.json")).unwrap()
}

#[test]
fn the_checked_in_description_is_the_one_that_is_served() {
    let printed = String::from_utf8(run(windlass().arg("openapi")).stdout).unwrap();
    assert!(
        printed == read("openapi.json"),
        "openapi.json is out of date: cargo run -p windlass -- openapi > openapi.json"
    );
}

/// Of a `oneOf` of constants generators make a type for each word, of a `default` a required field, and of a header's
/// format an object that is no header.
#[test]
fn the_description_has_nothing_that_generators_of_clients_trip_over() {
    let description = description();
    let mut checked = 0;
    let mut open = vec![&description];
    while let Some(value) = open.pop() {
        let shown = || value.to_string().chars().take(200).collect::<String>();
        let is_schema = value["type"].is_string() || value["type"].is_array() || value.get("oneOf").is_some();
        assert!(!is_schema || (value.get("oneOf").is_none() && value.get("default").is_none()), "{}", shown());
        assert!(value["in"] != "header" || value["schema"].get("format").is_none(), "{}", shown());
        checked += usize::from(is_schema);
        open.extend(value.as_object().into_iter().flat_map(|fields| fields.values()));
        open.extend(value.as_array().into_iter().flatten());
    }
    assert!(checked > 500, "only {checked} schemas were found");
}

#[test]
fn documents_are_short() {
    for (document, most) in [("README.md", 8 * KIB), ("ARCHITECTURE.md", 16 * KIB)] {
        let bytes = read(document).len();
        assert!(bytes <= most, "{document} has {bytes} bytes, at most {most} are meant to be read");
    }
    let words = rows(&read("ARCHITECTURE.md"), "| Word |").len();
    assert!((1..=30).contains(&words), "the glossary has {words} words");
}

/// Every path in code quotes exists: from the root, or inside the source of a crate of which much is told.
#[test]
fn named_paths_exist() {
    let sources = ["crates/server/src", "crates/edge/src", "crates/runtime/src"];
    let roots = [vec![root()], sources.map(|folder| root().join(folder)).to_vec()].concat();
    let mut checked = 0;
    for document in documents() {
        for path in quoted(&read(&document)).into_iter().filter(|path| is_path(path)) {
            // A pattern names a family: its folder must exist.
            let fixed = path.split(['<', '*']).next().unwrap_or_default();
            let fixed =
                if fixed == path { path.as_str() } else { fixed.rsplit_once('/').map_or("", |(folder, _)| folder) };
            let exists = roots.iter().any(|root| root.join(fixed).exists());
            assert!(exists, "{document} names {path}, which does not exist");
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} paths were found in the documents");
}

/// Relative, and with a folder or a known ending. What begins with a slash is the path of a URL.
fn is_path(text: &str) -> bool {
    let ending = [".rs", ".md", ".toml", ".json", ".sql", ".sh"].iter().any(|ending| text.ends_with(ending));
    let whole = !text.contains([' ', ':', '$', '|', '"', '(', '\n']) && !text.starts_with(['/', '-', '#']);
    // Written by a run, or by the edge into its data folder.
    let exists_later = text.starts_with("bench/results") || text.starts_with("target/") || text == "routes.json";
    // A range of addresses.
    let is_subnet = text.split_once('/').is_some_and(|(address, _)| address.parse::<std::net::Ipv4Addr>().is_ok());
    whole && !exists_later && !is_subnet && (ending || text.contains('/'))
}

/// The text without its blocks of code.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

fn quoted(text: &str) -> Vec<String> {
    prose(text).split('`').skip(1).step_by(2).map(|quoted| quoted.replace('\n', " ")).collect()
}

/// The rows of the table whose head begins like that.
fn rows(text: &str, head: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(head));
    assert!(lines.next().is_some(), "there is no table {head}");
    lines.skip(1).take_while(|line| line.starts_with('|')).map(str::to_owned).collect()
}

/// What is in code quotes in the first column.
fn first_column(rows: &[String]) -> BTreeSet<String> {
    rows.iter().flat_map(|row| quoted(row.split('|').nth(1).unwrap_or_default())).collect()
}

fn set<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn links_between_documents_resolve() {
    let mut checked = 0;
    for document in documents() {
        let text = prose(&read(&document));
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = root().join(&document).parent().unwrap().to_owned();
            let path = if file.is_empty() { root().join(&document) } else { folder.join(file) };
            assert!(path.exists(), "{document} links to {target}, which does not exist");
            let is_there = anchor.is_empty() || anchors(&std::fs::read_to_string(path).unwrap()).contains(anchor);
            assert!(is_there, "{document} links to {target}, but no heading is called so");
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} links were found in the documents");
}

fn anchors(text: &str) -> BTreeSet<String> {
    let text = prose(text);
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let anchor = |heading: &str| {
        let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn the_readme_leads_to_every_guide() {
    let readme = read("README.md");
    for guide in guides() {
        assert!(readme.contains(&format!("]({guide})")), "the README does not link to {guide}");
    }
}

/// `GET /api/v1/...`, and paths alone.
#[test]
fn named_endpoints_exist() {
    let description = description();
    let paths = description["paths"].as_object().unwrap();
    // Not under the table of routes, or written otherwise on purpose.
    let others = ["/metrics", "/api/v1/docs", "/api/v1/openapi.json", "/api/v1/api/v1/"];
    let mut checked = 0;
    for document in ["README.md".to_owned()].into_iter().chain(guides()) {
        for text in quoted(&read(&document)) {
            let (method, path) = text.split_once(' ').unwrap_or(("", &text));
            if !path.starts_with("/api/") || others.contains(&path) {
                continue;
            }
            let route = paths.get(path).unwrap_or_else(|| panic!("{document} names {text}, which is no endpoint"));
            let has_method = method.is_empty() || route.get(method.to_lowercase()).is_some();
            assert!(has_method, "{document} names {text}, which has no such method");
            checked += 1;
        }
    }
    assert!(checked > 15, "only {checked} endpoints were found in the guides");
}

/// Words with hyphens in code quotes are settings, apart from a few.
#[test]
fn named_settings_exist() {
    let help = String::from_utf8(run(windlass().args(["serve", "--help"])).stdout).unwrap();
    let flags: BTreeSet<_> = help.split_whitespace().filter_map(|word| word.strip_prefix("--")).collect();
    let description = read("openapi.json");
    let others = ["openapi-typescript", "openapi-python-client", "host-route", "server-id", "rotate-key"];
    let mut checked = 0;
    for guide in guides().into_iter().filter(|guide| guide != "docs/decisions.md") {
        for word in quoted(&read(&guide)) {
            let is_plain =
                word.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-');
            if !is_plain || !word.contains('-') || word.starts_with('-') || others.contains(&word.as_str()) {
                continue;
            }
            let is_value = description.contains(&format!("\"{word}\""));
            assert!(flags.contains(word.as_str()) || is_value, "{guide} names {word}, which is no setting");
            checked += 1;
        }
    }
    assert!(checked > 40, "only {checked} settings were found in the guides");
}

/// `windlass ...` in code quotes and in blocks: the command exists, and so do its flags.
#[test]
fn named_commands_exist() {
    let mut checked = BTreeSet::new();
    for document in ["README.md".to_owned()].into_iter().chain(guides()) {
        let text = read(&document);
        let in_blocks = text.split("```").skip(1).step_by(2).flat_map(str::lines).map(str::to_owned);
        let lines = in_blocks.chain(quoted(&text)).filter(|line| {
            line.starts_with("windlass ") || line.starts_with("until windlass ") || line.starts_with("ExecStart=")
        });
        for line in lines {
            let (_, rest) = line.split_once("windlass ").unwrap();
            let words: Vec<_> = rest.split_whitespace().take_while(|word| *word != "#").collect();
            let is_group = matches!(words.first(), Some(&("admin" | "audit" | "extension" | "routes")));
            let command = words.get(..if is_group { 2 } else { 1 }).unwrap_or_else(|| panic!("{document}: {line}"));
            let help = run(windlass().args(command).arg("--help"));
            assert!(help.status.success(), "{document} names a command that does not exist: {line}");
            let help = String::from_utf8(help.stdout).unwrap();
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                let flag = flag.trim_end_matches(';');
                assert!(help.split_whitespace().any(|word| word == flag), "{document}: {line}: there is no {flag}");
            }
            checked.insert(command.join(" "));
        }
    }
    assert!(checked.len() > 10, "only {checked:?} were found in the guides");
}

#[test]
fn the_guide_to_the_api_has_every_error_with_its_status() {
    let rows = rows(&read("docs/api.md"), "| Status |");
    let said: BTreeSet<_> = rows
        .iter()
        .flat_map(|row| {
            let (status, codes) = row.trim_matches('|').split_once('|').unwrap();
            let codes = quoted(codes).into_iter().filter(|code| code != "Retry-After").collect::<Vec<_>>();
            codes.into_iter().map(|code| (status.trim().parse::<u16>().unwrap(), code)).collect::<Vec<_>>()
        })
        .collect();
    let true_ones: BTreeSet<_> = ErrorCode::ALL.iter().map(|code| (code.status(), code.as_str().to_owned())).collect();
    assert_eq!(said, true_ones);
}

#[test]
fn the_guide_to_people_has_every_permission_with_its_role() {
    let rows = rows(&read("docs/people-and-keys.md"), "| Role |");
    assert_eq!(rows.len(), Role::ALL.len());
    for (row, role) in rows.iter().zip(Role::ALL) {
        let mut named = quoted(row);
        assert_eq!(named.remove(0), role.as_str());
        let added = Can::all().filter(|can| can.least_role() == *role).map(Can::as_str);
        assert_eq!(named.into_iter().collect::<BTreeSet<_>>(), set(added), "{role:?}");
    }
}

#[test]
fn the_guide_to_deploying_has_every_field_state_and_failure() {
    let guide = read("docs/deploying.md");
    let description = description();
    let fields = description["components"]["schemas"]["CreateDeployment"]["properties"].as_object().unwrap();
    assert_eq!(first_column(&rows(&guide, "| Field |")), set(fields.keys().map(String::as_str)));
    let states = DeploymentState::ALL.iter().map(|state| state.as_str());
    assert_eq!(first_column(&rows(&guide, "| State |")), set(states));
    let failures = Failure::ALL.iter().map(|failure| failure.as_str());
    assert_eq!(first_column(&rows(&guide, "| `failure` |")), set(failures));
}

#[test]
fn the_guide_to_data_has_every_field_of_a_volume() {
    let description = description();
    let fields = description["components"]["schemas"]["NewVolume"]["properties"].as_object().unwrap();
    let said = first_column(&rows(&read("docs/data.md"), "| Field of a volume |"));
    assert_eq!(said, set(fields.keys().map(String::as_str)));
}

#[test]
fn the_guide_to_commands_has_every_field_and_status() {
    let (guide, description) = (read("docs/commands.md"), description());
    for (head, schema) in [("| Field of a run |", "RunCommand"), ("| Field of a schedule |", "CreateSchedule")] {
        let fields = description["components"]["schemas"][schema]["properties"].as_object().unwrap();
        assert_eq!(first_column(&rows(&guide, head)), set(fields.keys().map(String::as_str)));
    }
    let statuses = RunStatus::ALL.iter().map(|status| status.as_str());
    assert_eq!(first_column(&rows(&guide, "| Status of a run |")), set(statuses));
}

#[test]
fn the_guide_to_uptime_has_every_field_and_state() {
    let (guide, description) = (read("docs/uptime.md"), description());
    for (head, schema) in [("| Field of a check |", "UpdateUptime"), ("| Field of a page |", "UpdateStatusPage")] {
        let fields = description["components"]["schemas"][schema]["properties"].as_object().unwrap();
        assert_eq!(first_column(&rows(&guide, head)), set(fields.keys().map(String::as_str)));
    }
    let states = UptimeState::ALL.iter().map(|state| state.as_str());
    assert_eq!(first_column(&rows(&guide, "| State |")), set(states));
}

#[test]
fn the_guide_to_images_has_every_field_of_a_credential() {
    let description = description();
    let fields = description["components"]["schemas"]["CreateRegistryCredential"]["properties"].as_object().unwrap();
    let said = first_column(&rows(&read("docs/images.md"), "| Field of a credential |"));
    assert_eq!(said, set(fields.keys().map(String::as_str)));
}

#[test]
fn the_guide_to_access_has_every_field() {
    let description = description();
    let fields = description["components"]["schemas"]["UpdateAccess"]["properties"].as_object().unwrap();
    let said = first_column(&rows(&read("docs/access.md"), "| Field |"));
    assert_eq!(said, set(fields.keys().map(String::as_str)));
}

#[test]
fn the_guide_to_figures_has_every_line_and_parameter() {
    let (guide, description) = (read("docs/figures.md"), description());
    let lines = description["components"]["schemas"]["FigureLines"]["properties"].as_object().unwrap();
    assert_eq!(first_column(&rows(&guide, "| Line |")), set(lines.keys().map(String::as_str)));
    let words = quoted(&guide).into_iter().collect::<BTreeSet<_>>();
    let parameters = &description["paths"]["/api/v1/deploy/application/{application_id}/figures"]["get"]["parameters"];
    for parameter in parameters.as_array().unwrap().iter().filter(|parameter| parameter["in"] == "query") {
        let name = parameter["name"].as_str().unwrap();
        assert!(words.contains(name), "the guide to figures does not name {name}");
    }
}

#[test]
fn the_guide_to_logs_has_every_parameter_step_and_stream() {
    let guide = quoted(&read("docs/logs.md")).into_iter().collect::<BTreeSet<_>>();
    let description = description();
    let parameters = &description["paths"]["/api/v1/deploy/application/logs/{application_id}"]["get"]["parameters"];
    let parameters = parameters.as_array().unwrap().iter().filter(|parameter| parameter["in"] == "query");
    let parameters = set(parameters.map(|parameter| parameter["name"].as_str().unwrap()));
    let words =
        set(LogStep::ALL.iter().map(|step| step.as_str()).chain(LogStream::ALL.iter().map(|stream| stream.as_str())));
    for word in parameters.union(&words) {
        assert!(guide.contains(word), "the guide to logs does not name {word}");
    }
}

/// A stop of the unit must leave the edge, and give the server the time that it may take.
#[test]
fn the_unit_in_the_guide_suits_the_server() {
    let guide = read("docs/operating.md");
    let unit = guide.split("```ini\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let value = |name: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("the unit has no {name}"))
    };
    assert_eq!(value("KillMode"), "process");
    assert_eq!(value("ExecStart").split_once(" --data-dir ").unwrap().1.split(' ').next(), Some("/var/lib/windlass"));
    assert_eq!(value("StateDirectory"), "windlass");
    let settings = read("windlass.toml");
    let shutdown = settings.lines().find_map(|line| line.strip_prefix("#shutdown_seconds = ")).unwrap();
    assert!(value("TimeoutStopSec").parse::<u64>().unwrap() > shutdown.parse().unwrap());
}

#[test]
fn every_dependency_has_a_reason() {
    let manifest = read("Cargo.toml");
    let section = manifest.split("[workspace.dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let names = section.lines().filter_map(|line| line.split_once(" = ").map(|(name, _)| name));
    let names = set(names.filter(|name| !name.starts_with("windlass-")));
    assert_eq!(first_column(&rows(&read("docs/decisions.md"), "| Crate |")), names);
}

#[test]
fn the_settings_file_and_the_guide_to_it_are_those_of_the_binary() {
    for (arguments, document) in
        [(&["settings"][..], "windlass.toml"), (&["settings", "--markdown"], "docs/settings.md")]
    {
        let printed = String::from_utf8(run(windlass().args(arguments)).stdout).unwrap();
        let checked_in = std::fs::read_to_string(root().join(document)).unwrap();
        let command = arguments.join(" ");
        assert!(printed == checked_in, "{document} is out of date: cargo run -p windlass -- {command} > {document}");
    }
}

#[test]
fn a_command_shows_and_takes_its_own_settings_only() {
    let help = |command| String::from_utf8(run(windlass().args([command, "--help"])).stdout).unwrap();
    let flags = |command| help(command).lines().filter(|line| line.trim_start().starts_with("--")).count();
    assert_eq!(flags("serve"), 1 + windlass_server::config::settings().len());
    assert_eq!(flags("stop"), 3, "{}", help("stop"));
    assert!(help("edge").contains("--edge-http") && !help("edge").contains("--database-url"), "{}", help("edge"));

    let refused = run(windlass().args(["edge", "--listen", "127.0.0.1:0"]));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success());
    assert!(told.contains("unexpected argument '--listen'"), "{told}");
    assert!(told.contains("--listen is a setting of other commands: windlass serve"), "{told}");
}

/// One environment serves all commands.
#[test]
fn settings_of_other_commands_may_be_in_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let stopped = run(windlass().args(["stop", "--data-dir"]).arg(folder.path()).env("WINDLASS_LISTEN", "127.0.0.1:0"));
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
}

/// Editors read the one that is checked in.
#[test]
fn the_schema_of_extensions_is_that_of_the_program() {
    let printed = run(windlass().args(["extension", "schema"]));
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), read("docs/extension.schema.json"));
}

#[test]
fn extensions_are_checked_without_a_server() {
    let checked = run(windlass().args(["extension", "check"]).arg(root().join("examples/extensions/greeter.yaml")));
    assert!(checked.status.success() && String::from_utf8_lossy(&checked.stdout).contains("greeter 1.0.0 is valid"));
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("wrong.yaml");
    std::fs::write(&wrong, "metadata: { id: x }\nexecuton: {}\n").unwrap();
    let refused = run(windlass().args(["extension", "check"]).arg(&wrong));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("wrong.yaml: line 2, column 1: "), "{said}");
    assert!(said.contains("did you mean \"execution\"?") && said.contains("metadata: has no name"), "{said}");
    assert!(!run(windlass().args(["extension", "check", "/nowhere.yaml"])).status.success());
}
