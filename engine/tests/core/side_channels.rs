//! Side channels, one by one: each test plays one trick in two worlds. In one the secret user, sue, lives on behind her hiding; in the
//! other she is not there. What the onlooker, eve, is told must be the same, to the byte and to the millisecond.
//!
//! The words of the shared store take their time here, and so do the application's: else nobody would wait for either, and
//! whether somebody has to be waited for could not be seen.

use std::cell::Cell;
use std::rc::Rc;

use greendot_engine::core::{Fineness, Settings};
use greendot_engine::protocol::{Beat, ClientFrame, Mode, Span, WatchItem};

use crate::cluster::{Cluster, Line, Told};
use crate::rig::settings;

/// One way of the store's words, in ms.
const LAG: u64 = 7;

fn two_worlds(play: impl Fn(bool) -> Vec<Told>) {
    let (hidden, gone) = (play(true), play(false));
    assert!(hidden.len() > 1, "the onlooker is told something: {hidden:?}");
    let differs = (0..hidden.len().max(gone.len())).find(|&it| hidden.get(it) != gone.get(it));
    if let Some(at) = differs {
        panic!("hidden {:?}, gone {:?}", hidden.get(at), gone.get(at));
    }
}

fn shared(settings: Settings, nodes: usize) -> Cluster {
    let mut world = Cluster::new(settings, nodes, true);
    world.lag = LAG;
    // Before anybody comes, the nodes know that the store is there.
    world.pass(2_000);
    world
}

fn ticking() -> Settings {
    Settings { tick: Span::from_millis(20), ..settings() }
}

/// Over a shared store, whose words take their time, and with a node more; or one node that works alone.
fn cluster(settings: Settings, with_store: bool) -> Cluster {
    if with_store { shared(settings, 2) } else { Cluster::new(settings, 1, false) }
}

/// The application shows sue to nobody, and takes its time to say so.
fn shows_sue_to_nobody(world: &mut Cluster) {
    world.audience =
        Box::new(|_, user| Some(if user == "sue" { Fineness::Nothing } else { Fineness::Live }));
    world.thinks = 300;
}

/// Eve joins a room, beats, and polls what is in it.
fn look_into_the_nook(mut world: Cluster, eve: Line) -> Vec<Told> {
    world.listen(eve, "eve");
    world.say(eve, &join(4, "nook"));
    world.pass(1_000);
    world.say(eve, &beat());
    world.poll_rooms(0, "rooms", "eve", &["nook"]);
    world.pass(1_000);
    world.transcript
}

fn join(number: u32, room: &str) -> ClientFrame<'_> {
    ClientFrame::Join { number, room }
}

fn idle(yes: bool) -> ClientFrame<'static> {
    if yes { ClientFrame::Idle } else { ClientFrame::Active }
}

fn beat() -> ClientFrame<'static> {
    ClientFrame::Beat(Beat { number: 3, input_age_secs: None })
}

/// Eve has a second account, bo, and knows when that one does something. Were others told a tick after whoever was first, she would be told
/// of bo sooner where somebody else had done something just before.
#[test]
fn when_one_is_told_does_not_depend_on_what_others_did_just_before() {
    for (nodes, with_store) in [(1, false), (2, true)] {
        for ahead in [1, 7, 13, 19] {
            two_worlds(|there| {
                let mut world = Cluster::new(ticking(), nodes, with_store);
                world.lag = if with_store { LAG } else { 0 };
                world.pass(2_000);
                let far = nodes - 1;
                world.block(0, "sue", "eve", true);
                let sue = world.connect(far, "sue", "1", false);
                let bo = world.connect(0, "bo", "1", false);
                let fan = world.connect(far, "fan", "1", true);
                world.watch(fan, 1, &[(1, "sue")]);
                let eve = world.connect(far, "eve", "1", true);
                world.listen(eve, "eve");
                world.watch(eve, 1, &[(1, "sue"), (2, "bo")]);
                for turn in 0..8 {
                    world.pass(503);
                    if there {
                        world.say(sue, &idle(turn % 2 == 0));
                    }
                    world.pass(ahead);
                    world.say(bo, &idle(turn % 2 == 0));
                }
                world.pass(1_000);
                world.transcript
            });
        }
    }
}

