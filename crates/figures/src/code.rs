//! Numbers as bytes: small ones take few. What need not be exact is rounded first, by less than a percent, so that numbers that are close to each
//! other have codes that are close to each other.

/// Below twice this, numbers are exact; above, they keep so many steps between one power of two and the next.
const STEPS: u64 = 1 << STEP_BITS;
const STEP_BITS: u32 = 6;

/// Grows with the number, and is the number itself below 128.
pub fn rounded(number: i64) -> i64 {
    let size = number.unsigned_abs();
    let code = match size.checked_ilog2().map(|bits| bits.saturating_sub(STEP_BITS)) {
        None | Some(0) => size,
        Some(shift) => (u64::from(shift) << STEP_BITS) + (size >> shift),
    };
    i64::try_from(code).unwrap_or(i64::MAX) * number.signum()
}

/// The middle of the numbers that have this code.
pub fn unrounded(code: i64) -> i64 {
    let size = code.unsigned_abs();
    if size < 2 * STEPS {
        return code;
    }
    let shift = (size >> STEP_BITS) - 1;
    let number = u32::try_from(shift).ok().and_then(|shift| {
        let steps = size - (u64::from(shift) << STEP_BITS);
        let low = steps.checked_mul(1_u64.checked_shl(shift)?)?;
        i64::try_from(low + (1_u64 << (shift - 1))).ok()
    });
    number.unwrap_or(i64::MAX).saturating_mul(code.signum())
}

pub fn write(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Negative numbers close to 0 are short too.
pub const fn folded(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

pub const fn unfolded(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// Bytes that are read from their beginning.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(first)
    }

    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if part.leading_zeros() < shift {
                return None;
            }
            number |= part << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A number that must be less than a limit.
    pub fn below(&mut self, limit: u64) -> Option<u64> {
        self.number().filter(|number| *number < limit)
    }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rounding_is_within_a_percent_and_happens_once(number in -(1_i64 << 62)..1_i64 << 62) {
            let back = unrounded(rounded(number));
            let off = (i128::from(back) - i128::from(number)).unsigned_abs();
            prop_assert!(off * 100 <= u128::from(number.unsigned_abs()), "{number} became {back}");
            prop_assert_eq!(rounded(back), rounded(number));
        }

        #[test]
        fn small_numbers_are_exact(number in -127_i64..128) {
            prop_assert_eq!(unrounded(rounded(number)), number);
        }

        #[test]
        fn codes_keep_the_order(one in any::<i32>(), other in any::<i32>()) {
            let (one, other) = (i64::from(one), i64::from(other));
            prop_assert!((one <= other) <= (rounded(one) <= rounded(other)));
        }

        #[test]
        fn numbers_are_read_as_they_were_written(numbers in proptest::collection::vec(any::<i64>(), 0..20)) {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|number| write(&mut bytes, folded(*number)));
            let mut reader = Reader(&bytes);
            for number in numbers {
                prop_assert_eq!(reader.number().map(unfolded), Some(number));
            }
            prop_assert_eq!(reader.number(), None);
        }

        #[test]
        fn any_code_is_some_number(code in any::<i64>()) {
            unrounded(code);
        }
    }
}
