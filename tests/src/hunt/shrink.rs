//! Makes a failing world small while it still breaks the same promise.

use super::generate::quiet_after;
use super::oracle::{Complaint, Kind};
use super::{Plan, Played};
use crate::file::{FileSettings, Step, Verb};

/// A world is played at most so often to make it smaller.
const MOST_PLAYS: usize = 4_000;

/// A failing world that is being made smaller.
#[derive(Debug)]
struct Shrinker {
    plan: Plan,
    complaint: Complaint,
    plays: usize,
}

/// The smallest world found that breaks the same promise, with what the oracle says of it.
pub fn shrink(plan: &Plan, complaint: &Complaint) -> (Plan, Complaint) {
    let (plan, complaint) = (plan.clone(), complaint.clone());
    let mut shrinker = Shrinker { plan, complaint, plays: 0 };
    shrinker.cut_off();
    loop {
        let before = (shrinker.plan.scenario.steps.len(), shrinker.plays);
        let smaller = [
            shrinker.drop_steps(),
            shrinker.drop_names(),
            shrinker.plain_settings(),
            shrinker.simple_times(),
        ];
        if !smaller.contains(&true) || shrinker.plays >= MOST_PLAYS || shrinker.plays == before.1 {
            return (shrinker.plan, shrinker.complaint);
        }
    }
}

impl Shrinker {
    fn kind(&self) -> Kind {
        self.complaint.kind
    }

    /// Takes the candidate in place of the present world if it breaks the same promise.
    fn try_this(&mut self, mut candidate: Plan) -> bool {
        if self.plays >= MOST_PLAYS {
            return false;
        }
        // What is left must be a file that the runner takes: what ends a thing goes with what began it.
        while let Some((step, _)) = candidate.scenario.first_wrong_step() {
            candidate.scenario.steps.remove(step);
        }
        self.plays += 1;
        match candidate.play(false) {
            Ok(Played { complaint: Some(complaint), .. }) if complaint.kind == self.kind() => {
                self.plan = candidate;
                self.complaint = complaint;
                self.cut_off();
                true
            }
            _ => false,
        }
    }

    /// What comes after the complaint is of no interest.
    fn cut_off(&mut self) {
        let at = self.complaint.at;
        let scenario = &mut self.plan.scenario;
        if at < scenario.until {
            scenario.until = at;
            scenario.steps.retain(|it| it.at <= at);
        }
    }

    fn drop_steps(&mut self) -> bool {
        let mut any = false;
        let mut size = self.plan.scenario.steps.len().div_ceil(2).max(1);
        loop {
            let mut from = 0;
            while from < self.plan.scenario.steps.len() {
                let mut candidate = self.plan.clone();
                let to = (from + size).min(candidate.scenario.steps.len());
                candidate.scenario.steps.drain(from..to);
                if self.try_this(candidate) {
                    any = true;
                } else {
                    from += size;
                }
            }
            if size == 1 {
                return any;
            }
            size = size.div_ceil(2);
        }
    }

    /// Fewer users in each list, fewer nodes in each list and in all.
    fn drop_names(&mut self) -> bool {
        let mut any = false;
        for step in 0..self.plan.scenario.steps.len() {
            let mut at = 0;
            while let Some(step) = self.plan.scenario.steps.get(step)
                && at < lists(&step.verb)
            {
                let mut candidate = self.plan.clone();
                let index = self.plan.scenario.steps.iter().position(|it| std::ptr::eq(it, step));
                let verb = index.and_then(|it| candidate.scenario.steps.get_mut(it));
                if verb.is_some_and(|it| drop_name(&mut it.verb, at)) && self.try_this(candidate) {
                    any = true;
                } else {
                    at += 1;
                }
            }
        }
        while self.plan.scenario.nodes.len() > 2 {
            let mut candidate = self.plan.clone();
            candidate.scenario.nodes.pop();
            let nodes = &candidate.scenario.nodes;
            let named = candidate
                .scenario
                .steps
                .iter()
                .all(|it| it.nodes().iter().all(|it| nodes.contains(it)));
            if !(named && self.try_this(candidate)) {
                break;
            }
            any = true;
        }
        any
    }

