//! Deployments, step by step.

mod cache;
mod git;
