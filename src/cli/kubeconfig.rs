//! `towline kubeconfig`: followers for kubectl and its friends, with `towline token` in the place of AWS's tools.

mod compose;

use super::{
    args::{Job, Kubeconfig},
    engine, output,
    roster::{self, Listed, Origin},
};
use crate::{
    api::{follower::Method, names::FollowerName},
    aws::settings::NodeRole,
    follower::connection::{AwsConnections, Connection},
    telemetry::metrics::Metrics,
};
use anyhow::{Context, Result};
use compose::{Part, Place};
use futures::StreamExt;
use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process::ExitCode,
};
use zeroize::Zeroizing;

/// So many clusters are asked about at a time.
const AT_ONCE: usize = 16;
/// A mistake on the command line.
const USAGE: u8 = 2;

/// Writes a kubeconfig. One follower that cannot be written is enough to write nothing: a file that lost a cluster would take the
/// place of one that had it.
pub async fn kubeconfig(wanted: Kubeconfig) -> Result<ExitCode> {
    wanted.warnings.iter().for_each(|warning| output::complain(warning));
    let aws = engine::aws(&wanted.job, &Metrics::new());
    let roster = roster::read(&wanted.job.followers, &aws)?;
    roster.complaints.iter().for_each(|complaint| output::complain(complaint));
    let chosen = match roster.choose(&wanted.chosen) {
        Ok(chosen) => chosen,
        Err(mistake) => {
            output::complain(&mistake);
            return Ok(ExitCode::from(USAGE));
        }
    };
    let writer = Writer { aws, wanted: &wanted, job: &wanted.job };
    let writing = chosen.iter().map(|(name, listed)| {
        let writer = &writer;
        async move { (name, writer.part(name, listed).await) }
    });
    let written: Vec<_> = futures::stream::iter(writing).buffered(AT_ONCE).collect().await;
    let (mut parts, mut failed) = (Vec::new(), false);
    for (name, part) in written {
        match part {
            Ok(part) => parts.push(part),
            Err(why) => {
                output::complain(&format!("{name}: {why}"));
                failed = true;
            }
        }
    }
    if failed {
        return Ok(ExitCode::FAILURE);
    }
    let text = compose::text(parts)?;
    match &wanted.output {
        None => output::print(&text)?,
        Some(path) => save(path, &text).with_context(|| format!("--output {}", path.display()))?,
    }
    Ok(ExitCode::SUCCESS)
}

struct Writer<'a> {
    aws: AwsConnections,
    wanted: &'a Kubeconfig,
    job: &'a Job,
}

impl Writer<'_> {
    async fn part(&self, name: &FollowerName, listed: &Listed) -> Result<Part, String> {
        match &listed.origin {
            Origin::Context(config) => compose::copied(config, name, self.wanted.aws_tools, self.node_role()),
            Origin::Declared(connection) => {
                let place = self.place(name, connection).await?;
                Ok(compose::declared(name, connection, &place, self.node_role()))
            }
            Origin::Mistaken => Err(listed.entry.connection.as_ref().err().cloned().unwrap_or_default()),
        }
    }

    /// Where it is: as it is declared, or as EKS says.
    async fn place(&self, name: &FollowerName, declared: &crate::api::follower::Connection) -> Result<Place, String> {
        let given = match &declared.method {
            Method::Eks(eks) => eks.server.as_ref().map(|server| (server, &eks.cluster_name)),
            Method::AwsIamAuthenticator(authenticator) => Some((&authenticator.server, &authenticator.cluster_id)),
        };
        if let Some((server, token_id)) = given {
            let authority = server.certificate_authority.to_vec();
            return Ok(Place { server: server.url.clone(), authority, token_id: token_id.clone() });
        }
        match self.aws.declared(name, declared)? {
            Connection::Eks(cluster) => {
                let facts = cluster.principal().facts(cluster.cluster()).await.map_err(|error| error.to_string())?;
                let authority = facts.certificate_authority;
                Ok(Place { server: facts.endpoint, authority, token_id: facts.token_id })
            }
            Connection::Direct(endpoint) => Err(format!("{} is known without its authority", endpoint.server())),
        }
    }

    fn node_role(&self) -> NodeRole {
        self.job.followers.aws.node_role
    }
}

/// At once and whole, and never readable for others: there may be credentials in it.
fn save(path: &Path, text: &Zeroizing<String>) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.{:08x}", fastrand::u32(..)));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // What is left over if this fails, too, is empty or readable for its owner only.
        let _left = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_its_owners_alone_even_if_there_was_one_that_was_not() {
        let path = std::env::temp_dir().join(format!("towline-kubeconfig-{}", std::process::id()));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        save(&path, &Zeroizing::new("new".to_owned())).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        fs::remove_file(&path).unwrap();
        assert!(save(Path::new("/nowhere/file"), &Zeroizing::new(String::new())).is_err());
    }
}
