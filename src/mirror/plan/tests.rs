use super::*;
use crate::{
    api::mark::KUBED_ORIGIN,
    mirror::{
        makers::{Thing, key, observer, secret, stored},
        observed::Foreign,
        parcel::copy_mark,
        request,
    },
    object::{decode::Content, tls::Unsound},
};
use std::time::Duration;

mod parting;

/// A copy in step with the source `Secret/n/a`.
fn copy() -> Thing {
    let source = secret("n", "a").annotation("towline.dev/followers", "*");
    stored(&request::create(&source.parcel(), &Default::default()), "u", "7")
}

fn observed() -> Observed {
    copy().observed()
}

fn edited() -> Observed {
    Observed { whole: Digest::default(), content: digest(1), ..observed() }
}

fn retyped() -> Observed {
    Observed { type_: Some("kubernetes.io/tls".into()), ..edited() }
}

fn foreign(foreign: Foreign) -> Observed {
    Observed { standing: Standing::Foreign(Box::new(foreign)), whole: Digest::default(), ..observed() }
}

fn digest(number: u8) -> Digest {
    let data = [("k".into(), number.to_string().as_str().into())].into();
    observer().key.content(&Content { data, ..Content::default() })
}

fn wanted() -> Wanted {
    let source = secret("n", "a").annotation("towline.dev/followers", "*").source();
    let shipment = source.shipment().unwrap();
    let mark = copy_mark(&source.key, shipment, &crate::mirror::makers::wish());
    Wanted {
        whole: observer().in_step(shipment.payload.digest, shipment.carried, &key("n", "a"), &mark),
        content: shipment.payload.digest,
        type_: shipment.payload.type_.clone(),
        tls: None,
        overwrite: false,
        create_namespace: false,
        renamed: false,
        kubed: Adoption { source: source.key.clone(), uid: Some(source.uid.clone()), cluster: "mgmt".into() },
        old_hubs: Arc::default(),
    }
}

fn unwanted(verdict: Verdict, policy: DeletionPolicy) -> Claim {
    Claim::Unwanted(Unwanted { verdict, policy })
}

fn kubed() -> Observed {
    kubed_of("uid-of-n-a")
}

