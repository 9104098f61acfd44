//! Followers files on disk, which change.

use super::*;
use crate::follower::{catalog::Catalog, connection::Connection, providers::file::WatchedFile};
use std::{fs, os::unix::fs::symlink, time::Duration};
use tokio::{sync::watch, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

const CAP: Duration = Duration::from_secs(60);
/// Of paused time: many looks at the file.
const A_WHILE: Duration = Duration::from_secs(10);

/// A folder that is gone after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("towline-followers-file-{}-{name}", std::process::id()));
        let _left_over = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("followers.yaml")
    }

    /// By another inode, as editors and mounts do it.
    fn write(&self, text: &str) {
        let aside = self.0.join("aside");
        fs::write(&aside, text).unwrap();
        fs::rename(aside, self.file()).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}

fn entry(name: &str, cluster: &str, rest: &str) -> String {
    let role = format!("arn:aws:iam::111122223333:role/{cluster}");
    let eks = format!("{{clusterName: {cluster}, region: eu-west-1, roleARN: '{role}'}}");
    format!("- name: {name}\n  spec:\n    connection: {{eks: {eks}}}\n{rest}")
}

/// Reaches every cluster but `lost`, whose role is not allowed.
fn format(path: PathBuf) -> FollowersFile {
    let aws = AwsConnections::of_nobody().allowing_only("*, !*/lost");
    FollowersFile { path, policy: Arc::new(Policy::default()), only: None, aws }
}

/// Each follower with where it is, or why it is nowhere.
fn shown(catalog: &Catalog) -> Vec<String> {
    let place = |entry: &Entry| match &entry.connection {
        Ok(Connection::Eks(eks)) => eks.cluster().name.clone(),
        Ok(Connection::Direct(endpoint)) => endpoint.server().to_owned(),
        Err(why) => why.clone(),
    };
    catalog.iter().map(|(name, entry)| format!("{name} {}", place(entry))).collect()
}

/// A file that is watched until the end of the test.
struct Watched {
    seen: watch::Receiver<Catalog>,
    _tasks: JoinSet<()>,
}

impl Watched {
    fn start(format: FollowersFile) -> Self {
        let (file, catalog) = WatchedFile::open(format).unwrap();
        let (sender, seen) = watch::channel(catalog);
        let mut tasks = JoinSet::new();
        tasks.spawn(file.watch(sender, CancellationToken::new()));
        Self { seen, _tasks: tasks }
    }

    fn now(&mut self) -> Vec<String> {
        shown(&self.seen.borrow_and_update())
    }

    async fn next(&mut self) -> Vec<String> {
        timeout(CAP, self.seen.changed()).await.unwrap().unwrap();
        self.now()
    }

