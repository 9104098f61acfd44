//! The marks by which a copy is known: whose it is, which source it is of, and the place that it was made for.

use super::{
    annotations::DeletionPolicy,
    duration::LONGEST,
    key::{Kind, ObjectKey},
    names::{ClusterUid, FollowerName, Namespace, ObjectName, ResourceVersion, Uid},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{collections::BTreeSet, time::Duration};

/// Label: UID of the management cluster. The only one that Towline selects by.
pub const ORIGIN: &str = "towline.dev/origin";
/// Annotation: the [`Mark`].
pub const SOURCE: &str = "towline.dev/source";
/// Annotation: what was [`Propagated`].
pub const PROPAGATED: &str = "towline.dev/propagated";
/// Label: courtesy to people, never selected by.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// What [`MANAGED_BY`] says.
pub const MANAGED_BY_TOWLINE: &str = "towline";
/// Annotation on a copy: `true` = neither updated nor deleted.
pub const HOLD: &str = "towline.dev/hold";
/// Annotation on a follower's namespace: `false` = nothing is created or updated there.
pub const ACCEPT: &str = "towline.dev/accept";

/// kubed's annotation with the [`KubedOrigin`].
pub const KUBED_ORIGIN: &str = "kubed.appscode.com/origin";
/// kubed's label: name of the source.
pub const KUBED_ORIGIN_NAME: &str = "kubed.appscode.com/origin.name";
/// kubed's label: namespace of the source.
pub const KUBED_ORIGIN_NAMESPACE: &str = "kubed.appscode.com/origin.namespace";
/// kubed's label: its `--cluster-name`, which may be empty.
pub const KUBED_ORIGIN_CLUSTER: &str = "kubed.appscode.com/origin.cluster";

const VERSION: u64 = 1;

/// What Towline writes on a copy about where it comes from and where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// `--instance` of the writer; for people.
    pub instance: String,
    /// What it is a copy of.
    pub source: MarkSource,
    /// The place that it was made for.
    pub target: MarkTarget,
    /// What to do with it when its source is gone.
    pub deletion_policy: DeletionPolicy,
    /// How long it outlives its source, if the source said so.
    pub deletion_delay: Option<Duration>,
}

/// What a copy is a copy of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MarkSource {
    /// `--cluster-name`; for people.
    #[serde(default)]
    pub cluster: String,
    /// The source's kind, which is the copy's.
    pub kind: Kind,
    /// The source's namespace.
    pub namespace: Namespace,
    /// The source's name.
    pub name: ObjectName,
    /// The source's uid when this was written; for people.
    #[serde(default = "no_uid")]
    pub uid: Uid,
    /// The source's version when this was written; for people.
    #[serde(default = "no_version")]
    pub resource_version: ResourceVersion,
}

/// The place that a copy was made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkTarget {
    /// UID of the follower's cluster.
    pub cluster: ClusterUid,
    /// Name of the follower when this was written.
    #[serde(default = "no_follower")]
    pub follower: FollowerName,
    /// Namespace in the follower.
    pub namespace: Namespace,
    /// Name in that namespace.
    pub name: ObjectName,
}

fn no_uid() -> Uid {
    Uid::from("")
}

fn no_version() -> ResourceVersion {
    ResourceVersion::from("")
}

fn no_follower() -> FollowerName {
    FollowerName::from("")
}

impl MarkSource {
    /// The source as one key.
    pub fn key(&self) -> ObjectKey {
        ObjectKey { kind: self.kind, namespace: self.namespace.clone(), name: self.name.clone() }
    }
}

/// The annotation's fields in their order.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields<S, T> {
    v: u64,
    #[serde(default)]
    instance: String,
    source: S,
    target: T,
    #[serde(default)]
    deletion_policy: DeletionPolicy,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "seconds")]
    deletion_delay: Option<Duration>,
}

impl Mark {
    /// The annotation's text: the same mark gives the same bytes.
    pub fn encode(&self) -> String {
        let fields = Fields {
            v: VERSION,
            instance: self.instance.clone(),
            source: &self.source,
            target: &self.target,
            deletion_policy: self.deletion_policy,
            deletion_delay: self.deletion_delay,
        };
        // Strings and numbers under fixed keys have no way to fail; an empty mark would not parse, hence not be ours.
        serde_json::to_string(&fields).unwrap_or_default()
    }

