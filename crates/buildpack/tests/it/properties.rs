//! What holds for any bytes in any manifest. `PROPTEST_CASES` says how many are tried of each.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use windlass_buildpack::{BaseImages, BuildVariables, Detected, Kind, Wishes, detect};

use crate::fixture::Fixture;
use crate::lines::check;

const FILES: &[&str] = &[
    "package.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    ".yarnrc.yml",
    "pnpm-workspace.yaml",
    "next.config.js",
    "svelte.config.js",
    "astro.config.mjs",
    "angular.json",
    ".nvmrc",
    ".tool-versions",
    "requirements.txt",
    "pyproject.toml",
    "Pipfile",
    "manage.py",
    "main.py",
    "uv.lock",
    "poetry.lock",
    ".python-version",
    "go.mod",
    "main.go",
    "cmd/api/main.go",
    "go.work",
    "web/go.mod",
    "web/main.go",
    "web/requirements.txt",
    "web/pyproject.toml",
    "web/Cargo.toml",
    "web/src/main.rs",
    "web/Web.csproj",
    "web/package.json",
    "Cargo.toml",
    "Cargo.lock",
    "src/main.rs",
    "rust-toolchain.toml",
    "Gemfile",
    "config.ru",
    "composer.json",
    "index.php",
    "pom.xml",
    "build.gradle",
    "Shop.csproj",
    "global.json",
    "deno.json",
    "main.ts",
    "mix.exs",
    "index.html",
    "Procfile",
    ".dockerignore",
    "app/package.json",
];

/// What manifests are made of, so that texts of it come near to meaning something.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "{", "}", "[", "]", "\"", "'", "`", ":", ",", "=", "\n", "\r\n", " ", "\\", "$", "(", ")", "<", ">", "#", "//", "/*", "*/", "|", "&&",
    "\"scripts\": {\"start\": \"", "\"build\": \"", "\"dependencies\": {\"next\": \"1\"}", "\"name\"", "\"engines\": {\"node\": \"",
    "\"workspaces\": [\"", "\"packageManager\": \"pnpm@", "node server.js", "\"require\": {\"php\": \"", "\"tasks\"", "output: 'standalone'",
    "output", "distDir: '", "outDir", "adapter", "[project]\n", "[tool.poetry]\n", "dependencies", "requires-python = \">=", "[tool.uv.sources]\nlib = { path = \"../", "[tool.uv.workspace]\nmembers = [\"*\"]\n", "-e ../lib\n", "-r ../../x\n",
    "replace x => ../lib\n", "use ./web\n", "use (\n", "[dependencies]\nlib = { path = \"../lib\" }\n", "\"lib\": \"file:../lib\"", "\"sdk\": {\"version\": \"", "\"rollForward\": \"latestMajor\"",
    "<ProjectReference Include=\"..\\", "[package]\nname = \"",
    "[workspace]\nmembers = [\"", "[[bin]]\n", "path = \"", "flask", "django", "fastapi[standard]", "app = Flask(", "app = FastAPI()",
    "DJANGO_SETTINGS_MODULE", "a.settings", "\ndef create_app(", "package main\n", "module x\n", "go 1.", "toolchain go", "gem \"rails\"",
    "ruby \"", "<java.version>", "</java.version>", "<modules>", "Microsoft.NET.Sdk.Web", "<TargetFramework>net", "</TargetFramework>",
    "<AssemblyName>", "</AssemblyName>", "app: :", "releases: [", "elixir: \"~> ", "web: ", "release: ", "FROM x", "RUN y", "<<EOF", "1.2.3",
    "20", ">=18 ||", "^", "~>", "lts/iron", "\0", "\u{1b}", "\u{202e}", "\u{2028}", "\u{feff}", "é", "東", "..", "/", "-", "*", "apps/*",
];

fn text() -> impl Strategy<Value = Vec<u8>> {
    let pieces = vec(select(PIECES), 0..24).prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![6 => pieces, 1 => vec(any::<u8>(), 0..200), 1 => any::<String>().prop_map(String::into_bytes)]
}

const KINDS: &[Kind] = &[
    Kind::Node,
    Kind::Python,
    Kind::Go,
    Kind::Rust,
    Kind::Ruby,
    Kind::Php,
    Kind::Java,
    Kind::Dotnet,
    Kind::Deno,
    Kind::Elixir,
    Kind::Static,
    Kind::Procfile,
];

/// Whatever is detected: the messages are short and on one line, the Dockerfile has its instructions and no others.
fn holds(fixture: &Fixture, wishes: &Wishes) -> Option<String> {
    match detect(&fixture.source(), wishes) {
        Ok(Detected::Plan(plan)) => {
            let dockerfile = plan.dockerfile(
                &BaseImages::default(),
                BuildVariables { open: &["A", "B=\nRUN x"], secret: &["C", "D RUN x"] },
            );
            check(&dockerfile);
            let messages = plan.reasons.iter().map(|reason| &reason.found).chain(&plan.warnings);
            messages.for_each(|message| assert!(is_short_line(message), "{message:?}"));
            assert!(serde_json::to_string(&plan).is_ok());
            return Some(dockerfile);
        }
        Ok(Detected::Choice(candidates)) => assert!(candidates.len() > 1),
        Ok(Detected::Nothing { looked_for, .. }) => assert!(!looked_for.is_empty()),
        Err(error) => assert!(is_short_line(&error.to_string()), "{error}"),
    }
    None
}

fn is_short_line(message: &str) -> bool {
    message.len() < 1_000 && !message.chars().any(char::is_control)
}

proptest! {
    #[test]
    fn any_bytes_in_any_manifest(files in vec((select(FILES), text()), 1..5), kind in proptest::option::of(select(KINDS))) {
        let mut fixture = Fixture::empty();
        for (name, text) in &files {
            fixture.write(name, text);
        }
        holds(&fixture, &Wishes::default());
        holds(&fixture, &Wishes { kind, ..Wishes::default() });
        if fixture.path().join("web").exists() {
            fixture.base_path = "web".to_owned();
            holds(&fixture, &Wishes::default());
            holds(&fixture, &Wishes { kind, ..Wishes::default() });
        }
    }

    #[test]
    fn any_command_stays_one(script in any::<String>(), build in "[ -~\n\r\t]{0,60}", wished in any::<String>()) {
        let package = serde_json::json!({ "scripts": { "start": script, "build": build } }).to_string();
        let fixture = Fixture::of(&[("package.json", &package), ("index.js", "")]);
        holds(&fixture, &Wishes::default());
        let wishes = Wishes { start: Some(wished.clone()), install: Some(build.clone()), ..Wishes::default() };
        if let Some(dockerfile) = holds(&fixture, &wishes) && !wished.trim().is_empty() {
            let commands = check(&dockerfile);
            let last = commands.last().unwrap();
            assert!(last.ends_with(wished.trim()) || last.contains("exec "), "{last:?}");
        }
    }

    #[test]
    fn any_wish_is_used_or_refused(text in prop_oneof![any::<String>(), "[ -~]{0,20}"], port in any::<u16>()) {
        let fixture = Fixture::of(&[("go.mod", "module x\n"), ("main.go", "package main\n")]);
        for wishes in [
            Wishes { version: Some(text.clone()), ..Wishes::default() },
            Wishes { program: Some(text.clone()), ..Wishes::default() },
            Wishes { output: Some(text.clone()), ..Wishes::default() },
            Wishes { port: Some(port), ..Wishes::default() },
        ] {
            holds(&fixture, &wishes);
        }
    }
}
