//! Invisible is gone: whatever an onlooker tries, it is told the same, to the byte and to the moment,
//! of one who hides from it as of one who left, or who never was there (rule 13).
//!
//! Each trial plays one script twice. In one world the secret user goes on living behind its
//! hiding; in the other it has said bye at that moment, or never comes. A distinguisher has all that the
//! onlooker was told: frames with their bytes, their order and number, the answers to polls and lists,
//! and the time of each. Where both transcripts are equal, none is better than chance.

use std::cell::Cell;
use std::rc::Rc;

use greendot_engine::core::{Fineness, Settings};
use greendot_engine::protocol::{ClientFrame, Mode, Span};

use crate::cluster::{Cluster, Line, Told};
use crate::rig::settings;

/// How the secret user hides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hiding {
    Invisible,
    Blocked,
    Forbidden,
    /// The onlooker itself hides, and reciprocity costs it the sight of others.
    Reciprocal,
}

/// From when on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    /// Before it ever came.
    Ever,
    /// While it was there.
    Now,
}

/// Numbers that look random and are the same in both worlds.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

struct Trial {
    hiding: Hiding,
    since: Since,
    shared: bool,
    tick: u64,
    crowd: bool,
    /// How many members of a room are told by name, and how many are there beside bo: so the secret user makes
    /// the room too large, or would.
    room: (usize, u64),
    /// How long the application takes to answer, in ms.
    thinks: u64,
    seed: u64,
}

impl Trial {
    /// What the onlooker is told; `there`: the secret user lives on behind its hiding.
    fn play(&self, there: bool) -> Vec<Told> {
        let settings = Settings {
            tick: Span::from_millis(self.tick),
            reciprocal: self.hiding == Hiding::Reciprocal,
            crowd_limit: if self.crowd { 3 } else { 5_000 },
            room_limit: self.room.0,
            audience: (self.hiding == Hiding::Forbidden).then(Default::default),
            ..settings()
        };
        let mut world = Cluster::new(settings, if self.shared { 2 } else { 1 }, self.shared);
        let forbidden = Rc::new(Cell::new(self.since == Since::Ever && there));
        let lid = Rc::clone(&forbidden);
        world.audience = Box::new(move |viewer, user| {
            let hidden = viewer == "eve" && user == "sue" && lid.get();
            Some(if hidden { Fineness::Nothing } else { Fineness::Live })
        });
        world.thinks = self.thinks;
        let far = world.nodes.len() - 1;
        let mut dice = Dice(self.seed);
        let mut secret = Dice(self.seed ^ 0x5eed);
        let bo = world.connect(0, "bo", "1", false);
        world.say(bo, &ClientFrame::Join { number: 1, room: "page" });
        let mut guests = Vec::new();
        for index in 0..4 {
            let fan = world.connect(far, &format!("fan{index}"), "1", true);
            world.watch(fan, 1, &[(1, "sue")]);
        }
        for index in 0..self.room.1 {
            let guest = world.connect(0, &format!("guest{index}"), "1", false);
            world.say(guest, &ClientFrame::Join { number: 1, room: "page" });
            guests.push(guest);
        }
        if self.since == Since::Ever && there {
            self.hide(&mut world, &forbidden);
        }
        let mut sue = Vec::new();
        if there || self.since == Since::Now {
            sue.push(world.connect(0, "sue", "1", false));
            if self.since == Since::Ever {
                // One bye is one change; two of them may be two.
                sue.push(world.connect(far, "sue", "2", false));
            }
            world.say(sue[0], &ClientFrame::Join { number: 1, room: "page" });
        }
        let reciprocal_ever = self.hiding == Hiding::Reciprocal && self.since == Since::Ever;
        if reciprocal_ever {
            // The onlooker hides in both worlds: that is what it does, and no secret.
            world.set_mode(0, "eve", Mode::Invisible);
        }
        let mut eve = self.arrive(&mut world, far, 0);
        let mut turns = 0;
        if self.since == Since::Now {
            for _ in 0..3 {
                world.pass(500 + dice.roll(3_000));
                self.pry(&mut world, &mut dice, &mut eve, far, &mut turns);
                live(&mut world, &mut secret, &sue);
            }
            world.pass(1_000);
            // Whatever of her flips is still on its way to a crowd has come.
            if self.crowd {
                world.pass(25_000);
            }
            // Until the application has answered nothing newer is told: it is then that she is gone.
            let thinks = if self.hiding == Hiding::Forbidden { self.thinks } else { 0 };
            if there {
                self.hide(&mut world, &forbidden);
                world.pass(thinks);
            } else {
                world.pass(thinks);
                for line in sue.drain(..).rev() {
                    world.say(line, &ClientFrame::Bye);
                }
            }
        }
        for _ in 0..8 {
            world.pass(200 + dice.roll(4_000));
            self.pry(&mut world, &mut dice, &mut eve, far, &mut turns);
            if there {
                for _ in 0..1 + secret.roll(3) {
                    live(&mut world, &mut secret, &sue);
                }
            }
            // Others come and go soon after: when that is told must not depend on what she did.
            world.pass(dice.roll(1_200));
            live(&mut world, &mut dice, &guests);
        }
        world.pass(30_000);
        world.transcript
    }

