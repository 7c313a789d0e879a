//! Which language a folder is written in: a table of those that are known, and what decides between several.

use serde::Serialize;

use crate::error::{Result, unsuitable};
use crate::kind::Kind;
use crate::plan::{Plan, Reason};
use crate::source::Source;
use crate::wishes::Wishes;
use crate::{deno, dotnet, elixir, go, java, node, php, procfile, python, ruby, rust, static_site};

/// What was found in a folder.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Detected {
    Plan(Box<Plan>),
    /// Each of these could be meant. Setting what a candidate says decides.
    Choice(Vec<Candidate>),
    Nothing {
        looked_for: Vec<&'static str>,
        /// Files that were looked for, are there, and were not opened: a sentence each.
        passed_over: Vec<String>,
    },
}

/// One of several that could be meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    pub kind: Kind,
    pub base_path: String,
    pub program: Option<String>,
    pub reasons: Vec<Reason>,
}

/// A plan, or the programs of one language of which one is meant.
pub enum Planned {
    Plan(Box<Plan>),
    Choice(Vec<Candidate>),
}

impl Planned {
    pub fn plan(plan: Plan) -> Self {
        Self::Plan(Box::new(plan))
    }

    /// Planned from the repository's root, for one of its folders.
    pub fn with_base_path(mut self, folder: &str) -> Self {
        if let Self::Plan(plan) = &mut self {
            folder.clone_into(&mut plan.base_path);
        }
        self
    }
}

/// That a language is there.
#[derive(Debug)]
pub struct Sign {
    pub file: &'static str,
    pub found: String,
    /// Does it say what starts?
    pub is_sure: bool,
}

struct Detector {
    kind: Kind,
    /// For people, in the message that nothing was found.
    looks_for: &'static str,
    find: fn(&Source) -> Result<Option<Sign>>,
    plan: fn(&Source, &Wishes) -> Result<Planned>,
}

const DETECTORS: [Detector; 12] = [
    Detector {
        kind: Kind::Node,
        looks_for: "package.json",
        find: node::find,
        plan: |source, wishes| node::plan(source, wishes).map(Planned::plan),
    },
    Detector {
        kind: Kind::Python,
        looks_for: "requirements.txt, pyproject.toml, Pipfile",
        find: python::find,
        plan: |source, wishes| python::plan(source, wishes).map(Planned::plan),
    },
    Detector { kind: Kind::Go, looks_for: "go.mod", find: go::find, plan: go::plan },
    Detector { kind: Kind::Rust, looks_for: "Cargo.toml", find: rust::find, plan: rust::plan },
    Detector {
        kind: Kind::Ruby,
        looks_for: "Gemfile",
        find: ruby::find,
        plan: |source, wishes| ruby::plan(source, wishes).map(Planned::plan),
    },
    Detector {
        kind: Kind::Php,
        looks_for: "composer.json, index.php",
        find: php::find,
        plan: |source, wishes| php::plan(source, wishes).map(Planned::plan),
    },
    Detector {
        kind: Kind::Java,
        looks_for: "pom.xml, build.gradle",
        find: java::find,
        plan: |source, wishes| java::plan(source, wishes).map(Planned::plan),
    },
    Detector { kind: Kind::Dotnet, looks_for: "*.csproj", find: dotnet::find, plan: dotnet::plan },
    Detector {
        kind: Kind::Deno,
        looks_for: "deno.json",
        find: deno::find,
        plan: |source, wishes| deno::plan(source, wishes).map(Planned::plan),
    },
    Detector {
        kind: Kind::Elixir,
        looks_for: "mix.exs",
        find: elixir::find,
        plan: |source, wishes| elixir::plan(source, wishes).map(Planned::plan),
    },
    Detector {
        kind: Kind::Static,
        looks_for: "index.html",
        find: static_site::find,
        plan: |source, wishes| static_site::plan(source, wishes).map(Planned::plan),
    },
    Detector {
        kind: Kind::Procfile,
        looks_for: "Procfile",
        find: procfile::find,
        plan: |source, wishes| procfile::plan(source, wishes).map(Planned::plan),
    },
];

/// Of folders below the root that are looked at if the root has no manifest.
const MOST_FOLDERS: usize = 100;
/// Folders that are no applications.
const OTHERS: [&str; 9] = ["bench", "docs", "doc", "e2e", "examples", "node_modules", "test", "tests", "vendor"];

/// What a folder is, and how it is built. What is set beats what was found.
pub fn detect(source: &Source, wishes: &Wishes) -> Result<Detected> {
    let wishes = wishes.checked()?;
    if let Some(kind) = wishes.kind {
        return chosen(kind, source, &wishes);
    }
    let found = contenders(source)?;
    match found.as_slice() {
        [] => below(source, &wishes),
        [one] if one.detector.kind == Kind::Node => workspace_or(one.detector, source, &wishes),
        [one] => planned(one.detector, source, &wishes, found[0].left_out.clone()),
        several => Ok(Detected::Choice(several.iter().map(|one| one.candidate(source)).collect())),
    }
}

