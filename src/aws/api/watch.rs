//! Looks at every answer of AWS on its way in: its `Date` tells how far our clock is off.

use super::{super::clock::Clock, Observer};
use aws_smithy_runtime_api::{
    box_error::BoxError,
    client::{
        interceptors::{Intercept, context::BeforeDeserializationInterceptorContextRef, dyn_dispatch_hint},
        runtime_components::RuntimeComponents,
    },
};
use aws_smithy_types::config_bag::ConfigBag;
use std::{fmt, sync::Arc};

/// The look itself.
pub(super) struct Watch {
    pub(super) clock: Clock,
    pub(super) observer: Arc<dyn Observer>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

#[dyn_dispatch_hint]
impl Intercept for Watch {
    fn name(&self) -> &'static str {
        "Watch"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(date) = context.response().headers().get("date") {
            self.clock.learn(date);
            self.observer.skew(self.clock.skew());
        }
        Ok(())
    }
}
