//! How long a list may get by texts that users make as long as they like.

/// Of such texts in one answer. Escaped in JSON they may become twice as long.
const LIST_BYTES: usize = 4 * 1024 * 1024;

/// What is left for the records that follow.
pub struct Budget(usize);

impl Budget {
    pub const fn of_a_list() -> Self {
        Self(LIST_BYTES)
    }

    /// Empties the texts of one record if they are too long for what is left.
    pub fn spend(&mut self, texts: &mut [&mut String]) {
        let bytes = texts.iter().map(|text| text.len()).sum();
        match self.0.checked_sub(bytes) {
            Some(left) => self.0 = left,
            None => texts.iter_mut().for_each(|text| text.clear()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_and_what_does_not_is_emptied_whole() {
        let mut budget = Budget(10);
        let [mut first, mut second, mut third] = ["123456", "12345", "1234"].map(String::from);
        budget.spend(&mut [&mut first]);
        budget.spend(&mut [&mut second]);
        budget.spend(&mut [&mut third]);
        assert_eq!([first, second, third], ["123456", "", "1234"]);
    }
}
