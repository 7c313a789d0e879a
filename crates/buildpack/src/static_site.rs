//! Files that are served as they are.

use crate::detect::Sign;
use crate::draft::Draft;
use crate::error::{Result, unsuitable};
use crate::kind::Kind;
use crate::plan::Plan;
use crate::source::Source;
use crate::wishes::Wishes;

const PAGE: &str = "index.html";
/// Folders that sites are usually in, if the root has no page.
const FOLDERS: [&str; 7] = ["public", "dist", "site", "www", "html", "docs", "_site"];

pub fn find(source: &Source) -> Result<Option<Sign>> {
    if source.has_file(PAGE) {
        return Ok(Some(Sign { file: PAGE, found: "it is a page".to_owned(), is_sure: false }));
    }
    let folder = folder_with_page(source);
    Ok(folder.map(|folder| Sign { file: PAGE, found: format!("{folder} has a page"), is_sure: false }))
}

fn folder_with_page(source: &Source) -> Option<&'static str> {
    FOLDERS.into_iter().find(|folder| source.has_file(&format!("{folder}/{PAGE}")))
}

pub fn plan(source: &Source, wishes: &Wishes) -> Result<Plan> {
    let mut draft = Draft::new(Kind::Static, source, wishes)?;
    let folder = match &wishes.output {
        Some(folder) => {
            draft.since("the output folder is set");
            folder.clone()
        }
        None if source.has_file(PAGE) => {
            draft.because("it is a page, and there is no manifest of a language", PAGE);
            ".".to_owned()
        }
        None => match folder_with_page(source) {
            Some(folder) => {
                draft.because("it is a page, and there is no manifest of a language", &format!("{folder}/{PAGE}"));
                folder.to_owned()
            }
            None => return unsuitable("there is no index.html."),
        },
    };
    if wishes.install.is_some() || wishes.build.is_some() || wishes.start.is_some() {
        return unsuitable(
            "files are served as they are: commands need a language. Set language, or remove the commands.",
        );
    }
    Ok(draft.files(folder, false))
}
