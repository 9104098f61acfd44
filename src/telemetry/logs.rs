//! Lines on stderr, and what may never stand in one.
//!
//! Only Towline's own targets are as verbose as the user likes: our types have nothing to print. Of every other crate at most
//! WARN passes, whatever `--log` says. What they say (read in the sources of the versions in `Cargo.lock`):
//! - `h2`: each frame at DEBUG and TRACE. It leaves out the bytes of DATA and the fields of HEADERS, but prints what a peer
//!   wrote into GOAWAY, and promises nothing. At WARN: a PING's eight bytes, and a limit.
//! - `hyper`: errors and header names at DEBUG. Silent, as it is built without its feature `tracing`.
//! - `hyper_util`: hosts at DEBUG and TRACE. Nothing at WARN.
//! - `rustls`, `hyper_rustls`: handshake messages and certificates at TRACE. Silent, as they use `log`, to which nothing here
//!   listens (`tracing-log` is not built in).
//! - `tower`, `axum`: errors of any kind at DEBUG. At ERROR: that accepting failed.
//! - `kube_client`: at WARN and DEBUG whole bodies that it cannot decode, and messages of API servers, which quote data. Off
//!   altogether, also at ERROR.
//! - `aws_config`, `aws_sdk_*`, `aws_smithy_*` and all other `aws_*`: requests and answers, credentials among them, at TRACE and
//!   DEBUG; at WARN errors of any kind as they are, with what an agent or a proxy answered. Off altogether, also at ERROR: we
//!   tell AWS's refusals ourselves, by their code.
//! - A crate that is not named here is not known: WARN.
//!
//! A panic's text may quote a value too (`unwrap` of an error): only literals are repeated.

use std::{
    any::Any,
    io::{self, IsTerminal},
    panic::PanicHookInfo,
};
use tracing::{Level, Metadata, level_filters::LevelFilter};
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    filter::{FilterExt, FilterFn, filter_fn},
    fmt::MakeWriter,
    layer::SubscriberExt,
    util::{SubscriberInitExt, TryInitError},
};

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Plain,
    /// One JSON object per line.
    Json,
}

/// Why nothing can be logged.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter is not understood.
    #[error("--log: {0} (examples: `debug`, `info,towline::cluster=trace`)")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// It was called before.
    #[error("logs are set up twice")]
    Twice(#[from] TryInitError),
}

/// Writes lines to stderr from now on. `filter` is what `--log` says: `info` if nothing.
pub fn init(format: LogFormat, filter: Option<&str>) -> Result<(), LogError> {
    let ansi = io::stderr().is_terminal();
    Registry::default().with(layer(format, filter, io::stderr, ansi)?).try_init()?;
    std::panic::set_hook(Box::new(panicked));
    Ok(())
}

/// The layer that writes, behind both filters: the user's and the house's.
fn layer<W>(format: LogFormat, filter: Option<&str>, to: W, ansi: bool) -> Result<Written, LogError>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let asked = EnvFilter::builder()
        .with_regex(false)
        .with_default_directive(LevelFilter::INFO.into())
        .parse(filter.unwrap_or_default())?;
    let lines = tracing_subscriber::fmt::layer().with_writer(to).with_ansi(ansi);
    let lines = match format {
        LogFormat::Plain => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).boxed(),
    };
    Ok(lines.with_filter(asked.and(house())).boxed())
}

type Written = Box<dyn Layer<Registry> + Send + Sync>;

/// What may be printed at all.
fn house() -> FilterFn {
    filter_fn(permits)
}

fn permits(metadata: &Metadata<'_>) -> bool {
    let cap = cap(metadata.target());
    *metadata.level() <= cap
}

/// The most verbose level of a target.
fn cap(target: &str) -> LevelFilter {
    let of = |name: &str| target.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
    match () {
        () if of("towline") => LevelFilter::TRACE,
        () if of("kube_client") || of("kube") || target.starts_with("aws_") => LevelFilter::OFF,
        () => LevelFilter::WARN,
    }
}

