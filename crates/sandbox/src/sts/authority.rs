//! Who may take on which role: what the role's trust policy and the caller's own policies say together.

use std::collections::{BTreeMap, BTreeSet};

use crate::policy::{Asker, Context, Policy, Question, Reach, Verdict};
use crate::refusal::{Refusal, Service};
use crate::session::{Caller, CallerKind};
use crate::world::{Role, World};

/// What is asked for beside the role itself; each needs an action of its own to be allowed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assumption {
    /// Tags of the new session, those that were handed on included.
    pub(crate) tags: BTreeMap<String, String>,
    /// Names of those that go on from there.
    pub(crate) transitive: BTreeSet<String>,
    /// Asked for, or handed on.
    pub(crate) source_identity: Option<String>,
}

impl Assumption {
    /// The actions that must be allowed.
    pub(crate) fn actions<'a>(&self, first: &'a str) -> Vec<&'a str> {
        let tag = (!self.tags.is_empty()).then_some("sts:TagSession");
        let identity = self.source_identity.is_some().then_some("sts:SetSourceIdentity");
        [Some(first), tag, identity].into_iter().flatten().collect()
    }

    /// The facts that conditions may be about.
    pub(crate) fn context(&self) -> Context {
        let identity = self.source_identity.iter().map(|identity| ("sts:SourceIdentity".to_owned(), identity));
        let tags = self.tags.iter().map(|(key, value)| (format!("aws:RequestTag/{key}"), value));
        identity.chain(tags).fold(Context::default(), |context, (key, value)| context.with(&key, value))
    }
}

/// Whether `caller` may do `action` to `role`. Within an account it is enough that the role trusts the caller by name; trust in
/// the account must be passed on by the caller's own policy, and between accounts both must allow it.
pub(crate) fn require(
    world: &World,
    caller: &Caller,
    role: &Role,
    action: &str,
    context: &Context,
) -> Result<(), Refusal> {
    let context = with_principal(context.clone(), caller);
    let asker = caller.asker();
    let question = Question { asker: &asker, action, resource: role.arn(), context: &context };
    let same_account = caller.account == role.parsed().account;
    let allowed = match (role.trust().judge(&question), Policy::judge_all(policies(world, caller), &question)) {
        (Verdict::Deny, _) | (_, Verdict::Deny) | (Verdict::Silent, _) => false,
        (Verdict::Allow(Reach::Asker), Verdict::Silent) => same_account,
        (Verdict::Allow(Reach::Account), Verdict::Silent) => false,
        (Verdict::Allow(_), Verdict::Allow(_)) => true,
    };
    match allowed {
        true => Ok(()),
        false => Err(denied(Service::Sts, caller, action, role.arn())),
    }
}

/// Whether a service or a federated identity may do `action` to `role`: the trust policy alone decides.
pub(crate) fn is_trusted(role: &Role, asker: &Asker, action: &str, context: &Context) -> bool {
    let question = Question { asker, action, resource: role.arn(), context };
    matches!(role.trust().judge(&question), Verdict::Allow(_))
}

/// Whether `caller` may do `action` to something that has no policy of its own.
pub(crate) fn require_permission(
    world: &World,
    caller: &Caller,
    action: &str,
    resource: &str,
    context: Context,
) -> Result<(), Refusal> {
    let context = with_principal(context, caller);
    let question = Question { asker: &caller.asker(), action, resource, context: &context };
    match Policy::judge_all(policies(world, caller), &question) {
        Verdict::Allow(_) => Ok(()),
        Verdict::Silent | Verdict::Deny => Err(denied(Service::Eks, caller, action, resource)),
    }
}

fn denied(service: Service, caller: &Caller, action: &str, resource: &str) -> Refusal {
    let message = format!("User: {} is not authorized to perform: {action} on resource: {resource}", caller.arn);
    Refusal::denied(service, message)
}

fn policies<'a>(world: &'a World, caller: &Caller) -> &'a [Policy] {
    match &caller.kind {
        CallerKind::User(access_key) => world.user(access_key).map_or(&[], |user| user.policies()),
        CallerKind::Session(traits) => world.role(&traits.role).map_or(&[], Role::policies),
    }
}

fn with_principal(context: Context, caller: &Caller) -> Context {
    // In conditions a session goes by its role.
    let arn = caller.traits().map_or(&caller.arn, |traits| &traits.role);
    let context = context.with("aws:PrincipalArn", arn).with("aws:PrincipalAccount", &caller.account);
    let tags = caller.traits().into_iter().flat_map(|traits| &traits.tags);
    tags.fold(context, |context, (key, value)| context.with(&format!("aws:PrincipalTag/{key}"), value))
}
