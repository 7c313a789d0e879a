//! How much a project may ask for. All of it becomes containers, calls to the engine and rows.

pub const MOST_SERVICES: usize = 50;
/// Of a list or a map that has no bound of its own.
pub const MOST_ITEMS: usize = 200;
pub const MOST_VARIABLES: usize = 500;
/// The engine runs a process for each published port.
pub const MOST_PORTS: usize = 200;
pub const MOST_VOLUMES: usize = 100;
/// The most that Linux takes as one argument or variable of a process is 128 KiB.
pub const LONGEST_TEXT: usize = 64 * 1024;
/// Of all variables of a service together: the engine and the kernel have their limits too.
pub const LONGEST_ENVIRONMENT: usize = 256 * 1024;
/// Of the files of all services together: one content can be in many of them.
pub const LONGEST_FILES: usize = 1024 * 1024;
/// That services mount from a repository, in all.
pub const MOST_FILES: usize = 1000;
/// Of a service: each of them is read and parsed.
pub const MOST_ENV_FILES: usize = 20;
/// Of a service, and of all services together: each container is told all names.
pub const MOST_ALIASES: usize = 20;
pub const MOST_ALIASES_IN_ALL: usize = 200;
pub const LONGEST_NAME: usize = 63;
pub const LONGEST_PATH: usize = 1024;
/// Of all texts of the document together once variables have their values.
pub const LONGEST_DOCUMENT: usize = 1024 * 1024;
