//! A client's session, as tests use it.

use std::cell::Cell;
use std::sync::Arc;

use ferrymq::broker::branch::{DtxRequest, Xid};
use ferrymq::broker::{Command, Request};
use ferrymq::wire::{
    AcceptMode, AcquireMode, CommandId, CreditUnit, DtxGetTimeoutResult, DtxRecoverResult,
    DtxXaResult, DtxXid, ExchangeBind, ExchangeBound, ExchangeBoundResult, ExchangeDeclare,
    ExchangeDelete, ExchangeQuery, ExchangeQueryResult, ExchangeUnbind, FlowMode, Map,
    MessageAcquired, MessageSubscribe, QueueDeclare, QueueDelete, QueuePurge, QueueQuery,
    QueueQueryResult, SequenceSet, Struct, Value,
};

use super::told::{Arrived, Failure, Told};
use super::{Connection, Draft, message};

/// A session. Its commands are numbered from 0.
#[derive(Clone)]
pub struct Session {
    pub connection: Connection,
    pub channel: u16,
    next: Cell<u32>,
    /// Whether it goes on over a lost connection: what is completed is then told behind what is sent again.
    is_resumed: bool,
}

impl Session {
    pub fn new(connection: Connection, channel: u16) -> Session {
        Session {
            connection,
            channel,
            next: Cell::new(0),
            is_resumed: false,
        }
    }

    /// Sends a command and gives its number.
    pub fn send(&self, request: Request) -> u32 {
        self.send_with(request, false)
    }

    pub fn send_with(&self, request: Request, sync: bool) -> u32 {
        let id = self.next.get();
        self.next.set(id.wrapping_add(1));
        self.send_numbered(id, request, sync);
        id
    }

    pub fn send_numbered(&self, id: u32, request: Request, sync: bool) {
        let command = Command::Session {
            at: self.connection.at(self.channel),
            id: CommandId(id),
            sync,
            request,
        };
        self.control(command);
    }

    fn control(&self, command: Command) {
        let member = self.connection.key.member;
        self.connection.broker.entry(member, vec![command]);
    }

    /// The number that the next command gets.
    pub fn count_from(&self, id: u32) {
        self.next.set(id);
    }

    // What it is told.

    /// Everything that it was told since it was last asked; of one that goes on but for what is completed,
    /// which is told behind what is sent again.
    pub fn told(&self) -> Vec<Told> {
        let mut told = self.all_told();
        if self.is_resumed {
            told.retain(|told| !matches!(told, Told::Completed(_, true)));
        }
        told
    }

    /// Everything that it was told since it was last asked.
    pub fn all_told(&self) -> Vec<Told> {
        let key = self.connection.key;
        self.connection.broker.take_told(key, self.channel)
    }

    /// The messages it was sent; it was told nothing else.
    pub fn arrivals(&self) -> Vec<Arrived> {
        let told = self.told().into_iter();
        told.map(|told| match told {
            Told::Delivered(arrived) => *arrived,
            other => panic!("not a message: {other:?}"),
        })
        .collect()
    }

    /// The bodies of the messages it was sent; those that may have been delivered before end in
    /// `*`. It was told nothing else.
    pub fn received(&self) -> Vec<String> {
        let body = |arrived: Arrived| match arrived.redelivered {
            true => format!("{}*", arrived.body),
            false => arrived.body,
        };
        self.arrivals().into_iter().map(body).collect()
    }

    /// The bodies of the messages it was sent, among other things that it was told.
    pub fn received_among_others(&self) -> Vec<String> {
        let told = self.told().into_iter();
        told.filter_map(|told| match told {
            Told::Delivered(arrived) => Some(arrived.body),
            _ => None,
        })
        .collect()
    }

    /// The exception with which it ended.
    pub fn failure(&self) -> Failure {
        match self.told().pop() {
            Some(Told::Failed(failure)) => *failure,
            other => panic!("no exception but {other:?}"),
        }
    }

    /// Asserts that it has ended by an exception with this code and text.
    #[track_caller]
    pub fn assert_failed(&self, code: u16, fragment: &str) {
        let failure = self.failure();
        assert_eq!(failure.code.0, code, "{}", failure.text);
        assert!(failure.text.contains(fragment), "{}", failure.text);
    }

