//! Offers: what the author of an extension has changed since an organization forked or installed it. Those of a fork are taken here; an
//! installation takes its by an update.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{Can, ErrorCode, TakeOffer, TakenSide, ValidationStatus};
use windlass_extension::compare::{
    Comparison, MergedText, Side, Three, compare, merged_text, tree, with_defaults, with_values,
};
use windlass_extension::{Kind, Values};
use windlass_store::Conn;
use windlass_store::extensions::{self as rows, Extension};
use windlass_store::installations::Installation;

use crate::app::App;
use crate::auth::Granted;
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::Action;
use crate::service::extensions::{hash, lock, look, record, text_of};
use crate::service::installations;
use crate::service::preparation::{Asked, prepare, reasons_for_host_access};

/// Of the conflicts that a message names.
const NAMED_CONFLICTS: usize = 5;
pub const HIDDEN: &str = "It would be refused as it is. Who may read variables is told why.";

/// A fork, and the texts that it is about.
struct Fork {
    parent: Extension,
    /// `before` is the parent's text from which the fork goes on.
    texts: Three<String>,
}

impl Fork {
    async fn read(app: &App, granted: &Granted<Extension>) -> Result<Self> {
        let (fork, organization_id) = (granted.row(), granted.authority().organization_id());
        let mut conn = app.db.read().await?;
        let parent = parent(&mut conn, organization_id, fork).await?;
        let before = rows::parent_text(&mut conn, fork.id).await?.unwrap_or_default();
        drop(conn);
        let texts = Three { before, upstream: text_of(app, &parent).await?, own: text_of(app, fork).await? };
        Ok(Self { parent, texts })
    }

    /// Both sides together, away from the async threads: texts may be long.
    async fn merged(&self, first: Side) -> Result<(Comparison, Option<MergedText>)> {
        let texts = self.texts.clone();
        let merge = move || {
            let trees = Three {
                before: readable_tree(&texts.before, "The parent's text that was forked")?,
                upstream: readable_tree(&texts.upstream, "The parent's text")?,
                own: readable_tree(&texts.own, "The text of the fork")?,
            };
            let comparison = compare(trees.as_ref(), first);
            let merged = merged_text(texts.as_ref().map(String::as_str), &comparison, first);
            Ok((comparison, merged))
        };
        tokio::task::spawn_blocking(merge).await.map_err(Error::internal)?
    }
}

async fn parent(conn: &mut Conn, organization_id: Uuid, fork: &Extension) -> Result<Extension> {
    let key = &fork.extension_key;
    let Some(parent_id) = fork.parent_id else {
        return Err(Error::new(ErrorCode::Conflict, format!("{key} is no fork.")));
    };
    let found = rows::visible(conn, organization_id, parent_id).await?;
    found.ok_or_else(|| {
        let message = format!("The extension that {key} was forked from was deleted, so there is nothing newer.");
        Error::new(ErrorCode::Conflict, message)
    })
}

/// A draft may be no YAML at all.
fn readable_tree(text: &str, what: &str) -> Result<serde_json::Value> {
    tree(text)
        .map_err(|problem| Error::new(ErrorCode::Conflict, format!("{what} cannot be compared with others: {problem}")))
}

pub async fn of_parent(app: &App, granted: &Granted<Extension>) -> Result<api::ParentOffer> {
    let fork = Fork::read(app, granted).await?;
    let (comparison, merged) = fork.merged(Side::Own).await?;
    let merged = merged.unwrap_or(MergedText { text: String::new(), is_rewritten: false });
    Ok(api::ParentOffer {
        extension_id: granted.row().id,
        content_hash: hash(&fork.texts.own),
        parent_extension_id: fork.parent.id,
        parent_content_hash: hash(&fork.texts.upstream),
        parent_key: fork.parent.extension_key,
        parent_version: fork.parent.version,
        behind: records::offers::count(comparison.of_upstream()),
        conflicts: records::offers::count(comparison.conflicts().count()),
        changes: records::offers::changes(&comparison),
        yaml_content: merged.text,
        is_rewritten: merged.is_rewritten,
    })
}

/// Brings the parent's changes into a fork, which goes on from the parent's text of now.
pub async fn take(app: &App, granted: &Granted<Extension>, input: TakeOffer) -> Result<api::Extension> {
    let fork = Fork::read(app, granted).await?;
    let parent_hash = hash(&fork.texts.upstream);
    if *input.parent_content_hash != *parent_hash {
        return Err(changed_meanwhile(&fork.parent.extension_key));
    }
    let is_draft = input.draft.unwrap_or(false);
    let looked = match input.yaml_content {
        Some(text) => {
            let looked = look(text.to_string()).await?;
            looked.refuse_unless(is_draft)?;
            looked
        }
        None => {
            let looked = look(merged(&fork, input.conflicts).await?).await?;
            looked.refuse_unless(is_draft).map_err(|problem| {
                let message = format!("Together the texts are not valid, so send a text: {}", problem.message);
                Error::new(ErrorCode::Conflict, message)
            })?;
            looked
        }
    };
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let mut row = lock(&mut work, granted.row()).await?;
    if row.content_hash != hash(&fork.texts.own) {
        return Err(changed_meanwhile(&row.extension_key));
    }
    looked.fill(&mut row);
    (row.updated_at, row.parent_hash) = (app.now(), parent_hash);
    let variables = looked.variables(app, &row);
    rows::update(&mut work, &row, &looked.texts).await?;
    rows::set_parent_text(&mut work, row.id, &row.parent_hash, &fork.texts.upstream).await?;
    rows::set_variables(&mut work, row.id, &variables).await?;
    record(&mut work, &authority, Action::Update, &row, "took the changes of the parent into");
    let is_behind = records::extensions::is_behind(&mut work, &row).await?;
    work.commit().await?;
    Ok(records::extensions::extension(row, looked.texts, variables, is_behind))
}

