//! The containers that the steps of an extension start, which other steps speak of by name.

use windlass_yaml::nearest;

#[derive(Default)]
pub(crate) struct Services {
    names: Vec<String>,
    /// Some come from a document that is read later, or have names that depend on values.
    has_unknown: bool,
}

impl Services {
    pub fn add_unknown(&mut self) {
        self.has_unknown = true;
    }

    /// What is wrong with a container of this name, after those that are known already.
    pub fn add(&mut self, name: &str) -> Option<String> {
        if self.names.iter().any(|known| known == name) {
            return Some(format!("another step starts a container {name} too; give one of them another name"));
        }
        self.names.push(name.into());
        None
    }

    /// What is wrong with a step that speaks of this container, or of the only one.
    pub fn problem(&self, named: Option<&str>) -> Option<String> {
        if self.has_unknown {
            return None;
        }
        match (named, self.names.as_slice()) {
            (Some(name), names) if names.iter().any(|known| known == name) => None,
            (Some(name), names) => {
                let known: Vec<_> = names.iter().map(String::as_str).collect();
                let fix = match nearest(name, &known) {
                    Some(meant) => format!("did you mean {meant}?"),
                    None if known.is_empty() => "add a step that starts it".into(),
                    None => format!("known are: {}", known.join(", ")),
                };
                Some(format!("no step starts a container {name}; {fix}"))
            }
            (None, [_]) => None,
            (None, []) => Some("no step starts a container; add one before".into()),
            (None, names) => Some(format!("must say which container is meant, as service: {}", names.join(", "))),
        }
    }
}