    /// Asserts that it was told nothing, and so lives.
    #[track_caller]
    pub fn assert_untroubled(&self) {
        assert_eq!(self.told(), []);
        let echo = self.send_with(Request::Sync, false);
        match self.told().as_slice() {
            [Told::Completed(commands, _)] => assert!(commands.contains(CommandId(echo))),
            other => panic!("not alive: {other:?}"),
        }
    }

    /// The answer to the command sent last; it was told nothing else.
    fn answer<T: Struct>(&self) -> T {
        let last = CommandId(self.next.get().wrapping_sub(1));
        match self.told().as_slice() {
            [Told::Result(command, value)] if *command == last => {
                value.parse().expect("the answer of this command")
            }
            other => panic!("no answer: {other:?}"),
        }
    }

    // Controls.

    pub fn complete(&self, commands: SequenceSet) {
        let at = self.connection.at(self.channel);
        self.control(Command::Completed { at, commands });
    }

    pub fn know_completed(&self, commands: SequenceSet) {
        let at = self.connection.at(self.channel);
        self.control(Command::KnownCompleted { at, commands });
    }

    pub fn flush_session(&self, expected: bool, confirmed: bool, completed: bool) {
        self.control(Command::SessionFlush {
            at: self.connection.at(self.channel),
            expected,
            confirmed,
            completed,
        });
    }

    pub fn confirm(&self, commands: SequenceSet) {
        let at = self.connection.at(self.channel);
        self.control(Command::Confirmed { at, commands });
    }

    /// Says which command of the broker it expects; none when it knows of no session.
    pub fn expect(&self, next: Option<u32>) {
        let at = self.connection.at(self.channel);
        let commands = next.map_or_else(SequenceSet::new, |id| SequenceSet::of(CommandId(id)));
        self.control(Command::Expected { at, commands });
    }

    /// The same, whatever it says.
    pub fn expect_any(&self, commands: SequenceSet) {
        let at = self.connection.at(self.channel);
        self.control(Command::Expected { at, commands });
    }

    /// Is granted so many seconds, if it is attached.
    pub fn grant_any_timeout(&self, timeout: u32) {
        let at = self.connection.at(self.channel);
        self.control(Command::GrantTimeout { at, timeout });
    }

    /// Says that commands will never come.
    pub fn gap(&self, commands: SequenceSet) {
        let at = self.connection.at(self.channel);
        self.control(Command::Gap { at, commands });
    }

    /// Is granted so many seconds, and told so.
    pub fn grant_timeout(&self, timeout: u32) {
        let at = self.connection.at(self.channel);
        self.control(Command::GrantTimeout { at, timeout });
        assert_eq!(self.told(), [Told::Timeout(timeout)]);
    }

    /// The same session on another channel, where the test attaches it.
    pub fn on(&self, connection: &Connection, channel: u16) -> Session {
        Session {
            next: self.next.clone(),
            is_resumed: true,
            ..Session::new(connection.clone(), channel)
        }
    }

    pub fn detach(&self) {
        let at = self.connection.at(self.channel);
        self.control(Command::Detach { at });
    }

    // Queues.

    pub fn declare(&self, queue: &str) -> u32 {
        self.declare_with(queue, |_| {})
    }

    pub fn declare_with(&self, queue: &str, change: impl FnOnce(&mut QueueDeclare)) -> u32 {
        let mut declare = QueueDeclare {
            queue: queue.into(),
            ..Default::default()
        };
        change(&mut declare);
        self.send(Request::QueueDeclare(Box::new(declare)))
    }

    /// A queue with limits that holds no publisher back before they are reached.
    pub fn declare_limited(&self, queue: &str, limits: &[(&str, Value)]) -> u32 {
        let unheld = ["qpid.flow_stop_count", "qpid.flow_stop_size"].map(|n| (n, Value::U32(0)));
        self.declare_kind(queue, &[limits, &unheld].concat())
    }