fn changed_meanwhile(key: &str) -> Error {
    Error::new(ErrorCode::Conflict, format!("{key} has another text by now. Look at the offer again."))
}

async fn merged(fork: &Fork, side: Option<TakenSide>) -> Result<String> {
    let first = match side {
        Some(TakenSide::Upstream) => Side::Upstream,
        Some(TakenSide::Organization) | None => Side::Own,
    };
    let (comparison, merged) = fork.merged(first).await?;
    let conflicts: Vec<&str> = comparison.conflicts().map(|change| change.path.as_str()).collect();
    if side.is_none() && !conflicts.is_empty() {
        let message = format!(
            "Fields that both sides have changed: {}, such as {}. Say in \"conflicts\" whose change counts, or send a text.",
            conflicts.len(),
            conflicts.iter().take(NAMED_CONFLICTS).copied().collect::<Vec<_>>().join(", ")
        );
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let unwritable = || Error::new(ErrorCode::Conflict, "Together the texts cannot be written as one, so send a text.");
    merged.map(|merged| merged.text).ok_or_else(unwritable)
}

/// What an update would bring, beside the values that the organization has set.
pub async fn of_installation(app: &App, granted: &Granted<Installation>) -> Result<api::InstallationOffer> {
    let row = granted.row();
    let extension = installations::newest(app, row).await?;
    let in_force = installations::in_force(app, row).await?;
    let text = text_of(app, &extension).await?;
    let is_behind_parent = records::extensions::is_behind(&mut app.db.read().await?, &extension).await?;
    let new_content_hash = hash(&text);
    let is_valid = extension.validation_status == ValidationStatus::Valid;
    let hides = !granted.authority().may(Can::VariableRead);
    let problems = problems(app, granted, &extension, in_force.values.clone(), hides).await?;
    let (before, values) = (in_force.yaml_content, in_force.values);
    let compare = move || compare_with_values(&before, &text, &values, &|_| hides);
    let comparison = tokio::task::spawn_blocking(compare).await.map_err(Error::internal)??;
    Ok(api::InstallationOffer {
        installation_id: row.id,
        extension_id: extension.id,
        extension_key: extension.extension_key,
        has_update: is_valid && new_content_hash != in_force.execution.content_hash,
        is_behind_parent,
        version: in_force.execution.version,
        content_hash: in_force.execution.content_hash,
        new_version: extension.version,
        new_content_hash,
        upstream_changes: records::offers::count(comparison.of_upstream()),
        conflicts: records::offers::count(comparison.conflicts().count()),
        changes: records::offers::changes(&comparison),
        problems,
    })
}

/// What is set stands in the place of defaults, masked where `hides` says so.
pub fn compare_with_values(
    before: &str,
    upstream: &str,
    values: &Values,
    hides: &dyn Fn(&str) -> bool,
) -> Result<Comparison> {
    let read = |text: &str, what: &str| -> Result<_> {
        let (tree, extension) = (readable_tree(text, what)?, windlass_extension::check(text).extension);
        let tree = match &extension {
            Some(extension) => with_defaults(tree, extension),
            None => tree,
        };
        Ok((tree, extension))
    };
    let (before, installed) = read(before, "The text that is installed")?;
    let (upstream, _) = read(upstream, "The text of the extension")?;
    let own = match &installed {
        Some(installed) => with_values(before.clone(), installed, values, hides),
        None => before.clone(),
    };
    Ok(compare(Three { before: &before, upstream: &upstream, own: &own }, Side::Own))
}

/// What an update without anything more would be refused for.
async fn problems(
    app: &App,
    granted: &Granted<Installation>,
    extension: &Extension,
    stored: Values,
    hides: bool,
) -> Result<Vec<String>> {
    let secrets: Vec<String> = stored.secrets().into_iter().map(str::to_owned).collect();
    let asked = Asked::Merged { stored, given: None, defaults: &[] };
    let problems: Vec<String> = match prepare(app, extension, &asked, &granted.row().name).await {
        Ok(prepared) if prepared.kind != Kind::Install => vec![installations::no_longer_installs(granted.row())],
        Ok(prepared) if !granted.authority().may(Can::ExtensionHost) => {
            let reasons = reasons_for_host_access(&prepared.steps);
            reasons.iter().map(|reason| format!("{}, which takes host access", prepared.masked(reason))).collect()
        }
        Ok(_) => Vec::new(),
        Err(Error { code: ErrorCode::InvalidRequest | ErrorCode::Conflict, message, .. }) => {
            let masked = secrets.iter().fold(message, |text, secret| text.replace(secret.as_str(), api::MASK));
            masked.lines().map(str::to_owned).collect()
        }
        Err(error) => return Err(error),
    };
    Ok(if hides && !problems.is_empty() { vec![HIDDEN.to_owned()] } else { problems })
}
