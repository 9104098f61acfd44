//! What becomes an event, and when. Pure: time is an argument.
//!
//! ```text
//! Notice ─▶ Story of (object, reason) ── gathers until 2 s are quiet ──▶ Telling ─▶ one event
//!             Normal:  once per version of the object
//!             Warning: once in 10 minutes; what comes meanwhile is told at their end, unless it was put right
//! ```

mod story;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};
use story::{Place, Story};

/// The reason of the one Normal event that each version of a source gets.
pub const SYNCED: &str = "Synced";

/// How many stories are remembered; the one that was longest not touched is forgotten first.
const MOST_STORIES: usize = 10_000;
/// How many (follower, target) pairs are kept, over all stories. Further ones are counted only.
const MOST_GATHERED: usize = 50_000;

/// The object that an event is attached to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRef {
    /// `Secret`, `ConfigMap`, `Pod`.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
}

/// What a notice is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A source.
    Source(ObjectRef),
    /// Towline itself or a follower: told on Towline's own object, if that is known.
    Towline,
}

/// How grave an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Told once per version of the object.
    Normal,
    /// Told once in 10 minutes.
    Warning,
}

impl Tone {
    /// The event's `type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Something that users of a source should know of. Holds names, never content.
#[derive(Clone, Debug)]
pub struct Notice {
    /// The source.
    pub source: ObjectRef,
    /// CamelCase, at most 128 characters.
    pub reason: &'static str,
    /// How grave it is.
    pub tone: Tone,
    /// The follower, if it is about one.
    pub follower: Option<String>,
    /// The target in it, `namespace/name`; empty if it is about no certain one.
    pub target: String,
    /// More, in Towline's words.
    pub detail: Option<String>,
}

/// A notice about anything.
#[derive(Clone, Debug)]
pub struct Word {
    pub(super) about: About,
    pub(super) reason: &'static str,
    pub(super) tone: Tone,
    pub(super) place: Place,
    pub(super) detail: Option<String>,
}

impl From<Notice> for Word {
    fn from(notice: Notice) -> Self {
        let Notice { source, reason, tone, follower, target, detail } = notice;
        Self { about: About::Source(source), reason, tone, place: (follower, target), detail }
    }
}

/// One event to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telling {
    /// What it is about.
    pub about: About,
    /// Why.
    pub reason: &'static str,
    /// How grave it is.
    pub tone: Tone,
    /// How many followers it is about.
    pub followers: usize,
    /// The first five of them, in byte order.
    pub follower_names: Vec<String>,
    /// How many targets it is about.
    pub targets: usize,
    /// The first five of them, if all are in one follower.
    pub target_names: Vec<String>,
    /// There are more than could be kept.
    pub at_least: bool,
    /// The last notice's detail.
    pub detail: Option<String>,
}

impl About {
    fn subject(&self) -> Subject {
        match self {
            Self::Source(source) => Some((source.kind, source.namespace.clone(), source.name.clone())),
            Self::Towline => None,
        }
    }

    /// UID and version.
    fn version(&self) -> Option<(&str, &str)> {
        match self {
            Self::Source(source) => Some((&source.uid, &source.resource_version)),
            Self::Towline => None,
        }
    }
}

/// Kind, namespace and name; `None` is Towline itself.
type Subject = Option<(&'static str, String, String)>;

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Topic {
    subject: Subject,
    reason: &'static str,
}

/// Who is told what, and when.
#[derive(Default)]
pub struct Budget {
    stories: BTreeMap<Arc<Topic>, Story>,
    agenda: BTreeSet<(Instant, Arc<Topic>)>,
    /// Stories by when they were last touched.
    recent: BTreeMap<u64, Arc<Topic>>,
    touches: u64,
    gathered: usize,
}

impl Budget {
    /// Takes a notice about a source, or about Towline or a follower.
    pub fn note(&mut self, word: impl Into<Word>, now: Instant) {
        let word = word.into();
        let topic = Topic { subject: word.about.subject(), reason: word.reason };
        if word.tone == Tone::Normal {
            self.put_right(&topic, &word.place);
        }
        let Some(topic) = self.open(topic, &word.about, word.tone) else { return };
        let room = self.gathered < MOST_GATHERED;
        self.change(&topic, |story| story.gather(word.place, word.detail, room, now));
        self.forget_the_oldest();
    }

    /// Says how many copies this version of a source should have: `Synced` is told at once when they are all in step.
    pub fn expect(&mut self, source: ObjectRef, copies: usize) {
        let about = About::Source(source);
        let topic = Topic { subject: about.subject(), reason: SYNCED };
        if let Some(topic) = self.open(topic, &about, Tone::Normal) {
            self.change(&topic, |story| story.expect(copies));
            self.forget_the_oldest();
        }
    }

    /// When something is to be told.
    pub fn next(&self) -> Option<Instant> {
        self.agenda.first().map(|(due, _)| *due)
    }

    /// One event that is due, if any.
    pub fn take(&mut self, now: Instant) -> Option<Telling> {
        let (_, topic) = self.agenda.first().filter(|(due, _)| *due <= now)?.clone();
        let mut telling = None;
        self.change(&topic, |story| telling = Some(story.tell(topic.reason, now)));
        telling
    }

    /// The story of a topic, about the version that the notice is about; `None` if nothing more is to be said about that.
    fn open(&mut self, topic: Topic, about: &About, tone: Tone) -> Option<Arc<Topic>> {
        let topic = match self.stories.get_key_value(&topic) {
            Some((known, _)) => Arc::clone(known),
            None => {
                let topic = Arc::new(topic);
                self.stories.insert(Arc::clone(&topic), Story::new(about.clone(), tone));
                topic
            }
        };
        let mut open = false;
        self.change(&topic, |story| open = story.renew(about));
        open.then_some(topic)
    }

    /// Changes a story, and keeps agenda, recency and the sum up to date.
    fn change(&mut self, topic: &Arc<Topic>, change: impl FnOnce(&mut Story)) {
        let Some(story) = self.stories.get_mut(topic) else { return };
        let (kept, due) = (story.kept(), story.due);
        change(story);
        story.schedule();
        self.gathered = (self.gathered + story.kept()).saturating_sub(kept);
        if due != story.due {
            due.map(|due| self.agenda.remove(&(due, Arc::clone(topic))));
            story.due.map(|due| self.agenda.insert((due, Arc::clone(topic))));
        }
        self.touches += 1;
        self.recent.remove(&story.touched);
        story.touched = self.touches;
        self.recent.insert(self.touches, Arc::clone(topic));
    }

    /// A target that got in step is no longer warned of.
    fn put_right(&mut self, topic: &Topic, place: &Place) {
        let from = Topic { subject: topic.subject.clone(), reason: "" };
        let same = self.stories.range::<Topic, _>(from..).take_while(|(other, _)| other.subject == topic.subject);
        let warned = same.filter(|(_, story)| story.warns_of(place));
        let warned: Vec<_> = warned.map(|(other, _)| Arc::clone(other)).collect();
        for other in warned {
            self.change(&other, |story| story.put_right(place));
        }
    }

    fn forget_the_oldest(&mut self) {
        while self.stories.len() > MOST_STORIES
            && let Some((_, topic)) = self.recent.pop_first()
            && let Some(story) = self.stories.remove(&topic)
        {
            self.gathered = self.gathered.saturating_sub(story.kept());
            story.due.map(|due| self.agenda.remove(&(due, topic)));
        }
    }
}

#[cfg(test)]
mod tests;
