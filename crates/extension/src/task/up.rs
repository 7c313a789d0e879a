//! Steps that start containers: `docker` with `run`, `docker_compose` with `up`.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::PathBuf;

use windlass_compose::Project;
use windlass_yaml::{Key, Node, Place, Problem, Value, at_key};

use super::arguments::guard;
use super::network::with_tag;
use crate::action::Action;
use crate::check::{Checker, Properties};
use crate::field::{At, Field, Resolving};
use crate::rules;
use crate::tree::Tree;

#[derive(Clone, Debug)]
pub(crate) enum UpTask {
    Compose(Document),
    /// A document on the host, which is read when the step runs.
    File(Field<PathBuf>),
    Run(Box<RunTask>),
}

/// A Compose document with values in it.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    tree: Tree,
    path: String,
}

/// One container: a document of one service, in the words of `docker run`.
#[derive(Clone, Debug)]
pub(crate) struct RunTask {
    name: Field<String>,
    image: Field<String>,
    tag: Option<Field<String>>,
    service: Tree,
    at: At,
}

/// How a property is written: as Compose has it, as a list that may be one text with commas, or as a check of health.
#[derive(Clone, Copy)]
enum Form {
    Same,
    Listed,
    Health,
}

/// The properties of a container and the keys that Compose has for them.
const RUN_KEYS: &[(&str, &str, Form)] = &[
    ("cap_add", "cap_add", Form::Listed),
    ("cap_drop", "cap_drop", Form::Listed),
    ("cmd", "command", Form::Same),
    ("cpus", "cpus", Form::Same),
    ("devices", "devices", Form::Listed),
    ("entrypoint", "entrypoint", Form::Same),
    ("env", "environment", Form::Listed),
    ("expose", "expose", Form::Listed),
    ("extra_hosts", "extra_hosts", Form::Listed),
    ("health", "healthcheck", Form::Health),
    ("hostname", "hostname", Form::Same),
    ("init", "init", Form::Same),
    ("labels", "labels", Form::Listed),
    ("memory", "mem_limit", Form::Same),
    ("network_mode", "network_mode", Form::Same),
    ("networks", "networks", Form::Listed),
    ("pids_limit", "pids_limit", Form::Same),
    ("platform", "platform", Form::Same),
    ("ports", "ports", Form::Listed),
    ("privileged", "privileged", Form::Same),
    ("read_only", "read_only", Form::Same),
    ("restart", "restart", Form::Same),
    ("security_opt", "security_opt", Form::Listed),
    ("shm_size", "shm_size", Form::Same),
    ("stop_grace_period", "stop_grace_period", Form::Same),
    ("stop_signal", "stop_signal", Form::Same),
    ("tmpfs", "tmpfs", Form::Listed),
    ("user", "user", Form::Same),
    ("volumes", "volumes", Form::Listed),
    ("working_dir", "working_dir", Form::Same),
];

impl UpTask {
    pub fn read_compose(properties: &mut Properties<'_, '_>) -> Option<Self> {
        match (properties.has("compose"), properties.has("file")) {
            (true, false) => {
                let (node, path) = properties.map("compose")?;
                let document = Document::read(node, path, properties.checker())?;
                Some(Self::Compose(document))
            }
            (false, true) => properties.field("file", rules::path).map(Self::File),
            _ => {
                properties.problem("", "must have exactly one of compose and file");
                None
            }
        }
    }

    pub fn read_run(properties: &mut Properties<'_, '_>) -> Option<Self> {
        let name = properties.field("name", rules::container_name);
        let image = properties.field("image", rules::image);
        let tag = properties.field("tag", rules::image_tag);
        let at = properties.at();
        let mut entries = Vec::new();
        for (property, key, form) in RUN_KEYS {
            let Some((node, path)) = properties.value(property) else { continue };
            let tree = Tree::read(&composed(node, *form), &path, properties.checker())?;
            entries.push((Key { text: (*key).into(), place: node.place }, tree));
        }
        let mut service = Tree::Map(entries, at.place);
        guard(&mut service, &at.path, properties.checker());
        Some(Self::Run(Box::new(RunTask { name: name?, image: image?, tag, service, at })))
    }

    pub fn resolve(&self, resolving: &mut Resolving<'_>) -> Option<Action> {
        match self {
            Self::Compose(document) => document.project(resolving).map(|project| Action::Up { project }),
            Self::File(path) => resolving.field(path).map(|path| Action::UpFile { path }),
            Self::Run(task) => task.project(resolving).map(|project| Action::Up { project }),
        }
    }

    /// Whether the names of its containers do not depend on values.
    pub fn name_is_known(&self) -> bool {
        match self {
            Self::Compose(_) => true,
            Self::File(_) => false,
            Self::Run(task) => task.name.template.literal().is_some(),
        }
    }

    /// The places of the texts that depend on a variable for which `is_meant` holds.
    pub fn places_of(&self, is_meant: &dyn Fn(&str) -> bool) -> HashSet<Place> {
        let mut places = HashSet::new();
        match self {
            Self::Compose(document) => document.tree.places_of(is_meant, &mut places),
            Self::File(path) => path.place_if(is_meant, &mut places),
            Self::Run(task) => {
                task.service.places_of(is_meant, &mut places);
                task.name.place_if(is_meant, &mut places);
                task.image.place_if(is_meant, &mut places);
                if let Some(tag) = &task.tag {
                    tag.place_if(is_meant, &mut places);
                }
            }
        }
        places
    }
}

