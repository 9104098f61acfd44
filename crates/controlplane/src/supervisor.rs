//! Nothing outlives this process, however it ends.
//!
//! ```text
//! this process ──(pipe: its end is the signal)──▶ sh: waits, kills all that is registered, removes the root folder
//!      └─ starts programs through `sh`, which registers its own pid as a file, then becomes the program
//! ```
//!
//! Destructors do not run for statics, nor after a SIGKILL. The parent-death signal of Linux does not help either: it
//! fires when the *thread* that started the program ends, and tests have a thread each.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow};

/// Waits for the end of its input, then sweeps `$1`. A terminal's Ctrl-C must not end it before that. Twice, in case a
/// program was just about to start when it swept the first time.
const SWEEP: &str = r#"
trap '' INT TERM HUP
read -r _
sweep() {
    for process in "$1"/processes/*; do kill -9 "${process##*/}"; done
    rm -rf "$1"
}
sweep "$1"
sleep 1
[ -e "$1" ] && sweep "$1"
"#;

/// Registers the pid in folder `$0`, then becomes the program. Without the folder there is nobody who would end it.
const REGISTER: &str = r#": > "$0/$$" && exec "$@""#;

static SUPERVISOR: OnceLock<Result<Supervisor, String>> = OnceLock::new();

/// The supervisor of this process: what it started and its scratch folder.
pub(crate) struct Supervisor {
    root: PathBuf,
    /// Open as long as this process lives.
    _lifeline: ChildStdin,
}

impl Supervisor {
    /// The one supervisor, started when first asked for.
    pub(crate) fn of_this_process() -> Result<&'static Self> {
        let supervisor = SUPERVISOR.get_or_init(|| Self::start().map_err(|error| format!("{error:#}")));
        supervisor.as_ref().map_err(|error| anyhow!("no supervisor for control planes: {error}"))
    }

    /// The folder that is removed at the end of this process.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The file that registers a program, to be removed once it has ended (its pid may come again).
    pub(crate) fn registration(&self, pid: u32) -> PathBuf {
        self.processes().join(pid.to_string())
    }

    /// A command that registers itself before it becomes `program`, in a process group of its own so that Ctrl-C does not
    /// reach it before its supervisor does.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(REGISTER).arg(self.processes()).arg(program).process_group(0);
        command
    }

    fn processes(&self) -> PathBuf {
        self.root.join("processes")
    }

    fn start() -> Result<Self> {
        let name = format!("towline-{}-{:08x}", std::process::id(), fastrand::u32(..));
        let root = std::env::temp_dir().join(name);
        // Tokens and keys of the test clusters are in there.
        DirBuilder::new().mode(0o700).create(&root).with_context(|| format!("cannot create {}", root.display()))?;
        fs::create_dir(root.join("processes"))?;
        let mut child = Command::new("sh")
            .args(["-c", SWEEP, "sweep"])
            .arg(&root)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start sh")?;
        let lifeline = child.stdin.take().context("sh has no input")?;
        Ok(Self { root, _lifeline: lifeline })
    }
}
