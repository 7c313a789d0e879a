//! What keeps builds apart that share a builder: names that no person can work out without this installation's key.

use uuid::Uuid;
use windlass_store::applications::{self, Application};
use windlass_store::previews;

use super::failure::{Interruption, Result};
use crate::app::App;
use crate::vault::ring::keyed_hash;

/// How the names of releases' images begin.
const OWN_TAGS: &str = "windlass/";

/// The organization; or, for the preview of a fork, the preview itself: a stranger's code must neither reach nor read what else the
/// organization has.
pub async fn owner_of(app: &App, application: &Application) -> Result<Uuid> {
    let mut conn = app.db.read().await?;
    let preview = previews::get(&mut conn, application.id).await?;
    // Without its row it cannot be known whether it is a fork's.
    if preview.is_none() && applications::get(&mut conn, application.id).await?.is_none() {
        return Err(Interruption::Lost);
    }
    let is_fork = preview.is_some_and(|preview| preview.is_fork);
    Ok(if is_fork { application.id } else { application.organization_id })
}

/// The folders of `RUN --mount=type=cache` are found by an id that a Dockerfile chooses. BuildKit looks for it in this namespace only.
pub fn cache_namespace(app: &App, owner_id: Uuid) -> String {
    secret_name(app, "cache", owner_id)
}

/// A host name that is added to each `RUN`. BuildKit takes the result of a `RUN` from its cache if the commands, the files and the host names
/// are the same: without a name of the owner's, one organization would get what another one's secrets or proxy have made of the same Dockerfile.
pub fn host_name(app: &App, owner_id: Uuid) -> String {
    format!("{}.build.invalid", secret_name(app, "host", owner_id))
}

/// The engine's name of a release's image: never one that moves, and none that another organization could write after `FROM`. Builds do not
/// see it.
pub fn image_tag(app: &App, application_id: Uuid, deployment_id: Uuid) -> String {
    format!("{OWN_TAGS}{}:{}", secret_name(app, "image", application_id), deployment_id.simple())
}

/// Whether an image's name is one that releases have. Images of registries can begin with the same word.
pub fn is_release_name(reference: &str) -> bool {
    let Some((secret, tag)) = reference.strip_prefix(OWN_TAGS).and_then(|rest| rest.split_once(':')) else {
        return false;
    };
    let (deployment, number) = tag.split_once('-').unwrap_or((tag, "1"));
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_hex(secret) && is_hex(deployment) && is_number
}

fn is_hex(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The engine's name of one of several images of a release.
pub fn numbered_image_tag(app: &App, application_id: Uuid, deployment_id: Uuid, number: usize) -> String {
    format!("{}-{number}", image_tag(app, application_id, deployment_id))
}

fn secret_name(app: &App, purpose: &str, id: Uuid) -> String {
    let hash = keyed_hash(&app.audit_key, &[b"build ", purpose.as_bytes(), b" ", id.as_bytes()]);
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_releases_are_told_from_those_of_registries() {
        let (secret, deployment) = ("0123456789abcdef".repeat(2), Uuid::from_u128(7).simple());
        let name = format!("windlass/{secret}:{deployment}");
        for own in [name.clone(), format!("{name}-1"), format!("{name}-12")] {
            assert!(is_release_name(&own), "{own}");
        }
        let others = [
            "windlass/x:1".to_owned(),
            format!("windlass/{secret}"),
            format!("windlass/{secret}:1"),
            format!("windlass/x:{deployment}"),
            format!("windlass/{}:{deployment}", secret.to_uppercase()),
            format!("docker.io/{name}"),
            format!("{name}-"),
            format!("{name}-a"),
            format!("{name}-1-2"),
        ];
        for other in others {
            assert!(!is_release_name(&other), "{other}");
        }
    }
}