    /// A queue with arguments.
    pub fn declare_kind(&self, queue: &str, arguments: &[(&str, Value)]) -> u32 {
        let arguments: Map = arguments.iter().cloned().collect();
        self.declare_with(queue, |declare| declare.arguments = Some(arguments))
    }

    pub fn delete(&self, queue: &str) -> u32 {
        self.delete_with(queue, |_| {})
    }

    pub fn delete_with(&self, queue: &str, change: impl FnOnce(&mut QueueDelete)) -> u32 {
        let mut delete = QueueDelete {
            queue: queue.into(),
            ..Default::default()
        };
        change(&mut delete);
        self.send(Request::QueueDelete(Box::new(delete)))
    }

    pub fn purge(&self, queue: &str) -> u32 {
        let queue = queue.into();
        self.send(Request::QueuePurge(Box::new(QueuePurge { queue })))
    }

    pub fn query(&self, queue: &str) -> QueueQueryResult {
        let queue = queue.into();
        self.send(Request::QueueQuery(Box::new(QueueQuery { queue })));
        self.answer()
    }

    /// Messages that can be had.
    pub fn count(&self, queue: &str) -> u32 {
        self.query(queue).message_count
    }

    pub fn has_queue(&self, queue: &str) -> bool {
        self.query(queue).queue == queue
    }

    // Exchanges.

    pub fn declare_exchange(&self, exchange: &str, kind: &str, alternate: Option<&str>) -> u32 {
        self.declare_exchange_with(exchange, kind, |declare| {
            declare.alternate_exchange = alternate.map(Into::into);
        })
    }

    pub fn declare_exchange_with(
        &self,
        exchange: &str,
        kind: &str,
        change: impl FnOnce(&mut ExchangeDeclare),
    ) -> u32 {
        let mut declare = ExchangeDeclare {
            exchange: exchange.into(),
            r#type: kind.into(),
            ..Default::default()
        };
        change(&mut declare);
        self.send(Request::ExchangeDeclare(Box::new(declare)))
    }

    pub fn delete_exchange(&self, exchange: &str) -> u32 {
        self.send(Request::ExchangeDelete(Box::new(ExchangeDelete {
            exchange: exchange.into(),
            ..Default::default()
        })))
    }

    pub fn delete_exchange_if_unused(&self, exchange: &str) -> u32 {
        self.send(Request::ExchangeDelete(Box::new(ExchangeDelete {
            exchange: exchange.into(),
            if_unused: true,
        })))
    }

    pub fn query_exchange(&self, exchange: &str) -> ExchangeQueryResult {
        let name = Some(exchange.into());
        self.send(Request::ExchangeQuery(Box::new(ExchangeQuery { name })));
        self.answer()
    }

    pub fn bind(&self, exchange: &str, queue: &str, key: &str, arguments: &[(&str, Value)]) -> u32 {
        self.send(Request::ExchangeBind(Box::new(ExchangeBind {
            queue: queue.into(),
            exchange: exchange.into(),
            binding_key: key.into(),
            arguments: Some(arguments.iter().cloned().collect()),
        })))
    }

    pub fn unbind(&self, exchange: &str, queue: &str, key: &str) -> u32 {
        self.send(Request::ExchangeUnbind(Box::new(ExchangeUnbind {
            queue: queue.into(),
            exchange: exchange.into(),
            binding_key: key.into(),
        })))
    }

    pub fn bound(&self, exchange: &str, queue: &str, key: Option<&str>) -> ExchangeBoundResult {
        self.send(Request::ExchangeBound(Box::new(ExchangeBound {
            exchange: Some(exchange.into()),
            queue: queue.into(),
            binding_key: key.map(Into::into),
            arguments: None,
        })));
        self.answer()
    }

    // Publishing.

    /// Publishes to a queue through the default exchange, accept mode none.
    pub fn publish(&self, queue: &str, body: &str) -> u32 {
        self.publish_message("", message(queue, body))
    }

    pub fn publish_message(&self, exchange: &str, message: Draft) -> u32 {
        self.transfer(exchange, message, AcceptMode::NONE)
    }

