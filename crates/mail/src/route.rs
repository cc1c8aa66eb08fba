//! Where the mail of a domain goes: to one relay, or to its exchangers by DNS (RFC 5321, section 5.1).

use std::collections::HashMap;
use std::net::SocketAddr;

use net::smtp::Mailbox;
use serde::{Deserialize, Serialize};
use sys::event::{Event, Poller};

use crate::MailError;
use crate::context::{DeliveryContext, MailStep, Results};
use crate::dns::{DnsClient, ResolverSettings, RouteAnswer};
use crate::settings::Permission;

/// How the hosts of a domain are looked up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Routing {
    /// All mail goes to this host.
    Relay(SocketAddr),
    /// The exchangers of each domain, by DNS.
    Dns {
        /// Servers that resolve names, the preferred first.
        servers: Vec<SocketAddr>,
        /// The port of exchangers: 25, except in tests.
        port: u16,
    },
}

/// The routing of a running engine.
pub(crate) enum Router {
    Relay(SocketAddr),
    Dns(Box<DnsRouter>),
}

pub(crate) struct DnsRouter {
    client: DnsClient,
    port: u16,
    /// When each question that is under way was asked.
    asked_ns: HashMap<u32, u64>,
}

impl Router {
    pub(crate) fn new<P: Poller>(
        routing: &Routing,
        permission: &Permission,
        poller: &mut P,
    ) -> Result<Router, MailError> {
        let (servers, port) = match routing {
            Routing::Relay(relay) => {
                permission.check(*relay)?;
                return Ok(Router::Relay(*relay));
            }
            Routing::Dns { servers, port } => (servers, *port),
        };
        let mut client = DnsClient::new(servers, permission, ResolverSettings::default())?;
        client.register(poller).map_err(MailError::at("wait for DNS responses"))?;
        Ok(Router::Dns(Box::new(DnsRouter { client, port, asked_ns: HashMap::new() })))
    }

    /// When [`Router::turn`] is to be called at the latest.
    pub(crate) fn next_deadline_ns(&self) -> Option<u64> {
        match self {
            Router::Relay(_) => None,
            Router::Dns(router) => router.client.next_deadline_ns(),
        }
    }

    /// Whether a question is under way.
    pub(crate) fn is_asking(&self) -> bool {
        match self {
            Router::Relay(_) => false,
            Router::Dns(router) => !router.asked_ns.is_empty(),
        }
    }

    /// Takes an event, if it is for the router.
    pub(crate) fn on_event<P: Poller>(&mut self, event: Event, poller: &mut P, now_ns: u64) -> bool {
        match self {
            Router::Dns(router) if DnsClient::owns(event.token) => {
                router.client.on_event(event, poller, now_ns);
                true
            }
            _ => false,
        }
    }

    /// Asks for the routes of further domains, and gives those that are known to the queue.
    pub(crate) fn turn<P: Poller, R: Results>(
        &mut self,
        context: &mut DeliveryContext<'_, R>,
        poller: &mut P,
    ) {
        match self {
            Router::Relay(relay) => {
                while let Some(domain) = context.queue.next_unresolved() {
                    context.queue.resolved(domain, &[*relay]);
                }
            }
            Router::Dns(router) => router.turn(context, poller),
        }
    }
}

impl DnsRouter {
    fn turn<P: Poller, R: Results>(&mut self, context: &mut DeliveryContext<'_, R>, poller: &mut P) {
        self.client.on_time(poller, context.now_ns);
        while self.client.has_room()
            && let Some(domain) = context.queue.next_unresolved()
        {
            let address = context.queue.recipients.first_of_domain(domain);
            let Ok(mailbox) = Mailbox::parse(address) else { continue };
            match mailbox.host_address() {
                // An address in brackets needs no DNS (RFC 5321, section 4.1.3).
                Some(host) => context.queue.resolved(domain, &[SocketAddr::new(host, self.port)]),
                None => {
                    self.asked_ns.insert(domain, context.now_ns);
                    self.client.ask(domain, mailbox.domain(), poller, context.now_ns);
                }
            }
        }
        while let Some((domain, answer)) = self.client.next_answer() {
            if let Some(from_ns) = self.asked_ns.remove(&domain) {
                context.took(MailStep::Dns, from_ns);
            }
            self.answered(domain, answer, context);
        }
    }

    fn answered<R: Results>(&self, domain: u32, answer: RouteAnswer, context: &mut DeliveryContext<'_, R>) {
        match answer {
            RouteAnswer::Exchangers(exchangers) => {
                let addresses = exchangers.iter().flat_map(|exchanger| &exchanger.addresses);
                let hosts: Vec<SocketAddr> =
                    addresses.map(|&address| SocketAddr::new(address, self.port)).collect();
                context.queue.resolved(domain, &hosts);
            }
            RouteAnswer::NullMx => context.domain_refused(domain, "the domain takes no mail (null MX)"),
            RouteAnswer::NoSuchDomain => context.domain_refused(domain, "no such domain"),
            RouteAnswer::NoExchanger => context.domain_refused(domain, "the domain has no mail exchanger"),
            RouteAnswer::Temporary(failure) => context.domain_failed(domain, &failure.to_string()),
        }
    }
}
