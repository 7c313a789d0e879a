//! How many characters the texts may have that people read.

pub(crate) const NAME: usize = 100;
pub(crate) const DESCRIPTION: usize = 2000;
pub(crate) const STEP_NAME: usize = 200;
