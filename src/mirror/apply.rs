//! Turns a task into requests. Every write is conditional on exactly what was observed.

use super::{
    decide::Task,
    observed::{Observed, Observer, Standing},
    outcome::{Failure, Outcome},
    parcel::Parcel,
    plan::{self, Write},
    request::{self, Dropped, Keepsakes, KubedMarks},
};
use crate::{
    api::{key::ObjectKey, metadata::MetadataFilter},
    cluster::{
        call::{self, Answer, Call},
        error::{Class, Error},
        paths::{self, Url},
        session::Session,
    },
    object::decode::{MetaOnly, Object},
};
use std::sync::Arc;

/// Whether writes are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are.
    Apply,
    /// Only GETs are; what would be written is reported.
    DryRun,
}

/// What applying needs beside the task.
#[derive(Clone)]
pub struct Applier {
    /// The follower.
    pub session: Session,
    /// How objects are observed there.
    pub observer: Observer,
    /// Decides what an adoption takes off.
    pub filter: Arc<MetadataFilter>,
    /// `--keep-kubed-marks`.
    pub kubed_marks: KubedMarks,
    /// Whether writes are sent.
    pub mode: Mode,
}

/// What became of a task, with the error that people are told.
#[derive(Debug)]
pub struct Applied {
    /// For the mirror.
    pub outcome: Outcome,
    /// For the log.
    pub error: Option<Error>,
}

impl From<Outcome> for Applied {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, error: None }
    }
}

const FIELD_MANAGER: (&str, &str) = ("fieldManager", "towline");

impl Applier {
    /// Does what the task says.
    pub async fn apply(&self, task: &Task) -> Applied {
        let result = match (self.mode, task.write) {
            (_, Write::Look) => self.inspect(task).await.map(Outcome::Found),
            (Mode::DryRun, Write::Create) => self.foresee(task).await,
            (Mode::DryRun, _) => Ok(Outcome::Planned),
            (Mode::Apply, Write::CreateNamespace) => self.create_namespace(task).await,
            (Mode::Apply, Write::Delete) => self.delete(task).await,
            (Mode::Apply, Write::Release) => self.release(task).await,
            (Mode::Apply, write) => match &task.parcel {
                Some(parcel) => self.ship(task, write, parcel).await,
                None => Ok(Outcome::Raced(task.observed.clone())),
            },
        };
        match result {
            Ok(outcome) => outcome.into(),
            Err(error) => self.after(task, error).await,
        }
    }

    async fn ship(&self, task: &Task, write: Write, parcel: &Parcel) -> Result<Outcome, Error> {
        match (write, &task.observed) {
            (Write::Create, _) => self.create(parcel).await,
            (Write::Update, Some(observed)) => self.update(parcel, observed, &Dropped::default()).await,
            (Write::Replace, Some(observed)) => self.replace(parcel, observed, &Dropped::default()).await,
            (Write::Adopt, Some(_)) => self.take_over(task, parcel, Takeover::Adopt).await,
            (Write::Overwrite, Some(_)) => self.take_over(task, parcel, Takeover::Overwrite).await,
            _ => Ok(Outcome::Raced(None)),
        }
    }

    async fn create(&self, parcel: &Parcel) -> Result<Outcome, Error> {
        let body = request::create(parcel, &Keepsakes::default());
        let answer = self.session.call(Call::create(creation(&parcel.target).build(), call::payload(body))).await?;
        Ok(Outcome::Wrote(self.read(&parcel.target, &answer)?))
    }

    async fn update(&self, parcel: &Parcel, observed: &Observed, dropped: &Dropped) -> Result<Outcome, Error> {
        let body = request::update(parcel, observed, dropped);
        let answer = self.session.call(Call::merge_patch(written(&parcel.target), call::payload(body))).await?;
        Ok(Outcome::Wrote(self.read(&parcel.target, &answer)?))
    }

    /// Type and immutable data cannot be changed in place. The dry run makes sure that the new object would be admitted
    /// before the old one goes: it finds a name that is taken only after admission.
    async fn replace(&self, parcel: &Parcel, observed: &Observed, dropped: &Dropped) -> Result<Outcome, Error> {
        let key = &parcel.target;
        let object: Object = self.session.call(Call::get(paths::object(key))).await?.decode()?;
        if object.metadata.uid != observed.uid || object.metadata.resource_version != observed.version {
            return Ok(Outcome::Raced(Some(self.observer.observe(key.kind, &object))));
        }
        let keepsakes = Keepsakes::of(object.metadata, observed, dropped);
        let body = call::payload(request::create(parcel, &keepsakes));
        let dry = creation(key).with("dryRun", "All").build();
        match self.session.call(Call::create(dry, body.clone())).await {
            Err(error) if error.is_already_exists() => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok(Outcome::Raced(None)),
        }
        let options = call::payload(request::delete(observed));
        self.session.call(Call::delete(paths::object(key), options)).await?;
        let answer = self.session.call(Call::create(creation(key).build(), body)).await?;
        Ok(Outcome::Wrote(self.read(key, &answer)?))
    }

