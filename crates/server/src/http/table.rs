//! The route table: one entry gives a path its handler and its place in the API description.

use std::sync::Arc;

use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{self, MethodRouter};
use axum::{Extension, Router};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use windlass_api::{Can, ErrorCode};

use crate::app::App;
use crate::auth::ctx::Needed;

pub const PREFIX: &str = "/api/v1";

#[derive(Default)]
pub struct Table {
    pub routes: Vec<Route>,
}

pub struct Route {
    pub method: Method,
    pub path: String,
    /// A second path that leads to it.
    pub alias: Option<String>,
    pub operation: Operation,
    handler: MethodRouter<Arc<App>>,
}

/// Who may call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Anyone,
    User,
    /// The one place that names the permission: each request to the route carries it, and what the handler obtains is
    /// checked against it.
    MemberWho(Can),
}

/// What a success consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// The envelope.
    Json,
    /// Server-sent events, which go on until the client or the server ends them.
    Events,
    /// A file.
    Text,
    /// The same, of bytes.
    Bytes,
}

type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// What the API description says about a route.
pub struct Operation {
    pub summary: &'static str,
    pub access: Access,
    /// What a caller should know beyond the rest of the entry.
    pub note: &'static str,
    pub answer: SchemaOf,
    pub media: Media,
    pub body: Option<SchemaOf>,
    /// What the query can say, in as many parts as the handler reads.
    pub queries: Vec<SchemaOf>,
    pub errors: &'static [ErrorCode],
    /// The answer always has `error`, and `data` is null.
    pub is_bare: bool,
    /// A request can be given a name, so that it is not done twice.
    pub takes_idempotency_key: bool,
}

pub fn anyone<T: JsonSchema>(summary: &'static str) -> Operation {
    operation::<T>(summary, Access::Anyone)
}

pub fn user<T: JsonSchema>(summary: &'static str) -> Operation {
    operation::<T>(summary, Access::User)
}

pub fn member_who<T: JsonSchema>(summary: &'static str, can: Can) -> Operation {
    operation::<T>(summary, Access::MemberWho(can))
}

fn operation<T: JsonSchema>(summary: &'static str, access: Access) -> Operation {
    let answer = SchemaGenerator::subschema_for::<T>;
    Operation {
        summary,
        access,
        note: "",
        answer,
        media: Media::Json,
        body: None,
        queries: Vec::new(),
        errors: &[],
        is_bare: false,
        takes_idempotency_key: false,
    }
}

impl Operation {
    pub fn body<T: JsonSchema>(self) -> Self {
        Self { body: Some(SchemaGenerator::subschema_for::<T>), ..self }
    }

    pub fn query<T: JsonSchema>(mut self) -> Self {
        self.queries.push(SchemaGenerator::root_schema_for::<T>);
        self
    }

    pub fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    /// The answer is the `data` of each event.
    pub fn events(self) -> Self {
        Self { media: Media::Events, ..self }
    }

    pub fn text(self) -> Self {
        Self { media: Media::Text, ..self }
    }

    pub fn bytes(self) -> Self {
        Self { media: Media::Bytes, ..self }
    }

    /// `POST /webhook`, `POST /notification/webhook` and `DELETE /notification/smtp`: their answers always have `error`, and they are
    /// reached under the doubled prefix as well.
    pub fn bare(self) -> Self {
        Self { is_bare: true, ..self }
    }

    pub fn idempotency_key(self) -> Self {
        Self { takes_idempotency_key: true, ..self }
    }

    /// The errors beyond those that follow from the rest of the entry.
    pub fn errors(self, errors: &'static [ErrorCode]) -> Self {
        Self { errors, ..self }
    }
}

macro_rules! methods {
    ($($name:ident $method:ident),*) => {
        impl Table {
            $(pub fn $name<H, T>(self, path: &str, handler: H, operation: Operation) -> Self
            where
                H: Handler<T, Arc<App>>,
                T: 'static,
            {
                self.add(Method::$method, path, routing::$name(handler), operation)
            })*
        }
    };
}

methods!(get GET, post POST, put PUT, patch PATCH, delete DELETE);

impl Table {
    fn add(mut self, method: Method, path: &str, handler: MethodRouter<Arc<App>>, operation: Operation) -> Self {
        let handler = match operation.access {
            Access::MemberWho(can) => handler.layer(Extension(Needed(can))),
            Access::Anyone | Access::User => handler,
        };
        let alias = operation.is_bare.then(|| format!("{PREFIX}{PREFIX}{path}"));
        self.routes.push(Route { method, path: format!("{PREFIX}{path}"), alias, operation, handler });
        self
    }

    pub fn into_router(self) -> Router<Arc<App>> {
        self.routes.into_iter().fold(Router::new(), |router, route| {
            let router = match &route.alias {
                Some(alias) => router.route(alias, route.handler.clone()),
                None => router,
            };
            router.route(&route.path, route.handler)
        })
    }
}