    /// Settings as the format has them, where they need not be others.
    fn plain_settings(&mut self) -> bool {
        let kind = self.plan.scenario.kind;
        let plain = FileSettings::new(kind);
        let mut any = false;
        let changes: [fn(&mut Plan, &FileSettings); 12] = [
            |it, _| it.jitter = 0,
            |it, plain| it.scenario.settings.engine = plain.engine,
            |it, plain| it.scenario.settings.latency = plain.latency,
            |it, plain| it.scenario.settings.thin = plain.thin,
            |it, plain| it.scenario.settings.engine.tick = plain.engine.tick,
            |it, plain| it.scenario.settings.engine.room_limit = plain.engine.room_limit,
            |it, plain| it.scenario.settings.engine.expiry_grace = plain.engine.expiry_grace,
            |it, plain| it.scenario.settings.engine.idle_after = plain.engine.idle_after,
            |it, plain| it.scenario.settings.engine.warmup = plain.engine.warmup,
            |it, plain| it.scenario.settings.engine.sweep = plain.engine.sweep,
            |it, plain| it.scenario.settings.engine.grace = plain.engine.grace,
            |it, plain| {
                it.scenario.settings.engine.beat = plain.engine.beat;
                it.scenario.settings.engine.ttl = plain.engine.ttl;
            },
        ];
        for change in changes {
            let mut candidate = self.plan.clone();
            change(&mut candidate, &plain);
            let same = format!("{:?}", candidate.scenario.settings)
                == format!("{:?}", self.plan.scenario.settings)
                && candidate.jitter == self.plan.jitter;
            let fits = candidate.scenario.settings.engine.check().is_ok();
            if !same && fits {
                self.lengthen(&mut candidate);
                any |= self.try_this(candidate);
            }
        }
        any
    }

    /// A world whose periods or times were changed may complain later, or must be quiet for longer.
    fn lengthen(&self, candidate: &mut Plan) {
        let scenario = &mut candidate.scenario;
        let last = scenario.steps.last().map_or(0, |it| it.at);
        scenario.until = last + quiet_after(&scenario.settings);
    }

    /// Earlier and rounder times.
    fn simple_times(&mut self) -> bool {
        let mut any = false;
        for step in 0..self.plan.scenario.steps.len() {
            let gap = |steps: &[Step]| {
                let before = step.checked_sub(1).and_then(|it| steps.get(it)).map_or(0, |it| it.at);
                steps.get(step).map_or(0, |it| it.at - before)
            };
            let now = gap(&self.plan.scenario.steps);
            for wanted in [0, now / 1000 * 1000, now / 500 * 500, now / 2] {
                if wanted >= gap(&self.plan.scenario.steps) {
                    continue;
                }
                let sooner = gap(&self.plan.scenario.steps) - wanted;
                let mut candidate = self.plan.clone();
                for it in candidate.scenario.steps.iter_mut().skip(step) {
                    it.at -= sooner;
                    until_sooner(&mut it.verb, sooner);
                }
                self.lengthen(&mut candidate);
                if self.try_this(candidate) {
                    any = true;
                    break;
                }
            }
        }
        any
    }
}

/// What lasts until a time lasts as long as before.
fn until_sooner(verb: &mut Verb, sooner: u64) {
    match verb {
        Verb::Mute { until, .. }
        | Verb::LoseAnswers { until, .. }
        | Verb::Hold { until, .. }
        | Verb::Refuse { until, .. }
        | Verb::Input { until, .. } => *until = until.saturating_sub(sooner),
        _ => {}
    }
}

/// How many names a step's list holds.
fn lists(verb: &Verb) -> usize {
    match verb {
        Verb::Watch { users, .. }
        | Verb::Unwatch { users, .. }
        | Verb::AppWatch { users, .. }
        | Verb::AppUnwatch { users, .. } => users.len(),
        Verb::Open { nodes, .. } => nodes.len(),
        _ => 0,
    }
}

/// Takes a name out of a step's list, unless it is the last.
fn drop_name(verb: &mut Verb, at: usize) -> bool {
    match verb {
        Verb::Watch { users: names, .. }
        | Verb::Unwatch { users: names, .. }
        | Verb::AppWatch { users: names, .. }
        | Verb::AppUnwatch { users: names, .. }
        | Verb::Open { nodes: names, .. }
            if names.len() > 1 && at < names.len() =>
        {
            names.remove(at);
            true
        }
        _ => false,
    }
}
