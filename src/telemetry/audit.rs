//! One line per write: a stable JSON object in the audit log, and a line for people in the log.

use serde::Serialize;
use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// The audit log. Clones share it.
#[derive(Clone)]
pub struct AuditLog(Arc<Inner>);

struct Inner {
    to: Mutex<Box<dyn Write + Send>>,
    /// The last line could not be written, and that was told.
    broken: AtomicBool,
}

impl AuditLog {
    /// Appends to a file (only its owner may read a new one), or to stdout for `-`.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::to(io::stdout()));
        }
        Ok(Self::to(append(path)?))
    }

    fn to(to: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Inner { to: Mutex::new(Box::new(to)), broken: AtomicBool::new(false) }))
    }

    /// Appends one line, in one call, so that another program's lines do not get in between. A failure is told once, until
    /// a line can be written again.
    pub fn record(&self, row: &impl Serialize) {
        match (self.append(row), &self.0.broken) {
            (Ok(()), broken) if broken.swap(false, Ordering::Relaxed) => {
                tracing::warn!("audit log: can be written again; lines are missing");
            }
            (Err(error), broken) if !broken.swap(true, Ordering::Relaxed) => {
                tracing::error!(error = %error.kind(), "audit log: cannot be written");
            }
            _ => {}
        }
    }

    fn append(&self, row: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(row)?;
        line.push(b'\n');
        let mut to = self.0.to.lock().unwrap_or_else(PoisonError::into_inner);
        to.write_all(&line)?;
        to.flush()
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A change that was made, or was to be made.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The follower's first name.
    pub follower: &'a str,
    /// Kind of the copy.
    pub kind: &'a str,
    /// Namespace of the copy.
    pub namespace: &'a str,
    /// Name of the copy.
    pub name: &'a str,
    /// The source, `namespace/name`.
    pub source: &'a str,
    /// The action.
    pub action: &'a str,
    /// `Done`, `Planned`, or what went wrong.
    pub result: &'a str,
    /// The follower's HTTP answer.
    pub code: Option<u16>,
}

impl Change<'_> {
    /// Writes one INFO line.
    pub fn log(&self) {
        let Self { follower, kind, namespace, name, source, action, result, code } = *self;
        tracing::info!(follower, kind, namespace, name, source, action, result, code, "write");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Row {
        name: &'static str,
    }

    /// Fails as long as it is told to.
    struct Disk(Arc<Mutex<(bool, Vec<u8>)>>);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut disk = self.0.lock().unwrap();
            if disk.0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            disk.1.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_appended_to_what_is_there() {
        let path = std::env::temp_dir().join(format!("towline-audit-{}", fastrand::u64(..)));
        for name in ["one", "two"] {
            AuditLog::open(&path).unwrap().record(&Row { name });
        }
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text, "{\"name\":\"one\"}\n{\"name\":\"two\"}\n");
    }

    #[test]
    fn a_full_disk_loses_lines_but_not_the_log() {
        let disk = Arc::new(Mutex::new((true, Vec::new())));
        let log = AuditLog::to(Disk(Arc::clone(&disk)));
        log.record(&Row { name: "lost" });
        assert!(log.0.broken.load(Ordering::Relaxed));
        disk.lock().unwrap().0 = false;
        log.record(&Row { name: "kept" });
        assert!(!log.0.broken.load(Ordering::Relaxed));
        assert_eq!(disk.lock().unwrap().1, b"{\"name\":\"kept\"}\n");
    }

    #[test]
    fn a_directory_is_no_audit_log() {
        assert!(AuditLog::open(&std::env::temp_dir()).is_err());
    }
}
