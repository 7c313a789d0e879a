//! What can be read of the metadata of a text that has problems, so that it can be listed.

use windlass_yaml::Node;

use crate::check::document;

/// Each is there if the text has it, right or wrong; long texts are cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    pub id: Option<String>,
    pub name: Option<String>,
    pub description: Option<String>,
    pub author: Option<String>,
    pub icon: Option<String>,
    pub category: Option<String>,
    pub kind: Option<String>,
    pub version: Option<String>,
}

pub fn draft(text: &str) -> Draft {
    let Ok(document) = document(text) else { return Draft::default() };
    let Some(metadata) = document.get("metadata") else { return Draft::default() };
    Draft {
        id: shown(metadata, "id", 50),
        name: shown(metadata, "name", 100),
        description: shown(metadata, "description", 2000),
        author: shown(metadata, "author", 100),
        icon: shown(metadata, "icon", 512),
        category: shown(metadata, "category", 50),
        kind: shown(metadata, "type", 50),
        version: shown(metadata, "version", 50),
    }
}

fn shown(metadata: &Node, key: &str, most: usize) -> Option<String> {
    let text = metadata.get(key)?.scalar_text()?;
    let text: String = text.trim().chars().filter(|c| !c.is_control() || *c == '\n').take(most).collect();
    if text.is_empty() { None } else { Some(text) }
}
