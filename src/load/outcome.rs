//! What came of a run, as a table and as JSON.

use std::fmt::Write;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use hdrhistogram::Histogram;

use super::error::Error;
use super::plan::Plan;

/// Counters at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) at: Instant,
    pub(super) published: u64,
    pub(super) delivered: u64,
    pub(super) broker_cpu: Option<Duration>,
    pub(super) tool_cpu: Duration,
    pub(super) bytes_out: u64,
    pub(super) writes: u64,
    pub(super) bytes_in: u64,
    pub(super) reads: u64,
}

/// A run that went well.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) plan: Plan,
    pub(super) before: Sample,
    pub(super) after: Sample,
    /// The most that the broker's process held, 0 when it is not known.
    pub(super) resident_bytes: u64,
    /// Nanoseconds, when there was a rate.
    pub(super) latencies: Option<Histogram<u64>>,
    /// CPU of a relay for one delivery, in microseconds.
    pub(super) floor: Option<f64>,
}

/// The part of a rate that must be sent for it to count as kept: a run that ends between two messages
/// that are due falls a little short.
const KEPT_PART: f64 = 0.9;

/// Percentiles told, and their names.
const PERCENTILES: [(&str, f64); 6] = [
    ("p50", 50.0),
    ("p90", 90.0),
    ("p99", 99.0),
    ("p99_9", 99.9),
    ("p99_99", 99.99),
    ("max", 100.0),
];

impl Outcome {
    fn seconds(&self) -> f64 {
        (self.after.at - self.before.at).as_secs_f64()
    }

    fn delivered(&self) -> u64 {
        self.after.delivered - self.before.delivered
    }

    /// Of something counted, how much for one delivery.
    fn per_delivery(&self, count: f64) -> f64 {
        count / self.delivered().max(1) as f64
    }

    /// Microseconds of the broker's CPU for one delivery.
    fn broker_us(&self) -> Option<f64> {
        let spent = self
            .after
            .broker_cpu?
            .saturating_sub(self.before.broker_cpu?);
        Some(self.per_delivery(spent.as_secs_f64() * 1e6))
    }

    fn tool_us(&self) -> f64 {
        let spent = self.after.tool_cpu.saturating_sub(self.before.tool_cpu);
        self.per_delivery(spent.as_secs_f64() * 1e6)
    }

    /// Octets to the broker for one delivery, and octets of one write.
    pub(super) fn publish_leg(&self) -> (f64, usize) {
        let bytes = self.after.bytes_out - self.before.bytes_out;
        let writes = (self.after.writes - self.before.writes).max(1);
        (self.per_delivery(bytes as f64), (bytes / writes) as usize)
    }

    /// Octets from the broker for one delivery, and octets of one read.
    pub(super) fn delivery_leg(&self) -> (f64, usize) {
        let bytes = self.after.bytes_in - self.before.bytes_in;
        let reads = (self.after.reads - self.before.reads).max(1);
        (self.per_delivery(bytes as f64), (bytes / reads) as usize)
    }

    /// Whether anything was measured.
    ///
    /// # Errors
    /// Nothing was: figures of it would say something that is not so.
    pub(super) fn check(&self) -> Result<(), Error> {
        let nothing = |why: &str| Err(Error::Stalled(format!("nothing was measured: {why}")));
        if self.delivered() == 0 {
            return nothing(match self.plan.stuck {
                0 => "no message was delivered in that time",
                _ => "no message was delivered in that time beside the consumers that never read",
            });
        }
        let is_empty = |latencies: &Histogram<u64>| latencies.is_empty();
        if self.latencies.as_ref().is_some_and(is_empty) {
            return nothing(
                "messages fell so far behind their rate that none that was due in that time was sent",
            );
        }
        Ok(())
    }

    /// Says that messages fell behind the rate at which they were to be sent, if they did.
    pub(super) fn lag(&self) -> Option<String> {
        let rate = self.plan.rate?;
        let published = self.after.published - self.before.published;
        let sent = published as f64 / self.seconds();
        (sent < rate * KEPT_PART).then(|| {
            format!("could not keep up: {sent:.0} messages a second were sent, {rate:.0} were due")
        })
    }

    /// Names and values in order: text in quotes, numbers as they are.
    fn fields(&self) -> Vec<(&'static str, String)> {
        let plan = &self.plan;
        let published = self.after.published - self.before.published;
        let scenario = plan.scenario.to_possible_value();
        let scenario = scenario.map_or_else(String::new, |value| value.get_name().to_owned());
        let mut fields = vec![
            ("scenario", format!("\"{scenario}\"")),
            ("size_bytes", plan.body_bytes.to_string()),
            ("producers", plan.producers.len().to_string()),
            ("consumers", plan.consumers.len().to_string()),
            ("stuck", plan.stuck.to_string()),
            ("queues", plan.queues.len().to_string()),
            ("accept_every", plan.accept_every.to_string()),
            ("seconds", number(self.seconds())),
            ("published", published.to_string()),
            ("delivered", self.delivered().to_string()),
            ("published_per_s", number(published as f64 / self.seconds())),
            (
                "delivered_per_s",
                number(self.delivered() as f64 / self.seconds()),
            ),
            ("tool_cpu_us", number(self.tool_us())),
            ("bytes_per_write", self.publish_leg().1.to_string()),
            ("bytes_per_read", self.delivery_leg().1.to_string()),
        ];
        if let Some(broker) = self.broker_us() {
            fields.push(("broker_cpu_us", number(broker)));
            fields.push(("broker_resident_bytes", self.resident_bytes.to_string()));
        }
        if let Some(floor) = self.floor {
            fields.push(("floor_us", number(floor)));
            if let Some(broker) = self.broker_us() {
                fields.push(("above_floor_us", number(broker - floor)));
            }
        }
        fields
    }