fn kubed_of(uid: &str) -> Observed {
    secret("n", "a")
        .label("kubed.appscode.com/origin.name", "a")
        .label("kubed.appscode.com/origin.namespace", "n")
        .label("kubed.appscode.com/origin.cluster", "mgmt")
        .annotation(KUBED_ORIGIN, &format!(r#"{{"uid":"{uid}"}}"#))
        .observed()
}

struct Line {
    claim: Claim,
    observed: Option<Observed>,
    presence: Presence,
    history: History,
}

fn given(claim: Claim, observed: impl Into<Option<Observed>>) -> Line {
    Line { claim, observed: observed.into(), presence: Presence::Open, history: History::default() }
}

fn yes(observed: impl Into<Option<Observed>>) -> Line {
    given(Claim::Wanted(wanted()), observed)
}

fn yes_if(change: impl FnOnce(&mut Wanted), observed: impl Into<Option<Observed>>) -> Line {
    let mut wanted = wanted();
    change(&mut wanted);
    given(Claim::Wanted(wanted), observed)
}

impl Line {
    fn at(mut self, presence: Presence) -> Self {
        self.presence = presence;
        self
    }

    fn after(mut self, change: impl FnOnce(&mut History)) -> Self {
        change(&mut self.history);
        self
    }

    fn plan(&self, now: Instant) -> Action {
        let Self { claim, observed, presence, history } = self;
        plan(&Situation { claim, observed: observed.as_ref(), presence: *presence, history, now })
    }
}

#[track_caller]
fn check(now: Instant, lines: Vec<(&str, Line, Action)>) {
    for (name, line, expected) in lines {
        assert_eq!(line.plan(now), expected, "{name}");
    }
}

use Action::{Rest, Wait, Write as Do};

#[test]
fn a_wanted_target_without_an_object_is_created_where_there_is_a_namespace() {
    let now = Instant::now();
    check(
        now,
        vec![
            ("nothing there", yes(None), Do(Write::Create)),
            ("namespace not visible: only a write will tell", yes(None).at(Presence::Invisible), Do(Write::Create)),
            ("namespace missing", yes(None).at(Presence::Missing), Rest(State::Waiting)),
            (
                "namespace missing, creation granted",
                yes_if(|wanted| wanted.create_namespace = true, None).at(Presence::Missing),
                Do(Write::CreateNamespace),
            ),
            (
                "namespace terminating",
                yes_if(|wanted| wanted.create_namespace = true, None).at(Presence::Terminating),
                Rest(State::Waiting),
            ),
            ("namespace accepts nothing", yes(None).at(Presence::Closed), Rest(State::Held)),
            (
                "a sound pair is not needed to create",
                yes_if(|wanted| wanted.tls = Some(Err(Unsound::Key)), None),
                Do(Write::Create),
            ),
        ],
    );
}

#[test]
fn a_copy_in_step_is_left_alone_and_any_difference_is_repaired() {
    let now = Instant::now();
    let immutable = || Observed { immutable: true, ..edited() };
    check(
        now,
        vec![
            ("in step", yes(observed()), Rest(State::InStep)),
            ("in step where nothing is accepted", yes(observed()).at(Presence::Closed), Rest(State::InStep)),
            ("in step in a namespace that is going", yes(observed()).at(Presence::Terminating), Rest(State::InStep)),
            ("differs", yes(edited()), Do(Write::Update)),
            ("differs in a namespace not seen yet", yes(edited()).at(Presence::Missing), Do(Write::Update)),
            ("differs where nothing is accepted", yes(edited()).at(Presence::Closed), Rest(State::Held)),
            ("differs in a namespace that is going", yes(edited()).at(Presence::Terminating), Rest(State::Waiting)),
            (
                "its mark names a follower that nobody knows",
                yes_if(|wanted| wanted.renamed = true, observed()),
                Do(Write::Update),
            ),
            (
                "damaged mark",
                yes(Observed { standing: Standing::Damaged, whole: Digest::default(), ..observed() }),
                Do(Write::Update),
            ),
            ("differs in type", yes(retyped()), Do(Write::Replace)),
            ("an absent type is Opaque", yes(Observed { type_: None, ..edited() }), Do(Write::Update)),
            ("immutable, other content", yes(immutable()), Do(Write::Replace)),
            (
                "immutable, only metadata differ",
                yes(Observed { content: observed().content, ..immutable() }),
                Do(Write::Update),
            ),
        ],
    );
}

#[test]
fn nothing_is_done_to_a_copy_on_hold() {
    let now = Instant::now();
    let held = |observed| Observed { hold: true, ..observed };
    let damaged = Observed { standing: Standing::Damaged, ..held(edited()) };
    check(
        now,
        vec![
            ("wanted", yes(held(edited())), Rest(State::Held)),
            ("wanted, damaged", yes(damaged), Rest(State::Held)),
            ("unwanted", given(unwanted(Verdict::Due, DeletionPolicy::Delete), held(observed())), Rest(State::Held)),
            (
                "to be released",
                given(unwanted(Verdict::Due, DeletionPolicy::Orphan), held(observed())),
                Rest(State::Held),
            ),
            (
                "not ours, to be overwritten",
                yes_if(|wanted| wanted.overwrite = true, held(foreign(Foreign::default()))),
                Rest(State::Held),
            ),
            ("kubed's", yes(held(kubed())), Rest(State::Held)),
        ],
    );
}

#[test]
fn what_is_being_deleted_is_waited_for() {
    let now = Instant::now();
    let going = |observed| Observed { deleting: true, ..observed };
    check(
        now,
        vec![
            ("wanted", yes(going(edited())), Rest(State::Waiting)),
            (
                "unwanted",
                given(unwanted(Verdict::Due, DeletionPolicy::Delete), going(observed())),
                Rest(State::Waiting),
            ),
            ("on hold", yes(going(Observed { hold: true, ..edited() })), Rest(State::Waiting)),
            (
                "not ours, Overwrite granted",
                yes_if(|wanted| wanted.overwrite = true, going(foreign(Foreign::default()))),
                Rest(State::Waiting),
            ),
            (
                "not ours: it is not watched, hence looked at",
                yes(going(foreign(Foreign::default()))).after(|history| history.not_before = Some(now)),
                Do(Write::Look),
            ),
        ],
    );
}

#[test]
fn a_follower_that_changes_what_is_written_is_not_fought() {
    let (now, earlier) = (Instant::now(), Instant::now() - Duration::from_secs(4));
    let answered = edited().whole;
    let contested = |history: &mut History| {
        for _ in 0..6 {
            history.wrote(wanted().whole, wanted().whole, earlier);
        }
    };
    let due = earlier + Duration::from_secs(10);
    check(
        now,
        vec![
            (
                "altered",
                yes(edited()).after(|history| history.wrote(wanted().whole, answered, earlier)),
                Rest(State::Altered),
            ),
            (
                "altered, then changed again",
                yes(Observed { whole: digest(9), ..edited() })
                    .after(|history| history.wrote(wanted().whole, answered, earlier)),
                Do(Write::Update),
            ),
            (
                "altered, new source version",
                yes(edited()).after(|history| history.wrote(digest(8), answered, earlier)),
                Do(Write::Update),
            ),
            ("contested", yes(edited()).after(contested), Wait(State::Contested, due)),
            ("contested by deleting it", yes(None).after(contested), Wait(State::Contested, due)),
            ("contested by changing its type", yes(retyped()).after(contested), Wait(State::Contested, due)),
            ("contested by a kubed that still runs", yes(kubed()).after(contested), Wait(State::Contested, due)),
            (
                "contested under Overwrite",
                yes_if(|wanted| wanted.overwrite = true, foreign(Foreign::default())).after(contested),
                Wait(State::Contested, due),
            ),
            (
                "contested, new source version",
                yes_if(|wanted| wanted.whole = digest(3), edited()).after(contested),
                Do(Write::Update),
            ),
        ],
    );
}

#[test]
fn an_unsound_pair_never_replaces_a_sound_one() {
    let now = Instant::now();
    let unsound = |wanted: &mut Wanted| wanted.tls = Some(Err(Unsound::Certificate));
    let sound = || Observed { tls: Some(Sound { not_after: 1 }), ..edited() };
    check(
        now,
        vec![
            ("unsound over sound", yes_if(unsound, sound()), Rest(State::InvalidPayload)),
            (
                "unsound over kubed's sound one",
                yes_if(unsound, Observed { tls: sound().tls, ..kubed() }),
                Rest(State::InvalidPayload),
            ),
            (
                "kubed's is not watched, hence looked at",
                yes_if(unsound, Observed { tls: sound().tls, ..kubed() })
                    .after(|history| history.not_before = Some(now)),
                Do(Write::Look),
            ),
            ("unsound over unsound", yes_if(unsound, edited()), Do(Write::Update)),
            (
                "sound over sound",
                yes_if(|wanted| wanted.tls = Some(Ok(Sound { not_after: 0 })), sound()),
                Do(Write::Update),
            ),
            ("not validated", yes(sound()), Do(Write::Update)),
        ],
    );
}

#[test]
fn after_a_failure_every_write_waits() {
    let now = Instant::now();
    let later = now + Duration::from_secs(1);
    let failed = |history: &mut History| {
        history.not_before = Some(later);
        history.trouble = Some(State::Refused);
    };
    check(
        now,
        vec![
            ("create", yes(None).after(failed), Wait(State::Refused, later)),
            ("update", yes(edited()).after(failed), Wait(State::Refused, later)),
            ("in step", yes(observed()).after(failed), Rest(State::InStep)),
        ],
    );
}

#[test]
fn no_write_is_unconditional() {
    let now = Instant::now();
    for version in ["", "0", "000"] {
        let anything = Observed { version: version.into(), ..edited() };
        let claim = unwanted(Verdict::Due, DeletionPolicy::Delete);
        check(
            now,
            vec![
                ("update", yes(anything.clone()), Rest(State::Refused)),
                ("delete", given(claim, anything), Rest(State::Refused)),
            ],
        );
    }
}
