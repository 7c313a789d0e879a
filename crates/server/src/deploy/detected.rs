//! A repository without a Dockerfile: what it is written in, and what is made of that: a Dockerfile, or a site.

use std::path::Path;

use windlass_api::Failure;
use windlass_buildpack::{BuildVariables, Candidate, Detected, Kind, Plan, Reason, Serves, Source};
use windlass_runtime::Dockerfile;

use super::failure::{Result, failed};
use super::pack::{self, Basis, Choice, Chosen, OpenChoice, Pack, Recipe, ServedFolder};
use crate::wishes;

/// Of candidates and of warnings; a hostile repository has thousands.
const MOST_NAMED: usize = 10;

pub async fn choose(basis: &Basis<'_>, tree: &Path, folder: &Path, others: String) -> Result<Choice> {
    let plan = match find(basis, tree, folder, &others).await? {
        Detected::Plan(plan) => plan,
        Detected::Choice(candidates) => return Ok(Choice::Open(OpenChoice { candidates, others })),
        Detected::Nothing { looked_for, passed_over } => {
            return failed(Failure::NoBuildPack, nothing(basis, &looked_for, &passed_over, &others));
        }
    };
    let others = Some(others.trim().to_owned()).filter(|others| !others.is_empty());
    let mut chosen = match plan.kind {
        Kind::Static => site_as_it_is(basis, tree, *plan, others.clone()).await?,
        _ => built(basis, tree, *plan, others.clone()),
    };
    chosen.warnings.extend(others);
    Ok(Choice::Made(Box::new(chosen)))
}

/// Files that are there already.
async fn site_as_it_is(basis: &Basis<'_>, tree: &Path, plan: Plan, others: Option<String>) -> Result<Chosen> {
    let path = pack::served_folder(tree, &tree.join(&plan.context), plan.output.as_deref().unwrap_or_default()).await?;
    let mut notes = vec!["There is no Dockerfile. This is a site, whose files are served as they are:".to_owned()];
    notes.extend(story(&plan).chain(others));
    let pack = Pack::Folder(ServedFolder { path, single_page: basis.configuration.settings.single_page });
    Ok(Chosen { pack, plan: Some(plan), warnings: Vec::new(), notes })
}

/// The root of a workspace is needed to build one of its parts, so the folder that is built in is the plan's.
fn built(basis: &Basis<'_>, tree: &Path, plan: Plan, others: Option<String>) -> Chosen {
    let variables = basis.variables;
    let (secret, open): (Vec<&str>, Vec<&str>) =
        variables.build.keys().map(String::as_str).partition(|name| variables.is_secret(name));
    let given = BuildVariables { open: &open, secret: &secret };
    let text = plan.dockerfile(basis.base_images, given);
    let with = plan.framework.map(|framework| format!(" with {framework}")).unwrap_or_default();
    let mut notes = vec![format!("There is no Dockerfile, so one is made. This is {}{with}:", plan.kind)];
    notes.extend(story(&plan).chain(others));
    // A user can take it from the log, and change it.
    notes.push("The Dockerfile:".to_owned());
    notes.extend(text.lines().map(|line| format!("    {line}")));
    let unseen = given.unseen();
    let unseen = (!unseen.is_empty()).then(|| {
        let names = first(&unseen, |name| (*name).to_owned()).join(", ");
        format!("Commands of this build do not see these secrets, whose names are not those of variables, or which are too many: {names}.")
    });
    notes.extend(unseen.clone());
    let is_of_dockerfile = !basis.configuration.settings.build_target.is_empty();
    let unused =
        is_of_dockerfile.then(|| "build_target is not used: there is no Dockerfile of the repository.".to_owned());
    notes.extend(unused.clone());
    let dockerfile = Dockerfile::Given { text, ignored: Some(plan.dockerignore()) };
    let (context, target) = (tree.join(&plan.context), String::new());
    let recipe = Recipe { context, dockerfile, target, args: Vec::new() };
    let pack = match &plan.serves {
        Serves::Container => Pack::Image(recipe),
        Serves::Files { folder, single_page } => {
            let single_page = *single_page || basis.configuration.settings.single_page;
            Pack::BuiltFiles(recipe, ServedFolder { path: folder.into(), single_page })
        }
    };
    Chosen { pack, plan: Some(plan), warnings: unseen.into_iter().chain(unused).collect(), notes }
}

async fn find(basis: &Basis<'_>, tree: &Path, folder: &Path, others: &str) -> Result<Detected> {
    let base_path = folder.strip_prefix(tree).unwrap_or(folder).to_string_lossy().into_owned();
    let (tree, wishes) = (tree.to_owned(), wishes::of(basis.configuration));
    let looking = move || windlass_buildpack::detect(&Source::open(&tree, &base_path)?, &wishes);
    match tokio::task::spawn_blocking(looking).await {
        Ok(Ok(detected)) => Ok(detected),
        Ok(Err(problem)) => {
            let problem = problem.to_string();
            let problem = problem.trim_end_matches('.');
            failed(
                Failure::NoBuildPack,
                format!(
                    "there is no Dockerfile, and none could be made: {problem}. Correct that, or add a Dockerfile.{others}"
                ),
            )
        }
        Err(error) => failed(Failure::Internal, error),
    }
}

fn story(plan: &Plan) -> impl Iterator<Item = String> {
    let reasons = plan.reasons.iter().map(|reason| format!("- {}", sentence(reason)));
    reasons.chain(first(&plan.warnings, |warning| format!("Warning: {warning}")))
}

/// The first ones, and how many there are beside them.
fn first<T>(all: &[T], shown: impl Fn(&T) -> String) -> Vec<String> {
    let more = all.len().saturating_sub(MOST_NAMED);
    let more = (more > 0).then(|| format!("and {more} more"));
    all.iter().take(MOST_NAMED).map(shown).chain(more).collect()
}

fn sentence(Reason { found, file }: &Reason) -> String {
    file.as_ref().map_or_else(|| found.clone(), |file| format!("{file}: {found}"))
}

impl OpenChoice {
    pub fn words(&self) -> String {
        let Self { candidates, others } = self;
        let shown = |one: &Candidate| {
            let reasons: Vec<_> = one.reasons.iter().map(sentence).collect();
            let program = one.program.as_ref().map(|program| format!(" ({program})")).unwrap_or_default();
            format!("{}{program} in /{} ({})", one.kind, one.base_path, reasons.join("; "))
        };
        let all = first(candidates, shown);
        let is_one_folder = candidates.iter().all(|one| one.base_path == candidates[0].base_path);
        let advice = match is_one_folder {
            true if candidates.iter().any(|one| one.program.is_some()) => "Set program to one of them.",
            true => "Set language to one of them.",
            false => "Set base_path to one of them.",
        };
        format!(
            "there is no Dockerfile, and each of several could be meant. {advice} They are: {}.{others}",
            all.join(", ")
        )
    }
}

fn nothing(basis: &Basis<'_>, looked_for: &[&str], passed_over: &[String], others: &str) -> String {
    let base_path = &basis.configuration.base_path;
    let passed_over: String = first(passed_over, String::clone).iter().map(|one| format!(" {one}.")).collect();
    format!(
        "there is no Dockerfile in {base_path}, and nothing else that is recognised ({}).{passed_over} Add one of them, or set \
         base_path.{others}",
        looked_for.join(", ")
    )
}
