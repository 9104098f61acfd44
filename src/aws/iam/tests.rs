use super::*;
use serde_json::{Value, json};

fn pod_identity() -> Topology {
    topology(Identity::PodIdentity { cluster: None })
}

fn irsa() -> Topology {
    let issuer = Issuer::parse("https://oidc.eks.eu-west-1.amazonaws.com/id/ABC").unwrap();
    topology(Identity::Irsa { issuer, audience: Audience::parse("sts.amazonaws.com").unwrap() })
}

fn topology(identity: Identity) -> Topology {
    Topology {
        partition: Partition::AWS,
        hub: Hub {
            account: account("111111111111"),
            role: RoleName::parse("towline").unwrap(),
            identity,
            namespace: Namespace::from("towline"),
            service_account: ServiceAccountName::parse("towline").unwrap(),
        },
        followers: Followers {
            role: RoleName::parse("platform/towline-follower").unwrap(),
            external_id: None,
            trust: Trust::Role,
            clusters: BTreeMap::from([
                (account("222222222222"), BTreeSet::from([cluster("eu-west-1", "dev"), cluster("eu-west-1", "prod")])),
                (account("333333333333"), BTreeSet::from([cluster("us-east-1", "prod")])),
            ]),
        },
    }
}

fn account(id: &str) -> AccountId {
    AccountId::parse(id).unwrap()
}

fn cluster(region: &str, name: &str) -> Cluster {
    Cluster { region: Region::parse(region).unwrap(), name: ClusterName::parse(name).unwrap() }
}

fn statements(document: &policies::Document) -> Vec<Value> {
    let value = serde_json::to_value(document).unwrap();
    assert_eq!(value["Version"], "2012-10-17");
    value["Statement"].as_array().unwrap().clone()
}

#[test]
fn irsa_trusts_one_service_account_of_one_issuer() {
    let issuer = "oidc.eks.eu-west-1.amazonaws.com/id/ABC";
    let expected = json!([{
        "Sid": "StartAsServiceAccount",
        "Effect": "Allow",
        "Principal": {"Federated": format!("arn:aws:iam::111111111111:oidc-provider/{issuer}")},
        "Action": ["sts:AssumeRoleWithWebIdentity"],
        "Condition": {"StringEquals": {
            format!("{issuer}:aud"): "sts.amazonaws.com",
            format!("{issuer}:sub"): "system:serviceaccount:towline:towline",
        }},
    }]);
    assert_eq!(Value::from(statements(&policies::hub_trust(&irsa()))), expected);
}

#[test]
fn pod_identity_trusts_one_service_account_and_one_cluster_if_it_is_named() {
    let mut topology = pod_identity();
    let mut expected = json!([{
        "Sid": "StartAsServiceAccount",
        "Effect": "Allow",
        "Principal": {"Service": "pods.eks.amazonaws.com"},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
        "Condition": {"StringEquals": {
            "aws:RequestTag/kubernetes-namespace": "towline",
            "aws:RequestTag/kubernetes-service-account": "towline",
        }},
    }]);
    assert_eq!(Value::from(statements(&policies::hub_trust(&topology))), expected);
    topology.hub.identity = Identity::PodIdentity { cluster: Some(cluster("eu-west-1", "hub")) };
    expected[0]["Condition"]["StringEquals"]["aws:RequestTag/eks-cluster-arn"] =
        json!("arn:aws:eks:eu-west-1:111111111111:cluster/hub");
    assert_eq!(Value::from(statements(&policies::hub_trust(&topology))), expected);
}

#[test]
fn the_hub_role_may_become_exactly_the_follower_roles() {
    let roles = json!([
        "arn:aws:iam::222222222222:role/platform/towline-follower",
        "arn:aws:iam::333333333333:role/platform/towline-follower",
    ]);
    for (topology, actions) in
        [(irsa(), json!(["sts:AssumeRole"])), (pod_identity(), json!(["sts:AssumeRole", "sts:TagSession"]))]
    {
        let statements = statements(&policies::hub_policy(&topology));
        assert_eq!(statements.len(), 1);
        assert_eq!((&statements[0]["Action"], &statements[0]["Resource"]), (&actions, &roles));
    }
}

