//! One worker's view of the edge.

use std::sync::Arc;

use crate::edge::Edge;

#[derive(Clone)]
pub struct Worker {
    pub edge: Arc<Edge>,
    pub index: usize,
}
