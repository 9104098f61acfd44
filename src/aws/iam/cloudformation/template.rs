//! The shape of a template, in the order that people read one.

use super::super::{IamError, access::AccessEntry, policies::Document};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A template whose resources are all of one type.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Template<Properties> {
    #[serde(rename = "AWSTemplateFormatVersion")]
    pub(super) version: &'static str,
    pub(super) description: &'static str,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) parameters: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) mappings: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) conditions: Map<String, Value>,
    pub(super) resources: BTreeMap<String, Resource<Properties>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) outputs: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Resource<Properties> {
    #[serde(rename = "Type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) condition: Option<String>,
    pub(super) properties: Properties,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Role {
    pub(super) path: String,
    pub(super) role_name: String,
    pub(super) description: &'static str,
    pub(super) assume_role_policy_document: Document,
    pub(super) policies: Vec<Policy>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Policy {
    pub(super) policy_name: &'static str,
    pub(super) policy_document: Document,
}

/// An access entry, whose members begin with capitals here.
pub(super) struct Entry(pub(super) AccessEntry);

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let AccessEntry { cluster_name, principal_arn, kubernetes_groups, kind } = &self.0;
        let members = [
            ("ClusterName", Value::from(cluster_name.as_str())),
            ("PrincipalArn", Value::from(principal_arn.as_str())),
            ("KubernetesGroups", Value::from(kubernetes_groups.as_slice())),
            ("Type", Value::from(*kind)),
        ];
        serializer.collect_map(members)
    }
}

impl<Properties: Serialize> Template<Properties> {
    pub(super) fn of(description: &'static str, resources: BTreeMap<String, Resource<Properties>>) -> Self {
        Self {
            version: "2010-09-09",
            description,
            parameters: Map::new(),
            mappings: Map::new(),
            conditions: Map::new(),
            resources,
            outputs: Map::new(),
        }
    }

    pub(super) fn write(&self) -> Result<String, IamError> {
        Ok(serde_saphyr::to_string(self)?)
    }
}
