//! Where an endpoint's credentials come from. They are fetched by one task at a time and kept until they expire.

use super::exec::{ExecError, Identity, Plugin};
use base64::{Engine, engine::general_purpose::STANDARD};
use futures::future::BoxFuture;
use http::HeaderValue;
use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};
use zeroize::Zeroizing;

/// How long before its expiry a credential is not used any more.
const MARGIN: Duration = Duration::from_secs(60);
/// How often a token file is read again: kubelet rotates it in place.
const FILE_AGE: Duration = Duration::from_secs(60);
/// How long a source may take.
const LIMIT: Duration = Duration::from_secs(30);

/// A bearer token.
pub struct Token {
    /// The token itself, without `Bearer`.
    pub value: Zeroizing<String>,
    /// How long it may be used; `None`: until the API server refuses it.
    pub lifetime: Option<Duration>,
}

/// Makes bearer tokens, such as EKS ones.
pub trait TokenSource: Send + Sync {
    /// A token that is good now. It is asked again when the last one has a minute left, or was refused with 401.
    fn token(&self) -> BoxFuture<'_, Result<Token, LoginError>>;

    /// The API server refused the last token with 401: what it was made from may be worth nothing any more.
    fn refused(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// What tells this source from another (role, cluster, region): it goes into [`super::Endpoint::fingerprint`].
    fn fingerprint(&self) -> Vec<u8>;
}

/// Why there are no credentials. Never holds one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// A token file cannot be read.
    #[error("token file {}: {kind}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        kind: io::ErrorKind,
    },
    /// A token has characters that no header may have.
    #[error("the token is not fit for a header")]
    Malformed,
    /// A plugin failed.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// No answer from a token source within 30 s.
    #[error("no token within 30 s")]
    Slow,
    /// A token source failed.
    #[error("{reason}")]
    Source {
        /// What failed and what to change, without any credential.
        reason: String,
    },
}

/// Credentials for one request.
#[derive(Clone, Default)]
pub struct Credential {
    /// The `Authorization` header, marked sensitive.
    pub authorization: Option<HeaderValue>,
    /// A client certificate from a plugin: it takes effect with the next connection.
    pub identity: Option<Arc<Identity>>,
}

/// The credentials of one endpoint. Clones share them.
#[derive(Clone)]
pub struct Login(Arc<Inner>);

struct Inner {
    source: Source,
    /// Counts the fetches that ended, so that those who waited for one share its failure too.
    ended: AtomicU64,
    last: Mutex<Last>,
}

enum Source {
    Fixed(Credential),
    File(PathBuf),
    Exec(Plugin),
    Dynamic(Arc<dyn TokenSource>),
}

#[derive(Default)]
struct Last {
    credential: Option<Credential>,
    expires: Option<Instant>,
    failure: Option<LoginError>,
}

impl Default for Login {
    fn default() -> Self {
        Self::none()
    }
}

impl Login {
    /// No header: anonymous, or a client certificate in TLS.
    pub fn none() -> Self {
        Self::of(Source::Fixed(Credential::default()))
    }

    /// A token that does not change.
    pub fn token(token: &str) -> Result<Self, LoginError> {
        Ok(Self::of(Source::Fixed(bearer(token)?)))
    }

    /// User and password.
    pub fn basic(user: &str, password: &str) -> Result<Self, LoginError> {
        let pair = Zeroizing::new(format!("{user}:{password}"));
        let encoded = Zeroizing::new(STANDARD.encode(pair.as_bytes()));
        Ok(Self::of(Source::Fixed(header(&Zeroizing::new(format!("Basic {}", *encoded)))?)))
    }

    /// A file that holds a token, read again every minute and after a 401.
    pub fn token_file(path: impl Into<PathBuf>) -> Self {
        Self::of(Source::File(path.into()))
    }

    /// A credential plugin.
    pub fn exec(plugin: Plugin) -> Self {
        Self::of(Source::Exec(plugin))
    }

    /// A source of tokens inside this process.
    pub fn source(source: Arc<dyn TokenSource>) -> Self {
        Self::of(Source::Dynamic(source))
    }

    fn of(source: Source) -> Self {
        Self(Arc::new(Inner { source, ended: AtomicU64::new(0), last: Mutex::default() }))
    }

    /// The `Authorization` header for a request now.
    pub async fn bearer(&self) -> Result<Option<HeaderValue>, LoginError> {
        Ok(self.credential().await?.authorization)
    }