/// Sue hides from everybody, and her page looks at sue, as pages do. The node knows her therefore: that must not make it quicker
/// in telling others that she is offline.
#[test]
fn one_who_looks_at_herself_is_not_known_sooner_to_others() {
    two_worlds(|there| {
        let mut world = shared(ticking(), 1);
        world.set_mode(0, "sue", Mode::Invisible);
        if there {
            let sue = world.connect(0, "sue", "1", false);
            world.watch(sue, 1, &[(1, "sue")]);
        }
        world.pass(1_000);
        let eve = world.connect(0, "eve", "1", true);
        world.listen(eve, "eve");
        world.watch(eve, 1, &[(9, "cy")]);
        world.pass(1_000);
        world.watch(eve, 1, &[(1, "sue")]);
        world.pass(1_000);
        world.watch(eve, 2, &[(2, "nobody"), (1, "sue")]);
        world.pass(1_000);
        world.ask(0, "poll", "eve", &["sue"]);
        world.pass(1_000);
        world.transcript
    });
}

/// Into the room nobody looks but sue, who hides from everybody; or nobody at all.
#[test]
fn a_room_into_which_one_who_hides_looks_is_not_known_sooner() {
    two_worlds(|there| {
        let mut world = shared(ticking(), 1);
        world.set_mode(0, "sue", Mode::Invisible);
        if there {
            let sue = world.connect(0, "sue", "1", false);
            world.say(sue, &join(1, "nook"));
        }
        world.pass(1_000);
        let eve = world.connect(0, "eve", "1", false);
        world.listen(eve, "eve");
        world.watch(eve, 1, &[(9, "cy")]);
        world.pass(1_000);
        world.say(eve, &join(4, "nook"));
        world.pass(1_000);
        world.say(eve, &ClientFrame::Leave { number: 4 });
        world.pass(1_000);
        world.say(eve, &join(5, "nook"));
        world.pass(1_000);
        world.poll_rooms(0, "rooms", "eve", &["nook"]);
        world.pass(1_000);
        world.transcript
    });
}

/// In the room is sue, who hides from eve and is at another node; or nobody.
#[test]
fn a_member_who_hides_from_one_is_not_waited_for_when_a_room_is_told() {
    for bo_is_there in [None, Some(0), Some(1)] {
        two_worlds(|there| {
            let mut world = shared(ticking(), 2);
            world.block(0, "sue", "eve", true);
            if there {
                let sue = world.connect(1, "sue", "1", false);
                world.say(sue, &join(1, "nook"));
            }
            let eve = world.connect(0, "eve", "1", false);
            world.watch(eve, 9, &[(9, "bo")]);
            // She is in a room already: of her nothing is to be asked.
            world.say(eve, &join(7, "hall"));
            if let Some(node) = bo_is_there {
                let bo = world.connect(node, "bo", "1", false);
                world.say(bo, &join(1, "nook"));
            }
            world.pass(1_000);
            look_into_the_nook(world, eve)
        });
    }
}

/// In the room is sue, whom the application does not show to eve and about whom it has not been asked yet; or nobody.
#[test]
fn the_application_is_not_waited_for_when_a_room_is_told() {
    for (with_store, bo_is_there) in [(false, false), (false, true), (true, false), (true, true)] {
        two_worlds(|there| {
            let asks = Settings { audience: Some(Default::default()), ..ticking() };
            let mut world = cluster(asks, with_store);
            let far = world.nodes.len() - 1;
            shows_sue_to_nobody(&mut world);
            if there {
                let sue = world.connect(far, "sue", "1", false);
                world.say(sue, &join(1, "nook"));
            }
            let eve = world.connect(0, "eve", "1", false);
            world.watch(eve, 9, &[(9, "bo")]);
            if bo_is_there {
                let bo = world.connect(0, "bo", "1", false);
                world.say(bo, &join(1, "nook"));
            }
            world.pass(1_000);
            look_into_the_nook(world, eve)
        });
    }
}

/// What the application said of sue as a member of a room is not known sooner when eve asks for her by name.
#[test]
fn what_was_asked_for_a_room_is_asked_again_for_a_name() {
    two_worlds(|there| {
        let asks = Settings { audience: Some(Default::default()), ..ticking() };
        let mut world = Cluster::new(asks, 1, false);
        shows_sue_to_nobody(&mut world);
        if there {
            let sue = world.connect(0, "sue", "1", false);
            world.say(sue, &join(1, "nook"));
        }
        let eve = world.connect(0, "eve", "1", false);
        world.say(eve, &join(4, "nook"));
        world.pass(100);
        world.listen(eve, "eve");
        // The question for the room is under way, and later its answer is there.
        world.watch(eve, 10, &[(10, "sue")]);
        world.pass(1_000);
        world.say(eve, &ClientFrame::Unwatch { numbers: vec![10] });
        world.pass(70_000);
        world.ask(0, "poll", "eve", &["sue", "bo"]);
        world.pass(1_000);
        world.transcript
    });
}

