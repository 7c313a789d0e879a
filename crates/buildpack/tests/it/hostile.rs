//! Repositories that were made to do harm.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, mknodat};
use windlass_buildpack::{Detected, Error, MOST_COMMAND_BYTES, MOST_MANIFEST_BYTES, Source};

use crate::fixture::Fixture;
use crate::lines::check;

/// What each detector reads first.
const MANIFESTS: [&str; 22] = [
    "package.json",
    "requirements.txt",
    "pyproject.toml",
    "Pipfile",
    "go.mod",
    "Cargo.toml",
    "Gemfile",
    "composer.json",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Shop.csproj",
    "deno.json",
    "deno.jsonc",
    "mix.exs",
    "index.html",
    "Procfile",
    ".nvmrc",
    ".tool-versions",
    "pnpm-workspace.yaml",
    "rust-toolchain.toml",
    ".dockerignore",
];

fn passed_over(fixture: &Fixture) -> Vec<String> {
    match fixture.detect().unwrap() {
        Detected::Nothing { passed_over, .. } => passed_over,
        other => panic!("{other:?}"),
    }
}

#[test]
fn links_are_not_followed() {
    for name in MANIFESTS {
        let fixture = Fixture::empty();
        symlink("/etc/passwd", fixture.path().join(name)).unwrap();
        let told = passed_over(&fixture);
        assert!(told.iter().all(|line| line.starts_with(name) && line.contains("is a link")), "{name}: {told:?}");
    }
    let fixture = Fixture::empty();
    symlink("/etc/passwd", fixture.path().join("package.json")).unwrap();
    assert_eq!(passed_over(&fixture), ["package.json is a link, or in a folder that is one; links are not followed"]);
}

#[test]
fn a_linked_manifest_is_told_in_a_plan() {
    let fixture = Fixture::of(&[("main.go", "package main\n"), ("go.mod", "module x\n")]);
    symlink("main.go", fixture.path().join("package.json")).unwrap();
    let Ok(Detected::Plan(plan)) = fixture.detect() else { panic!() };
    assert!(plan.warnings.iter().any(|warning| warning.contains("package.json is a link")), "{:?}", plan.warnings);
}

#[test]
fn linked_folders_are_not_followed() {
    let outside = Fixture::of(&[("package.json", "{}"), ("index.html", ""), ("main.go", "package main\n")]);
    let fixture = Fixture::empty();
    for name in ["backend", "cmd", "public", "src"] {
        symlink(outside.path(), fixture.path().join(name)).unwrap();
    }
    passed_over(&fixture);
    assert!(Source::open(fixture.path(), "backend").is_err());
    for base_path in ["..", "../x", "backend/..", "/etc", "a\0b", "a\nb", "nothing"] {
        assert!(Source::open(fixture.path(), base_path).is_err(), "{base_path}");
    }
    assert!(Source::open(fixture.path(), "/").is_ok());
}

#[test]
fn pipes_and_sockets_are_not_opened() {
    for name in MANIFESTS {
        let fixture = Fixture::empty();
        mknodat(CWD, fixture.path().join(name), FileType::Fifo, 0o600.into(), 0).unwrap();
        // It would wait for ever for a writer.
        passed_over(&fixture);
        let fixture = Fixture::empty();
        let _socket = std::os::unix::net::UnixListener::bind(fixture.path().join(name)).unwrap();
        passed_over(&fixture);
        let fixture = Fixture::empty();
        fs::create_dir(fixture.path().join(name)).unwrap();
        passed_over(&fixture);
    }
}

#[test]
fn large_manifests_are_named() {
    let fixture = Fixture::empty();
    let file = fs::File::create(fixture.path().join("package.json")).unwrap();
    file.set_len(50 << 20).unwrap();
    assert_eq!(fixture.error(), format!("package.json has more than {MOST_MANIFEST_BYTES} bytes, and is not read"));
    for name in ["pyproject.toml", "Pipfile", "Cargo.toml", "composer.json", "Procfile", "Gemfile"] {
        let fixture = Fixture::of(&[(name, &" ".repeat(2 << 20))]);
        if name != "composer.json" {
            assert!(fixture.error().starts_with(name), "{name}");
        }
    }
    // Sources and lock files are only glanced at.
    let main = format!("package main\n{}", "// x\n".repeat(1 << 20));
    Fixture::of(&[("go.mod", "module x\n"), ("main.go", &main)]).dockerfile();
}