#[test]
fn a_follower_role_may_describe_exactly_the_clusters_of_its_account() {
    let roles = roles::followers(&pod_identity());
    let granted = |role: &roles::Role| {
        assert_eq!(role.policies.len(), 1);
        let statements = statements(&role.policies[roles::FOLLOWER_POLICY]);
        assert_eq!((statements.len(), &statements[0]["Action"]), (1, &json!(["eks:DescribeCluster"])));
        statements[0]["Resource"].clone()
    };
    let clusters: Vec<Value> = roles.iter().map(granted).collect();
    let expected = [
        json!(["arn:aws:eks:eu-west-1:222222222222:cluster/dev", "arn:aws:eks:eu-west-1:222222222222:cluster/prod"]),
        json!(["arn:aws:eks:us-east-1:333333333333:cluster/prod"]),
    ];
    assert_eq!(clusters, expected);
}

#[test]
fn a_follower_role_trusts_the_hub_role_alone() {
    let hub = json!({"AWS": "arn:aws:iam::111111111111:role/towline"});
    let statements = statements(&policies::follower_trust(&irsa()));
    assert_eq!(statements.len(), 1);
    assert_eq!((&statements[0]["Principal"], &statements[0]["Action"]), (&hub, &json!(["sts:AssumeRole"])));
    assert_eq!(statements[0].get("Condition"), None);
}

/// `sts:ExternalId` is no key of `sts:TagSession`: there it would never match.
#[test]
fn an_external_id_is_asked_for_when_the_role_is_assumed_and_not_when_tags_are_passed_on() {
    let mut topology = pod_identity();
    topology.followers.external_id = Some(ExternalId::parse("towline:eu").unwrap());
    let statements = statements(&policies::follower_trust(&topology));
    let found: Vec<(&Value, Option<&Value>)> =
        statements.iter().map(|statement| (&statement["Action"][0], statement.get("Condition"))).collect();
    let condition = json!({"StringEquals": {"sts:ExternalId": "towline:eu"}});
    assert_eq!(found, [(&json!("sts:AssumeRole"), Some(&condition)), (&json!("sts:TagSession"), None)]);
}

#[test]
fn a_trusted_account_is_trusted_for_the_hub_role_only() {
    let mut topology = pod_identity();
    topology.followers.trust = Trust::Account;
    for statement in statements(&policies::follower_trust(&topology)) {
        assert_eq!(statement["Principal"], json!({"AWS": "arn:aws:iam::111111111111:root"}));
        let hub = json!({"aws:PrincipalArn": "arn:aws:iam::111111111111:role/towline"});
        assert_eq!(statement["Condition"]["ArnEquals"], hub);
    }
}

#[test]
fn the_way_into_a_cluster_is_one_group_and_aws_auth_gets_no_path() {
    let access = access::access(&pod_identity());
    let places: Vec<String> = access.iter().map(|a| format!("{}/{}", a.account, a.access_entry.cluster_name)).collect();
    assert_eq!(places, ["222222222222/dev", "222222222222/prod", "333333333333/prod"]);
    let first = serde_json::to_value(&access[0]).unwrap();
    let role = "arn:aws:iam::222222222222:role/platform/towline-follower";
    let entry =
        json!({"clusterName": "dev", "principalArn": role, "kubernetesGroups": ["towline"], "type": "STANDARD"});
    assert_eq!(first["accessEntry"], entry);
    let command = format!(
        "aws eks create-access-entry --region eu-west-1 --cluster-name dev --principal-arn {role} \
         --kubernetes-groups towline --type STANDARD"
    );
    assert_eq!(first["command"], command);
    let lines =
        "- rolearn: arn:aws:iam::222222222222:role/towline-follower\n  username: towline\n  groups: [towline]\n";
    assert_eq!(first["mapRoles"], lines);
}

