//! Conditions in every form, and any text.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn comparisons(name in "[a-c_][a-c0-9_]{0,5}", text in "[a-z0-9.=!/ -]{0,9}", value in "[a-z0-9.]{0,3}", is_equal in any::<bool>(), space in " {0,2}") {
        let operator = if is_equal { "==" } else { "!=" };
        let Ok(condition) = Condition::parse(&format!("{name}{space}{operator}{space}'{text}'")) else {
            // A text with the other comparison in it could be read in two ways.
            assert!(text.contains("=="), "{text}");
            return Ok(());
        };
        assert_eq!((condition.name.as_str(), condition.compared()), (name.as_str(), Some(text.as_str())));
        assert!(condition.holds(&text) == is_equal && condition.holds(&value) == ((value == text) == is_equal));
    }

    #[test]
    fn a_name_and_its_opposite(name in "[a-c_][a-c0-9_]{0,5}", value in prop_oneof!["(true|false|0|1)?", any::<String>()]) {
        let (is, is_not) = (Condition::parse(&name).unwrap(), Condition::parse(&format!("not  {name}")).unwrap());
        assert_eq!(is.holds(&value), !is_not.holds(&value));
    }

    #[test]
    fn any_text_is_taken_or_refused(text in prop_oneof![any::<String>(), "(a|b|not|and|==|!=|'|\"| |\\{\\{){0,8}"]) {
        match Condition::parse(&text) {
            Ok(condition) => {
                assert!(is_name(&condition.name));
                assert_eq!(Condition::parse(&condition.text), Ok(condition));
            }
            Err(problem) => assert!(problem.len() < 400, "{problem}"),
        }
    }
}
