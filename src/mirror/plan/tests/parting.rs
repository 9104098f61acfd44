//! What is not ours, and what is not wanted.

use super::*;
use crate::{
    api::mark::{ORIGIN, SOURCE},
    mirror::deletion::Held as Why,
};

#[test]
fn an_object_that_is_not_ours_is_a_conflict_unless_adopted_or_overwritten() {
    let now = Instant::now();
    let later = now + Duration::from_secs(1);
    let overwrite = |wanted: &mut Wanted| wanted.overwrite = true;
    let by_name = |wanted: &mut Wanted| wanted.kubed.uid = None;
    let stray = || Observed { standing: Standing::Stray, whole: Digest::default(), ..observed() };
    let other_hubs = || secret("n", "a").label(ORIGIN, "another-hub").observed();
    let taken_over = || secret("n", "a").annotation(SOURCE, "{}").observed();
    check(
        now,
        vec![
            ("somebody's", yes(secret("n", "a").observed()), Rest(State::Conflict)),
            (
                "somebody's, looked at later",
                yes(secret("n", "a").observed()).after(|history| history.not_before = Some(later)),
                Wait(State::Conflict, later),
            ),
            (
                "somebody's, looked at now",
                yes(secret("n", "a").observed()).after(|history| history.not_before = Some(now)),
                Do(Write::Look),
            ),
            ("somebody's, Overwrite granted", yes_if(overwrite, secret("n", "a").observed()), Do(Write::Overwrite)),
            ("a stray", yes(stray()), Rest(State::Conflict)),
            ("a stray, Overwrite granted: never touched", yes_if(overwrite, stray()), Rest(State::Conflict)),
            ("another hub's", yes_if(overwrite, other_hubs()), Rest(State::Conflict)),
            ("taken over", yes_if(overwrite, taken_over()), Rest(State::TakenOver)),
            (
                "taken over, and kubed's once",
                yes_if(
                    by_name,
                    Observed {
                        standing: Standing::Foreign(Box::new(Foreign {
                            taken_over: true,
                            untouchable: true,
                            ..Foreign::default()
                        })),
                        ..kubed()
                    },
                ),
                Rest(State::TakenOver),
            ),
            ("kubed's copy of this source", yes(kubed()), Do(Write::Adopt)),
            ("kubed's copy of an older object of that name", yes(kubed_of("another")), Rest(State::Conflict)),
            ("the same, adopted by name", yes_if(by_name, kubed_of("another")), Do(Write::Adopt)),
            (
                "kubed's of another hub",
                yes_if(|wanted| wanted.kubed.cluster = "other".into(), kubed()),
                Rest(State::Conflict),
            ),
            (
                "kubed's of another source",
                yes_if(|wanted| wanted.kubed.source = key("m", "a"), kubed()),
                Rest(State::Conflict),
            ),
            ("where nothing is accepted", yes_if(overwrite, kubed()).at(Presence::Closed), Rest(State::Held)),
        ],
    );
}

#[test]
fn a_copy_of_a_hub_that_this_one_replaces_is_taken_over() {
    let now = Instant::now();
    let old_hubs = || copy().label(ORIGIN, "old-hub").observed();
    let moved = || copy().label(ORIGIN, "old-hub").meta("name", "b").observed();
    let rebuilt = |wanted: &mut Wanted| wanted.old_hubs = Arc::new(["old-hub".into()].into());
    check(
        now,
        vec![
            ("not replaced", yes_if(|wanted| wanted.overwrite = true, old_hubs()), Rest(State::Conflict)),
            ("replaced", yes_if(rebuilt, old_hubs()), Do(Write::Adopt)),
            ("its stray", yes_if(rebuilt, moved()), Rest(State::Conflict)),
            ("a third hub's", yes_if(rebuilt, copy().label(ORIGIN, "third").observed()), Rest(State::Conflict)),
        ],
    );
}

#[test]
fn an_unwanted_copy_goes_when_the_guard_agrees() {
    let now = Instant::now();
    let (later, delete) = (now + Duration::from_secs(1), DeletionPolicy::Delete);
    let held = Verdict::Held(Why::ManySources, later);
    let too_early = |history: &mut History| {
        history.not_before = Some(later);
        history.trouble = Some(State::Refused);
    };
    check(
        now,
        vec![
            ("due", given(unwanted(Verdict::Due, delete), observed()), Do(Write::Delete)),
            (
                "due where nothing is accepted: a revoked secret can leave",
                given(unwanted(Verdict::Due, delete), observed()).at(Presence::Closed),
                Do(Write::Delete),
            ),
            ("due, Orphan", given(unwanted(Verdict::Due, DeletionPolicy::Orphan), observed()), Do(Write::Release)),
            (
                "not due",
                given(unwanted(Verdict::Later(later), delete), observed()),
                Wait(State::DeletionPending, later),
            ),
            ("held", given(unwanted(held, delete), observed()), Wait(State::DeletionHeld, later)),
            (
                "refused a moment ago",
                given(unwanted(Verdict::Due, delete), observed()).after(too_early),
                Wait(State::Refused, later),
            ),
            (
                "damaged: left",
                given(unwanted(Verdict::Due, delete), Observed { standing: Standing::Damaged, ..observed() }),
                Rest(State::InStep),
            ),
            (
                "a stray: left",
                given(unwanted(Verdict::Due, delete), Observed { standing: Standing::Stray, ..observed() }),
                Rest(State::InStep),
            ),
            (
                "somebody's: left",
                given(unwanted(Verdict::Due, delete), secret("n", "a").observed()),
                Rest(State::InStep),
            ),
            ("nothing there", given(unwanted(Verdict::Due, delete), None), Rest(State::InStep)),
        ],
    );
}

#[test]
fn what_is_not_decided_is_left_alone() {
    let now = Instant::now();
    check(
        now,
        vec![
            ("frozen", given(Claim::Undecided(State::Frozen), edited()), Rest(State::Frozen)),
            ("not granted", given(Claim::Undecided(State::NotGranted), edited()), Rest(State::NotGranted)),
            ("out of scope", given(Claim::Nobody, edited()), Rest(State::InStep)),
            ("out of scope, on hold", given(Claim::Nobody, Observed { hold: true, ..edited() }), Rest(State::InStep)),
        ],
    );
}
