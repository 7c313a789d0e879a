//! Requests that must not be done twice. A sender gives such a request a name; the same name again, from the same user
//! in the same organization, finds what the first one made.

use uuid::Uuid;
use windlass_api::{ErrorCode, IdempotencyName};
use windlass_store::applications;
use windlass_store::idempotency_keys::{self, IdempotencyKey};

use crate::app::App;
use crate::auth::Authority;
use crate::error::{Error, Result};
use crate::service::work::Work;
use crate::vault::ring::keyed_hash;

/// How long a name is remembered.
pub const SECONDS: i64 = 86_400;

/// A request with a name.
pub struct Once {
    name: IdempotencyName,
    body_hash: [u8; 32],
}

impl Once {
    /// Keyed, because bodies hold secrets that can be guessed.
    pub fn new(app: &App, name: IdempotencyName, body: &[u8]) -> Self {
        Self { name, body_hash: keyed_hash(&app.audit_key, &[b"idempotency ", body]) }
    }

    /// What the request made when it came before. The organization is held, so no other request does it meanwhile.
    pub async fn made(&self, work: &mut Work<'_>, authority: &Authority) -> Result<Option<Uuid>> {
        let (organization_id, user_id) = (authority.organization_id(), authority.user_id());
        let Some(key) = idempotency_keys::get(work, organization_id, user_id, &self.name).await? else {
            return Ok(None);
        };
        let is_gone = applications::get(work, key.application_id).await?.is_none();
        if is_gone || key.created_at.plus_seconds(SECONDS) <= work.app.now() {
            idempotency_keys::delete(work, organization_id, user_id, &self.name).await?;
            return Ok(None);
        }
        if key.body_hash != self.body_hash {
            let message = "Idempotency-Key: another request with this key had another body. Choose another key.";
            return Err(Error::new(ErrorCode::IdempotencyKeyReused, message));
        }
        Ok(Some(key.application_id))
    }

    pub async fn remember(&self, work: &mut Work<'_>, authority: &Authority, application_id: Uuid) -> Result<()> {
        let key = IdempotencyKey {
            organization_id: authority.organization_id(),
            user_id: authority.user_id(),
            name: self.name.to_string(),
            body_hash: self.body_hash.to_vec(),
            application_id,
            created_at: work.app.now(),
        };
        Ok(idempotency_keys::insert(work, &key).await?)
    }
}
