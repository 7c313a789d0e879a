//! `package.json`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::command::checked;
use crate::error::Result;
use crate::manifest::json;
use crate::source::Source;

pub const NAME: &str = "package.json";
/// Of scripts, dependencies and workspaces.
const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub struct Package {
    /// As npm allows names; others are not kept.
    pub name: Option<String>,
    pub scripts: BTreeMap<String, String>,
    pub dependencies: BTreeMap<String, String>,
    pub development: BTreeMap<String, String>,
    pub engine: Option<String>,
    /// `pnpm@9.1.0`
    pub manager: Option<String>,
    pub main: Option<String>,
    pub workspaces: Vec<String>,
}

pub fn read(source: &Source) -> Result<Option<Package>> {
    let Some(value) = json(source, NAME)? else { return Ok(None) };
    let mut scripts = BTreeMap::new();
    for (name, script) in texts(&value["scripts"]) {
        scripts.insert(name, checked(&script, &source.path(NAME))?);
    }
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let workspaces = match &value["workspaces"] {
        Value::Object(workspaces) => workspaces.get("packages").cloned().unwrap_or_default(),
        list => list.clone(),
    };
    let workspaces = workspaces.as_array().into_iter().flatten().filter_map(Value::as_str).take(MOST);
    Ok(Some(Package {
        name: text("name").filter(|name| is_name(name)),
        scripts,
        dependencies: texts(&value["dependencies"]).chain(texts(&value["optionalDependencies"])).collect(),
        development: texts(&value["devDependencies"]).collect(),
        engine: value["engines"]["node"].as_str().map(str::to_owned),
        manager: text("packageManager"),
        main: text("main"),
        workspaces: workspaces.map(str::to_owned).collect(),
    }))
}

fn texts(map: &Value) -> impl Iterator<Item = (String, String)> + '_ {
    let entries = map.as_object().into_iter().flatten().take(MOST);
    entries.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"@/._-".contains(&byte);
    !name.is_empty() && name.len() <= 214 && name.bytes().all(is_plain) && !name.starts_with(['-', '.', '/'])
}

impl Package {
    pub fn depends_on(&self, name: &str) -> bool {
        self.dependencies.contains_key(name) || self.development.contains_key(name)
    }

    pub fn script(&self, name: &str) -> Option<&str> {
        self.scripts.get(name).map(String::as_str).filter(|script| !script.is_empty())
    }

    /// Scripts that run when dependencies are installed may need all the sources.
    pub fn runs_at_install(&self) -> bool {
        ["preinstall", "install", "postinstall", "prepare"].iter().any(|name| self.script(name).is_some())
    }

    /// Those that are folders or files beside the application's, as they are written.
    pub fn local(&self) -> Vec<String> {
        let all = self.dependencies.values().chain(self.development.values());
        let path = |address: &String| {
            let path = ["file:", "link:", "portal:"].iter().find_map(|kind| address.strip_prefix(kind));
            path.unwrap_or(address).to_owned()
        };
        all.map(path).filter(|path| path.starts_with('.')).collect()
    }

    /// Dependencies that are folders or files of the repository, or are fetched by git.
    pub fn depends_on_address(&self, beginnings: &[&str]) -> bool {
        let mut all = self.dependencies.values().chain(self.development.values());
        all.any(|address| beginnings.iter().any(|beginning| address.starts_with(beginning)))
    }
}