    fn hide(&self, world: &mut Cluster, forbidden: &Cell<bool>) {
        match self.hiding {
            Hiding::Invisible => world.set_mode(0, "sue", Mode::Invisible),
            Hiding::Blocked => world.block(0, "sue", "eve", true),
            Hiding::Forbidden => {
                forbidden.set(true);
                world.audience_changed(0, "sue", "eve");
            }
            Hiding::Reciprocal => {}
        }
    }

    /// The onlooker opens a connection, watches, and looks into the room.
    fn arrive(&self, world: &mut Cluster, node: usize, turns: u32) -> Line {
        let line = world.connect(node, "eve", "e", true);
        world.listen(line, &format!("eve{turns}"));
        world.watch(line, 1, &[(1, "sue"), (2, "bo"), (3, "nobody"), (4, "sue")]);
        world.say(line, &ClientFrame::Join { number: 1, room: "page" });
        line
    }

    /// All that the protocol offers to find out.
    fn pry(
        &self,
        world: &mut Cluster,
        dice: &mut Dice,
        eve: &mut Line,
        node: usize,
        turns: &mut u32,
    ) {
        *turns += 1;
        let name = format!("poll{}", *turns % 3);
        // What only the application knows is not remembered over connections: one who lost sight
        // is shown as never seen there, which is no secret of where the user is.
        let remembered =
            self.since == Since::Ever || matches!(self.hiding, Hiding::Invisible | Hiding::Blocked);
        match dice.roll(9) {
            0 if remembered => world.ask(node, &name, "eve", &["sue", "bo", "nobody"]),
            1 if remembered => {
                world.hang_up(*eve);
                world.pass(300);
                *eve = self.arrive(world, node, *turns);
            }
            2 if remembered => {
                world.say(*eve, &ClientFrame::Unwatch { numbers: vec![1] });
                world.watch(*eve, *turns + 10, &[(1, "sue")]);
            }
            3 => world.list(node, "list", "eve"),
            4 => world.say(*eve, &ClientFrame::Join { number: 1, room: "page" }),
            5 => {
                world.say(*eve, &ClientFrame::Leave { number: 1 });
                world.say(*eve, &ClientFrame::Join { number: 7, room: "page" });
                world.say(*eve, &ClientFrame::Join { number: 1, room: "page" });
            }
            6 => world.watch(*eve, *turns + 40, &[(9, "bo")]),
            // In the crowd's trials as many look at each other as make a crowd, and one more would show.
            7 if !self.crowd => world.poll_rooms(node, "rooms", "eve", &["page", "empty"]),
            _ => world.say(*eve, &ClientFrame::Beat(Default::default())),
        }
    }
}

/// The secret user does something that others would be told of.
fn live(world: &mut Cluster, dice: &mut Dice, sue: &[Line]) {
    if sue.is_empty() {
        return;
    }
    let line = sue[dice.roll(sue.len() as u64) as usize];
    match dice.roll(7) {
        0 => world.say(line, &ClientFrame::Idle),
        1 => world.say(line, &ClientFrame::Active),
        2 => world.say(line, &ClientFrame::Note("at lunch")),
        3 => world.say(line, &ClientFrame::Note("")),
        4 => world.say(line, &ClientFrame::Join { number: 1, room: "page" }),
        5 => world.say(line, &ClientFrame::Leave { number: 1 }),
        _ => world.say(line, &ClientFrame::Beat(Default::default())),
    }
}

fn trials(hiding: Hiding, since: Since, many: u64) {
    for seed in 0..many {
        let trial = Trial {
            hiding,
            since,
            shared: seed % 2 == 1,
            tick: if seed % 3 == 0 { 20 } else { 0 },
            crowd: seed % 5 == 0,
            room: if seed % 4 < 2 && seed % 5 != 0 { (3, seed / 4 % 4) } else { (50, 0) },
            // A crowd's trials are long: a question of before would be under way at some of them.
            thinks: if seed % 7 == 3 && seed % 5 != 0 { 700 } else { 0 },
            seed,
        };
        let (hidden, gone) = (trial.play(true), trial.play(false));
        assert!(hidden.len() > 3, "the onlooker is told something");
        if let Some(at) =
            (0..hidden.len().max(gone.len())).find(|&it| hidden.get(it) != gone.get(it))
        {
            panic!(
                "{hiding:?} since {since:?}, seed {seed}: hidden {:?}, gone {:?}",
                hidden.get(at),
                gone.get(at)
            );
        }
    }
}

#[test]
fn one_who_was_invisible_before_it_came_never_came() {
    trials(Hiding::Invisible, Since::Ever, 400);
}

#[test]
fn one_who_shut_the_onlooker_out_before_it_came_never_came() {
    trials(Hiding::Blocked, Since::Ever, 400);
}

#[test]
fn one_whom_the_application_does_not_show_never_came() {
    trials(Hiding::Forbidden, Since::Ever, 400);
}

#[test]
fn whoever_hides_itself_sees_nobody_come_with_reciprocity() {
    trials(Hiding::Reciprocal, Since::Ever, 200);
}

#[test]
fn one_who_becomes_invisible_has_said_bye() {
    trials(Hiding::Invisible, Since::Now, 400);
}

#[test]
fn one_who_shuts_the_onlooker_out_has_said_bye() {
    trials(Hiding::Blocked, Since::Now, 400);
}

#[test]
fn one_whom_the_application_shows_no_more_has_said_bye() {
    trials(Hiding::Forbidden, Since::Now, 400);
}
