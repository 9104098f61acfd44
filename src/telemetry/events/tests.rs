use super::*;
use std::time::Duration;

const MINUTES_10: Duration = Duration::from_secs(600);

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn source(name: &str, version: &str) -> ObjectRef {
    ObjectRef {
        kind: "Secret",
        namespace: "certs".into(),
        name: name.into(),
        uid: "u".into(),
        resource_version: version.into(),
    }
}

fn synced(version: &str, follower: &str) -> Notice {
    Notice {
        source: source("tls", version),
        reason: SYNCED,
        tone: Tone::Normal,
        follower: Some(follower.into()),
        target: "web/tls".to_owned(),
        detail: None,
    }
}

fn about_us(reason: &'static str, tone: Tone) -> Word {
    Word { about: About::Towline, reason, tone, ..synced("1", "a").into() }
}

fn conflict(follower: &str) -> Notice {
    Notice { reason: "Conflict", tone: Tone::Warning, ..synced("1", follower) }
}

/// What is told from `from` on, within so many seconds, and when (in milliseconds since `from`).
fn told(budget: &mut Budget, from: Instant, within: u64) -> Vec<(u128, Telling)> {
    let mut told = Vec::new();
    while let Some(due) = budget.next().filter(|due| *due <= from + seconds(within)) {
        let now = due.max(from);
        told.push(((now - from).as_millis(), budget.take(now).unwrap()));
    }
    told
}

#[test]
fn a_version_is_told_once_when_its_followers_are_quiet() {
    let (mut budget, start) = (Budget::default(), Instant::now());
    for (index, follower) in ["a", "b", "c"].into_iter().enumerate() {
        budget.note(synced("1", follower), start + seconds(index as u64));
    }
    let first = told(&mut budget, start, 60);
    assert_eq!(first.len(), 1);
    assert_eq!((first[0].0, first[0].1.followers, first[0].1.targets), (4000, 3, 3));
    budget.note(synced("1", "d"), start + seconds(100));
    assert_eq!(budget.next(), None, "the same version is told once");
    budget.note(synced("2", "a"), start + seconds(101));
    assert_eq!(told(&mut budget, start, 200).len(), 1);
}

#[test]
fn a_version_is_told_at_once_when_all_are_in_step() {
    let (mut budget, start) = (Budget::default(), Instant::now());
    budget.expect(source("tls", "1"), 2);
    budget.note(synced("1", "a"), start);
    budget.note(synced("1", "a"), start);
    assert_eq!(budget.next(), Some(start + seconds(2)), "one target noted twice is one");
    budget.note(synced("1", "b"), start + seconds(1));
    assert_eq!(told(&mut budget, start, 60)[0].0, 1000);
    budget.expect(source("tls", "1"), 2);
    budget.note(synced("1", "c"), start + seconds(2));
    assert_eq!(budget.next(), None);
}

#[test]
fn a_newer_version_takes_the_place_of_one_that_was_not_told() {
    let (mut budget, start) = (Budget::default(), Instant::now());
    budget.note(synced("9", "a"), start);
    budget.note(synced("10", "b"), start + seconds(1));
    budget.note(synced("9", "c"), start + seconds(1));
    let told = told(&mut budget, start, 60);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].1.follower_names, ["b"], "a late note about the old version is not counted");
    assert_eq!(told[0].1.about, About::Source(source("tls", "10")));
}

#[test]
fn a_recreated_source_is_another_version_whatever_its_number() {
    let (mut budget, start) = (Budget::default(), Instant::now());
    budget.note(synced("10", "a"), start);
    told(&mut budget, start, 60);
    let again = ObjectRef { uid: "v".into(), ..source("tls", "10") };
    budget.note(Notice { source: again, ..synced("10", "a") }, start + seconds(10));
    assert_eq!(told(&mut budget, start, 60).len(), 1);
}

#[test]
fn notes_that_never_pause_are_told_after_a_minute() {
    let (mut budget, start) = (Budget::default(), Instant::now());
    for second in 0..=59 {
        budget.note(synced("1", &format!("f{second}")), start + seconds(second));
    }
    assert_eq!(budget.next(), Some(start + seconds(60)));
}