fn panicked(panic: &PanicHookInfo<'_>) {
    let at = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::event!(target: "towline::panic", Level::ERROR, at, "panic: {}", literal(panic.payload()));
}

/// The text of a panic, if it is part of the program: what was put together at run time may hold a value.
fn literal(payload: &(dyn Any + Send)) -> &'static str {
    payload.downcast_ref::<&'static str>().copied().unwrap_or("(its text is not repeated: it may quote a value)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is written of one line of each level and target.
    fn written(format: LogFormat, filter: Option<&str>) -> String {
        let page = Page::default();
        let to = page.clone();
        let subscriber = Registry::default().with(layer(format, filter, move || to.clone(), false).unwrap());
        tracing::subscriber::with_default(subscriber, || {
            tracing::trace!(target: "towline::cluster", "ours-trace");
            tracing::info!(target: "towline", follower = "blue", "ours-info");
            for_all_levels!("h2::codec::framed_write", "h2");
            for_all_levels!("hyper::proto::h1", "hyper");
            for_all_levels!("rustls::client", "rustls");
            for_all_levels!("kube_client::client", "kube");
            for_all_levels!("aws_smithy_runtime::client::orchestrator", "aws");
            for_all_levels!("aws_config::sts", "aws");
            for_all_levels!("somebody", "other");
            for_all_levels!("towlinex", "impostor");
            tracing::trace_span!(target: "h2::proto", "span-of-h2", value = "hunter2").in_scope(|| {
                tracing::info!(target: "towline", "inside");
            });
        });
        String::from_utf8(page.0.lock().unwrap().clone()).unwrap()
    }

    macro_rules! for_all_levels {
        ($target:literal, $who:literal) => {
            tracing::trace!(target: $target, concat!($who, "-trace"));
            tracing::debug!(target: $target, concat!($who, "-debug"));
            tracing::info!(target: $target, concat!($who, "-info"));
            tracing::warn!(target: $target, concat!($who, "-warn"));
            tracing::error!(target: $target, concat!($who, "-error"));
        };
    }
    use for_all_levels;

    #[test]
    fn no_filter_makes_another_crate_say_more_than_a_warning() {
        let asks = [
            "trace",
            "trace,h2=trace,kube_client=trace,aws_config=trace",
            "towline=trace,h2::codec=debug,somebody=trace",
        ];
        for ask in asks {
            let said = written(LogFormat::Plain, Some(ask));
            assert!(said.contains("ours-trace"), "{ask}: {said}");
            for who in ["h2", "hyper", "rustls", "other", "impostor"] {
                for level in ["trace", "debug", "info"] {
                    assert!(!said.contains(&format!("{who}-{level}")), "{ask}: {said}");
                }
            }
            for silent in ["kube-", "aws-", "hunter2"] {
                assert!(!said.contains(silent), "{ask}: {said}");
            }
        }
    }

    #[test]
    fn warnings_of_other_crates_pass() {
        let said = written(LogFormat::Plain, None);
        assert!(said.contains("h2-warn") && said.contains("other-error"), "{said}");
    }

    #[test]
    fn the_default_is_info() {
        let said = written(LogFormat::Plain, None);
        assert!(said.contains("ours-info") && !said.contains("ours-trace"), "{said}");
    }

    #[test]
    fn a_json_line_is_one_flat_object() {
        let said = written(LogFormat::Json, Some("towline=info"));
        let line = said.lines().find(|line| line.contains("ours-info")).unwrap();
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&line["message"], &line["follower"], &line["level"]),
            (&"ours-info".into(), &"blue".into(), &"INFO".into())
        );
    }

    #[test]
    fn a_filter_that_is_not_understood_is_an_error() {
        assert!(layer(LogFormat::Plain, Some("towline=loud"), io::sink, false).is_err());
    }

    #[test]
    fn a_panic_repeats_literals_only() {
        assert_eq!(literal(&"a literal"), "a literal");
        assert!(!literal(&format!("value {}", "hunter2")).contains("hunter2"));
    }
}