/// While the store is away, a node goes by what it knows. It knows sue, who hides, by her own page, or from a room in which she is with bo.
#[test]
fn an_outage_does_not_tell_of_whom_a_node_knows() {
    for hides in ["from all", "from eve"] {
        two_worlds(|there| {
            let mut world = shared(ticking(), 1);
            match hides {
                "from all" => world.set_mode(0, "sue", Mode::Invisible),
                _ => world.block(0, "sue", "eve", true),
            }
            let bo = world.connect(0, "bo", "1", false);
            world.say(bo, &join(1, "page"));
            if there {
                let sue = world.connect(0, "sue", "1", false);
                world.watch(sue, 1, &[(1, "sue")]);
                world.say(sue, &join(1, "page"));
            }
            // Her mode and her block are known here.
            let before = world.connect(0, "eve", "before", true);
            world.watch(before, 1, &[(1, "cy")]);
            world.pass(1_000);
            world.outage = true;
            world.pass(6_000);
            let eve = world.connect(0, "eve", "1", true);
            world.listen(eve, "eve");
            world.pass(1_000);
            world.watch(eve, 1, &[(1, "sue"), (2, "nobody")]);
            world.pass(1_000);
            world.say(eve, &join(4, "page"));
            world.ask(0, "poll", "eve", &["sue", "nobody"]);
            world.pass(1_000);
            world.poll_rooms(0, "rooms", "eve", &["page"]);
            world.pass(1_000);
            world.outage = false;
            world.pass(10_000);
            world.say(eve, &beat());
            world.transcript
        });
    }
}

/// Eve reads nothing, and asks until as much waits for her as may. Changes of sue, who hides from her, must not be part of that.
#[test]
fn what_waits_for_a_slow_reader_does_not_count_what_it_may_not_see() {
    two_worlds(|there| {
        let mut world = Cluster::new(ticking(), 1, false);
        world.block(0, "sue", "eve", true);
        let sue = world.connect(0, "sue", "1", false);
        let eve = world.connect(0, "eve", "1", true);
        world.watch(eve, 1, &[(0, "sue"), (1, "bo")]);
        world.listen(eve, "eve");
        world.pass(1_000);
        world.stall(eve, true);
        if there {
            world.say(sue, &ClientFrame::Idle);
        }
        world.pass(100);
        // 16,000 watches are the most that may wait.
        for request in 0..16 {
            let names: Vec<_> = (0..998).map(|it| format!("x{it}")).collect();
            let users = (2..).zip(&names).map(|(number, user)| WatchItem { number, user });
            world.say(eve, &ClientFrame::Watch { request: request + 2, users: users.collect() });
        }
        for request in 0..32 {
            world.say(
                eve,
                &ClientFrame::Watch {
                    request: request + 100,
                    users: vec![WatchItem { number: 2, user: "x0" }],
                },
            );
        }
        world.stall(eve, false);
        world.pass(1_000);
        world.transcript
    });
}

/// Eve hides from everybody and sees nobody for it, and shows herself again, again and again.
#[test]
fn hiding_oneself_and_coming_back_tells_nothing_of_others() {
    for hides in ["from all", "from eve", "by the application"] {
        for with_store in [false, true] {
            two_worlds(|there| {
                let rule = (hides == "by the application").then(Default::default);
                let asks = Settings { reciprocal: true, audience: rule, ..ticking() };
                let mut world = cluster(asks, with_store);
                let far = world.nodes.len() - 1;
                world.audience = Box::new(|viewer, user| {
                    Some(if (viewer, user) == ("eve", "sue") {
                        Fineness::Nothing
                    } else {
                        Fineness::Live
                    })
                });
                match hides {
                    "from all" => world.set_mode(0, "sue", Mode::Invisible),
                    "from eve" => world.block(0, "sue", "eve", true),
                    _ => {}
                }
                let bo = world.connect(far, "bo", "1", false);
                world.say(bo, &join(1, "page"));
                let sue = there.then(|| {
                    let sue = world.connect(far, "sue", "1", false);
                    world.say(sue, &join(1, "page"));
                    sue
                });
                let eve = world.connect(0, "eve", "1", true);
                world.listen(eve, "eve");
                world.watch(eve, 1, &[(1, "sue"), (2, "bo")]);
                world.say(eve, &join(1, "page"));
                for turn in 0..6 {
                    world.pass(701);
                    let hidden = turn % 2 == 0;
                    world.say(
                        eve,
                        &ClientFrame::Mode(if hidden { Mode::Invisible } else { Mode::Auto }),
                    );
                    world.pass(301);
                    if let Some(sue) = sue {
                        world.say(sue, &idle(hidden));
                    }
                    world.ask(0, "poll", "eve", &["sue", "bo"]);
                }
                world.pass(1_000);
                world.transcript
            });
        }
    }
}

