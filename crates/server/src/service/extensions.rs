//! Extensions: the catalog that comes with Windlass, and an organization's own.

use sha2::{Digest, Sha256};
use windlass_api as api;
use windlass_api::{CreateExtension, ErrorCode, ExtensionKey, ForkExtension, UpdateExtension, ValidationStatus};
use windlass_extension::{Checked, catalog};
use windlass_store::extensions::{self, Extension, Texts, Variable};

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{Action, Change, Resource};
use crate::service::work::Work;

/// Words that stand in paths where the key of an extension could.
const RESERVED: [&str; 5] = ["by-extension-id", "categories", "execution", "executions", "installations"];
const MOST_FORKS: usize = 1_000;
const KEY_LENGTH: usize = 50;

/// A text with what was found in it.
pub struct Looked {
    pub checked: Checked,
    pub texts: Texts,
    draft: windlass_extension::Draft,
    content_hash: String,
}

/// Away from the async threads: a text may be long.
pub async fn look(text: String) -> Result<Looked> {
    let look = move || {
        let checked = windlass_extension::check(&text);
        let draft = windlass_extension::draft(&text);
        let problems: Vec<_> = checked.problems.iter().map(records::extensions::problem).collect();
        let validation_errors = match problems.is_empty() {
            true => String::new(),
            false => serde_json::to_string(&problems).unwrap_or_default(),
        };
        let parsed_content = checked.extension.as_ref().map(windlass_extension::Extension::canonical_json);
        let content_hash = hash(&text);
        let texts = Texts { yaml_content: text, parsed_content: parsed_content.unwrap_or_default(), validation_errors };
        Looked { checked, texts, draft, content_hash }
    };
    tokio::task::spawn_blocking(look).await.map_err(Error::internal)
}

/// In hexadecimal digits.
pub fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Looked {
    fn status(&self) -> ValidationStatus {
        if self.checked.extension.is_some() { ValidationStatus::Valid } else { ValidationStatus::Invalid }
    }

    /// Fills in what the text says.
    pub fn fill(&self, row: &mut Extension) {
        let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
        row.name = or_empty(&self.draft.name);
        row.description = or_empty(&self.draft.description);
        row.author = or_empty(&self.draft.author);
        row.category = or_empty(&self.draft.category);
        row.icon = or_empty(&self.draft.icon);
        row.extension_type = or_empty(&self.draft.kind);
        row.version = or_empty(&self.draft.version);
        row.content_hash.clone_from(&self.content_hash);
        row.validation_status = self.status();
    }

    pub fn variables(&self, app: &App, row: &Extension) -> Vec<Variable> {
        let of = |variable: &windlass_extension::Variable| Variable {
            id: app.new_id(),
            extension_id: row.id,
            variable_name: variable.name.clone(),
            variable_type: variable.kind.as_str().to_owned(),
            description: variable.description.clone(),
            default_value: variable
                .default
                .as_ref()
                .map_or(serde_json::Value::Null, windlass_extension::Value::to_json)
                .to_string(),
            is_required: variable.is_required,
            validation_pattern: variable.validation_pattern().unwrap_or_default().to_owned(),
            created_at: app.now(),
        };
        self.checked.extension.iter().flat_map(|extension| &extension.variables).map(of).collect()
    }

    /// All that is wrong, in one message.
    pub fn refuse_unless(&self, is_draft: bool) -> Result<()> {
        if is_draft || self.checked.problems.is_empty() {
            return Ok(());
        }
        let problems: Vec<_> = self.checked.problems.iter().map(ToString::to_string).collect();
        Err(Error::field("yaml_content", problems.join("\n")))
    }
}

pub async fn create(app: &App, authority: &Authority, input: CreateExtension) -> Result<api::Extension> {
    let looked = look(input.yaml_content.to_string()).await?;
    looked.refuse_unless(input.draft.unwrap_or(false))?;
    let key = looked.draft.id.as_deref().unwrap_or_default();
    let key = ExtensionKey::try_from(key).map_err(|problem| {
        Error::field(
            "yaml_content",
            format!("metadata.id: {problem}; also a draft needs it, because it is called by it"),
        )
    })?;
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    refuse_taken(&mut work, &authority, &key).await?;
    let row = new(app, Some(authority.organization_id()), &key);
    insert(work, &authority, row, looked, None).await
}

