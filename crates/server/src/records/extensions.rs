//! Extensions. Extension ▸ variables, whose extension is cut off.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{Link, Timestamp, ValidationStatus};
use windlass_store::extensions::{self, Extension, Texts, Variable};
use windlass_store::{Conn, Result};
use windlass_yaml::Problem;

/// With its texts and its variables, in two queries, or three for a fork. Nothing when it is gone.
pub async fn full(conn: &mut Conn, row: Extension) -> Result<Option<api::Extension>> {
    let Some(texts) = extensions::texts(conn, row.id).await? else { return Ok(None) };
    let variables = extensions::variables(conn, row.id).await?;
    let is_behind = is_behind(conn, &row).await?;
    Ok(Some(extension(row, texts, variables, is_behind)))
}

/// Whether it is a fork whose parent has another text by now.
pub async fn is_behind(conn: &mut Conn, row: &Extension) -> Result<bool> {
    let Some(parent_id) = row.parent_id else { return Ok(false) };
    Ok(extensions::get(conn, parent_id).await?.is_some_and(|parent| has_more(row, &parent)))
}

fn has_more(fork: &Extension, parent: &Extension) -> bool {
    let is_usable = parent.deleted_at.is_none() && parent.validation_status == ValidationStatus::Valid;
    is_usable && ![&fork.parent_hash, &fork.content_hash].contains(&&parent.content_hash)
}

pub fn extension(row: Extension, texts: Texts, variables: Vec<Variable>, is_behind: bool) -> api::Extension {
    api::Extension {
        id: row.id,
        extension_id: row.extension_key,
        parent_extension_id: row.parent_id,
        organization_id: row.organization_id,
        name: row.name,
        description: row.description,
        author: row.author,
        category: row.category,
        icon: row.icon,
        extension_type: row.extension_type,
        version: row.version,
        is_verified: row.organization_id.is_none(),
        is_behind,
        content_hash: row.content_hash,
        yaml_content: texts.yaml_content,
        parsed_content: texts.parsed_content,
        validation_status: row.validation_status,
        validation_errors: texts.validation_errors,
        variables: variables.into_iter().map(variable).collect(),
        created_at: row.created_at,
        updated_at: row.updated_at,
        deleted_at: row.deleted_at.map(Timestamp::from_micros),
    }
}

fn variable(row: Variable) -> api::ExtensionVariable {
    api::ExtensionVariable {
        id: row.id,
        extension_id: row.extension_id,
        extension: Link::Cut,
        variable_name: row.variable_name,
        variable_type: row.variable_type,
        description: row.description,
        default_value: serde_json::from_str(&row.default_value).unwrap_or_default(),
        is_required: row.is_required,
        validation_pattern: row.validation_pattern,
        created_at: row.created_at,
    }
}

/// With one query for the parents, if there are any.
pub async fn all_listed(conn: &mut Conn, rows: Vec<Extension>) -> Result<Vec<api::ListedExtension>> {
    let parent_ids: Vec<Uuid> = rows.iter().filter_map(|row| row.parent_id).collect();
    let parents = if parent_ids.is_empty() { Vec::new() } else { extensions::among(conn, &parent_ids).await? };
    let is_behind =
        |row: &Extension| parents.iter().any(|parent| Some(parent.id) == row.parent_id && has_more(row, parent));
    let each = |row| {
        let is_behind = is_behind(&row);
        listed(row, is_behind)
    };
    Ok(rows.into_iter().map(each).collect())
}

fn listed(row: Extension, is_behind: bool) -> api::ListedExtension {
    api::ListedExtension {
        id: row.id,
        extension_id: row.extension_key,
        parent_extension_id: row.parent_id,
        organization_id: row.organization_id,
        name: row.name,
        description: row.description,
        author: row.author,
        category: row.category,
        icon: row.icon,
        extension_type: row.extension_type,
        version: row.version,
        is_verified: row.organization_id.is_none(),
        is_behind,
        content_hash: row.content_hash,
        validation_status: row.validation_status,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

pub fn problem(problem: &Problem) -> api::ExtensionProblem {
    api::ExtensionProblem {
        line: i64::from(problem.place.line),
        column: i64::from(problem.place.column),
        path: problem.path.clone(),
        message: problem.message.clone(),
    }
}