fn chosen(kind: Kind, source: &Source, wishes: &Wishes) -> Result<Detected> {
    let Some(detector) = DETECTORS.iter().find(|detector| detector.kind == kind) else { return below(source, wishes) };
    let is_there = (detector.find)(source)?.is_some() || (kind == Kind::Static && wishes.output.is_some());
    if !is_there {
        return unsuitable(format!("this is to be built as {kind}, and there is none of: {}.", detector.looks_for));
    }
    planned(detector, source, wishes, Vec::new())
}

struct Contender {
    detector: &'static Detector,
    sign: Sign,
    /// Other manifests, which do not decide.
    left_out: Vec<Reason>,
}

impl Contender {
    fn candidate(&self, source: &Source) -> Candidate {
        let reasons = vec![Reason { found: self.sign.found.clone(), file: Some(source.path(self.sign.file)) }];
        Candidate { kind: self.detector.kind, base_path: source.folder().to_owned(), program: None, reasons }
    }
}

/// The languages of a folder, less those that something decides against.
fn contenders(source: &Source) -> Result<Vec<Contender>> {
    let mut found = Vec::new();
    for detector in &DETECTORS {
        if let Some(sign) = (detector.find)(source)? {
            found.push(Contender { detector, sign, left_out: Vec::new() });
        }
    }
    let kind = |one: &Contender| one.detector.kind;
    // Pages are part of many applications, and a Procfile says how to start what a language builds.
    for weakest in [Kind::Static, Kind::Procfile] {
        if found.len() > 1 {
            found.retain(|one| kind(one) != weakest);
        }
    }
    let by_command = procfile::read(source)?.and_then(|procfile| procfile::language(&procfile.web?));
    if found.iter().any(|one| Some(kind(one)) == by_command) {
        found.retain(|one| Some(kind(one)) == by_command);
    }
    if found.iter().any(|one| one.sign.is_sure) {
        let (sure, unsure): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| one.sign.is_sure);
        found = sure;
        // What is said about package.json is said where its build is planned.
        let left_out = unsure.iter().filter(|one| kind(one) != Kind::Node).map(|one| Reason {
            found: format!("it does not say what starts, so this is not {}", kind(one)),
            file: Some(source.path(one.sign.file)),
        });
        if let [one] = found.as_mut_slice() {
            one.left_out = left_out.collect();
        }
    }
    Ok(found)
}

/// A workspace's root is no application if its packages are.
fn workspace_or(detector: &Detector, source: &Source, wishes: &Wishes) -> Result<Detected> {
    let applications = node::applications(source)?;
    match applications.as_slice() {
        [] => planned(detector, source, wishes, Vec::new()),
        [one] => planned(detector, &source.at(one)?, wishes, Vec::new()),
        several => {
            let candidate = |folder: &String| Candidate {
                kind: Kind::Node,
                base_path: source.path(folder),
                program: None,
                reasons: vec![Reason {
                    found: "it is an application of the workspace".to_owned(),
                    file: Some(source.path(&format!("{folder}/package.json"))),
                }],
            };
            Ok(Detected::Choice(several.iter().map(candidate).collect()))
        }
    }
}

/// The folder itself has no manifest. Those directly below it may have.
fn below(source: &Source, wishes: &Wishes) -> Result<Detected> {
    if wishes.output.is_some() {
        return chosen(Kind::Static, source, wishes);
    }
    let mut found = Vec::new();
    for name in source.folders("")?.into_iter().take(MOST_FOLDERS) {
        if name.starts_with('.') || OTHERS.contains(&name.as_str()) {
            continue;
        }
        let Ok(folder) = source.at(&name) else { continue };
        // What cannot be read down there is said if that folder is chosen.
        let inside = contenders(&folder).unwrap_or_default();
        let inside = inside.into_iter().filter(|one| !matches!(one.detector.kind, Kind::Static | Kind::Procfile));
        found.extend(inside.map(|one| (folder.clone(), one)));
    }
    match found.as_slice() {
        [] => Ok(Detected::Nothing {
            looked_for: DETECTORS.iter().map(|detector| detector.looks_for).collect(),
            passed_over: source.passed_over(),
        }),
        [(folder, one)] => planned(one.detector, folder, wishes, Vec::new()),
        several => Ok(Detected::Choice(several.iter().map(|(folder, one)| one.candidate(folder)).collect())),
    }
}

fn planned(detector: &Detector, source: &Source, wishes: &Wishes, left_out: Vec<Reason>) -> Result<Detected> {
    Ok(match (detector.plan)(source, wishes)? {
        Planned::Plan(mut plan) => {
            plan.reasons.extend(left_out);
            Detected::Plan(plan)
        }
        Planned::Choice(candidates) => Detected::Choice(candidates),
    })
}