/// A copy of an extension, or another one that remembers where it came from.
pub async fn fork(app: &App, granted: &Granted<Extension>, input: ForkExtension) -> Result<api::Extension> {
    let parent = granted.row();
    let parents = text_of(app, parent).await?;
    let looked = look(input.yaml_content.value().map_or_else(|| parents.clone(), |text| text.to_string())).await?;
    // A copy of a draft is one too.
    let is_copy = input.yaml_content.value().is_none();
    looked.refuse_unless(is_copy || input.draft.unwrap_or(false))?;
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let key = free_key(&mut work, &authority, parent, &looked).await?;
    let row = Extension {
        parent_id: Some(parent.id),
        parent_hash: hash(&parents),
        ..new(app, Some(authority.organization_id()), &key)
    };
    insert(work, &authority, row, looked, Some(parents)).await
}

pub async fn text_of(app: &App, row: &Extension) -> Result<String> {
    let texts = extensions::texts(&mut app.db.read().await?, row.id).await?;
    Ok(texts.ok_or_else(|| Error::not_found("extension"))?.yaml_content)
}

/// The key that the text has, unless it is taken; else one that says where it came from.
async fn free_key(work: &mut Work<'_>, authority: &Authority, parent: &Extension, looked: &Looked) -> Result<String> {
    let own = looked.draft.id.as_deref().filter(|key| ExtensionKey::try_from(*key).is_ok());
    if let Some(key) = own.filter(|key| *key != parent.extension_key)
        && refuse_taken(work, authority, key).await.is_ok()
    {
        return Ok(key.to_owned());
    }
    for number in 1..=MOST_FORKS {
        let ending = if number == 1 { "-fork".to_owned() } else { format!("-fork-{number}") };
        let beginning: String = parent.extension_key.chars().take(KEY_LENGTH - ending.len()).collect();
        let key = format!("{}{ending}", beginning.trim_end_matches('-'));
        if extensions::by_key(work, authority.organization_id(), &key).await?.is_none() {
            return Ok(key);
        }
    }
    Err(Error::new(ErrorCode::Conflict, format!("{} was forked too often. Delete some forks.", parent.extension_key)))
}

async fn refuse_taken(work: &mut Work<'_>, authority: &Authority, key: &str) -> Result<()> {
    let is_taken = extensions::by_key(work, authority.organization_id(), key).await?.is_some();
    if is_taken || RESERVED.contains(&key) {
        let message = format!("yaml_content: metadata.id: {key} is taken. Choose another id, or fork the extension.");
        return Err(Error::new(ErrorCode::NameTaken, message));
    }
    Ok(())
}