    /// kubed's copy, or an object that may be overwritten: read whole, since only its metadata may have been seen so far.
    async fn take_over(&self, task: &Task, parcel: &Parcel, takeover: Takeover) -> Result<Outcome, Error> {
        let Some(observed) = self.look(&task.key).await? else { return Ok(Outcome::Raced(None)) };
        let is_same =
            task.observed.as_ref().is_some_and(|known| known.uid == observed.uid && known.version == observed.version);
        if !is_same || !matches!(observed.standing, Standing::Foreign(_)) {
            return Ok(Outcome::Found(Some(observed)));
        }
        let dropped = match takeover {
            Takeover::Adopt => Dropped::on_adoption(&observed, &self.filter, self.kubed_marks),
            Takeover::Overwrite => Dropped::default(),
        };
        let payload = &parcel.shipment.payload;
        if plan::cannot_become(&observed, payload.type_.as_ref(), payload.digest) {
            self.replace(parcel, &observed, &dropped).await
        } else {
            self.update(parcel, &observed, &dropped).await
        }
    }

    async fn delete(&self, task: &Task) -> Result<Outcome, Error> {
        let Some(observed) = &task.observed else { return Ok(Outcome::Raced(None)) };
        let options = call::payload(request::delete(observed));
        let answer = self.session.call(Call::delete(paths::object(&task.key), options)).await?;
        // The object itself is answered if finalizers keep it; a Status, if it is gone.
        match answer.decode::<Object>() {
            Ok(object) if object.metadata.deleting => {
                Ok(Outcome::Raced(Some(self.observer.observe(task.key.kind, &object))))
            }
            _ => Ok(Outcome::Gone),
        }
    }

    async fn release(&self, task: &Task) -> Result<Outcome, Error> {
        let Some(observed) = &task.observed else { return Ok(Outcome::Raced(None)) };
        let body = call::payload(request::release(observed));
        self.session.call(Call::merge_patch(written(&task.key), body)).await?;
        Ok(Outcome::Gone)
    }

    async fn create_namespace(&self, task: &Task) -> Result<Outcome, Error> {
        let body = call::payload(request::namespace(&task.key.namespace));
        let url = Url::new(paths::namespaces()).with(FIELD_MANAGER.0, FIELD_MANAGER.1).build();
        match self.session.call(Call::create(url, body)).await {
            Ok(_) => Ok(Outcome::NamespaceMade),
            Err(error) if error.is_already_exists() => Ok(Outcome::NamespaceMade),
            Err(error) => Err(error),
        }
    }

    /// What a Create would meet.
    async fn foresee(&self, task: &Task) -> Result<Outcome, Error> {
        Ok(match self.inspect(task).await? {
            None => Outcome::Planned,
            there => Outcome::Found(there),
        })
    }

    /// Reads the metadata, and the rest only where a plan will need it.
    async fn inspect(&self, task: &Task) -> Result<Option<Observed>, Error> {
        let answer = match self.session.call(Call::get(paths::object(&task.key)).metadata_only()).await {
            Err(error) if error.is_not_found() => return Ok(None),
            answer => answer?,
        };
        let metadata = answer.decode::<MetaOnly>()?.metadata;
        let observed = self.observer.observe(task.key.kind, &Object { metadata, content: Default::default() });
        match &observed.standing {
            Standing::Foreign(foreign) if foreign.kubed.is_none() && !task.overwrite => Ok(Some(observed)),
            Standing::Stray => Ok(Some(observed)),
            _ => self.look(&task.key).await,
        }
    }

    async fn look(&self, key: &ObjectKey) -> Result<Option<Observed>, Error> {
        match self.session.call(Call::get(paths::object(key))).await {
            Ok(answer) => self.read(key, &answer).map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What follows from a refusal: some are news about the target.
    async fn after(&self, task: &Task, error: Error) -> Applied {
        let missing_namespace = task.write == Write::Create && error.is_not_found();
        let outcome = match error.class() {
            _ if error.is_namespace_terminating() || missing_namespace => Outcome::Failed(Failure::NoNamespace),
            Class::Gone if matches!(task.write, Write::Delete | Write::Release) => return Outcome::Gone.into(),
            Class::Conflict | Class::Gone => match self.inspect(task).await {
                Ok(there) if is_foreign(there.as_ref()) => return Outcome::Found(there).into(),
                Ok(there) => return Outcome::Raced(there).into(),
                Err(error) => Outcome::Failed(failure(&error)),
            },
            _ => Outcome::Failed(failure(&error)),
        };
        Applied { outcome, error: Some(error) }
    }

    fn read(&self, key: &ObjectKey, answer: &Answer) -> Result<Observed, Error> {
        Ok(self.observer.observe(key.kind, &answer.decode::<Object>()?))
    }
}

#[derive(Clone, Copy)]
enum Takeover {
    Adopt,
    Overwrite,
}

fn is_foreign(observed: Option<&Observed>) -> bool {
    observed.is_some_and(|observed| matches!(observed.standing, Standing::Foreign(_) | Standing::Stray))
}

fn failure(error: &Error) -> Failure {
    match error.class() {
        Class::Disconnected => Failure::Lost,
        Class::Throttled(after) => Failure::Throttled(after),
        Class::Transient | Class::Conflict | Class::Gone => Failure::Transient,
        Class::Denied | Class::Invalid => Failure::Refused,
    }
}

fn creation(key: &ObjectKey) -> Url {
    Url::new(paths::collection(key.kind, Some(&key.namespace))).with(FIELD_MANAGER.0, FIELD_MANAGER.1)
}

fn written(key: &ObjectKey) -> String {
    Url::new(paths::object(key)).with(FIELD_MANAGER.0, FIELD_MANAGER.1).build()
}
