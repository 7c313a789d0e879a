//! From a document to a project.

mod depends;
mod document;
mod images;
mod isolation;
mod networks;
mod service;
mod variables;
mod volumes;

use windlass_yaml::{Node, Place, Problem};

use crate::at::At;
use crate::beside::{Beside, Look};
use crate::interpolate::{Lookup, interpolate};
use crate::problems::Problems;
use crate::service::{Condition, Service};
use crate::{Project, order};

/// The project that a Compose document describes, or all that is wrong with it.
///
/// `lookup` knows the values of variables: those that texts name (`${NAME}`), and those of `environment` that have none.
pub fn read(document: &Node, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Project, Vec<Problem>> {
    project(document, lookup, None)
}

/// The project that a Compose document in a repository describes, or all that is wrong with it.
///
/// It may also build images, and name files: `beside` knows what lies at a path, as it is written, from the folder of the document. No path that
/// it is asked for is absolute or has `..` in it; whether a link leads elsewhere is for `beside` to see.
pub fn read_in_repository(
    document: &Node,
    lookup: &dyn Fn(&str) -> Option<String>,
    beside: &dyn Fn(&str) -> Beside,
) -> Result<Project, Vec<Problem>> {
    project(document, lookup, Some(beside))
}

fn project(document: &Node, lookup: Lookup<'_>, beside: Option<Look<'_>>) -> Result<Project, Vec<Problem>> {
    let document = document.clone().merged().map_err(|problem| vec![problem])?;
    let mut problems = Problems::default();
    let document = interpolate(document, lookup, &mut problems);
    let project = document::read(&At::new(&document, ""), lookup, beside, &mut problems);
    problems.into_result(project)
}

/// A service whose names of other services are not checked yet.
pub struct Draft {
    pub service: Service,
    /// Of its key.
    pub place: Place,
    pub path: String,
    pub needs: Vec<Need>,
    /// Other services, and names by which this one wants to reach them.
    pub links: Vec<(String, String)>,
    /// Whether it starts only with one of its profiles.
    pub has_profiles: bool,
}

/// That a service depends on another.
pub struct Need {
    pub on: String,
    pub condition: Condition,
    /// Whether it must be there at all.
    pub is_required: bool,
    pub place: Place,
    pub path: String,
}

impl Draft {
    fn need(&mut self, at: &At<'_>, on: String, condition: Condition) {
        let (place, path) = (at.node.place, at.path.clone());
        self.needs.push(Need { on, condition, is_required: true, place, path });
    }
}

/// The services in their order, and what is not started.
fn ordered(drafts: Vec<Draft>, problems: &mut Problems) -> (Vec<Service>, Vec<String>) {
    let (left_out, mut drafts): (Vec<_>, Vec<_>) = drafts.into_iter().partition(|draft| draft.has_profiles);
    let left_out: Vec<String> = left_out.into_iter().map(|draft| draft.service.name).collect();
    depends::resolve(&mut drafts, &left_out, problems);
    (order::by_dependencies(drafts, problems), left_out)
}
