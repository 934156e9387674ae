//! The browser shell in a real browser, with sockets that are played by hand.
#![cfg(target_arch = "wasm32")]

use std::cell::Cell;
use std::rc::Rc;

use greendot_client::browser::{Client, Host};
use greendot_protocol::binary::{decode_client, encode_server};
use greendot_protocol::{
    ClientFrame, Entry, Epoch, Mode, ServerFrame, Span, State, Version, Welcome,
};
use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen(module = "/tests/web.js")]
extern "C" {
    fn install();
    #[wasm_bindgen(js_name = socketCount)]
    fn socket_count() -> usize;
    #[wasm_bindgen(js_name = timerCount)]
    fn timer_count() -> usize;
    #[wasm_bindgen(js_name = urlOf)]
    fn url_of(at: usize) -> String;
    #[wasm_bindgen(js_name = sentCount)]
    fn sent_count(at: usize) -> usize;
    #[wasm_bindgen(js_name = sentBy)]
    fn sent_by(at: usize, n: usize) -> Vec<u8>;
    #[wasm_bindgen(js_name = closedWith)]
    fn closed_with(at: usize) -> i32;
    #[wasm_bindgen(js_name = isHeard)]
    fn is_heard(at: usize) -> bool;
    fn opens(at: usize);
    fn says(at: usize, bytes: &[u8]);
    #[wasm_bindgen(js_name = saysText)]
    fn says_text(at: usize);
    fn ends(at: usize, code: u16);
    #[wasm_bindgen(js_name = makeHost)]
    fn make_host() -> JsValue;
    #[wasm_bindgen(js_name = takeLog)]
    fn take_log(host: &JsValue) -> String;
    fn when(host: &JsValue, entry: &str, call: JsValue);
    #[wasm_bindgen(js_name = setUrl)]
    fn set_url(host: &JsValue, url: &str);
    fn wait(millis: f64) -> Promise;
    fn jump(millis: f64);
}

/// A client and its host.
struct Page {
    client: Rc<Client>,
    host: JsValue,
}

impl Page {
    fn new() -> Self {
        install();
        let host = make_host();
        let client = Client::new(host.clone().unchecked_into::<Host>(), "s1", 2, -1, 1, 2);
        Self { client: Rc::new(client), host }
    }

    /// A live client that watches ana as part 1, in row 0.
    fn live() -> Self {
        let page = Self::new();
        page.client.subscribe(1, "ana");
        page.client.connect();
        page.client.token(1, "t1");
        opens(last());
        welcome();
        snapshot(&[entry(1, State::Online, 1)]);
        page.log();
        page
    }

    fn log(&self) -> Vec<String> {
        take_log(&self.host).lines().map(String::from).collect()
    }

    /// Calls this once inside the callback that would write this entry.
    fn when(&self, entry: &str, call: impl Fn(&Client) + 'static) {
        let client = Rc::clone(&self.client);
        when(&self.host, entry, Closure::<dyn Fn()>::new(move || call(&client)).into_js_value());
    }
}

fn last() -> usize {
    socket_count() - 1
}

fn say(frame: &ServerFrame<'_>) {
    let mut bytes = Vec::new();
    encode_server(frame, &mut bytes);
    says(last(), &bytes);
}

fn welcome() {
    welcome_with(Span::from_secs(10));
}

fn welcome_with(beat: Span) {
    let (ttl, grace) = (Span::from_secs(30), Span::from_secs(5));
    let ticket = "ticket";
    say(&ServerFrame::Welcome(Welcome { beat, ttl, grace, ticket, ..Welcome::default() }));
}

fn entry(number: u32, state: State, version: u32) -> Entry<'static> {
    Entry { number, state, version: Version(version), ..Entry::default() }
}

