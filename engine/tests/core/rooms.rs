//! Rooms: who is told of whom, how often, and what becomes of that in an outage.

use greendot_engine::core::{ConnId, Settings, Start};
use greendot_engine::protocol::{Beat, ClientFrame, ServerFrame, State, binary};

use crate::cluster::Cluster;
use crate::rig::{Heard, Rig, settings};

fn join(number: u32, room: &str) -> ClientFrame<'_> {
    ClientFrame::Join { number, room }
}

#[test]
fn a_user_stands_in_a_roster_once_however_many_sessions_it_has_there() {
    let mut rig = Rig::new();
    let bo = rig.connect("bo", "1");
    rig.frame(bo, &join(1, "page"));
    rig.hear(bo);
    let ana = ["1", "2", "3"].map(|session| rig.connect("ana", session));
    rig.frame(ana[0], &join(1, "page"));
    assert_eq!(rig.hear(bo), [Heard::RoomEvents(1, vec![("ana".into(), State::Online)])]);
    rig.frame(ana[1], &join(1, "page"));
    assert_eq!(rig.hear(bo), []);
    assert_eq!(rig.node.roster("page").count, 2);
    // The last of them to leave takes her along; one that was never there does not.
    rig.frame(ana[0], &ClientFrame::Leave { number: 1 });
    rig.frame(ana[2], &ClientFrame::Bye);
    assert_eq!(rig.hear(bo), []);
    rig.frame(ana[1], &ClientFrame::Bye);
    assert_eq!(rig.hear(bo), [Heard::RoomEvents(1, vec![("ana".into(), State::Offline)])]);
}

#[test]
fn a_crowd_in_a_room_is_told_of_once_a_second_at_most_and_by_about_how_many() {
    let mut rig = Rig::with(Settings { room_limit: 10, ..settings() }, Start::Fresh);
    let eve = rig.connect("eve", "1");
    rig.frame(eve, &join(1, "page"));
    let enter = |rig: &mut Rig, user: usize| {
        let conn = rig.connect(&format!("u{user:03}"), "1");
        rig.frame(conn, &join(1, "page"));
        conn
    };
    let mut members: Vec<ConnId> = (0..90).map(|user| enter(&mut rig, user)).collect();
    rig.until(2.0);
    rig.hear(eve);
    let (mut last, mut told) = (None, 0);
    for tenth in 21..=320 {
        rig.until(f64::from(tenth) / 10.0);
        // Three come and two go, all the time.
        let number = members.len();
        members
            .extend((0..3).map(|it| enter(&mut rig, 100 + number + 1_000 * tenth as usize + it)));
        for _ in 0..2 {
            let gone = members.swap_remove(tenth as usize % members.len());
            rig.frame(gone, &ClientFrame::Bye);
        }
        if tenth % 90 == 0 {
            for conn in members.iter().copied().chain([eve]) {
                rig.beat(conn);
            }
        }
        for heard in rig.hear(eve) {
            let Heard::Crowd(1, count, sample) = heard else {
                assert_eq!(heard, Heard::BeatAnswer(1));
                continue;
            };
            let now = rig.now.as_millis();
            assert!(last.is_none_or(|it| now - it >= 1_000), "{last:?} and {now}");
            assert!(count % 10 == 0 && sample == 8, "{count}, {sample}");
            // As of a moment before: no more come and go in it.
            assert!(count.abs_diff(members.len() as u32 + 1) <= 10, "{count}, {}", members.len());
            (last, told) = (Some(now), told + 1);
        }
    }
    assert!(told >= 20, "{told} times");
}

/// The rooms' frames that this line was told, as text.
fn rooms_told(world: &Cluster, line: &str, from: usize) -> Vec<String> {
    let told = world.transcript[from..].iter().filter(|it| it.1 == line);
    let frames = told.filter_map(|it| match binary::decode_server(&it.2) {
        Ok(Some(ServerFrame::Room { members, .. })) => Some(("room", members)),
        Ok(Some(ServerFrame::RoomEvents { members, .. })) => Some(("events", members)),
        _ => None,
    });
    let name = |members: &[greendot_engine::protocol::Member<'_>]| -> Vec<String> {
        members.iter().map(|it| format!("{} {}", it.user, it.state.name())).collect()
    };
    frames.map(|(kind, members)| format!("{kind}: {}", name(&members).join(", "))).collect()
}

#[test]
fn who_joins_in_an_outage_is_told_who_is_there_when_it_is_over() {
    let mut world = Cluster::new(settings(), 2, true);
    world.lag = 5;
    world.pass(2_000);
    let ana = world.connect(0, "ana", "1", false);
    let bo = world.connect(1, "bo", "1", false);
    for line in [ana, bo] {
        world.say(line, &join(1, "page"));
        world.pass(100);
    }
    world.listen(ana, "ana");
    world.outage = true;
    world.pass(6_000);
    let cy = world.connect(0, "cy", "1", false);
    world.listen(cy, "cy");
    world.say(cy, &join(7, "page"));
    world.pass(3_000);
    assert_eq!(rooms_told(&world, "cy", 0), Vec::<String>::new());
    assert_eq!(rooms_told(&world, "ana", 0), Vec::<String>::new());
    let before = world.transcript.len();
    world.outage = false;
    for _ in 0..4 {
        for line in [ana, bo, cy] {
            world.say(line, &ClientFrame::Beat(Default::default()));
        }
        world.pass(5_000);
    }
    assert_eq!(rooms_told(&world, "cy", before), ["room: ana online, bo online, cy online"]);
    assert_eq!(rooms_told(&world, "ana", before), ["events: cy online"]);
}

