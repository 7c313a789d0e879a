//! Which lines are asked for.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};
use uuid::Uuid;
use windlass_api::{DeploymentName, LogDeployment, LogFilter, Several, Switch};
use windlass_store::logs::{Filter, Of, Query};

use crate::auth::Ctx;
use crate::error::{Error, Result};
use crate::http::params::RawParams;

/// What a compiled pattern may take.
const PATTERN_BYTES: usize = 1024 * 1024;
/// What it may take without the alphabets of the world, which is about how many states it has: at worst each letter of
/// a line is compared with all of them. This and how much of a line is looked at bound the time that one line takes;
/// the worst that we know of, `a(.a?){510}x`, takes half a second.
const STATE_BYTES: usize = 128 * 1024;
/// The same for one that cannot be without them.
const ALPHABET_BYTES: usize = 256 * 1024;
const PATTERN_DEPTH: u32 = 50;

/// The deployment that is named. What is not an id names nothing, for every caller, as in a path.
pub fn named(params: &RawParams) -> Result<Option<Uuid>> {
    let LogDeployment { deployment_id } = params.parse()?;
    Ok(deployment_id.map(|DeploymentName(id)| id))
}

/// Whose lines are meant, where a deployment can be named. One of another application is none of this one's.
pub async fn of(ctx: &Ctx, application_id: Uuid, deployment_id: Option<Uuid>) -> Result<Of> {
    let Some(id) = deployment_id else { return Ok(Of::Application(application_id)) };
    match ctx.deployment(id).await?.row().application_id == application_id {
        true => Ok(Of::Deployment(id)),
        false => Err(Error::not_found("deployment")),
    }
}

pub async fn query(of: Of, params: &RawParams) -> Result<Query> {
    let given: LogFilter = params.joining("stream")?.joining("step")?.parse()?;
    let filter = match given.search_term.is_some() || given.regex.is_some() {
        false => filter(&given)?,
        // Away from the async threads: a pattern can take its time.
        true => tokio::task::spawn_blocking(move || filter(&given)).await.map_err(Error::internal)??,
    };
    Ok(Query { of, filter: Arc::new(filter) })
}

fn filter(given: &LogFilter) -> Result<Filter> {
    let LogFilter { search_term, regex, stream, step, service, colors, start_time, end_time } = given;
    let term = search_term.as_deref().map(term).transpose()?;
    let expression = regex.as_deref().map(expression).transpose()?;
    let streams = stream.as_ref().map(|Several(streams)| streams.clone()).unwrap_or_default();
    let steps = step.as_ref().map(|Several(steps)| steps.clone()).unwrap_or_default();
    Ok(Filter {
        from: *start_time,
        to: *end_time,
        streams,
        steps,
        service: service.as_deref().map(str::to_owned),
        colors: *colors == Some(Switch::On),
        term,
        expression,
    })
}

fn term(text: &str) -> Result<Regex> {
    RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build().map_err(Error::internal)
}

fn expression(text: &str) -> Result<Regex> {
    let refused = |error: regex::Error| Error::field("regex", reason(&error));
    let pattern = with_limit(text, PATTERN_BYTES).map_err(refused)?;
    let mut plain = regex::bytes::RegexBuilder::new(text);
    match plain.unicode(false).size_limit(STATE_BYTES).nest_limit(PATTERN_DEPTH).build() {
        Ok(_) => Ok(pattern),
        Err(error @ regex::Error::CompiledTooBig(_)) => Err(refused(error)),
        Err(_) => with_limit(text, ALPHABET_BYTES).map_err(refused),
    }
}

fn with_limit(text: &str, bytes: usize) -> std::result::Result<Regex, regex::Error> {
    RegexBuilder::new(text).size_limit(bytes).nest_limit(PATTERN_DEPTH).build()
}

/// In one line: the parser draws the pattern and points at the place, and says what is wrong last.
fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "would take too much memory; repeat less".to_owned(),
        other => {
            let text = other.to_string();
            let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
            format!("is not valid: {}", last.trim_start_matches("error: "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_pattern_is_said_in_one_line() {
        let refused = |text: &str| expression(text).unwrap_err().message;
        assert_eq!(refused("a(b"), "regex: is not valid: unclosed group");
        assert_eq!(
            refused("a{2,1}"),
            "regex: is not valid: invalid repetition count range, the start must be <= the end"
        );
        assert_eq!(
            refused("(?=a)"),
            "regex: is not valid: look-around, including look-ahead and look-behind, is not supported"
        );
        for large in [r"(a{1000}){1000}", "a[ac]{2000}x", r"\w{100}", r"\p{Ll}{20}"] {
            assert_eq!(refused(large), "regex: would take too much memory; repeat less");
        }
        for usual in [r"^\w+ \w{10} .{100}\d$", r"^\p{Lu}\p{Ll}+ [^ä]{20}$"] {
            assert!(expression(usual).is_ok(), "{usual}");
        }
        let deep = format!("{}a{}", "(".repeat(200), ")".repeat(200));
        assert_eq!(
            refused(&deep),
            "regex: is not valid: exceed the maximum number of nested parentheses/brackets (50)"
        );
    }
}
