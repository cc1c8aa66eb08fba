//! The processes of a session: their requests share one stream, and their output is separated by process.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::message::{self, Request};
use crate::pipe::{Pieces, StderrTail, whole};
use crate::process::Event;

/// The shared part of all processes of a session.
#[derive(Debug)]
pub(crate) struct Wire {
    /// Nothing once the session is closed.
    pub(crate) input: Mutex<Option<Sender<Pieces>>>,
    pub(crate) routes: Mutex<HashMap<u32, Route>>,
}

/// Where the output of a process goes.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) events: Sender<Event>,
    pub(crate) stderr: StderrTail,
}

/// One process of a session.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) wire: Arc<Wire>,
    pub(crate) stream: u32,
    /// The number of the process there.
    pub(crate) number: u32,
}

impl Stream {
    pub(crate) fn input(&self, bytes: &[u8]) {
        self.wire.send(&Request::Input { stream: self.stream }, bytes);
    }

    pub(crate) fn close(&self) {
        self.wire.send(&Request::Close { stream: self.stream }, &[]);
    }

    pub(crate) fn kill(&self) {
        self.wire.send(&Request::Kill { stream: self.stream }, &[]);
    }
}

impl Wire {
    /// When the session is over, its processes learn it from their events.
    pub(crate) fn send(&self, request: &Request, body: &[u8]) {
        self.send_pieces(whole(message::frame(request, body)));
    }

    /// The same for frames that are made as they are written.
    pub(crate) fn send_pieces(&self, pieces: Pieces) {
        if let Some(input) = lock(&self.input).as_ref() {
            let _ = input.send(pieces);
        }
    }
}

/// A thread that panicked left no step half done: each holds these locks for one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
