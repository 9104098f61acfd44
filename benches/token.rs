//! How long it takes to sign a token for a cluster: `cargo bench --bench token`. No network, one thread.

use aws_credential_types::Credentials;
use std::{
    error::Error,
    hint::black_box,
    io::Write,
    time::{Duration, Instant, SystemTime},
};
use towline::aws::token::{Audience, presign};

const WARM_UP: u32 = 1_000;
const ROUNDS: u32 = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    // As long as those of an assumed role with tags.
    let credentials = Credentials::new("ASIAEXAMPLE", "secret", Some("t".repeat(1_500)), None, "bench");
    let (sts_host, region) = ("sts.eu-west-1.amazonaws.com".to_owned(), "eu-west-1".to_owned());
    let audience = Audience { sts_host, region, cluster: "prod".to_owned() };
    let now = SystemTime::now();
    let sign = |rounds: u32| -> Result<Duration, Box<dyn Error>> {
        let began = Instant::now();
        for round in 0..rounds {
            // Another second each time: nothing can be kept from the last one.
            black_box(presign(&credentials, &audience, now + Duration::from_secs(u64::from(round)))?);
        }
        Ok(began.elapsed())
    };
    sign(WARM_UP)?;
    let each = sign(ROUNDS)?.as_secs_f64() * 1e6 / f64::from(ROUNDS);
    writeln!(std::io::stdout(), "a token: {each:.1} µs ({ROUNDS} signed, session token of 1,500 characters)")?;
    Ok(())
}