    /// Reads the annotation; unknown fields are ignored, another version is not understood.
    pub fn parse(text: &str) -> Option<Self> {
        let fields: Fields<MarkSource, MarkTarget> = serde_json::from_str(text).ok()?;
        let Fields { v, instance, source, target, deletion_policy, deletion_delay } = fields;
        (v == VERSION).then_some(Self { instance, source, target, deletion_policy, deletion_delay })
    }
}

/// A delay as a JSON number of seconds: whole if it is, else with a fraction.
mod seconds {
    use super::{Deserialize, Deserializer, Duration, LONGEST, Serializer, de};

    pub(super) fn serialize<S: Serializer>(delay: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        match delay {
            None => serializer.serialize_none(),
            Some(delay) if delay.subsec_nanos() == 0 => serializer.serialize_u64(delay.as_secs()),
            Some(delay) => serializer.serialize_f64(delay.as_secs_f64()),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        let Some(seconds) = Option::<f64>::deserialize(deserializer)? else { return Ok(None) };
        let delay = Duration::try_from_secs_f64(seconds).ok().filter(|delay| *delay <= LONGEST);
        delay.map(Some).ok_or_else(|| de::Error::custom("0 to 30 days in seconds"))
    }
}

/// Names of the labels and annotations of a copy that came from its source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Propagated {
    /// Keys of labels.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// Keys of annotations.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub annotations: BTreeSet<String>,
}

impl Propagated {
    /// The annotation's text, sorted; none when nothing was propagated.
    pub fn encode(&self) -> Option<String> {
        let empty = self.labels.is_empty() && self.annotations.is_empty();
        if empty { None } else { serde_json::to_string(self).ok() }
    }

    /// Reads the annotation; what is not understood is nobody's, hence stays on the copy.
    pub fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

/// What kubed writes on its copies: three labels, and an annotation with the JSON
/// `{"namespace","name","uid","resourceVersion"}` of the source (kubed `pkg/syncer`, constants of
/// `apis/kubed/v1alpha1`, seen on live objects).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubedOrigin {
    /// The source's namespace, by label.
    pub namespace: Namespace,
    /// The source's name, by label.
    pub name: ObjectName,
    /// kubed's `--cluster-name`, by label.
    pub cluster: String,
    /// The source's uid, by annotation.
    pub uid: Option<Uid>,
}

#[derive(Deserialize)]
struct KubedReference {
    uid: Option<Uid>,
}

impl KubedOrigin {
    /// Reads kubed's marks, given how to look up a label; none if one of the labels is missing.
    pub fn read<'a>(label: impl Fn(&str) -> Option<&'a str>, origin_annotation: Option<&str>) -> Option<Self> {
        let reference = origin_annotation.and_then(|text| serde_json::from_str::<KubedReference>(text).ok());
        Some(Self {
            namespace: label(KUBED_ORIGIN_NAMESPACE)?.into(),
            name: label(KUBED_ORIGIN_NAME)?.into(),
            cluster: label(KUBED_ORIGIN_CLUSTER)?.to_owned(),
            uid: reference.and_then(|reference| reference.uid),
        })
    }

    /// Whether the labels name this source of this cluster. The uid is compared by the caller (`--adopt-kubed`).
    pub fn names(&self, source: &ObjectKey, cluster_name: &str) -> bool {
        (&self.namespace, &self.name, self.cluster.as_str()) == (&source.namespace, &source.name, cluster_name)
    }
}

/// Whose an object is that was found in a follower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A copy of ours, in its place.
    Ours(Mark),
    /// With our label, but the mark is missing or unparsable (none), or wrong only in the target's cluster (some).
    Damaged(Option<Mark>),
    /// With our label and a mark for another namespace or name: somebody cloned a copy.
    Stray,
    /// Without our label.
    Foreign,
}

/// Whose the object at `key` of the follower `cluster` is, by its [`ORIGIN`] label and [`SOURCE`] annotation.
pub fn standing(
    hub: &ClusterUid,
    cluster: &ClusterUid,
    key: &ObjectKey,
    origin_label: Option<&str>,
    source_annotation: Option<&str>,
) -> Standing {
    if origin_label != Some(hub.as_str()) {
        return Standing::Foreign;
    }
    // A mark of another kind cannot have been written on this object.
    let mark = source_annotation.and_then(Mark::parse).filter(|mark| mark.source.kind == key.kind);
    match mark {
        None => Standing::Damaged(None),
        Some(mark) if (&mark.target.namespace, &mark.target.name) != (&key.namespace, &key.name) => Standing::Stray,
        Some(mark) if mark.target.cluster != *cluster => Standing::Damaged(Some(mark)),
        Some(mark) => Standing::Ours(mark),
    }
}

#[cfg(test)]
mod tests;