/// What the store was asked of her, or of somebody else, for another was lost, and asked again by nobody who joins: the refresh does
/// that.
#[test]
fn who_joins_about_a_lost_question_is_told_all_at_once_whenever_that_is() {
    for (watched, joins) in ["ana", "cy"].into_iter().flat_map(|it| (0..20).map(move |at| (it, at)))
    {
        let mut world = Cluster::new(settings(), 2, true);
        world.lag = 5;
        world.pass(2_000);
        let ana = world.connect(0, "ana", "1", false);
        let bo = world.connect(1, "bo", "1", false);
        let eve = world.connect(1, "eve", "1", true);
        world.say(ana, &join(1, "page"));
        world.pass(500);
        world.listen(bo, "bo");
        for millis in 0..20 {
            match millis {
                1 => world.outage = true,
                2 => world.watch(eve, 1, &[(1, watched)]),
                3 => world.outage = false,
                // Its answer shows that one is missing.
                4 => world.say(eve, &ClientFrame::Beat(Beat::default())),
                _ => {}
            }
            if millis == joins {
                world.say(bo, &join(7, "page"));
            }
            world.pass(1);
        }
        world.pass(3_000);
        let told = rooms_told(&world, "bo", 0);
        assert_eq!(told, ["room: ana online, bo online"], "joins at {joins} ms");
    }
}

/// Nobody could say whether she may stay, so she saw nobody, and the node had no need to know of them.
#[test]
fn who_may_stay_in_a_room_after_all_is_told_all_at_once() {
    let mut world = Cluster::new(Settings { asks_rooms: true, ..settings() }, 2, true);
    world.lag = 5;
    world.pass(2_000);
    let bo = world.connect(0, "bo", "1", false);
    let ana = world.connect(1, "ana", "1", false);
    world.say(bo, &join(1, "page"));
    world.pass(100);
    world.listen(ana, "ana");
    world.say(ana, &join(7, "page"));
    world.pass(100);
    world.lets_in = None;
    world.audience_changed(1, "ana", "bo");
    world.pass(100);
    world.lets_in = Some(true);
    world.pass(2_000);
    let all = "room: ana online, bo online";
    assert_eq!(rooms_told(&world, "ana", 0), [all, "room: ", all]);
}

/// That nobody is in a room is another thing than that nobody can say who is.
#[test]
fn a_poll_is_told_nothing_of_a_room_of_which_nobody_can_say_who_is_there() {
    let mut world = Cluster::new(settings(), 2, true);
    world.lag = 5;
    world.pass(2_000);
    let bo = world.connect(0, "bo", "1", false);
    world.say(bo, &join(1, "page"));
    world.pass(100);
    let polls = |world: &mut Cluster, times: usize| -> Vec<String> {
        let from = world.transcript.len();
        for _ in 0..times {
            world.poll_rooms(1, "ana", "ana", &["page"]);
            world.pass(100);
        }
        world.say(bo, &ClientFrame::Beat(Beat::default()));
        world.pass(5_000);
        let told = world.transcript[from..].iter().filter(|it| it.1 == "ana");
        told.map(|it| String::from_utf8_lossy(&it.2).into_owned()).collect()
    };
    let before = polls(&mut world, 1);
    assert!(before[0].contains("bo") && before[0].contains("ana"), "{before:?}");
    world.outage = true;
    assert!(polls(&mut world, 50).iter().all(|it| it == "[]"));
    world.outage = false;
    assert_eq!(polls(&mut world, 50).last(), before.last());
    world.lose_store();
    let told = polls(&mut world, 50);
    assert!(told.iter().all(|it| it == "[]" || *it == before[0]), "{told:?}");
    assert_eq!(told.last(), before.last());
}

/// Where the store has lost what it held, who is in a room is known once each node has registered its own.
#[test]
fn a_store_that_has_lost_all_shows_nobody_gone_who_has_yet_to_be_registered() {
    let mut world = Cluster::new(settings(), 2, true);
    world.lag = 5;
    world.pass(2_000);
    let bo = world.connect(0, "bo", "1", false);
    let [ana, cy] = ["ana", "cy"].map(|it| world.connect(1, it, "1", false));
    for line in [bo, ana] {
        world.say(line, &join(1, "page"));
        world.pass(200);
    }
    world.listen(ana, "ana");
    world.lose_store();
    // Her node finds that before the other one does.
    for millis in 0..30 {
        world.say(ana, &ClientFrame::Beat(Beat::default()));
        if millis == 15 {
            world.say(cy, &join(1, "page"));
        }
        world.locate(1, "bo");
        world.pass(1);
    }
    world.pass(5_000);
    assert_eq!(rooms_told(&world, "ana", 0), ["room: ana online, bo online, cy online"]);
    // Nobody says that nothing reaches him.
    let located = std::mem::take(&mut world.located);
    assert_eq!((located.len(), located.iter().flatten().count()), (30, 0));
    world.locate(1, "bo");
    world.pass(100);
    assert_eq!(world.located, [Some(1)]);
}
