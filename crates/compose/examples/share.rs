//! How many of the Compose files in a folder the subset reads, and what the others have that it does not:
//!
//! `cargo run -p windlass-compose --example share -- FOLDER [--files]`
//!
//! Variables without a value get a word that fits their name. A service `app_proxy` without an image is left out: one store puts its own proxy there.

#![allow(clippy::print_stdout, reason = "it is a program that prints")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_compose::{Problem, Project};
use windlass_yaml::{Limits, Node, Value, parse};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("which folder?")?;
    let lists_files = arguments.next().is_some();
    let mut counts = Counts::default();
    for path in files(Path::new(&folder))? {
        let result = read(&std::fs::read_to_string(&path)?);
        if lists_files && let Err(problems) = &result {
            println!("{}", path.display());
            problems.iter().for_each(|problem| println!("    {problem}"));
        }
        counts.add(&result);
    }
    counts.print();
    Ok(())
}

fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "yml" || extension == "yaml") {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

fn read(text: &str) -> Result<Project, Vec<Problem>> {
    let mut document = parse(text, &Limits::default()).map_err(|problem| vec![problem])?;
    leave_proxy_out(&mut document);
    windlass_compose::read(&document, &placeholder)
}

fn leave_proxy_out(document: &mut Node) {
    let Value::Map(entries) = &mut document.value else { return };
    for (_, services) in entries.iter_mut().filter(|(key, _)| key.text == "services") {
        if let Value::Map(services) = &mut services.value {
            services.retain(|(key, service)| key.text != "app_proxy" || service.get("image").is_some());
        }
    }
}

#[allow(clippy::unnecessary_wraps, reason = "the shape of a lookup")]
fn placeholder(name: &str) -> Option<String> {
    let has = |part: &str| name.split('_').any(|word| word.eq_ignore_ascii_case(part));
    let word = if has("PORT") {
        // Ports of the host must differ.
        return Some(
            (10_000 + name.bytes().fold(0_u32, |sum, byte| (sum * 31 + u32::from(byte)) % 50_000)).to_string(),
        );
    } else if ["DIR", "PATH", "ROOT", "LOCATION", "FOLDER"].into_iter().any(has) {
        "/word"
    } else if has("IP") {
        "10.0.0.1"
    } else {
        "word"
    };
    Some(word.into())
}

#[derive(Default)]
struct Counts {
    files: usize,
    read: usize,
    dangerous: usize,
    /// Need something beside the document, so no reader could do without it.
    incomplete: usize,
    reasons: BTreeMap<String, usize>,
}

impl Counts {
    fn add(&mut self, result: &Result<Project, Vec<Problem>>) {
        self.files += 1;
        match result {
            Ok(project) => {
                self.read += 1;
                self.dangerous += usize::from(project.services.iter().any(|service| !service.dangers().is_empty()));
            }
            Err(problems) => {
                let mut reasons: Vec<String> = problems.iter().map(reason).collect();
                reasons.sort();
                reasons.dedup();
                self.incomplete += usize::from(reasons.iter().any(|reason| needs_files(reason)));
                reasons.into_iter().for_each(|reason| *self.reasons.entry(reason).or_default() += 1);
            }
        }
    }

    fn print(&self) {
        let complete = self.files - self.incomplete;
        println!("{} files, {} read ({:.1} %)", self.files, self.read, share(self.read, self.files));
        println!(
            "{} need files or a build; of the other {complete}, {:.1} % are read",
            self.incomplete,
            share(self.read, complete)
        );
        println!("{} of those read ask for access to the host", self.dangerous);
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (reason, count) in reasons.into_iter().take(20) {
            println!("{count:5}  {reason}");
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "small numbers")]
fn share(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

fn needs_files(reason: &str) -> bool {
    ["beside the document", "nothing is built here"].into_iter().any(|words| reason.contains(words))
}

/// The problem without the names and values of its file.
fn reason(problem: &Problem) -> String {
    let key = problem.path.split('.').skip(2).collect::<Vec<_>>().join(".");
    let mut message = String::new();
    for (index, part) in problem.message.split('"').enumerate() {
        message += if index % 2 == 0 { part } else { "…" };
    }
    let unnumbered: String = key.chars().filter(|c| !c.is_ascii_digit()).collect();
    format!("{unnumbered}: {message}")
}