fn snapshot(entries: &[Entry<'_>]) {
    say(&ServerFrame::Snapshot { epoch: Epoch(1), request: 1, entries: entries.to_vec() });
}

fn events(entries: &[Entry<'_>]) {
    say(&ServerFrame::Events { epoch: Epoch(1), entries: entries.to_vec() });
}

/// What the last socket was given to send, in words.
fn sent() -> Vec<String> {
    let frames = (0..sent_count(last())).map(|n| sent_by(last(), n));
    frames.map(|bytes| in_words(&bytes)).collect()
}

fn in_words(bytes: &[u8]) -> String {
    match decode_client(bytes).expect("a frame").expect("of a known kind") {
        ClientFrame::Hello(hello) => {
            let mode = hello.mode.map_or("", |it| it.mode.name());
            format!("hello {} {} {mode}", hello.session, hello.token)
        }
        ClientFrame::Watch { request, users } => {
            let users: Vec<_> =
                users.iter().map(|it| format!("{}={}", it.number, it.user)).collect();
            format!("watch {request} {}", users.join(" "))
        }
        ClientFrame::Unwatch { numbers } => format!("unwatch {numbers:?}"),
        ClientFrame::Beat(_) => "beat".into(),
        ClientFrame::Mode(mode) => format!("mode {}", mode.name()),
        ClientFrame::Note(note) => format!("note {note}"),
        other => format!("{other:?}").to_lowercase(),
    }
}

async fn pass(millis: f64) {
    JsFuture::from(wait(millis)).await.expect("time passes");
}

#[wasm_bindgen_test]
fn an_open_socket_says_hello_and_whom_to_watch() {
    let page = Page::new();
    page.client.set_mode(Mode::Invisible as u8);
    page.client.subscribe(1, "ana");
    page.client.subscribe(1, "bo");
    page.client.connect();
    assert_eq!(page.log(), ["mode 4", "link 0 0 -1", "needToken 1"]);
    page.client.token(1, "t1");
    assert_eq!(url_of(last()), "ws://node0 greendot.v1.bin arraybuffer");
    assert_eq!(sent_count(last()), 0);
    opens(last());
    assert_eq!(sent(), ["hello s1 t1 invisible", "watch 1 1=ana 2=bo"]);
}

#[wasm_bindgen_test]
fn what_the_server_says_is_told_and_can_be_looked_up() {
    let page = Page::new();
    let (ana, bo) = (page.client.subscribe(1, "ana"), page.client.subscribe(1, "bo"));
    assert_eq!((page.client.state(ana), page.client.seen_ago_ms(ana)), (5, -1.0));
    page.client.connect();
    page.client.token(1, "t1");
    opens(last());
    welcome();
    page.log();
    let note = "at the dentist's ☕";
    snapshot(&[
        Entry { note, ..entry(1, State::Away, 3) },
        Entry { seen_ago: Some(Span::from_secs(60)), ..entry(2, State::Offline, 7) },
    ]);
    let told = ["changed 1 0", "changed 1 1", "link 1 0 -1", "stale false"];
    assert_eq!(page.log(), told);
    assert_eq!(page.client.state(ana), 2);
    assert_eq!(page.client.note(ana).as_deref(), Some(note));
    assert_eq!(page.client.note(bo), None);
    let ago = page.client.seen_ago_ms(bo);
    assert!((60_000.0..61_000.0).contains(&ago), "{ago}");
    assert_eq!((page.client.state(99), page.client.note(99)), (5, None));
    events(&[entry(1, State::Away, 4)]);
    assert_eq!(page.log(), ["changed 1 0"], "the note is gone");
}

#[wasm_bindgen_test]
async fn what_is_watched_in_one_tick_is_one_frame() {
    let page = Page::live();
    let before = sent_count(last());
    for user in ["bo", "cy", "di"] {
        page.client.subscribe(2, user);
    }
    let ed = page.client.subscribe(2, "ed");
    page.client.unsubscribe(2, ed);
    assert_eq!(sent_count(last()), before);
    pass(0.0).await;
    assert_eq!(sent()[before..], ["watch 2 2=bo 3=cy 4=di"]);
    (1..4).for_each(|row| page.client.unsubscribe(2, row));
    pass(700.0).await;
    assert_eq!(sent()[before + 1..], ["unwatch [2, 3, 4]"]);
}

#[wasm_bindgen_test]
fn a_client_may_be_called_from_inside_every_callback() {
    let page = Page::live();
    page.when("changed 1 0", |client| {
        assert_eq!(client.state(0), 2);
        let bo = client.subscribe(1, "bo");
        client.unsubscribe(1, bo);
        client.set_note("back soon");
    });
    events(&[entry(1, State::Away, 2)]);
    assert_eq!(sent().last().map(String::as_str), Some("note back soon"));
    page.when("link 4 0 -1", |client| client.connect());
    page.when("needToken 2", |client| client.token(2, "t2"));
    page.client.disconnect();
    opens(last());
    assert_eq!(sent()[..1], ["hello s1 t2 auto"]);
    let links: Vec<_> = page.log().into_iter().filter(|it| it.starts_with("link")).collect();
    assert_eq!(links, ["link 4 0 -1", "link 0 0 -1"]);
}

#[wasm_bindgen_test]
fn disconnect_and_connect_inside_the_live_callback_leave_one_connection() {
    let page = Page::new();
    let before = socket_count();
    page.when("link 1 0 -1", |client| {
        client.disconnect();
        client.connect();
    });
    page.client.connect();
    page.client.token(1, "t1");
    opens(last());
    welcome();
    assert_eq!(closed_with(last()), 1000);
    assert!(!is_heard(last()));
    page.client.token(2, "t2");
    assert_eq!(socket_count(), before + 2);
    opens(last());
    welcome();
    let links: Vec<_> = page.log().into_iter().filter(|it| it.starts_with("link")).collect();
    let states: Vec<_> = links.iter().map(|it| &it[5..6]).collect();
    assert_eq!(states, ["0", "1", "4", "0", "1"]);
}

#[wasm_bindgen_test]
async fn a_lost_link_waits_and_comes_back_by_itself() {
    let page = Page::live();
    let lost = last();
    ends(lost, 1006);
    let log = page.log();
    assert_eq!(log[0], "stale true");
    let retry: f64 = log[1].strip_prefix("link 2 1006 ").expect("waits").parse().expect("ms");
    assert!((0.0..=3_000.0).contains(&retry), "{retry}");
    assert_eq!(page.client.state(0), 1, "the view is kept");
    pass(retry + 50.0).await;
    assert_eq!(page.log(), ["link 0 0 -1", "needToken 2"]);
    page.client.token(2, "t2");
    assert_eq!(last(), lost + 1);
}

#[wasm_bindgen_test]
fn a_code_that_says_stop_stops_it() {
    let page = Page::live();
    ends(last(), 4409);
    assert_eq!(page.log(), ["stale true", "link 3 4409 -1"]);
    let timers = timer_count();
    page.client.unsubscribe(1, 0);
    assert_eq!(timer_count(), timers - 1, "only the view had still to be forgotten");
}

#[wasm_bindgen_test]
fn a_socket_that_opens_after_it_was_called_off_is_not_heard() {
    let page = Page::new();
    page.client.connect();
    page.client.token(1, "t1");
    let called_off = last();
    page.client.disconnect();
    assert_eq!(closed_with(called_off), 4007);
    opens(called_off);
    assert_eq!(sent_count(called_off), 0);
    page.client.token(1, "late");
    assert_eq!(last(), called_off, "nor is a late token");
}

#[wasm_bindgen_test]
fn a_url_that_the_browser_refuses_is_a_failed_dial() {
    let page = Page::new();
    set_url(&page.host, "bad");
    page.client.connect();
    page.log();
    page.client.token(1, "t1");
    assert!(page.log()[0].starts_with("link 2 1006 "));
}

#[wasm_bindgen_test]
fn what_is_no_frame_ends_the_connection_and_the_client_lives_on() {
    for garbage in [&[][..], &[1], &[4, 255, 255, 255, 255, 255, 255], &[3, 0, 0, 127]] {
        let page = Page::live();
        says(last(), garbage);
        assert_eq!(closed_with(last()), 4007);
        assert!(page.log()[1].starts_with("link 2 0 "));
    }
    let page = Page::live();
    says_text(last());
    assert_eq!(closed_with(last()), 4007);
    let page_too = Page::live();
    says(last(), &vec![200; 513 * 1024]);
    assert_eq!(closed_with(last()), 4007, "too large");
    drop((page, page_too));
}

#[wasm_bindgen_test]
fn a_frame_of_a_later_version_is_passed_over() {
    let page = Page::live();
    says(last(), &[200, 1, 2, 3]);
    assert_eq!(page.log(), [""; 0]);
    assert_eq!(closed_with(last()), -1);
}

#[wasm_bindgen_test]
async fn beats_go_out_on_the_real_clock_and_their_answers_keep_the_link() {
    let page = Page::new();
    page.client.connect();
    page.client.token(1, "t1");
    opens(last());
    welcome_with(Span::from_millis(200));
    for _ in 0..20 {
        pass(50.0).await;
        let newest = sent_by(last(), sent_count(last()) - 1);
        if let Ok(Some(ClientFrame::Beat(beat))) = decode_client(&newest) {
            say(&ServerFrame::BeatAnswer(beat.number));
        }
    }
    let beats = sent().iter().filter(|it| *it == "beat").count();
    assert!((3..=7).contains(&beats), "{beats} beats in a second of 200 ms each");
    assert_eq!(closed_with(last()), -1);
}

#[wasm_bindgen_test]
fn a_wall_clock_that_jumps_ahead_only_makes_it_ask() {
    let page = Page::live();
    jump(3_600_000.0);
    page.client.input(false);
    assert_eq!(page.log(), ["stale true"]);
    assert_eq!(sent().last().map(String::as_str), Some("beat"));
    say(&ServerFrame::BeatAnswer(1));
    assert_eq!(page.log(), ["stale false"]);
    jump(0.0);
    page.client.input(false);
    assert_eq!(page.log(), [""; 0], "a jump back is no sleep");
}

#[wasm_bindgen_test]
fn a_page_that_goes_away_says_closing_and_one_that_is_back_dials() {
    let page = Page::live();
    page.client.page(6);
    assert_eq!(sent().last().map(String::as_str), Some("closing"));
    assert_eq!(closed_with(last()), 1000);
    assert_eq!(page.log(), ["stale true", "link 2 0 -1"]);
    page.client.page(7);
    page.client.connect();
    assert_eq!(page.log(), ["link 0 0 -1", "needToken 2"]);
    page.client.page(77);
}

#[wasm_bindgen_test]
async fn a_freed_client_leaves_no_timer_and_no_handler() {
    // Whatever earlier tests have left is theirs.
    pass(0.0).await;
    let before = timer_count();
    let Page { client, host } = Page::live();
    assert!(timer_count() > before && is_heard(last()));
    client.subscribe(2, "bo");
    drop(client);
    assert_eq!(timer_count(), before);
    assert!(!is_heard(last()));
    assert_eq!(closed_with(last()), 1000);
    // The microtask that was to send the watch comes up all the same, and finds nobody.
    pass(10.0).await;
    assert_eq!(take_log(&host), "");
}

#[wasm_bindgen_test]
async fn a_thousand_rounds_leave_no_timer_and_no_memory_behind() {
    let round = || {
        let page = Page::new();
        for n in 0..50 {
            page.client.subscribe(n, &format!("user {n}"));
        }
        page.client.connect();
        page.client.token(1, "t1");
        opens(last());
        welcome();
        snapshot(&[entry(1, State::Online, 1)]);
        ends(last(), 1006);
        page.client.connect();
        page.client.sign_out();
    };
    round();
    let (timers, bytes) = (timer_count(), memory());
    for _ in 0..1_000 {
        round();
    }
    pass(0.0).await;
    assert_eq!(timer_count(), timers);
    assert!(memory() - bytes <= 65_536.0, "{} bytes", memory() - bytes);
}

fn memory() -> f64 {
    let memory: js_sys::WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
    js_sys::Reflect::get(&memory.buffer(), &"byteLength".into())
        .ok()
        .and_then(|it| it.as_f64())
        .expect("bytes")
}

#[wasm_bindgen_test]
fn a_host_that_throws_loses_nothing() {
    let page = Page::live();
    let thrown = Rc::new(Cell::new(false));
    let told = Rc::clone(&thrown);
    page.when("stale true", move |_| {
        told.set(true);
        wasm_bindgen::throw_str("the host has a fault");
    });
    let caught = catch(&Closure::<dyn Fn()>::new(|| ends(last(), 1006)));
    assert!(thrown.get() && caught);
    page.client.input(false);
    assert!(page.log().iter().any(|it| it.starts_with("link 2 1006 ")));
    page.client.connect();
    page.client.token(2, "t2");
    opens(last());
    welcome();
    snapshot(&[]);
    assert_eq!(page.client.state(0), 0);
}

/// Whether the call has thrown.
fn catch(call: &Closure<dyn Fn()>) -> bool {
    let call: &js_sys::Function = call.as_ref().unchecked_ref();
    call.call0(&JsValue::NULL).is_err()
}
