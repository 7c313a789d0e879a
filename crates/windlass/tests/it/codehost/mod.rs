//! Code hosts: what they report is served, and told where it came from. And what is sent to Windlass without one.

mod forge;
mod git_push;
mod gitea;
mod github_app;
mod previews;
mod pushes;
mod real_gitea;
mod uploads;
