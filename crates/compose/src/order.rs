use crate::problems::Problems;
use crate::read::Draft;
use crate::service::Service;

/// Each service after those that it depends on; apart from that, in the order of the document.
pub fn by_dependencies(drafts: Vec<Draft>, problems: &mut Problems) -> Vec<Service> {
    let mut waiting = drafts;
    let mut ordered: Vec<Service> = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let is_ready = |draft: &Draft| {
            let needs = &draft.service.depends_on;
            needs.iter().all(|need| ordered.iter().any(|service| service.name == need.service))
        };
        let Some(next) = waiting.iter().position(is_ready) else {
            report_cycle(&waiting, problems);
            ordered.extend(waiting.drain(..).map(|draft| draft.service));
            break;
        };
        ordered.push(waiting.remove(next).service);
    }
    ordered
}

/// Each of those that wait depends on another one that waits: following them must come back to one.
fn report_cycle(waiting: &[Draft], problems: &mut Problems) {
    let mut seen: Vec<&Draft> = Vec::new();
    let mut current = waiting.first();
    while let Some(draft) = current {
        if let Some(start) = seen.iter().position(|known| known.service.name == draft.service.name) {
            let cycle = &seen[start..];
            let names: Vec<&str> = cycle.iter().chain([&draft]).map(|draft| draft.service.name.as_str()).collect();
            let message = format!("services depend on each other in a circle: {}", names.join(" → "));
            problems.add(draft.place, &draft.path, message);
            return;
        }
        seen.push(draft);
        let needs = draft.service.depends_on.iter();
        current = needs.filter_map(|need| waiting.iter().find(|other| other.service.name == need.service)).next();
    }
}
