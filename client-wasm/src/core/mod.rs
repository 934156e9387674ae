//! The client core: everything a presence client decides, and nothing it does.
//!
//! One type, [`Client`]. Its driver (the browser shell, the simulator) runs one loop:
//!
//! 1. Something happens: call the method for it, with `now`.
//! 2. Drain [`Client::poll_output`] until it is empty, doing what each output says, in order.
//! 3. Set one timer for [`Client::deadline`], and call [`Client::handle_timeout`] when it fires.
//!    A timer that fires too early does no harm, so one that is set need only be set anew for an
//!    *earlier* deadline. A deadline that is not after `now` wants to be handled in this very
//!    tick, behind the code that is running (a microtask): it gathers the calls of one tick.
//!
//! `now` is a steady clock that never goes back; wall clocks have no place here. The methods come
//! in groups:
//!
//! - the app: [`connect`](Client::connect), [`disconnect`](Client::disconnect),
//!   [`sign_out`](Client::sign_out), [`subscribe`](Client::subscribe) and its opposites,
//!   [`join`](Client::join), [`leave`](Client::leave), [`set_mode`](Client::set_mode),
//!   [`set_note`](Client::set_note);
//! - the page: [`handle_page`](Client::handle_page), [`handle_input`](Client::handle_input),
//!   [`handle_input_elsewhere`](Client::handle_input_elsewhere);
//! - the connection, each with the number of its [`Dial`]: [`handle_token`](Client::handle_token),
//!   [`handle_token_failed`](Client::handle_token_failed),
//!   [`handle_opened`](Client::handle_opened), [`handle_frame`](Client::handle_frame),
//!   [`handle_unreadable`](Client::handle_unreadable), [`handle_closed`](Client::handle_closed);
//! - what it holds: [`link`](Client::link), [`stale`](Client::stale), [`view`](Client::view) …
//!
//! Any of them may be called from inside a callback to the app, while outputs are still waiting:
//! the queue keeps its order. What is said of an earlier dial has no effect; a connection that
//! opens after it was called off is closed.
//!
//! # What "stale" means
//!
//! The view is stale from the moment the link is not known to be good: before it is live, from
//! the loss of it, while the node says so, and also while it *stands*, from the moment there is
//! reason to doubt it until it has answered a beat that was sent after that moment. Reasons to
//! doubt are a deadline kept more than 2 s late (65 s in a hidden page, whose timers browsers hold
//! back to one a minute), [`Page::Resumed`], [`Page::Shown`], [`Page::Offline`], and becoming
//! visible after a silence longer than an awake link would have survived (a beat and 5 s).
#![forbid(unsafe_code)]

mod alarms;
mod awake;
mod backoff;
mod beat;
mod client;
mod link;
mod output;
mod own;
mod rng;
mod rooms;
mod rows;
mod view;
mod watches;

pub use alarms::Reason;
pub use client::{Client, Config, Page, TokenFailure, View};
pub use output::{Dial, Greeting, LinkState, Message, Output, Part, Row};
pub use rooms::{Room, RoomView};