#[test]
fn deep_manifests_are_refused() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    for (name, text) in [
        ("package.json", format!("{{\"a\":{}}}", deep("[", "]"))),
        ("composer.json", format!("{{\"a\":{}}}", deep("{\"a\":", "}"))),
        ("deno.json", deep("[", "]")),
        ("Cargo.toml", format!("a = {}", deep("[", "]"))),
        ("pyproject.toml", format!("a = {}", deep("{a=", "}"))),
        ("Cargo.toml", format!("[{}]", vec!["a"; 100_000].join("."))),
    ] {
        let fixture = Fixture::of(&[(name, &text)]);
        if name == "composer.json" {
            fixture.write("index.php", "");
        }
        let error = fixture.error();
        assert!(error.starts_with(name) && error.len() < 300, "{name}: {error}");
    }
    let text = format!("packages:\n  {}", deep("[", "]"));
    let fixture = Fixture::of(&[("package.json", r#"{"workspaces": ["a"]}"#), ("pnpm-workspace.yaml", &text)]);
    assert!(fixture.error().starts_with("pnpm-workspace.yaml"));
}

#[test]
fn bytes_that_are_no_text_are_named() {
    for name in ["package.json", "requirements.txt", "pyproject.toml", "Cargo.toml", "Gemfile", "pom.xml", "Procfile"] {
        let fixture = Fixture::empty();
        fixture.write(name, b"\xff\xfe\x00{}");
        assert_eq!(fixture.error(), format!("{name} is not a text in UTF-8"));
    }
    // What Windows writes before a text.
    Fixture::of(&[("package.json", "\u{feff}{\"scripts\": {\"start\": \"node .\"}}")]).dockerfile();
}

#[test]
fn names_with_control_characters_stay_out() {
    let names = ["a\nRUN touch x", "b\u{1b}[31m", "c d", "$(id)", "`id`", "x\"y", "é", "-rf", "*"];
    let fixture = Fixture::of(&[("go.mod", "module x\n")]);
    for name in names {
        fixture.write(&format!("cmd/{name}/main.go"), "package main\n");
        fixture.write(&format!("{name}.csproj"), "Microsoft.NET.Sdk.Web");
        fixture.write(&format!("{name}/package.json"), "{}");
    }
    fixture.write("cmd/api/main.go", "package main\n");
    check(&fixture.dockerfile());
    let fixture = Fixture::empty();
    for name in names {
        fixture.write(&format!("{name}/package.json"), r#"{"scripts": {"start": "node ."}}"#);
    }
    passed_over(&fixture);
}

#[test]
fn names_in_manifests_stay_one_word() {
    let name = "x\\\"; touch /hacked; \\n RUN y $(id)";
    let package = format!(
        r#"{{"name": "{name}", "main": "{name}.js", "packageManager": "pnpm@{name}", "engines": {{"node": "{name}"}},
            "scripts": {{"build": "x", "start": "node ."}}, "devDependencies": {{"{name}": "1"}}}}"#
    );
    let fixture = Fixture::of(&[("package.json", &package)]);
    let commands = check(&fixture.dockerfile());
    assert!(commands.iter().all(|command| !command.contains("hacked")), "{commands:?}");
    let manage = "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'a; touch /hacked.settings')\n";
    let fixture = Fixture::of(&[("manage.py", manage), ("requirements.txt", "django"), ("main.py", "")]);
    assert!(!fixture.dockerfile().contains("hacked"));
    let project = "<Project Sdk=\"Microsoft.NET.Sdk.Web\"><AssemblyName>a; touch /hacked</AssemblyName>\
        <TargetFramework>net8.0; touch /hacked</TargetFramework></Project>";
    assert!(!Fixture::of(&[("Shop.csproj", project)]).dockerfile().contains("hacked"));
    let cargo = "[package]\nname = \"x; touch /hacked\"\n";
    assert!(Fixture::of(&[("Cargo.toml", cargo), ("src/main.rs", "")]).detect().is_err());
    let mix = "app: :shop, releases: [x; touch /hacked: []], elixir: \"1.18; touch /hacked\"";
    assert!(!Fixture::of(&[("mix.exs", mix)]).dockerfile().contains("hacked"));
    let next = "export default { output: 'standalone', distDir: '../../etc; touch /hacked' }";
    let fixture = Fixture::of(&[("package.json", r#"{"dependencies": {"next": "1"}}"#), ("next.config.js", next)]);
    assert!(!fixture.dockerfile().contains("hacked"));
}

#[test]
fn a_folder_of_a_workspace_has_a_plain_path() {
    for folder in ["a b", "a$(id)", "a\"b", "a;b"] {
        let mut fixture =
            Fixture::of(&[("package.json", r#"{"workspaces": ["apps/*"]}"#), ("package-lock.json", "{}")]);
        fixture.write(&format!("apps/{folder}/package.json"), r#"{"scripts": {"start": "node ."}}"#);
        fixture.base_path = format!("apps/{folder}");
        assert!(fixture.error().contains("not plain"), "{folder}");
    }
    for (name, text) in [
        ("requirements.txt", "-e ../lib"),
        ("go.mod", "replace x => ../lib"),
        ("package.json", r#"{"dependencies": {"lib": "file:../lib"}}"#),
    ] {
        let mut fixture = Fixture::of(&[(&format!("a $(id)/{name}"), text), ("a $(id)/main.go", "package main")]);
        fixture.base_path = "a $(id)".into();
        assert!(fixture.error().contains("not plain"), "{name}");
    }
    let fixture = Fixture::of(&[("apps/a\nb/package.json", r#"{"scripts": {"start": "node ."}}"#)]);
    let error = Source::open(fixture.path(), "apps/a\nb").err().unwrap().to_string();
    assert_eq!(error, "apps/a\\u{a}b is not a folder of the repository");
}

#[test]
fn commands_stay_in_their_instruction() {
    let script = "a \"b\" 'c' \\\nRUN touch /hacked\r\nFROM x\\\\ $(d) `e` <<EOF\nEOF\n#";
    let package = serde_json::json!({"scripts": {"build": "x", "start": script}}).to_string();
    let commands = check(&Fixture::of(&[("package.json", &package)]).dockerfile());
    assert_eq!(commands.last().map(String::as_str), Some(script));
    let package = serde_json::json!({"scripts": {"start": "x".repeat(MOST_COMMAND_BYTES + 1)}}).to_string();
    let error = Fixture::of(&[("package.json", &package)]).error();
    assert!(error.starts_with("package.json") && error.contains("8192"), "{error}");
    let fixture = Fixture::of(&[("package.json", r#"{"scripts": {"start": "a\u0000b"}}"#)]);
    assert!(fixture.error().contains("zero byte"));
}

/// How long it takes depends on how much is opened, and that does not grow with the repository.
#[test]
fn few_files_are_opened_of_many() {
    let fixture = Fixture::of(&[("package.json", r#"{"scripts": {"start": "node ."}}"#), ("package-lock.json", "")]);
    for number in 0..10_000 {
        let name = format!("file-{number}.{}", ["js", "go", "py", "html"][number % 4]);
        fs::write(fixture.path().join(name), "").unwrap();
    }
    let source = fixture.source();
    windlass_buildpack::detect(&source, &fixture.wishes).unwrap();
    assert!(source.opened() <= 10, "{} were opened", source.opened());

    // The worst case: nothing is found, and many folders are looked at.
    let fixture = Fixture::empty();
    for number in 0..2_000 {
        fixture.write(&format!("folder-{number}/file.txt"), "");
    }
    let source = fixture.source();
    windlass_buildpack::detect(&source, &fixture.wishes).unwrap();
    assert!(source.opened() <= 1_000, "{} were opened", source.opened());
}

/// Small in git, because it has the same file again and again; large once it is parsed.
#[test]
fn a_repository_has_a_bound_too() {
    let rust = Fixture::empty();
    rust.write("Cargo.toml", format!("[workspace]\nmembers = [{}]", "\"c/*\", ".repeat(100)));
    let programs: String = (0..40_000).map(|number| format!("[[bin]]\nname=\"a{number}\"\n")).collect();
    rust.write("c/0/Cargo.toml", format!("[package]\nname = \"c\"\n{programs}"));
    let go = Fixture::of(&[("go.mod", "module x\n")]);
    go.write("cmd/0/main.go", vec![0xff; 512 << 10]);
    let dotnet = Fixture::empty();
    dotnet.write("0.csproj", "x".repeat(1 << 20));
    for number in 1..100 {
        for (fixture, file) in [(&rust, "c/NUMBER/Cargo.toml"), (&go, "cmd/NUMBER/main.go"), (&dotnet, "NUMBER.csproj")]
        {
            let path = fixture.path().join(file.replace("NUMBER", &number.to_string()));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::hard_link(fixture.path().join(file.replace("NUMBER", "0")), path).unwrap();
        }
    }
    for fixture in [rust, go, dotnet] {
        assert!(matches!(fixture.detect(), Err(Error::TooMuch)), "{:?}", fixture.path());
    }
    let many = Fixture::of(&[("go.mod", "module x\n")]);
    (0..3_100).for_each(|number| fs::create_dir_all(many.path().join(format!("cmd/{number}"))).unwrap());
    assert!(matches!(many.detect(), Err(Error::TooMuch)));
}

/// As it goes into a log.
#[test]
fn what_is_told_of_settings_is_short_and_visible() {
    let output = "\u{1b}]".repeat(100_000);
    let next = Fixture::of(&[("package.json", r#"{"dependencies": {"next": "16"}}"#)]);
    next.write("next.config.js", format!("module.exports = {{ output: \"{output}\" }}"));
    let Ok(Detected::Plan(plan)) = next.detect() else { panic!() };
    for reason in plan.reasons {
        assert!(reason.found.len() < 1_000 && !reason.found.contains('\u{1b}'), "{} bytes", reason.found.len());
    }
}
