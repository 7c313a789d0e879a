//! Deployments, step by step.

mod git;
