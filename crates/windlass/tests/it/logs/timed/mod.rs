//! What is said about time. These run by themselves, one after the other, so that no other test takes it from them.

mod api;
mod followers;