    pub fn transfer(&self, exchange: &str, message: Draft, mode: AcceptMode) -> u32 {
        self.send(Request::Transfer {
            destination: exchange.into(),
            accept_mode: mode,
            message: Arc::new(message.published(exchange)),
        })
    }

    /// Publishes with a time to live in milliseconds.
    pub fn publish_for(&self, queue: &str, body: &str, ttl: u64) -> u32 {
        let message = super::message_with(queue, body, |delivery| delivery.ttl = Some(ttl));
        self.publish_message("", message)
    }

    /// Publishes messages whose bodies are the numbers from `first` on, many in an entry.
    pub fn publish_many(&self, queue: &str, first: u32, count: u32) {
        let numbers: Vec<u32> = (first..first + count).collect();
        for some in numbers.chunks(256) {
            self.connection.broker.together(|| {
                for number in some {
                    self.publish(queue, &number.to_string());
                }
            });
        }
    }

    // Subscriptions.

    /// Subscribes: messages are acquired and accepted explicitly; no credit yet, window mode.
    pub fn subscribe(&self, queue: &str, destination: &str) -> u32 {
        self.subscribe_with(queue, destination, |_| {})
    }

    pub fn browse(&self, queue: &str, destination: &str) -> u32 {
        self.subscribe_with(queue, destination, |subscribe| {
            subscribe.acquire_mode = AcquireMode::NOT_ACQUIRED;
        })
    }

    pub fn subscribe_with(
        &self,
        queue: &str,
        destination: &str,
        change: impl FnOnce(&mut MessageSubscribe),
    ) -> u32 {
        let mut subscribe = MessageSubscribe {
            queue: queue.into(),
            destination: destination.into(),
            accept_mode: AcceptMode::EXPLICIT,
            acquire_mode: AcquireMode::PRE_ACQUIRED,
            ..Default::default()
        };
        change(&mut subscribe);
        self.send(Request::Subscribe(Box::new(subscribe)))
    }

    /// Credit for so many messages of any size.
    pub fn flow(&self, destination: &str, messages: u32) {
        self.connection.broker.together(|| {
            self.grant(destination, CreditUnit::BYTE, u32::MAX);
            self.grant(destination, CreditUnit::MESSAGE, messages);
        });
    }

    pub fn grant(&self, destination: &str, unit: CreditUnit, value: u32) -> u32 {
        self.send(Request::Flow {
            destination: destination.into(),
            unit,
            value,
        })
    }

    pub fn set_mode(&self, destination: &str, flow_mode: FlowMode) -> u32 {
        self.send(Request::SetFlowMode {
            destination: destination.into(),
            flow_mode,
        })
    }

    pub fn flush(&self, destination: &str) -> u32 {
        let destination = destination.into();
        self.send(Request::FlushSubscription { destination })
    }

    pub fn stop(&self, destination: &str) -> u32 {
        let destination = destination.into();
        self.send(Request::Stop { destination })
    }

    pub fn cancel(&self, destination: &str) -> u32 {
        let destination = destination.into();
        self.send(Request::Cancel { destination })
    }

    // Settling.

    pub fn accept(&self, transfers: SequenceSet) -> u32 {
        self.send(Request::Accept { transfers })
    }

    pub fn reject(&self, transfers: SequenceSet) -> u32 {
        self.send(Request::Reject { transfers })
    }

    pub fn release(&self, transfers: SequenceSet) -> u32 {
        self.release_with(transfers, false)
    }

    pub fn release_with(&self, transfers: SequenceSet, set_redelivered: bool) -> u32 {
        self.send(Request::Release {
            transfers,
            set_redelivered,
        })
    }

    /// Acquires browsed messages and gives those that it got.
    pub fn acquire(&self, transfers: SequenceSet) -> SequenceSet {
        self.send(Request::Acquire { transfers });
        self.answer::<MessageAcquired>().transfers
    }

    // Transactions.

    pub fn select(&self) {
        self.send(Request::TxSelect);
    }

    pub fn commit(&self) {
        self.send(Request::TxCommit);
    }

    pub fn rollback(&self) {
        self.send(Request::TxRollback);
    }

    // Branches of distributed transactions. Each has the xid of its name.

