//! An authenticated request, through which handlers obtain what they work with (`resources.rs`).

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::request::Parts;
use uuid::Uuid;
use windlass_api::{Can, ErrorCode};
use windlass_store::bearer::Bearer;
use windlass_store::memberships::Joined;

use crate::app::App;
use crate::auth::bearer::PresentedToken;
use crate::auth::caller::{Caller, Credential};
use crate::auth::origin::{Origin, header_text};
use crate::error::{Error, Result};

pub const ORGANIZATION_HEADER: &str = "x-organization-id";
/// The same in the query of a GET.
pub const ORGANIZATION_PARAMETER: &str = "organization_id";

/// The permission that the route table asks for. The table puts it into each request to the route, and what a handler
/// obtains is checked against it: so the table is the only place that names it.
#[derive(Clone, Copy, Debug)]
pub struct Needed(pub Can);

pub struct Ctx {
    pub app: Arc<App>,
    pub caller: Arc<Caller>,
    pub(super) presented: PresentedToken,
    /// The organization that the request names, else the user's default one, if they belong to it. A key has its own.
    pub(super) joined: Option<Joined>,
    needed: Option<Needed>,
}

impl FromRequestParts<Arc<App>> for Ctx {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self> {
        let origin = Origin::from_request_parts(parts, app).await?;
        let presented = PresentedToken::of_request(&app.config, parts)?;
        // Who it is comes before what they ask for: only a known caller is told that an organization's id is malformed.
        let organization = named_organization(parts);
        let organization_id = organization.as_ref().ok().copied().flatten();

        let bearer = presented.bearer(app, organization_id).await?;
        let needed = parts.extensions.get().copied();
        let counted = app.under_way.begin(bearer.user.id, app.config.account_requests_at_once)?;
        let caller = Caller::new(&bearer, origin, Arc::new(counted))?;
        let ctx = Self::new(app.clone(), caller, bearer, presented, needed);
        ctx.limit_requests()?;
        let named = organization?;
        if named.is_some() && ctx.current_organization_id() != named {
            let message = match ctx.caller.is_key() {
                false => "you do not belong to this organization.",
                true => "this API key belongs to another organization.",
            };
            return Err(Error::new(ErrorCode::Forbidden, format!("{ORGANIZATION_HEADER}: {message}")));
        }
        Ok(ctx)
    }
}

impl Ctx {
    fn new(app: Arc<App>, caller: Caller, bearer: Bearer, presented: PresentedToken, needed: Option<Needed>) -> Self {
        Self { app, caller: Arc::new(caller), presented, joined: bearer.joined, needed }
    }

    /// The same caller in the same organization, as they are by now: for answers that go on after the request was
    /// allowed.
    pub async fn again(&self) -> Result<Self> {
        let organization_id = self.current_organization_id();
        let bearer = self.presented.bearer(&self.app, organization_id).await?;
        let caller = Caller::new(&bearer, self.caller.origin.clone(), self.caller.counted.clone())?;
        let again = Self::new(self.app.clone(), caller, bearer, self.presented, self.needed);
        match again.current_organization_id() == organization_id {
            true => Ok(again),
            false => Err(Error::not_found("organization")),
        }
    }

    pub fn current_organization_id(&self) -> Option<Uuid> {
        self.joined.as_ref().map(|joined| joined.organization.id)
    }

    /// What the route's entry in the table asks for.
    pub(super) fn needed(&self) -> Result<Can> {
        let missing = || Error::internal("a handler obtains a resource, and its route names no permission");
        self.needed.map(|Needed(can)| can).ok_or_else(missing)
    }

    fn limit_requests(&self) -> Result<()> {
        let (requests, config, now) = (&self.app.requests, &self.app.config, self.app.now());
        if let Credential::Key { id, .. } = &self.caller.credential {
            requests.count_request(&format!("key {id}"), config.key_requests, now)?;
        }
        requests.count_request(&format!("account {}", self.caller.user.id), config.account_requests, now)
    }
}

fn named_organization(parts: &Parts) -> Result<Option<Uuid>> {
    let named = header_text(&parts.headers, ORGANIZATION_HEADER).map(|text| (ORGANIZATION_HEADER, text));
    match named.or_else(|| organization_in_query(parts).map(|text| (ORGANIZATION_PARAMETER, text))) {
        None => Ok(None),
        Some((name, text)) => Uuid::try_parse(&text).map(Some).map_err(|_| Error::field(name, "must be a UUID")),
    }
}

/// A link to a file, and a browser's own reader of events, cannot send a header.
fn organization_in_query(parts: &Parts) -> Option<String> {
    let query = parts.uri.query().filter(|_| parts.method == Method::GET)?;
    let named = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == ORGANIZATION_PARAMETER);
    named.map(|(_, text)| text.into_owned()).filter(|text| !text.is_empty())
}
