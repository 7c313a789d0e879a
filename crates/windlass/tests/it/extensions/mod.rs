//! Extensions, carried out for real: on this machine, in folders of the test's own, and on a real engine.

mod crash;
mod machine;
mod own_machine;
mod services;
mod support;
