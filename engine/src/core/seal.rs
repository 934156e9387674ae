//! The number of a choice of mode, as clients are told it: good for the user it was told to, and for nobody else.
//!
//! A page keeps its user's mode with that number over a reload, and repeats both in its hello (rule 5), where it cannot know
//! yet whose token it has been given. To the next account in the same tab the number means nothing. Clients give it back
//! as it came.

use greendot_protocol::Revision;

/// How many bits count; the others stand for the user. A million choices of one user, in one epoch of the store, is
/// more than anybody makes.
const COUNT: u32 = 20;

const MOST: u32 = (1 << COUNT) - 1;

/// The number as the user's clients are told it. That nothing was ever chosen is the same for all.
pub fn seal(user: &str, revision: Revision) -> Revision {
    if revision.0 == 0 {
        return revision;
    }
    Revision(mark(user) << COUNT | revision.0.min(MOST))
}

/// The number that a client repeats; none if it was told to another user.
pub fn unseal(user: &str, sealed: Revision) -> Option<Revision> {
    let is_own = sealed.0 == 0 || sealed.0 >> COUNT == mark(user);
    is_own.then_some(Revision(sealed.0 & MOST))
}

/// FNV-1a, folded. It keeps nothing secret, and need not: what a client says of its own user is believed anyway.
fn mark(user: &str) -> u32 {
    let hash = user
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash ^ hash << 12) >> COUNT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_good_for_its_user_alone() {
        for count in [1, 2, 1_000, MOST] {
            let sealed = seal("ana", Revision(count));
            assert_eq!(unseal("ana", sealed), Some(Revision(count)));
            assert_eq!(unseal("bo", sealed), None);
        }
        assert_eq!(unseal("ana", seal("ana", Revision(MOST + 5))), Some(Revision(MOST)));
    }

    #[test]
    fn nothing_chosen_is_the_same_for_all() {
        assert_eq!(seal("ana", Revision(0)), Revision(0));
        assert_eq!(unseal("bo", Revision(0)), Some(Revision(0)));
    }
}