#[test]
fn arns_are_of_the_partition() {
    let mut topology = irsa();
    topology.partition = Partition::parse("aws-cn").unwrap();
    let all = [
        serde_json::to_string(&roles::hub(&topology)).unwrap(),
        serde_json::to_string(&roles::followers(&topology)).unwrap(),
        serde_json::to_string(&access::access(&topology)).unwrap(),
        terraform::all(&topology).unwrap(),
        cloudformation::hub(&topology).unwrap(),
        cloudformation::followers(&topology).unwrap(),
        cloudformation::access(&topology).unwrap(),
    ];
    for text in all {
        assert!(text.contains("arn:aws-cn:") && !text.contains("arn:aws:"), "{text}");
    }
}

#[test]
fn what_is_too_large_for_iam_is_told_before_iam_tells() {
    let mut topology = irsa();
    assert!(policies::check_sizes(&topology).is_ok());
    let accounts = (0..200).map(|number| account(&format!("{number:012}")));
    topology.followers.clusters =
        accounts.map(|account| (account, BTreeSet::from([cluster("eu-west-1", "a")]))).collect();
    let told = policies::check_sizes(&topology).unwrap_err().to_string();
    assert!(told.starts_with("policy of the hub role: ") && told.contains("AWS takes 10240"), "{told}");
    let clusters = (0..200).map(|number| cluster("eu-west-1", &format!("cluster-{number}")));
    topology.followers.clusters = BTreeMap::from([(account("222222222222"), clusters.collect())]);
    let told = policies::check_sizes(&topology).unwrap_err().to_string();
    assert!(told.starts_with("policy of the follower role in 222222222222: "), "{told}");
    let mut topology = pod_identity();
    topology.followers.external_id = Some(ExternalId::parse(&"e".repeat(1224)).unwrap());
    topology.hub.role = RoleName::parse(&format!("{}/towline", "p".repeat(500))).unwrap();
    let told = policies::check_sizes(&topology).unwrap_err().to_string();
    assert!(told.starts_with("trust policy of the follower roles: "), "{told}");
}

#[test]
fn more_than_a_template_holds_is_told() {
    let mut topology = irsa();
    let clusters =
        |range: std::ops::Range<u32>| range.map(|number| cluster("eu-west-1", &format!("c{number}"))).collect();
    topology.followers.clusters = BTreeMap::from([(account("222222222222"), clusters(0..500))]);
    assert!(cloudformation::access(&topology).is_ok());
    topology.followers.clusters = BTreeMap::from([(account("222222222222"), clusters(0..501))]);
    let told = cloudformation::access(&topology).unwrap_err().to_string();
    assert_eq!(
        told,
        "template of the access entries: 501 clusters, and AWS takes 500: name fewer at a time, and deploy several templates"
    );
}

/// A stack that finds another name for what it made deletes that and makes it again.
#[test]
fn an_access_entry_keeps_its_name_in_a_template_whatever_other_clusters_there_are() {
    let entries = |topology: &Topology| {
        let template: Value = serde_saphyr::from_str(&cloudformation::access(topology).unwrap()).unwrap();
        template["Resources"].as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>()
    };
    let mut topology = irsa();
    let before = entries(&topology);
    let names = ["a", "a-b", "a_b", "ab", "aZdb", "aZub", "aZb"].map(|name| cluster("eu-west-1", name));
    topology.followers.clusters.entry(account("222222222222")).or_default().extend(names);
    let after = entries(&topology);
    assert!(before.is_subset(&after));
    assert_eq!(after.len(), before.len() + 7);
    assert!(after.iter().all(|name| name.chars().all(|c| c.is_ascii_alphanumeric())), "{after:?}");
}
