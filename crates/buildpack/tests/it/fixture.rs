//! Projects that are described in one text each: settings, then the files.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use windlass_buildpack::{BaseImages, BuildVariables, Detected, Error, Source, Wishes, detect};

pub struct Fixture {
    folder: TempDir,
    pub base_path: String,
    pub wishes: Wishes,
}

impl Fixture {
    pub fn empty() -> Self {
        Self { folder: TempDir::new().unwrap(), base_path: String::new(), wishes: Wishes::default() }
    }

    pub fn of(files: &[(&str, &str)]) -> Self {
        let fixture = Self::empty();
        files.iter().for_each(|(path, text)| fixture.write(path, text));
        fixture
    }

    /// `base_path: PATH` and `wishes: JSON`, then `--- PATH` before the lines of each file.
    pub fn parse(text: &str) -> Self {
        let mut fixture = Self::empty();
        let (settings, files) = match text.strip_prefix("--- ") {
            Some(files) => ("", files),
            None => text.split_once("\n--- ").unwrap(),
        };
        for line in settings.lines() {
            match line.split_once(": ").unwrap() {
                ("base_path", path) => path.clone_into(&mut fixture.base_path),
                ("wishes", json) => fixture.wishes = serde_json::from_str(json).unwrap(),
                (other, _) => panic!("{other}"),
            }
        }
        for file in files.split("\n--- ") {
            let (path, text) = file.split_once('\n').unwrap_or((file, ""));
            fixture.write(path, text);
        }
        fixture
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn source(&self) -> Source {
        Source::open(self.path(), &self.base_path).unwrap()
    }

    pub fn detect(&self) -> Result<Detected, Error> {
        detect(&self.source(), &self.wishes)
    }

    /// The plan's Dockerfile.
    pub fn dockerfile(&self) -> String {
        match self.detect().unwrap() {
            Detected::Plan(plan) => plan.dockerfile(&BaseImages::default(), BuildVariables::default()),
            other => panic!("{other:?}"),
        }
    }

    pub fn error(&self) -> String {
        self.detect().unwrap_err().to_string()
    }
}