    /// The credentials for a request now. Any number of callers cause one fetch, and share what comes of it.
    pub async fn credential(&self) -> Result<Credential, LoginError> {
        let inner = &*self.0;
        if let Source::Fixed(credential) = &inner.source {
            return Ok(credential.clone());
        }
        let before = inner.ended.load(Ordering::Acquire);
        let mut last = inner.last.lock().await;
        if let Some(credential) = last.fresh() {
            return Ok(credential);
        }
        match &last.failure {
            Some(failure) if inner.ended.load(Ordering::Acquire) != before => return Err(failure.clone()),
            _ => {}
        }
        // Boxed: running a plugin takes much room, in the future of every request.
        let fetched = Box::pin(inner.source.fetch()).await;
        inner.ended.fetch_add(1, Ordering::AcqRel);
        last.keep(fetched, &inner.source)
    }

    /// Forgets the credentials that the API server refused. Others that came since are kept.
    pub async fn renew(&self, refused: &Credential) {
        let mut last = self.0.last.lock().await;
        if last.credential.as_ref().is_some_and(|credential| credential.is(refused)) {
            last.expires = Some(Instant::now());
            if !matches!(self.0.source, Source::File(_)) {
                last.credential = None;
            }
            if let Source::Dynamic(source) = &self.0.source {
                source.refused().await;
            }
        }
    }

    /// What tells this login from another. Hashed, never printed.
    pub(super) fn features(&self, mut add: impl FnMut(&[u8])) {
        match &self.0.source {
            Source::Fixed(credential) => {
                add(credential.authorization.as_ref().map(HeaderValue::as_bytes).unwrap_or_default());
            }
            Source::File(path) => add(path.as_os_str().as_encoded_bytes()),
            Source::Exec(plugin) => plugin.features().for_each(add),
            Source::Dynamic(source) => add(&source.fingerprint()),
        }
    }

    /// Whether another attempt could have other credentials.
    pub fn is_renewable(&self) -> bool {
        !matches!(self.0.source, Source::Fixed(_))
    }
}

impl Source {
    async fn fetch(&self) -> Result<(Credential, Option<Duration>), LoginError> {
        match self {
            Self::Fixed(credential) => Ok((credential.clone(), None)),
            Self::File(path) => Ok((read(path).await?, Some(FILE_AGE))),
            Self::Exec(plugin) => {
                let output = plugin.run().await?;
                let mut credential = output.token.as_deref().map_or(Ok(Credential::default()), |t| bearer(t))?;
                credential.identity = output.identity.map(Arc::new);
                Ok((credential, output.lifetime.map(usable)))
            }
            Self::Dynamic(source) => {
                let token = timeout(LIMIT, source.token()).await.map_err(|_| LoginError::Slow)??;
                Ok((bearer(&token.value)?, token.lifetime.map(usable)))
            }
        }
    }
}

impl Last {
    fn fresh(&self) -> Option<Credential> {
        let credential = self.credential.as_ref()?;
        self.expires.is_none_or(|at| Instant::now() < at).then(|| credential.clone())
    }

    fn keep(
        &mut self,
        fetched: Result<(Credential, Option<Duration>), LoginError>,
        source: &Source,
    ) -> Result<Credential, LoginError> {
        match (fetched, &self.credential) {
            (Ok((credential, lifetime)), _) => {
                self.credential = Some(credential.clone());
                self.expires = lifetime.map(|lifetime| Instant::now() + lifetime);
                self.failure = None;
                Ok(credential)
            }
            // As client-go: a file that vanished leaves its last token in use.
            (Err(_), Some(credential)) if matches!(source, Source::File(_)) => {
                self.expires = Some(Instant::now() + FILE_AGE);
                Ok(credential.clone())
            }
            (Err(failure), _) => {
                self.failure = Some(failure.clone());
                Err(failure)
            }
        }
    }
}

impl Credential {
    fn is(&self, other: &Self) -> bool {
        let same_identity = match (&self.identity, &other.identity) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (one, two) => one.is_none() && two.is_none(),
        };
        same_identity && self.authorization == other.authorization
    }
}

/// What is left of a lifetime less the margin; of short ones, three quarters.
fn usable(lifetime: Duration) -> Duration {
    lifetime.saturating_sub(MARGIN.min(lifetime / 4))
}

async fn read(path: &Path) -> Result<Credential, LoginError> {
    let text = tokio::fs::read_to_string(path).await;
    let text = text.map_err(|error| LoginError::File { path: path.to_owned(), kind: error.kind() })?;
    bearer(Zeroizing::new(text).trim())
}

fn bearer(token: &str) -> Result<Credential, LoginError> {
    header(&Zeroizing::new(format!("Bearer {token}")))
}

fn header(text: &str) -> Result<Credential, LoginError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| LoginError::Malformed)?;
    value.set_sensitive(true);
    Ok(Credential { authorization: Some(value), identity: None })
}

#[cfg(test)]
mod tests;
