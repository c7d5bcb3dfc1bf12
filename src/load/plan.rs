//! What a run consists of, from the options.

use crate::client::unique_name;
use crate::wire::Text;
use crate::wire::url::Url;

use super::error::Error;
use super::limits;
use super::options::{RunOptions, Scenario};
use super::prepared::{STAMP_BYTES, Shape};

/// How producers have messages confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Confirming {
    /// Messages to each request for completion.
    pub(super) every: u32,
    /// Requests that may be unanswered.
    pub(super) window: u32,
    /// The request is a commit.
    pub(super) commits: bool,
}

/// An exchange of the run's own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Exchange {
    pub(super) name: Text,
    pub(super) kind: &'static str,
    /// Queue and key.
    pub(super) bindings: Vec<(Text, Text)>,
}

/// A run, decided.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) scenario: Scenario,
    pub(super) url: Url,
    /// Begins the names of everything declared and of all sessions.
    pub(super) name: String,
    pub(super) body_bytes: usize,
    pub(super) durable: bool,
    pub(super) queues: Vec<Text>,
    /// `None` publishes by the name of the queue.
    pub(super) exchange: Option<Exchange>,
    /// Routing keys of each producer, used in turn.
    pub(super) producers: Vec<Vec<Text>>,
    /// Queues of each consumer.
    pub(super) consumers: Vec<Vec<Text>>,
    /// Consumers that never read.
    pub(super) stuck: usize,
    /// Deliveries of each message.
    pub(super) copies: u64,
    /// Deliveries to each accept; 0 subscribes with accept-mode none.
    pub(super) accept_every: u32,
    pub(super) confirming: Option<Confirming>,
    /// Messages a second, all producers together.
    pub(super) rate: Option<f64>,
    /// Credit window; 0 is unlimited.
    pub(super) credit: u32,
    /// Messages published and not delivered, without a rate.
    pub(super) in_flight: u64,
}

impl Plan {
    /// The plan for these options.
    ///
    /// # Errors
    /// They contradict each other.
    pub(super) fn of(options: &RunOptions) -> Result<Plan, Error> {
        let scenario = options.scenario;
        let counts = Counts::of(options);
        let name = short_name();
        let queues: Vec<Text> = (0..counts.queues)
            .map(|n| Text::from(format!("{name}.{n}")))
            .collect();
        let exchange = exchange(options, &name, &queues);
        let keys: Vec<Text> = match (&exchange, scenario) {
            (Some(exchange), Scenario::Topic) => exchange
                .bindings
                .iter()
                .map(|(_, key)| Text::from(key.replace('*', "x")))
                .collect(),
            (Some(_), _) => vec![Text::from("")],
            (None, _) => queues.clone(),
        };
        let rate = match scenario {
            Scenario::Latency => Some(options.rate.unwrap_or(1000.0)),
            _ => options.rate,
        };
        let confirming = confirming(options);
        let mut plan = Plan {
            scenario,
            url: options.url.clone(),
            name,
            body_bytes: options.size as usize,
            durable: options.durable || scenario == Scenario::Durable,
            producers: shares(&keys, counts.producers),
            consumers: shares(&queues, counts.consumers),
            queues,
            exchange,
            stuck: options.stuck as usize,
            copies: if scenario == Scenario::FanOut {
                u64::from(counts.queues)
            } else {
                1
            },
            accept_every: accept_every(options),
            confirming,
            rate,
            credit: options.credit,
            in_flight: 0,
        };
        plan.in_flight = plan.in_flight_of(options.in_flight);
        plan.check()?;
        Ok(plan)
    }

    /// What a consumer accepts is committed.
    pub(super) fn commits_accepts(&self) -> bool {
        self.scenario == Scenario::Transactions
    }

    /// What all messages have in common.
    pub(super) fn shape(&self) -> Shape {
        let exchange = self.exchange.as_ref().map(|exchange| exchange.name.clone());
        Shape {
            exchange: exchange.unwrap_or_default(),
            body_bytes: self.body_bytes,
            persistent: self.durable,
        }
    }

    /// Lanes of all kinds.
    pub(super) fn lanes(&self) -> usize {
        self.producers.len() + self.consumers.len() + self.stuck
    }

    /// The bound asked for or the usual one, but never so low that open transactions use it up.
    fn in_flight_of(&self, asked: Option<u64>) -> u64 {
        let usual = match self.stuck {
            0 => limits::IN_FLIGHT_MESSAGES,
            _ => limits::IN_FLIGHT_BESIDE_STUCK,
        };
        let by_size = limits::IN_FLIGHT_BYTES / (self.body_bytes as u64 + 1);
        let usual = usual.min(by_size).max(limits::IN_FLIGHT_MIN);
        let uncommitted = match self.confirming {
            Some(Confirming {
                every,
                commits: true,
                ..
            }) => 4 * u64::from(every) * self.producers.len() as u64,
            _ => 0,
        };
        asked.unwrap_or(usual).max(uncommitted)
    }

    fn check(&self) -> Result<(), Error> {
        let usage = |text: String| Err(Error::Usage(text));
        if self.rate.is_some() && self.body_bytes < STAMP_BYTES {
            return usage(format!(
                "with a rate, messages have at least {STAMP_BYTES} octets"
            ));
        }
        if self.rate.is_some() && self.producers.len() > limits::PACED_PRODUCERS_MAX {
            return usage(format!(
                "with a rate, at most {} connections publish",
                limits::PACED_PRODUCERS_MAX
            ));
        }
        if self.scenario == Scenario::Confirmed && self.confirming.is_none() {
            return usage("what is confirmed needs a --sync-every of 1 at least".to_owned());
        }
        if self.stuck > 0 && self.copies > 1 {
            return usage("a consumer that never reads takes no part in a fan-out".to_owned());
        }
        Ok(())
    }
}