#[test]
fn a_warning_is_told_once_in_ten_minutes_with_counts_and_five_names() {
    let (mut budget, start) = (Budget::default(), Instant::now());
    for follower in ["g", "f", "e", "d", "c", "b", "a"] {
        budget.note(conflict(follower), start);
    }
    let (when, telling) = told(&mut budget, start, 60).remove(0);
    assert_eq!((when, telling.followers), (2000, 7));
    assert_eq!(telling.follower_names, ["a", "b", "c", "d", "e"]);
    budget.note(conflict("h"), start + seconds(10));
    budget.note(conflict("i"), start + seconds(20));
    let (when, telling) = told(&mut budget, start, 3600).remove(0);
    assert_eq!((when, telling.followers), (602_000, 2), "what came meanwhile is told at the end");
    assert_eq!(budget.next(), None);
}

#[test]
fn other_reasons_and_sources_have_budgets_of_their_own() {
    let (mut budget, start) = (Budget::default(), Instant::now());
    budget.note(conflict("a"), start);
    budget.note(Notice { reason: "Refused", ..conflict("a") }, start);
    budget.note(Notice { source: source("other", "1"), ..conflict("a") }, start);
    budget.note(about_us("ClusterChanged", Tone::Warning), start);
    assert_eq!(told(&mut budget, start, 60).len(), 4);
}

#[test]
fn a_target_that_got_in_step_meanwhile_is_not_warned_of() {
    let (mut budget, start) = (Budget::default(), Instant::now());
    budget.note(conflict("a"), start);
    budget.note(conflict("b"), start);
    budget.note(synced("1", "a"), start + seconds(1));
    let told = told(&mut budget, start, 60);
    let warning = told.iter().find(|(_, telling)| telling.reason == "Conflict").unwrap();
    assert_eq!(warning.1.follower_names, ["b"]);
    budget.note(conflict("b"), start + seconds(70));
    budget.note(synced("1", "b"), start + seconds(71));
    assert_eq!(budget.next(), None);
}

#[test]
fn a_normal_event_about_towline_comes_again_after_ten_minutes_only() {
    let (mut budget, start) = (Budget::default(), Instant::now());
    let notice = || about_us("FollowerAdded", Tone::Normal);
    budget.note(notice(), start);
    assert_eq!(told(&mut budget, start, 60).len(), 1);
    budget.note(notice(), start + seconds(3));
    assert_eq!(budget.next(), Some(start + seconds(2) + MINUTES_10));
}

#[test]
fn the_targets_in_one_follower_are_named() {
    let (mut budget, start) = (Budget::default(), Instant::now());
    for target in ["b/tls", "a/tls"] {
        budget.note(Notice { target: target.to_owned(), ..conflict("a") }, start);
    }
    let (_, telling) = told(&mut budget, start, 60).remove(0);
    assert_eq!((telling.targets, telling.target_names), (2, vec!["a/tls".to_owned(), "b/tls".to_owned()]));
}

#[test]
fn memory_stays_bounded_over_many_sources() {
    let (mut budget, start) = (Budget::default(), Instant::now());
    for index in 0..MOST_STORIES + 500 {
        let source = source(&format!("s{index}"), "1");
        budget.note(Notice { source, ..conflict("a") }, start);
    }
    assert_eq!((budget.stories.len(), budget.recent.len()), (MOST_STORIES, MOST_STORIES));
    assert_eq!((budget.agenda.len(), budget.gathered), (MOST_STORIES, MOST_STORIES));
    assert_eq!(told(&mut budget, start, 60).len(), MOST_STORIES);
    assert_eq!((budget.agenda.len(), budget.gathered), (0, 0));
}

#[test]
fn memory_stays_bounded_over_many_targets_and_the_count_says_so() {
    let (mut budget, start) = (Budget::default(), Instant::now());
    for index in 0..MOST_GATHERED + 3 {
        budget.note(synced("1", &format!("f{index}")), start);
    }
    assert_eq!(budget.gathered, MOST_GATHERED);
    let (_, telling) = told(&mut budget, start, 60).remove(0);
    assert_eq!((telling.targets, telling.at_least), (MOST_GATHERED + 3, true));
}
