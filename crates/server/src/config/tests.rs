use std::collections::HashSet;

use super::*;

fn setting(name: &str) -> &'static Setting {
    settings().iter().find(|setting| setting.name == name).unwrap()
}

#[test]
fn defaults_work() {
    let config = Config::from_given(GivenSettings::default()).unwrap();
    assert_eq!(config.listen, ["127.0.0.1:7780".parse().unwrap()]);
    assert_eq!(config.database_connections, 4);
    assert_eq!(config.public_url(), "http://127.0.0.1:7780");
    assert!(config.is_loopback_only());
}

#[test]
fn flag_before_environment_before_file() {
    let mut given = GivenSettings::default();
    given.add(setting("base-domain"), vec!["flag.example".into()]);
    let environment = [("WINDLASS_BASE_DOMAIN", "env.example"), ("WINDLASS_LISTEN", "127.0.0.1:1, [::1]:2")];
    given.add_environment(environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter());
    given.add_file("windlass.toml", "base_domain = 'file.example'\nlisten = ['127.0.0.1:9']\nsession_days = 3");
    let config = Config::from_given(given).unwrap();
    assert_eq!(config.base_domain, "flag.example");
    assert_eq!(config.listen, ["127.0.0.1:1".parse().unwrap(), "[::1]:2".parse().unwrap()]);
    assert_eq!(config.session_seconds, 3 * 86_400);
}

#[test]
fn all_problems_at_once_and_no_password() {
    let mut given = GivenSettings::default();
    let environment = [
        ("WINDLASS_LISTN", "x"),
        ("WINDLASS_SERVICE_HOST", "10.0.0.1"),
        ("WINDLASS_DATABASE_URL", "mysql://root:hunter2@db/x"),
    ];
    given.add_environment(environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter());
    given.add_file(
        "windlass.toml",
        "listen = ['nowhere']\nlog_format = 'xml'\nsession_days = 0\ncolour = 1\nbase_domain = [1]",
    );
    let problems = Config::from_given(given).unwrap_err();
    assert_eq!(
        problems,
        [
            "WINDLASS_LISTN: there is no such setting",
            "base_domain in windlass.toml: must be text, a number, true or false, not a array",
            "colour in windlass.toml: there is no such setting",
            "listen: must be an address and a port, such as 127.0.0.1:7780 (it is \"nowhere\")",
            "database-url: must begin with postgres:// (or be empty for SQLite in the data folder)",
            "log-format: must be text or json (it is \"xml\")",
            "session-days: must be a whole number from 1 to 365 (it is \"0\")",
        ]
    );
}

/// The file that operators copy names every setting, with its default, and nothing else.
#[test]
fn the_commented_file_is_complete_and_true() {
    let text = include_str!("../../../../windlass.toml");
    let uncommented: String = text
        .lines()
        .map(|line| line.strip_prefix("#").filter(|rest| !rest.starts_with(' ')).unwrap_or(line))
        .fold(String::new(), |all, line| all + line + "\n");
    let table: toml::Table = uncommented.parse().unwrap();
    let named: HashSet<_> = table.keys().cloned().collect();
    assert_eq!(named, settings().iter().map(Setting::file_name).collect());
    let mut given = GivenSettings::default();
    given.add_file("windlass.toml", &uncommented);
    assert_eq!(Config::from_given(given), Config::from_given(GivenSettings::default()));
}

#[test]
fn a_broken_file_is_told_without_its_content() {
    let mut given = GivenSettings::default();
    given.add_file("windlass.toml", "session_days = 3\ndatabase_url = \"postgres://u:hunter2@db/x\nlisten = []\n");
    let problems = Config::from_given(given).unwrap_err();
    assert!(problems[0].starts_with("windlass.toml: line 2: "), "{problems:?}");
    assert!(!problems.concat().contains("hunter2"), "{problems:?}");
}

#[test]
fn reachable_from_outside() {
    let reachable = |name: &str, value: &str| {
        let mut given = GivenSettings::default();
        given.add(setting(name), vec![value.to_owned()]);
        Config::from_given(given).unwrap().is_reachable_from_outside()
    };
    assert!(!reachable("listen", "127.0.0.1:80"));
    assert!(!reachable("listen", "[::1]:80"));
    assert!(!reachable("public-url", "http://localhost:7780/"));
    assert!(!reachable("public-url", "http://[::1]:7780"));
    assert!(reachable("listen", "0.0.0.0:80"));
    assert!(reachable("public-url", "https://windlass.example.org"));
}

#[test]
fn every_row_is_whole_and_stands_once() {
    let names: HashSet<_> = settings().iter().map(|setting| setting.name).collect();
    assert_eq!(names.len(), settings().len());
    for setting in settings() {
        let name = setting.name;
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{name}");
        assert!(setting.commands.contains(&Subcommand::Serve), "{name}: the server needs every setting");
        assert!(!setting.help.is_empty() && !setting.help.ends_with('.'), "{name}: one sentence without its full stop");
    }
}

/// What the guide and the help say about ranges is what is checked.
#[test]
fn ranges_are_those_that_are_told() {
    for setting in settings().iter().filter(|setting| matches!(setting.kind, Kind::Number | Kind::Limit)) {
        let (least, most) = setting.allowed.split_once(" to ").unwrap();
        let (least, most): (i64, i64) = (least.parse().unwrap(), most.parse().unwrap());
        for (number, is_allowed) in [(least - 1, false), (least, true), (most, true), (most + 1, false)] {
            let mut given = GivenSettings::default();
            given.add(setting, vec![number.to_string()]);
            assert_eq!(Config::from_given(given).is_ok(), is_allowed, "{} {number}", setting.name);
        }
    }
}
