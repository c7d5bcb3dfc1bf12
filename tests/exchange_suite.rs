//! Routing: each type of exchange by the tables of its rule, by random bindings against a second
//! reckoning, and rebuilt from the list of its bindings.

#[path = "exchange_suite/bound.rs"]
mod bound;
#[path = "exchange_suite/direct_and_fanout.rs"]
mod direct_and_fanout;
#[path = "exchange_suite/headers.rs"]
mod headers;
#[path = "exchange_suite/rebuild.rs"]
mod rebuild;
#[path = "exchange_suite/routing.rs"]
mod routing;
#[path = "exchange_suite/topic.rs"]
mod topic;
#[path = "exchange_suite/topic_cost.rs"]
mod topic_cost;
