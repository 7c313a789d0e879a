//! The system's random numbers.

/// Without them nothing here can be safe, so there is nothing to fall back to.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    #[expect(clippy::expect_used, reason = "a kernel without random numbers cannot run a server")]
    getrandom::fill(&mut bytes).expect("the system gives random numbers");
    bytes
}