impl Document {
    pub fn read(node: &Node, path: String, checker: &mut Checker) -> Option<Self> {
        let mut tree = Tree::read(node, &path, checker)?;
        if let Some(Tree::Map(services, _)) = tree.get_mut("services") {
            let services_path = at_key(&path, "services");
            for (name, service) in services {
                guard(service, &at_key(&services_path, &name.text), checker);
            }
        }
        Some(Self { tree, path })
    }

    pub fn project(&self, resolving: &mut Resolving<'_>) -> Option<Project> {
        let node = self.tree.fill(&self.path, resolving)?;
        let secret_places = |is_secret: &dyn Fn(&str) -> bool| {
            let mut places = HashSet::new();
            self.tree.places_of(is_secret, &mut places);
            places
        };
        match read(&node, resolving) {
            Ok(project) => Some(project),
            Err(problems) => {
                let places = secret_places(&|name| resolving.is_secret(name));
                for problem in problems {
                    let path = joined(&self.path, &problem.path);
                    resolving.compose_problem(problem, path, &places);
                }
                None
            }
        }
    }
}

impl RunTask {
    fn project(&self, resolving: &mut Resolving<'_>) -> Option<Project> {
        let (name, image, tag) =
            (resolving.field(&self.name), resolving.field(&self.image), resolving.optional(self.tag.as_ref()));
        let service = self.service.fill(&self.at.path, resolving);
        let (name, image, tag, service) = (name?, image?, tag?, service?);
        let image = match with_tag(&image, tag.as_deref()) {
            Ok(image) => image,
            Err(message) => {
                resolving.problem(&self.image.at, message);
                return None;
            }
        };
        let node = self.document(&name, image, service);
        match read(&node, resolving) {
            Ok(project) => Some(project),
            Err(problems) => {
                let mut places = HashSet::new();
                self.service.places_of(&|name| resolving.is_secret(name), &mut places);
                for problem in problems {
                    let path = self.path_of(&name, &problem.path);
                    resolving.compose_problem(problem, path, &places);
                }
                None
            }
        }
    }

    /// The document that Compose would want for it.
    fn document(&self, name: &str, image: String, service: Node) -> Node {
        let place = self.at.place;
        let key = |text: &str| Key { text: text.into(), place };
        let map = |entries: Vec<(Key, Node)>| Node::new(Value::Map(entries), place);
        let networks = service.get("networks").and_then(Node::as_list).unwrap_or_default();
        let networks = networks.iter().filter_map(|node| Some((key(node.as_text()?), Node::new(Value::Null, place))));
        let networks: Vec<_> = networks.collect();
        let Value::Map(mut entries) = service.value else { return map(Vec::new()) };
        entries.push((key("image"), Node::new(Value::Text(image), self.image.at.place)));
        let service = Node::new(Value::Map(entries), place);
        let services = map(vec![(Key { text: name.into(), place: self.name.at.place }, service)]);
        map(vec![(key("services"), services), (key("networks"), map(networks))])
    }

    /// Where the author wrote what Compose has at `path`.
    fn path_of(&self, name: &str, path: &str) -> String {
        let inside = path.strip_prefix(&at_key("services", name)).and_then(|rest| rest.strip_prefix('.'));
        let Some(inside) = inside else { return self.at.path.clone() };
        let end = inside.find(['.', '[']).unwrap_or(inside.len());
        let (key, rest) = inside.split_at(end);
        let property = RUN_KEYS.iter().find(|(_, known, _)| *known == key).map_or(key, |(property, _, _)| property);
        format!("{}.{property}{rest}", self.at.path)
    }
}

fn read(node: &Node, resolving: &Resolving<'_>) -> Result<Project, Vec<Problem>> {
    windlass_compose::read(node, &|name| resolving.value(name).map(Cow::into_owned))
}

fn joined(path: &str, inner: &str) -> String {
    match inner {
        "" => path.into(),
        _ if path.is_empty() => inner.into(),
        _ => format!("{path}.{inner}"),
    }
}

/// A property in the form that Compose has for it.
fn composed(node: &Node, form: Form) -> Node {
    match (form, &node.value) {
        (Form::Listed, Value::Text(text)) => {
            let item = |text: &str| Node::new(Value::Text(text.trim().into()), node.place);
            Node::new(Value::List(text.split(',').map(item).collect()), node.place)
        }
        (Form::Health, Value::Text(_) | Value::List(_)) => {
            let key = Key { text: "test".into(), place: node.place };
            Node::new(Value::Map(vec![(key, node.clone())]), node.place)
        }
        _ => node.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extension::StepType;
    use crate::task::shape::shapes;

    #[test]
    fn each_property_of_a_container_has_its_key() {
        let shape = shapes(StepType::Docker).find(|shape| shape.action == Some("run")).unwrap();
        let mapped = RUN_KEYS.iter().map(|(property, _, _)| *property);
        let mut mapped: Vec<_> = mapped.chain(["action", "name", "image", "tag"]).collect();
        let mut known: Vec<_> = shape.keys().collect();
        mapped.sort_unstable();
        known.sort_unstable();
        assert_eq!(mapped, known);
    }
}
