//! Signs of life: when the client says something only to be heard, and what silence means.
//!
//! A beat is due when for a beat interval nothing was sent *or* nothing was heard, up to a fifth
//! of the interval earlier; the first one of a connection is spread over the whole interval. Each
//! beat is a question: an answer that takes longer than [`ANSWER`] means a dead link.

use greendot_protocol::{Span, Time};

use super::rng::Rng;

/// How long the answer to a beat may take.
pub(super) const ANSWER: Span = Span::from_secs(5);

/// A timer that fires later than this says that the machine or the page stood still, or that the
/// browser holds timers back. Busy pages are late by less.
pub(super) const LATE: Span = Span::from_secs(2);

/// The beats of one connection, from its welcome on.
#[derive(Clone, Debug)]
pub(super) struct Heart {
    beat: Span,
    /// The beat interval less this beat's jitter.
    gap: Span,
    sent: Time,
    heard: Time,
    number: u8,
    question: Option<Question>,
}

#[derive(Clone, Copy, Debug)]
struct Question {
    number: u8,
    asked: Time,
    /// When the first of the questions was asked that this one stands in for, or anything was heard
    /// last since.
    since: Time,
    /// Asked a second time because a timer was late; there is no third.
    again: bool,
}

/// What an answer was worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// In time: the link is good.
    Good,
    /// To the open question, but too late to prove anything: it may have waited through a sleep.
    Late,
    /// To no open question.
    Old,
}

/// What to do about a question whose time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The timer itself was late, so the answer may be waiting unread: ask once more.
    AskAgain,
    /// The link is dead, and has been since the time given: neither the answer nor anything else
    /// was heard.
    Dead(Time),
}

impl Heart {
    /// The connection was welcomed.
    pub(super) fn new(now: Time, beat: Span, rng: &mut Rng) -> Self {
        // A peer's word, so it is kept within sense: never a busy loop, never never.
        let beat = beat.clamp(Span::from_millis(100), Span::from_secs(24 * 3600));
        let gap = rng.up_to(beat);
        Self { beat, gap, sent: now, heard: now, number: 0, question: None }
    }

    pub(super) fn beat(&self) -> Span {
        self.beat
    }

    pub(super) fn heard_at(&self) -> Time {
        self.heard
    }

    pub(super) fn has_asked(&self) -> bool {
        self.question.is_some()
    }

    /// Since when a question is open; one that is given up for another counts on.
    pub(super) fn asked_since(&self) -> Option<Time> {
        self.question.map(|it| it.since)
    }

    /// When the next beat is due, if no question is open.
    pub(super) fn due(&self) -> Time {
        self.sent.min(self.heard) + self.gap
    }

    /// A frame was sent.
    pub(super) fn sent(&mut self, now: Time) {
        self.sent = now;
    }

    /// A frame was heard.
    pub(super) fn heard(&mut self, now: Time) {
        self.heard = now;
        if let Some(question) = &mut self.question {
            question.since = now;
        }
    }

    /// The page has stood still for so long: no answer is late for that.
    pub(super) fn was_still(&mut self, still: Span) {
        if let Some(question) = &mut self.question {
            question.since = question.since + still;
        }
    }

    /// Asks now; the beat's number is returned. An open question is given up for the new one.
    pub(super) fn ask(&mut self, now: Time, rng: &mut Rng) -> u8 {
        self.gap = self.beat - rng.up_to(self.beat.fraction(1, 5));
        self.number = self.number.wrapping_add(1);
        let since = self.question.map_or(now, |it| it.since);
        self.question = Some(Question { number: self.number, asked: now, since, again: false });
        self.number
    }

    /// As [`Heart::ask`], because of a late timer: an open question gets one more round and no
    /// third, or a page whose timers are always late would never notice a dead link. None if the
    /// second round is under way already.
    pub(super) fn ask_again(&mut self, now: Time, rng: &mut Rng) -> Option<u8> {
        let again = self.question.is_some();
        if self.question.is_some_and(|it| it.again) {
            return None;
        }
        let number = self.ask(now, rng);
        if let Some(question) = &mut self.question {
            question.again = again;
        }
        Some(number)
    }

    /// An answer has arrived.
    pub(super) fn answered(&mut self, now: Time, number: u8) -> Answer {
        match self.question {
            Some(it) if it.number == number => {
                if now > it.asked + ANSWER {
                    return Answer::Late;
                }
                self.question = None;
                Answer::Good
            }
            _ => Answer::Old,
        }
    }