async fn insert(
    mut work: Work<'_>,
    authority: &Authority,
    mut row: Extension,
    looked: Looked,
    parents: Option<String>,
) -> Result<api::Extension> {
    let limit = work.app.config.organization_extensions;
    if extensions::count_of_organization(&mut work, authority.organization_id()).await? >= limit {
        let message = format!("This organization has {limit} extensions, which is the most. Delete one first.");
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    looked.fill(&mut row);
    if parents.is_some() {
        // A reader of the list must see who has changed it.
        row.author = authority.actor().name().to_owned();
    }
    let variables = looked.variables(work.app, &row);
    extensions::insert(&mut work, &row, &looked.texts).await?;
    if let Some(text) = &parents {
        extensions::set_parent_text(&mut work, row.id, &row.parent_hash, text).await?;
    }
    extensions::set_variables(&mut work, row.id, &variables).await?;
    let verb = if parents.is_some() { "forked" } else { "created" };
    record(&mut work, authority, Action::Create, &row, verb);
    let is_behind = records::extensions::is_behind(&mut work, &row).await?;
    work.commit().await?;
    Ok(records::extensions::extension(row, looked.texts, variables, is_behind))
}

pub async fn update(app: &App, granted: &Granted<Extension>, input: UpdateExtension) -> Result<api::Extension> {
    refuse_built_in(granted.row(), "changed: fork it")?;
    let looked = look(input.yaml_content.to_string()).await?;
    looked.refuse_unless(input.draft.unwrap_or(false))?;
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let mut row = lock(&mut work, granted.row()).await?;
    looked.fill(&mut row);
    row.updated_at = app.now();
    let variables = looked.variables(app, &row);
    extensions::update(&mut work, &row, &looked.texts).await?;
    extensions::set_variables(&mut work, row.id, &variables).await?;
    record(&mut work, &authority, Action::Update, &row, "changed");
    let is_behind = records::extensions::is_behind(&mut work, &row).await?;
    work.commit().await?;
    Ok(records::extensions::extension(row, looked.texts, variables, is_behind))
}

pub async fn delete(app: &App, granted: &Granted<Extension>) -> Result<()> {
    refuse_built_in(granted.row(), "deleted")?;
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let row = lock(&mut work, granted.row()).await?;
    extensions::mark_deleted(&mut work, row.id, app.now()).await?;
    record(&mut work, &authority, Action::Delete, &row, "deleted");
    work.commit().await?;
    Ok(())
}

fn refuse_built_in(row: &Extension, what: &str) -> Result<()> {
    if row.organization_id.is_some() {
        return Ok(());
    }
    let message = format!("{} comes with Windlass and cannot be {what}.", row.extension_key);
    Err(Error::new(ErrorCode::Conflict, message))
}

pub async fn lock(work: &mut Work<'_>, row: &Extension) -> Result<Extension> {
    extensions::lock(work, row.id).await?.ok_or_else(|| Error::not_found("extension"))
}

fn new(app: &App, organization_id: Option<uuid::Uuid>, key: &str) -> Extension {
    Extension {
        id: app.new_id(),
        organization_id,
        extension_key: key.to_owned(),
        parent_id: None,
        name: String::new(),
        description: String::new(),
        author: String::new(),
        category: String::new(),
        icon: String::new(),
        extension_type: String::new(),
        version: String::new(),
        content_hash: String::new(),
        parent_hash: String::new(),
        validation_status: ValidationStatus::Invalid,
        created_at: app.now(),
        updated_at: app.now(),
        deleted_at: None,
    }
}

pub fn record(work: &mut Work<'_>, authority: &Authority, action: Action, row: &Extension, verb: &str) {
    let change = Change {
        organization_id: row.organization_id,
        action,
        resource: Resource::Extension,
        resource_id: row.id,
        summary: &format!("{verb} the extension {}", row.extension_key),
        details: &[("extension", &row.extension_key), ("version", &row.version), ("content_hash", &row.content_hash)],
    };
    work.record(&authority.actor(), &change);
}

/// Makes the rows of the catalog say what this version of Windlass brings. What an organization has made is never touched.
pub async fn bring_catalog(app: &App) -> Result<()> {
    let stored = extensions::built_in(&mut app.db.read().await?).await?;
    let mut changed = Vec::new();
    for (_, text) in catalog::ALL {
        let content_hash = hash(text);
        if !stored.iter().any(|row| row.content_hash == content_hash && row.deleted_at.is_none()) {
            changed.push(look((*text).to_owned()).await?);
        }
    }
    let is_gone = |row: &&Extension| row.deleted_at.is_none() && !is_in_catalog(&row.extension_key);
    let gone: Vec<&Extension> = stored.iter().filter(is_gone).collect();
    if changed.is_empty() && gone.is_empty() {
        return Ok(());
    }
    match store_catalog(app, &stored, &changed, &gone).await {
        // Another server of the database has brought them in the same instant.
        Err(windlass_store::Error::Duplicate) => Ok(()),
        stored => Ok(stored?),
    }
}

async fn store_catalog(
    app: &App,
    stored: &[Extension],
    changed: &[Looked],
    gone: &[&Extension],
) -> windlass_store::Result<()> {
    let mut work = app.begin_step().await?;
    for looked in changed {
        let key = looked.draft.id.clone().unwrap_or_default();
        let before = stored.iter().find(|row| row.extension_key == key);
        let mut row = before.cloned().unwrap_or_else(|| new(app, None, &key));
        looked.fill(&mut row);
        (row.updated_at, row.deleted_at) = (app.now(), None);
        match before {
            Some(_) => extensions::update(&mut work, &row, &looked.texts).await?,
            None => extensions::insert(&mut work, &row, &looked.texts).await?,
        }
        extensions::set_variables(&mut work, row.id, &looked.variables(app, &row)).await?;
    }
    for row in gone {
        extensions::mark_deleted(&mut work, row.id, app.now()).await?;
    }
    tracing::info!(changed = changed.len(), gone = gone.len(), "brought the catalog of extensions up to date");
    work.commit().await
}

fn is_in_catalog(key: &str) -> bool {
    catalog::ALL.iter().any(|(name, _)| name.strip_suffix(".yaml") == Some(key))
}