    async fn stays(&mut self) -> bool {
        timeout(A_WHILE, self.seen.changed()).await.is_err()
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_file_is_a_change_of_its_followers() {
    let folder = Folder::new("changes");
    folder.write(&entry("a", "one", ""));
    let mut watched = Watched::start(format(folder.file()));
    assert_eq!(watched.now(), ["a one"]);
    folder.write(&(entry("a", "two", "") + &entry("b", "one", "")));
    assert_eq!(watched.next().await, ["a two", "b one"]);
    folder.write(&entry("b", "one", "    accept: [{kinds: [Secret]}]\n"));
    assert_eq!(watched.next().await, ["b one"]);
    assert_eq!(watched.seen.borrow()[&FollowerName::from("b")].member.policy.accept.len(), 1);
    folder.write("[]");
    assert!(watched.next().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_no_list_and_one_that_is_gone_keep_the_last_good_set() {
    let folder = Folder::new("keeps");
    folder.write(&entry("a", "one", ""));
    let mut watched = Watched::start(format(folder.file()));
    for bad in ["", "a: b", "- name: [", "- name: a\n  spec: {connection: {eks: {clu"] {
        folder.write(bad);
        assert!(watched.stays().await, "{bad}");
    }
    fs::remove_file(folder.file()).unwrap();
    assert!(watched.stays().await);
    folder.write(&entry("b", "one", ""));
    assert_eq!(watched.next().await, ["b one"]);
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_is_wrong_stays_as_it_was_and_harms_no_other() {
    let folder = Folder::new("entries");
    folder.write(&(entry("a", "one", "") + &entry("s", "one", "    suspend: true\n")));
    let mut watched = Watched::start(format(folder.file()));
    assert_eq!(watched.now(), ["a one".to_owned(), format!("s {SUSPENDED}")]);
    let text = entry("a", "lost", "")
        + &entry("s", "one", "    suspend: maybe\n")
        + &entry("new", "lost", "")
        + &entry("b", "two", "");
    folder.write(&text);
    let expected = [
        "a one",
        "b two",
        "new roleARN arn:aws:iam::111122223333:role/lost: --allowed-role-arns does not allow it",
        &format!("s {SUSPENDED}"),
    ];
    assert_eq!(watched.next().await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_mounted_secret_is_followed_from_one_version_to_the_next() {
    let folder = Folder::new("mounted");
    let version = |name: &str, cluster: &str| {
        fs::create_dir(folder.0.join(name)).unwrap();
        fs::write(folder.0.join(name).join("followers.yaml"), entry("a", cluster, "")).unwrap();
        symlink(name, folder.0.join("new")).unwrap();
        fs::rename(folder.0.join("new"), folder.0.join("..data")).unwrap();
    };
    version("..1", "one");
    symlink("..data/followers.yaml", folder.file()).unwrap();
    let mut watched = Watched::start(format(folder.file()));
    assert_eq!(watched.now(), ["a one"]);
    version("..2", "two");
    assert_eq!(watched.next().await, ["a two"]);
}

#[test]
fn a_follower_is_reached_and_served_as_its_entry_says() {
    let folder = Folder::new("says");
    let policy = Policy::parse("accept: [{kinds: [ConfigMap]}]\nbaseRoutes: false").unwrap();
    let mut format = FollowersFile { policy: Arc::new(policy), ..format(folder.file()) };
    let own = "    clusterUID: uid-1\n    accept: [{kinds: [Secret]}]\n";
    folder
        .write(&(entry("a", "one", own).replace("  spec:", "  labels: {env: prod}\n  spec:") + &entry("b", "one", "")));
    let catalog = format.read().unwrap().catalog;
    let [a, b] = ["a", "b"].map(|name| &catalog[&FollowerName::from(name)]);
    assert_eq!((a.provider, a.pin.clone(), b.pin.clone()), ("followers-file", Some("uid-1".into()), None));
    assert_eq!(a.member.labels.get("env").map(String::as_str), Some("prod"));
    let joined = Policy::parse("accept: [{kinds: [ConfigMap]}, {kinds: [Secret]}]\nbaseRoutes: false").unwrap();
    assert_eq!((&*a.member.policy, &b.member.policy), (&joined, &format.policy));
    assert_eq!((a.member.namespace.clone(), b.member.labels.len()), (None, 0));

    format.only = Some(Patterns::parse("*, !a").unwrap());
    assert_eq!(format.read().unwrap().catalog.keys().map(FollowerName::as_str).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn every_mistake_is_told_with_the_files_name() {
    let folder = Folder::new("told");
    let path = folder.file().display().to_string();
    let missing = format(folder.file()).read().err().unwrap();
    assert_eq!(missing, format!("{path}: entity not found"));
    folder.write("- name: a\n  spec: {suspend: 1}\n- nam: b\n- name: '@local'\n  spec: {}\n");
    let (file, catalog) = WatchedFile::open(format(folder.file())).unwrap();
    let why = catalog[&FollowerName::from("a")].connection.as_ref().err().unwrap();
    assert_eq!(
        *why,
        format!(
            "{path}: line 2, column 9: spec: key `connection` is missing; {path}: line 2, column 19: spec.suspend: allowed is true or false"
        )
    );
    let nameless = file.complaint().unwrap();
    assert!(
        nameless.contains("line 3, column 3: unknown key `nam`") && nameless.contains("line 4, column 9: name"),
        "{nameless}"
    );
    folder.write("name: a\n");
    let error = WatchedFile::open(format(folder.file())).err().unwrap();
    assert!(error.starts_with(&format!("{path}: line 1, column 1: allowed is a list of followers")), "{error}");
}