/// A name for the run: short, since it is in every message, as names of queues are in practice.
fn short_name() -> String {
    let long = unique_name("");
    format!("bench-{}", &long[..8])
}

/// How many of each.
struct Counts {
    producers: u32,
    consumers: u32,
    queues: u32,
}

impl Counts {
    fn of(options: &RunOptions) -> Counts {
        let (producers, consumers, queues) = match options.scenario {
            Scenario::FanOut => (1, 4, None),
            Scenario::Topic => (1, 1, None),
            Scenario::Queues => (1, 1, Some(1000)),
            Scenario::Connections => (100, 100, None),
            _ => (1, 1, Some(1)),
        };
        let consumers = options.consumers.unwrap_or(consumers);
        let producers = match options.scenario {
            Scenario::Connections => options.producers.unwrap_or(consumers),
            _ => options.producers.unwrap_or(producers),
        };
        // A fan-out has a queue for each consumer, whatever is asked for.
        let queues = match options.scenario {
            Scenario::FanOut => consumers,
            _ => options.queues.or(queues).unwrap_or(consumers),
        };
        Counts {
            producers,
            consumers,
            queues,
        }
    }
}

/// Items dealt out to `count` takers; when there are fewer than takers, several share one.
fn shares(items: &[Text], count: u32) -> Vec<Vec<Text>> {
    let count = count as usize;
    let share = |taker: usize| match items.len() >= count {
        true => items.iter().skip(taker).step_by(count).cloned().collect(),
        false => items
            .iter()
            .skip(taker % items.len().max(1))
            .take(1)
            .cloned()
            .collect(),
    };
    (0..count).map(share).collect()
}

fn exchange(options: &RunOptions, name: &str, queues: &[Text]) -> Option<Exchange> {
    let (kind, bindings) = match options.scenario {
        Scenario::FanOut => (
            "fanout",
            queues
                .iter()
                .map(|queue| (queue.clone(), Text::from("")))
                .collect(),
        ),
        Scenario::Topic => {
            let queue = |n: u32| queues[n as usize % queues.len()].clone();
            let binding = |n| (queue(n), Text::from(format!("plant.{n}.*.reading")));
            // Every queue is bound, or its consumer would wait for nothing.
            let count = options.bindings.max(queues.len() as u32);
            ("topic", (0..count).map(binding).collect())
        }
        _ => return None,
    };
    Some(Exchange {
        name: Text::from(name),
        kind,
        bindings,
    })
}

fn accept_every(options: &RunOptions) -> u32 {
    let usual = match options.scenario {
        Scenario::Transactions => options.commit_every,
        Scenario::Durable => 100,
        _ => 0,
    };
    options.ack_every.unwrap_or(usual)
}

fn confirming(options: &RunOptions) -> Option<Confirming> {
    let (every, window) = match options.scenario {
        Scenario::Transactions => {
            let every = options.commit_every;
            return Some(Confirming {
                every,
                window: 1,
                commits: true,
            });
        }
        Scenario::Confirmed => (100, 1),
        Scenario::Durable => (100, 10),
        _ => (0, 10),
    };
    let every = options.sync_every.unwrap_or(every);
    let window = options.sync_window.unwrap_or(window);
    (every > 0).then_some(Confirming {
        every,
        window,
        commits: false,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::load::Options;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn plan(line: &str) -> Result<Plan, Error> {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        Plan::of(&Line::parse_from(words).options.run)
    }

    #[test]
    fn every_key_is_published_and_every_queue_consumed_once() {
        let plan = plan("queues --queues 10 --producers 3 --consumers 4").unwrap();
        let mut published: Vec<_> = plan.producers.concat();
        let mut consumed: Vec<_> = plan.consumers.concat();
        published.sort();
        consumed.sort();
        assert_eq!(published.len(), 10);
        assert_eq!(published, consumed);
    }

    #[test]
    fn consumers_share_a_queue_when_there_are_more_of_them() {
        let plan = plan("throughput --consumers 3").unwrap();
        assert!(plan.consumers.iter().all(|queues| *queues == plan.queues));
    }

    #[test]
    fn a_topic_key_matches_the_binding_it_is_made_of() {
        let plan = plan("topic --bindings 5").unwrap();
        let bindings = &plan.exchange.as_ref().unwrap().bindings;
        assert_eq!(bindings[3].1, "plant.3.*.reading");
        assert_eq!(plan.producers[0][3], "plant.3.x.reading");
    }

    #[test]
    fn open_transactions_never_use_up_the_flight() {
        let plan = plan("transactions --commit-every 5000 --in-flight 10").unwrap();
        assert!(plan.in_flight >= 20_000);
    }

    #[test]
    fn confirmed_messages_ask_for_completion() {
        assert!(matches!(
            plan("confirmed --sync-every 0"),
            Err(Error::Usage(_))
        ));
        assert!(plan("throughput --sync-every 0").is_ok());
    }

    #[test]
    fn a_rate_needs_room_for_the_time_in_the_body() {
        assert!(matches!(plan("latency --size 7"), Err(Error::Usage(_))));
    }
}
