//! Close codes: each number is one code, and its range says whether to come back.

use std::collections::BTreeSet;

use greendot_protocol::{CloseCode, Retry};

#[test]
fn each_code_has_its_own_number_and_name() {
    let numbers: BTreeSet<_> = CloseCode::ALL.iter().map(|it| it.number()).collect();
    let names: BTreeSet<_> = CloseCode::ALL.iter().map(|it| it.name()).collect();
    assert_eq!((numbers.len(), names.len()), (CloseCode::ALL.len(), CloseCode::ALL.len()));
    for code in CloseCode::ALL {
        assert_eq!(CloseCode::from_number(code.number()), Some(*code));
    }
    assert_eq!(CloseCode::from_number(1006), None);
}

#[test]
fn a_client_comes_back_after_what_is_not_its_fault() {
    use CloseCode::{BadToken, CheckFailed, Drain, Ended, Full, Replaced, Revoked, TokenExpired};
    for code in [Ended, Drain, Full, TokenExpired, CheckFailed] {
        assert_eq!(code.retry(), Retry::Yes, "{}", code.name());
    }
    for code in [BadToken, Replaced, Revoked] {
        assert_eq!(code.retry(), Retry::No, "{}", code.name());
    }
    // Numbers that are not ours are a loss like any other; unknown ones that say stop are obeyed.
    assert_eq!([1000, 1006, 4399, 4500].map(CloseCode::retry_after), [Retry::Yes; 4]);
    assert_eq!([4400, 4499].map(CloseCode::retry_after), [Retry::No; 2]);
}
