//! Writes one event at a time to the management cluster, in the form that it allows.

use super::{
    Desk,
    form::{Form, Letter},
};
use crate::{
    cluster::{Call, Class, Error, Session},
    telemetry::events::{About, ObjectRef, Telling},
};
use jiff::Timestamp;
use std::{collections::BTreeMap, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

/// How often an event is tried.
const TRIES: u32 = 3;
const BETWEEN: Duration = Duration::from_secs(1);
const LONGEST_BETWEEN: Duration = Duration::from_secs(30);
/// When a form that was forbidden is tried again: rights may have been given.
const AGAIN: Duration = Duration::from_secs(3600);
/// How many namespaces' refusals are remembered.
const MOST_NAMESPACES: usize = 10_000;

/// Writes events.
pub(super) struct Scribe {
    desk: Desk,
    rights: Rights,
}

impl Scribe {
    pub(super) fn new(desk: Desk) -> Self {
        Self { desk, rights: Rights::default() }
    }

    /// Writes one event, if the management cluster takes it. Waits as long as there is no connection.
    pub(super) async fn write(&mut self, telling: Telling) {
        let object = match &telling.about {
            About::Source(source) => Some(source),
            About::Towline => self.desk.myself.as_ref(),
        };
        let (Some(object), Some(hub)) = (object, &mut self.desk.hub) else { return };
        let (instance, now, number) = (&*self.desk.instance, Timestamp::now(), fastrand::u64(..));
        let letter = Letter { telling: &telling, object, instance, now, number };
        while let Some(form) = self.rights.form(&object.namespace, Instant::now()) {
            let Some(call) = letter.call(form) else { return };
            match post(hub, &call).await {
                Err(error) if is_forbidden(&error) => self.rights.refuse(object, form, Instant::now()),
                Err(error) => return tracing::debug!(%error, "events: not written"),
                Ok(()) => return,
            }
        }
    }
}

/// Posts an event, again after what passes.
async fn post(hub: &mut watch::Receiver<Option<Session>>, call: &Call) -> Result<(), Error> {
    let mut tries = 0;
    loop {
        tries += 1;
        let session = connected(hub).await;
        let Err(error) = session.call(call.clone()).await else { return Ok(()) };
        // The first try arrived after all.
        if tries > 1 && error.is_already_exists() {
            return Ok(());
        }
        match error.class() {
            Class::Throttled(after) if tries < TRIES => sleep(after.min(LONGEST_BETWEEN)).await,
            Class::Transient | Class::Disconnected if tries < TRIES => sleep(BETWEEN * tries).await,
            _ => return Err(error),
        }
    }
}

/// The session, when there is one. If nobody connects any more, the process is ending.
async fn connected(hub: &mut watch::Receiver<Option<Session>>) -> Session {
    let session = hub.wait_for(Option::is_some).await.ok().and_then(|session| session.clone());
    match session {
        Some(session) => session,
        None => std::future::pending().await,
    }
}

/// A namespace that is being deleted forbids writing too, but says nothing about our rights.
fn is_forbidden(error: &Error) -> bool {
    error.status().is_some_and(|status| status.code == 403) && !error.is_namespace_terminating()
}

/// What was forbidden where. Rights may be given by namespace.
#[derive(Default)]
struct Rights {
    refused: BTreeMap<String, (Form, Instant)>,
    told: bool,
}

impl Rights {
    /// In which form an event may be tried in a namespace; `None` if in none.
    fn form(&mut self, namespace: &str, now: Instant) -> Option<Form> {
        match self.refused.get(namespace) {
            Some((_, since)) if now >= *since + AGAIN => {
                self.refused.remove(namespace);
                Some(Form::Events)
            }
            None => Some(Form::Events),
            Some((Form::Events, _)) => Some(Form::Core),
            Some((Form::Core, _)) => None,
        }
    }

    /// A form was forbidden. When both are, that is told once.
    fn refuse(&mut self, object: &ObjectRef, form: Form, now: Instant) {
        if self.refused.len() >= MOST_NAMESPACES {
            self.refused.clear();
        }
        self.refused.insert(object.namespace.clone(), (form, now));
        if form == Form::Core && !self.told {
            self.told = true;
            let namespace = object.namespace.as_str();
            tracing::warn!(
                namespace,
                "events: forbidden (create on events.k8s.io and core events); the log says what they would"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> ObjectRef {
        let (namespace, name) = ("certs".to_owned(), "tls".to_owned());
        ObjectRef { kind: "Secret", namespace, name, uid: String::new(), resource_version: String::new() }
    }

    #[test]
    fn a_form_that_was_forbidden_is_tried_again_after_an_hour() {
        let (mut rights, start) = (Rights::default(), Instant::now());
        assert_eq!(rights.form("certs", start), Some(Form::Events));
        rights.refuse(&object(), Form::Events, start);
        assert_eq!(rights.form("certs", start), Some(Form::Core));
        rights.refuse(&object(), Form::Core, start);
        assert_eq!((rights.form("certs", start), rights.form("web", start)), (None, Some(Form::Events)));
        assert_eq!(rights.form("certs", start + AGAIN), Some(Form::Events));
    }
}