    /// The time for the open question's answer is over.
    pub(super) fn unanswered(&self, now: Time) -> Verdict {
        match self.question {
            Some(it) if it.again || now <= it.asked + ANSWER + LATE => Verdict::Dead(it.since),
            _ => Verdict::AskAgain,
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use proptest::{prop_assert, proptest};

    use super::*;

    const BEAT: Span = Span::from_secs(10);

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    /// A heart past its first beat, which was asked and answered at `now`.
    fn beating(now: Time, seed: u64) -> (Heart, Rng) {
        let mut rng = Rng::new(seed);
        let mut heart = Heart::new(now, BEAT, &mut rng);
        let number = heart.ask(now, &mut rng);
        heart.sent(now);
        heart.heard(now);
        assert_eq!(heart.answered(now, number), Answer::Good);
        (heart, rng)
    }

    proptest! {
        #[test]
        fn a_beat_is_never_later_than_the_interval_after_the_longer_silence(
            seed: u64, millis in 100u64..86_400_000, beats in 1..5, sent in 0u64..60_000, heard in 0u64..60_000,
        ) {
            let (beat, mut rng) = (Span::from_millis(millis), Rng::new(seed));
            let mut heart = Heart::new(Time::ZERO, beat, &mut rng);
            for _ in 0..beats {
                heart.ask(Time::ZERO, &mut rng);
            }
            heart.sent(at(sent));
            heart.heard(at(heard));
            let due = heart.due();
            let silent_since = at(sent.min(heard));
            prop_assert!(due <= silent_since + beat);
            prop_assert!(due >= silent_since + (beat - beat.fraction(1, 5)));
        }

        #[test]
        fn the_first_beat_comes_within_one_interval(
            seed: u64, millis in 100u64..86_400_000, start in 0u64..1_000_000,
        ) {
            let (beat, mut rng) = (Span::from_millis(millis), Rng::new(seed));
            let heart = Heart::new(at(start), beat, &mut rng);
            let due = heart.due();
            prop_assert!(at(start) <= due && due <= at(start) + beat);
        }
    }

    #[test]
    fn first_beats_are_spread_over_the_whole_interval() {
        let mut secs = [0u32; 10];
        for seed in 0..20_000 {
            let heart = Heart::new(Time::ZERO, BEAT, &mut Rng::new(seed));
            secs[heart.due().as_millis().min(9_999) as usize / 1_000] += 1;
        }
        assert!(secs.iter().all(|count| (1_800..2_200).contains(count)), "{secs:?}");
    }

    #[test]
    fn later_beats_are_spread_over_the_last_fifth_of_the_interval() {
        // Even over 8 to 10 s: of 20,000 a quarter's count strays from 5,000 by 61 (one standard deviation); five are allowed.
        let mut quarters = [0u32; 4];
        for seed in 0..20_000 {
            let (heart, _) = beating(Time::ZERO, seed);
            quarters[((heart.due().as_millis() - 8_000) * 4 / 2_001) as usize] += 1;
        }
        assert!(quarters.iter().all(|it| it.abs_diff(5_000) < 306), "{quarters:?}");
    }

    #[test]
    fn an_answer_with_another_number_proves_nothing() {
        let (mut heart, mut rng) = beating(Time::ZERO, 1);
        let old = heart.ask(at(10_000), &mut rng);
        let new = heart.ask(at(11_000), &mut rng);
        assert_eq!(heart.answered(at(11_100), old), Answer::Old);
        assert_eq!(heart.answered(at(11_100), new), Answer::Good);
    }

    #[test]
    fn an_answer_is_late_after_5_s_and_not_before() {
        let (mut heart, mut rng) = beating(Time::ZERO, 1);
        let number = heart.ask(at(10_000), &mut rng);
        assert_eq!(heart.answered(at(15_001), number), Answer::Late);
        assert_eq!(heart.answered(at(15_000), number), Answer::Good);
    }

    #[test]
    fn a_timer_in_time_means_dead_and_a_late_one_asks_once_more() {
        let (mut heart, mut rng) = beating(Time::ZERO, 1);
        heart.ask(at(10_000), &mut rng);
        assert_eq!(heart.unanswered(at(15_000)), Verdict::Dead(at(10_000)));
        assert_eq!(heart.unanswered(at(60_000)), Verdict::AskAgain);
        assert!(heart.ask_again(at(60_000), &mut rng).is_some());
        // Cut off since the first question that stayed open.
        assert_eq!(heart.unanswered(at(120_000)), Verdict::Dead(at(10_000)));
        assert_eq!(heart.ask_again(at(120_000), &mut rng), None);
    }

    #[test]
    fn a_senseless_interval_is_brought_within_bounds() {
        let mut rng = Rng::new(1);
        assert_eq!(Heart::new(Time::ZERO, Span::ZERO, &mut rng).beat(), Span::from_millis(100));
        let never = Span::from_millis(u64::MAX);
        assert_eq!(Heart::new(Time::ZERO, never, &mut rng).beat(), Span::from_secs(86_400));
    }
}