    fn latency_us(&self) -> Option<Vec<(&'static str, f64)>> {
        let latencies = self.latencies.as_ref()?;
        let value = |percent| latencies.value_at_percentile(percent) as f64 / 1000.0;
        Some(
            PERCENTILES
                .iter()
                .map(|(name, percent)| (*name, value(*percent)))
                .collect(),
        )
    }

    /// One JSON object on one line.
    pub(super) fn json(&self) -> String {
        let pair = |(name, value): (&str, String)| format!("\"{name}\":{value}");
        let mut pairs: Vec<String> = self.fields().into_iter().map(pair).collect();
        if let Some(latency) = self.latency_us() {
            let inner: Vec<String> = latency
                .iter()
                .map(|(name, value)| format!("\"{name}\":{}", number(*value)))
                .collect();
            pairs.push(format!("\"latency_us\":{{{}}}", inner.join(",")));
        }
        format!("{{{}}}", pairs.join(","))
    }

    /// For people.
    pub(super) fn table(&self) -> String {
        let mut table = String::new();
        // Writing to a string does not fail.
        for (name, value) in self.fields() {
            let _ = writeln!(
                table,
                "{:<24}{}",
                name.replace('_', " "),
                value.trim_matches('"')
            );
        }
        for (name, value) in self.latency_us().unwrap_or_default() {
            let name = format!("latency us {}", name.replace('_', "."));
            let _ = writeln!(table, "{name:<24}{}", number(value));
        }
        table
    }
}

/// Three digits behind the point: nanoseconds where the unit is a microsecond.
fn number(value: f64) -> String {
    format!("{value:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::options::RunOptions;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        run: RunOptions,
    }

    fn outcome() -> Outcome {
        let line = Line::parse_from(["bench", "fan-out", "--size", "10"]);
        let before = Sample {
            at: Instant::now(),
            published: 10,
            delivered: 40,
            broker_cpu: Some(Duration::from_millis(100)),
            tool_cpu: Duration::ZERO,
            bytes_out: 0,
            writes: 0,
            bytes_in: 0,
            reads: 0,
        };
        let after = Sample {
            at: before.at + Duration::from_secs(2),
            published: 1010,
            delivered: 4040,
            broker_cpu: Some(Duration::from_millis(110)),
            tool_cpu: Duration::from_millis(4),
            bytes_out: 100_000,
            writes: 10,
            bytes_in: 400_000,
            reads: 8,
        };
        let plan = Plan::of(&line.run).unwrap();
        Outcome {
            plan,
            before,
            after,
            resident_bytes: 5,
            latencies: None,
            floor: Some(0.5),
        }
    }

    #[test]
    fn cpu_and_floor_count_for_one_delivery() {
        let json = outcome().json();
        for part in [
            "\"scenario\":\"fan-out\"",
            "\"published_per_s\":500.000",
            "\"delivered_per_s\":2000.000",
            "\"broker_cpu_us\":2.500",
            "\"tool_cpu_us\":1.000",
            "\"floor_us\":0.500",
            "\"above_floor_us\":2.000",
        ] {
            assert!(json.contains(part), "{part} in {json}");
        }
        assert_eq!(outcome().publish_leg(), (25.0, 10_000));
        assert_eq!(outcome().delivery_leg(), (100.0, 50_000));
    }

    #[test]
    fn a_run_in_which_nothing_was_measured_fails() {
        assert!(outcome().check().is_ok());
        let mut none = outcome();
        none.after.delivered = none.before.delivered;
        assert!(none.check().is_err());
        let late = Outcome {
            latencies: Some(crate::load::shared::histogram()),
            ..outcome()
        };
        assert!(late.check().is_err());
    }

    #[test]
    fn a_rate_that_is_not_kept_is_told() {
        // 500 a second were sent.
        let at = |rate: f64| {
            let mut outcome = outcome();
            outcome.plan.rate = Some(rate);
            outcome.lag()
        };
        assert_eq!(at(505.0), None);
        let told = at(1000.0).unwrap();
        assert!(
            told.contains("500 messages a second") && told.contains("1000 were due"),
            "{told}"
        );
    }

    #[test]
    fn latencies_are_told_in_microseconds() {
        let mut latencies = crate::load::shared::histogram();
        latencies.saturating_record(2_000_000);
        let outcome = Outcome {
            latencies: Some(latencies),
            ..outcome()
        };
        assert!(
            outcome.json().contains("\"latency_us\":{\"p50\":2000"),
            "{}",
            outcome.json()
        );
        assert!(
            outcome.table().contains("latency us p99.99"),
            "{}",
            outcome.table()
        );
    }
}
