//! Folders whose files are the answers.