    pub fn dtx_select(&self) {
        self.send(Request::Dtx(Box::new(DtxRequest::Select)));
    }

    /// Asks, and gives the xa-status.
    fn ask_xa(&self, request: DtxRequest) -> u16 {
        self.send(Request::Dtx(Box::new(request)));
        self.answer::<DtxXaResult>().status.0
    }

    /// Asks something that is refused.
    pub fn refused_dtx(&self, request: DtxRequest) {
        self.send(Request::Dtx(Box::new(request)));
    }

    pub fn start(&self, branch: &str) -> u16 {
        self.start_with(branch, false, false)
    }

    pub fn join(&self, branch: &str) -> u16 {
        self.start_with(branch, true, false)
    }

    pub fn resume(&self, branch: &str) -> u16 {
        self.start_with(branch, false, true)
    }

    fn start_with(&self, branch: &str, join: bool, resume: bool) -> u16 {
        self.ask_xa(start(branch, join, resume))
    }

    pub fn end(&self, branch: &str) -> u16 {
        self.ask_xa(end(branch, false, false))
    }

    pub fn end_failed(&self, branch: &str) -> u16 {
        self.ask_xa(end(branch, true, false))
    }

    pub fn suspend(&self, branch: &str) -> u16 {
        self.ask_xa(end(branch, false, true))
    }

    pub fn prepare(&self, branch: &str) -> u16 {
        self.ask_xa(prepare(branch))
    }

    pub fn commit_prepared(&self, branch: &str) -> u16 {
        self.ask_xa(commit(branch, false))
    }

    pub fn commit_one_phase(&self, branch: &str) -> u16 {
        self.ask_xa(commit(branch, true))
    }

    pub fn roll_back(&self, branch: &str) -> u16 {
        self.ask_xa(rollback(branch))
    }

    pub fn timeout(&self, branch: &str) -> u32 {
        let request = DtxRequest::GetTimeout { xid: xid(branch) };
        self.send(Request::Dtx(Box::new(request)));
        self.answer::<DtxGetTimeoutResult>().timeout
    }

    pub fn set_timeout(&self, branch: &str, timeout: u32) {
        let xid = xid(branch);
        let request = DtxRequest::SetTimeout { xid, timeout };
        self.send(Request::Dtx(Box::new(request)));
    }

    pub fn forget(&self, branch: &str) {
        let request = DtxRequest::Forget { xid: xid(branch) };
        self.send(Request::Dtx(Box::new(request)));
    }

    /// The names of the branches that are prepared.
    pub fn in_doubt(&self) -> Vec<String> {
        self.send(Request::Dtx(Box::new(DtxRequest::Recover)));
        let in_doubt = self.answer::<DtxRecoverResult>().in_doubt;
        let name = |value: &Value| match value {
            Value::Struct32(packed) => {
                let xid = packed.parse::<DtxXid>().expect("an xid");
                String::from_utf8(xid.global_id).expect("a name")
            }
            other => panic!("no xid: {other:?}"),
        };
        in_doubt.items.iter().map(name).collect()
    }
}

/// Seconds for which work in a test's branch may take.
pub const BRANCH_SECONDS: u32 = 60;

/// The xid of a name.
pub fn xid(branch: &str) -> Xid {
    Xid::new(7, branch.as_bytes(), b"branch").expect("a short name")
}

pub fn start(branch: &str, join: bool, resume: bool) -> DtxRequest {
    let (xid, timeout) = (xid(branch), BRANCH_SECONDS);
    DtxRequest::Start {
        xid,
        join,
        resume,
        timeout,
    }
}

pub fn end(branch: &str, fail: bool, suspend: bool) -> DtxRequest {
    let xid = xid(branch);
    DtxRequest::End { xid, fail, suspend }
}

pub fn prepare(branch: &str) -> DtxRequest {
    DtxRequest::Prepare { xid: xid(branch) }
}

pub fn rollback(branch: &str) -> DtxRequest {
    DtxRequest::Rollback { xid: xid(branch) }
}

pub fn commit(branch: &str, one_phase: bool) -> DtxRequest {
    let xid = xid(branch);
    DtxRequest::Commit { xid, one_phase }
}
