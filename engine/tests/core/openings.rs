//! What is opened to a viewer while a node's records may be old waits until they are refreshed (rule 13); what is closed never
//! does.

use greendot_engine::core::{Fineness, Settings};
use greendot_engine::protocol::{ClientFrame, Mode, ServerFrame, State, binary};

use crate::cluster::{Cluster, Line};
use crate::rig::settings;

/// (user's number, state) in the order told, from this place of the transcript on.
fn told(world: &Cluster, line: &str, from: usize) -> Vec<(u32, State)> {
    let told = world.transcript[from..].iter().filter(|it| it.1 == line);
    let entries = told.filter_map(|it| match binary::decode_server(&it.2) {
        Ok(Some(ServerFrame::Snapshot { entries, .. } | ServerFrame::Events { entries, .. })) => {
            Some(entries.iter().map(|it| (it.number, it.state)).collect::<Vec<_>>())
        }
        _ => None,
    });
    entries.flatten().collect()
}

fn pass_beating(world: &mut Cluster, lines: &[Line], secs: u64) {
    for _ in 0..secs {
        for line in lines {
            world.say(*line, &ClientFrame::Beat(Default::default()));
        }
        world.pass(1_000);
    }
}

/// Two nodes, and an application that lets nobody see anybody. Ana and bea are at the second node; eve is at the first, where
/// bo watches the two, so that they are known there.
fn stage() -> (Cluster, Line, [Line; 4]) {
    let settings = Settings { audience: Some(Default::default()), ..settings() };
    let mut world = Cluster::new(settings, 2, true);
    world.audience =
        Box::new(|viewer, _| Some(if viewer == "bo" { Fineness::Live } else { Fineness::Nothing }));
    let ana = world.connect(1, "ana", "1", false);
    let bea = world.connect(1, "bea", "1", false);
    let bo = world.connect(0, "bo", "1", false);
    world.watch(bo, 1, &[(1, "ana"), (2, "bea")]);
    let eve = world.connect(0, "eve", "1", true);
    world.listen(eve, "eve");
    world.pass(1_000);
    (world, eve, [ana, bea, bo, eve])
}

#[test]
fn whom_the_application_shows_in_an_outage_is_seen_as_it_is_behind_it() {
    let (mut world, eve, lines) = stage();
    world.watch(eve, 1, &[(1, "ana"), (2, "bea")]);
    world.outage = true;
    pass_beating(&mut world, &lines, 5);
    world.set_mode(1, "ana", Mode::Invisible);
    world.audience = Box::new(|_, _| Some(Fineness::Live));
    for user in ["ana", "bea"] {
        world.audience_changed(0, user, "eve");
    }
    // One that begins to watch meanwhile sees nobody whom she was not to see before.
    let late = world.connect(0, "eve", "2", true);
    world.listen(late, "late");
    world.watch(late, 1, &[(1, "ana"), (2, "bea")]);
    pass_beating(&mut world, &lines, 5);
    world.ask(0, "poll", "eve", &["ana", "bea"]);
    let poll = world.transcript.iter().rfind(|it| it.1 == "poll").expect("an answer");
    assert!(!String::from_utf8_lossy(&poll.2).contains("Online"));
    let unseen = [(1, State::Unknown), (2, State::Unknown)];
    assert_eq!((told(&world, "eve", 0), told(&world, "late", 0)), (vec![], unseen.to_vec()));
    world.outage = false;
    pass_beating(&mut world, &lines, 5);
    assert_eq!(told(&world, "eve", 0), [(2, State::Online)]);
    let late = told(&world, "late", 0);
    assert_eq!(late[..2], unseen);
    assert_eq!(
        late[2..].iter().filter(|it| it.1 == State::Online).collect::<Vec<_>>(),
        [&(2, State::Online)]
    );
}

#[test]
fn whom_the_application_shows_no_more_in_an_outage_is_gone_at_once() {
    let (mut world, eve, lines) = stage();
    world.audience = Box::new(|_, _| Some(Fineness::Live));
    world.watch(eve, 1, &[(1, "ana")]);
    world.outage = true;
    pass_beating(&mut world, &lines, 5);
    let before = world.transcript.len();
    world.audience = Box::new(|_, _| Some(Fineness::Nothing));
    world.audience_changed(0, "ana", "eve");
    assert_eq!(told(&world, "eve", before), [(1, State::Offline)]);
}

#[test]
fn what_was_allowed_before_an_outage_is_shown_in_it() {
    let (mut world, eve, lines) = stage();
    world.audience = Box::new(|_, _| Some(Fineness::Live));
    world.watch(eve, 1, &[(1, "ana")]);
    pass_beating(&mut world, &lines, 2);
    world.outage = true;
    pass_beating(&mut world, &lines, 5);
    let again = world.connect(0, "eve", "2", true);
    world.listen(again, "again");
    world.watch(again, 1, &[(1, "ana")]);
    assert_eq!(told(&world, "again", 0), [(1, State::Online)]);
}
