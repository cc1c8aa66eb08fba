//! A service that counts each of its responses twice: what the simulation must find.

use std::net::SocketAddr;

use crate::output::Output;
use crate::service::{Flow, OpenService, Session, SessionStage};

pub(super) struct CountsTwice<'a>(pub(super) &'a dyn OpenService);

struct CountingTwice(Box<dyn Session>);

impl OpenService for CountsTwice<'_> {
    fn session(&self, peer: Option<SocketAddr>) -> Box<dyn Session> {
        Box::new(CountingTwice(self.0.session(peer)))
    }
}

impl Session for CountingTwice {
    fn begin(&mut self, output: &mut Output) -> Flow {
        self.0.begin(output)
    }

    fn on_input(&mut self, input: &[u8], output: &mut Output) -> Flow {
        let flow = self.0.on_input(input, output);
        for _ in 0..output.take_responses() * 2 {
            output.answered();
        }
        flow
    }

    fn end(&mut self, output: &mut Output) -> Flow {
        self.0.end(output)
    }

    fn too_slow(&mut self, output: &mut Output) -> Flow {
        self.0.too_slow(output)
    }

    fn stage(&self) -> SessionStage {
        self.0.stage()
    }
}
