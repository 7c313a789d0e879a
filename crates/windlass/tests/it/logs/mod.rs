//! What applications print, all the way from a container on a real engine to the client that reads it.

mod exact;
mod full_disk;
mod several;
mod shown;
mod support;
mod timed;
