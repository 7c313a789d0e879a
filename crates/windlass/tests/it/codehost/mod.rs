//! Code hosts: what they report is served, and told where it came from.

mod forge;
mod git_push;
mod gitea;
mod github_app;
mod previews;
mod pushes;
mod real_gitea;
