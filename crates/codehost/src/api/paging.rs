//! Lists come in parts, which every host counts in its own way.

use windlass_api::CodeHost;

use super::exchange::{ApiAnswer, Asked};
use super::records::Page;

/// How many of what is not shown to people, such as hooks, are asked for at once. Every host gives that many, unless it is
/// set up otherwise.
pub(super) const USUAL_SIZE: u32 = 50;

/// Which part of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// From 1.
    page: u32,
    size: u32,
}

impl Part {
    pub(super) const FIRST: Self = Self { page: 1, size: USUAL_SIZE };

    /// A host refuses a larger size than it has, or silently gives less.
    pub(super) fn of(host: CodeHost, page: u32, size: u32) -> Self {
        let most = match host {
            CodeHost::Gitea | CodeHost::Forgejo => 50,
            _ => 100,
        };
        Self { page: page.max(1), size: size.clamp(1, most) }
    }

    pub(super) fn query(self, host: CodeHost) -> [(&'static str, String); 2] {
        let (size, page) = (self.size.to_string(), self.page.to_string());
        match host {
            CodeHost::GitHub | CodeHost::GitLab => [("per_page", size), ("page", page)],
            CodeHost::Gitea | CodeHost::Forgejo => [("limit", size), ("page", page)],
            CodeHost::Bitbucket => [("pagelen", size), ("page", page)],
            CodeHost::BitbucketServer => [("limit", size), ("start", (self.page - 1).to_string())],
        }
    }

    pub(super) fn following(self) -> Option<u32> {
        self.page.checked_add(1)
    }
}

/// Of a host that says in headers whether there is more.
pub(super) fn page_by_headers<T>(asked: &Asked, answer: &ApiAnswer, items: Vec<T>) -> Page<T> {
    let is_next = |link: &str| link.contains("rel=\"next\"");
    let has_more = answer.header("link").is_some_and(is_next)
        || answer.header("x-next-page").is_some_and(|next| !next.trim().is_empty())
        || is_less_than_total(asked.part, answer, items.len());
    Page { next: asked.part.following().filter(|_| has_more), items }
}

/// Gitea gives no links with tags and hooks, but says how many there are.
fn is_less_than_total(part: Part, answer: &ApiAnswer, count: usize) -> bool {
    let total = answer.header("x-total-count").and_then(|total| total.trim().parse::<u64>().ok());
    let (page, size, count) = (u64::from(part.page), u64::from(part.size), count as u64);
    total.is_some_and(|total| {
        let is_last = (page - 1) * size + count == total;
        // A server may be set up to give less than was asked for: all pages up to this one had what this one has, or more. Of
        // comments it gives all at once.
        count > 0 && !is_last && page * count < total
    })
}
