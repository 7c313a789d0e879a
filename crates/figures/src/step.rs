//! How far apart points are. Coarser ones are made of finer ones, and kept for longer.

/// Times are seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// How far apart its points are.
    pub seconds: i64,
    /// How much time one row holds.
    pub row: i64,
}

/// One row is written again with each of its points, so it is short.
pub const FINE: Step = Step { seconds: 10, row: 60 };
pub const MINUTE: Step = Step { seconds: 60, row: 3_600 };
pub const COARSE: Step = Step { seconds: 600, row: 86_400 };

impl Step {
    /// When the point begins that a moment is in.
    #[must_use]
    pub const fn point_of(self, second: i64) -> i64 {
        second.div_euclid(self.seconds) * self.seconds
    }

    /// When the row begins that a moment is in.
    #[must_use]
    pub const fn row_of(self, second: i64) -> i64 {
        second.div_euclid(self.row) * self.row
    }

    pub(crate) const fn points_in_row(self) -> u64 {
        (self.row / self.seconds).unsigned_abs()
    }
}