/// Whoever hid and shows itself again looks like one who left and comes back: whatever it did meanwhile, and how much.
#[test]
fn one_who_shows_itself_again_has_come_back() {
    for hides in ["from all", "from eve"] {
        for (with_store, reconnects) in [(false, false), (false, true), (true, false), (true, true)]
        {
            two_worlds(|there| {
                let mut world = cluster(ticking(), with_store);
                let far = world.nodes.len() - 1;
                let mut sue = world.connect(far, "sue", "1", false);
                let mut eve = world.connect(0, "eve", "1", true);
                world.listen(eve, "eve");
                world.watch(eve, 1, &[(1, "sue")]);
                for turn in 0..3 {
                    world.pass(2_000);
                    let hide = |world: &mut Cluster, on: bool| match hides {
                        "from all" => world.set_mode(
                            far,
                            "sue",
                            if on { Mode::Invisible } else { Mode::Auto },
                        ),
                        _ => world.block(far, "sue", "eve", on),
                    };
                    if there {
                        hide(&mut world, true);
                        for _ in 0..=turn {
                            world.pass(300);
                            world.say(sue, &ClientFrame::Note("at lunch"));
                            world.pass(300);
                            world.say(sue, &ClientFrame::Note(""));
                        }
                        world.pass(600 * (2 - turn));
                    } else {
                        world.say(sue, &ClientFrame::Bye);
                        world.pass(1_800);
                    }
                    if reconnects {
                        world.hang_up(eve);
                        world.pass(100);
                        eve = world.connect(0, "eve", "1", true);
                        world.listen(eve, "eve");
                        world.watch(eve, 1, &[(1, "sue")]);
                    }
                    world.pass(500);
                    if there {
                        hide(&mut world, false);
                    } else {
                        sue = world.connect(far, "sue", "1", false);
                    }
                    world.pass(500);
                    world.ask(0, "poll", "eve", &["sue"]);
                }
                world.pass(1_000);
                world.transcript
            });
        }
    }
}

/// A node that has lost everything cannot say who is there, until it must have heard of all who are.
#[test]
fn after_a_loss_one_who_hides_is_like_one_never_heard_of() {
    for hides in ["from all", "from eve", "by the application"] {
        for with_store in [false, true] {
            two_worlds(|there| {
                let rule = (hides == "by the application").then(Default::default);
                let asks = Settings { audience: rule, ..ticking() };
                let mut world =
                    Cluster::after_loss(asks, if with_store { 2 } else { 1 }, with_store);
                world.lag = if with_store { LAG } else { 0 };
                let lid = Rc::new(Cell::new(Fineness::Nothing));
                world.audience = Box::new(move |_, user| {
                    Some(if user == "sue" { lid.get() } else { Fineness::Live })
                });
                world.pass(1_500);
                match hides {
                    "from all" => world.set_mode(0, "sue", Mode::Invisible),
                    "from eve" => world.block(0, "sue", "eve", true),
                    _ => {}
                }
                if there {
                    let sue = world.connect(0, "sue", "1", false);
                    world.say(sue, &join(1, "page"));
                }
                let bo = world.connect(0, "bo", "1", false);
                world.say(bo, &join(1, "page"));
                let eve = world.connect(0, "eve", "1", true);
                world.listen(eve, "eve");
                world.watch(eve, 1, &[(1, "sue"), (2, "bo"), (3, "nobody")]);
                world.say(eve, &join(1, "page"));
                for _ in 0..9 {
                    world.pass(5_000);
                    world.ask(0, "poll", "eve", &["sue", "bo", "nobody"]);
                    world.say(eve, &beat());
                    world.say(bo, &beat());
                }
                world.transcript
            });
        }
    }
}
