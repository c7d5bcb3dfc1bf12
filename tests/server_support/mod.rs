//! A broker in a process of its own, and clients of it: one that says any bytes, and one that keeps
//! to the protocol, both on plain blocking sockets.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use ferrymq::protocol::{ClientConfig, Connection, Content, Event, Pieces, Time};
use ferrymq::wire::{self, Array, CommandId, Control, Map, SequenceSet};

/// How long anything is waited for that has to come. Far more than it takes: a test that reaches it
/// has failed.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A broker that ended before it served anybody.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub log: Vec<String>,
}

/// A broker that is stopped when this is dropped.
pub struct Broker {
    process: Child,
    pub ports: Vec<u16>,
    pub started: Instant,
    out: Receiver<String>,
    log: Receiver<String>,
    seen: Vec<String>,
}

impl Broker {
    /// Starts one on ports of its choice, on loopback.
    pub fn start(options: &[&str]) -> Broker {
        let mut all = vec!["--port", "0"];
        all.extend(options);
        Broker::start_on(&all)
    }

    /// Starts one with these options and no others but, where they name no data directory, that it
    /// keeps nothing.
    pub fn start_on(options: &[&str]) -> Broker {
        Broker::of(Command::new(env!("CARGO_BIN_EXE_ferrymq")), options)
    }

    /// Starts a lockstep group of three, with faults by this seed.
    pub fn start_lockstep(seed: &str, more: &[&str]) -> Broker {
        let mut options = vec!["--group", "lockstep", "--lockstep-seed", seed];
        options.extend(["--port", "0,0,0"]);
        options.extend(more);
        Broker::start_on(&options)
    }

    /// Starts one that may have so many files open.
    pub fn start_with_files(files_max: u32, options: &[&str]) -> Broker {
        let mut shell = Command::new("sh");
        let line = format!("ulimit -n {files_max}; exec \"$0\" \"$@\"");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_ferrymq")]);
        let mut all = vec!["--port", "0"];
        all.extend(options);
        Broker::of(shell, &all)
    }

    /// Starts one as an argument of another program, which replaces itself by it: with a tracer, as
    /// another user.
    pub fn start_under(before: &[&str], options: &[&str]) -> Result<Broker, Ended> {
        let mut command = match before {
            [] => Command::new(env!("CARGO_BIN_EXE_ferrymq")),
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments).arg(env!("CARGO_BIN_EXE_ferrymq"));
                command
            }
        };
        command.stdin(Stdio::null());
        let mut all = vec!["--port", "0"];
        all.extend(options);
        Broker::try_of(command, &all)
    }

    fn of(command: Command, options: &[&str]) -> Broker {
        match Broker::try_of(command, options) {
            Ok(broker) => broker,
            Err(ended) => panic!("the broker does not start: {ended:#?}"),
        }
    }

    fn try_of(command: Command, options: &[&str]) -> Result<Broker, Ended> {
        let mut broker = Broker::launch(command, options);
        match broker.serves(options) {
            true => Ok(broker),
            false => {
                let status = broker.wait();
                let log = broker.log().to_vec();
                Err(Ended { status, log })
            }
        }
    }

    /// Starts one that may not serve anybody yet.
    pub fn launch_on(options: &[&str]) -> Broker {
        Broker::launch(Command::new(env!("CARGO_BIN_EXE_ferrymq")), options)
    }

    /// The same, with something planted in it.
    pub fn launch_planted(plant: &str, options: &[&str]) -> Broker {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ferrymq"));
        command.env("FERRYMQ_PLANT", plant);
        Broker::launch(command, options)
    }

    fn launch(mut command: Command, options: &[&str]) -> Broker {
        let mut process = command
            .arg("serve")
            .args(match options.contains(&"--data-dir") {
                true => None,
                false => Some("--no-data-dir"),
            })
            .args(options)
            // One arena for all threads: with one each, what a test sees of resident memory depends
            // on which threads happened to serve it.
            .env("MALLOC_ARENA_MAX", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the broker was built");
        let log = lines(process.stderr.take().expect("it is piped"));
        let out = lines(process.stdout.take().expect("it is piped"));
        Broker {
            process,
            ports: Vec::new(),
            started: Instant::now(),
            out,
            log,
            seen: Vec::new(),
        }
    }

    /// Waits until it serves clients, and reads its ports. False: it has ended, or does not serve in
    /// time.
    pub fn serves(&mut self, options: &[&str]) -> bool {
        if self.find_line("running").is_none() {
            return false;
        }
        let port = options.iter().position(|option| *option == "--port");
        let asked = port.map_or("", |at| options[at + 1]);
        let told = match asked.split(',').any(|port| port == "0") {
            true => asked.split(',').count(),
            false => 0,
        };
        for _ in 0..told {
            let line = self.out.recv_timeout(PATIENCE);
            let port = line.expect("it tells its ports").parse();
            self.ports.push(port.expect("a port"));
        }
        assert_eq!(self.out.try_iter().next(), None, "nothing else is told");
        true
    }

    /// The process's number.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports[0]))
    }

    /// Waits for a line of the log that contains `text`.
    pub fn log_line(&mut self, text: &str) -> String {
        match self.find_line(text) {
            Some(line) => line,
            None => panic!("no line with {text:?} in the log: {:#?}", self.seen),
        }
    }

    /// The same; None when the log ends without one, or none comes in time.
    pub fn find_line(&mut self, text: &str) -> Option<String> {
        let end = Instant::now() + PATIENCE;
        if let Some(line) = self.seen.iter().find(|line| line.contains(text)) {
            return Some(line.clone());
        }
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.log.recv_timeout(left) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line.contains(text) {
                        return Some(line);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Every line of the log so far.
    pub fn log(&mut self) -> &[String] {
        self.seen.extend(self.log.try_iter());
        &self.seen
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([format!("-{name}"), self.process.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()));
    }

    pub fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.process.try_wait().expect("it is a child") {
                return status;
            }
            assert!(Instant::now() < end, "the broker does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Octets of memory that the process holds.
    pub fn resident_bytes(&self) -> u64 {
        let path = format!("/proc/{}/statm", self.process.id());
        let text = std::fs::read_to_string(path).expect("it runs on Linux");
        let pages: u64 = text
            .split(' ')
            .nth(1)
            .and_then(|pages| pages.parse().ok())
            .expect("pages");
        pages * 4096
    }

    /// The same without pages of the program itself, which are read as each part of it is first used.
    pub fn own_bytes(&self) -> u64 {
        let path = format!("/proc/{}/status", self.process.id());
        let text = std::fs::read_to_string(path).expect("it runs on Linux");
        let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
        kilobytes.expect("kilobytes") * 1024
    }

    /// Files, sockets among them, that the process has open.
    pub fn open_files(&self) -> usize {
        let path = format!("/proc/{}/fd", self.process.id());
        std::fs::read_dir(path).expect("it runs on Linux").count()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Lines as they come, until the end.
pub fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}

/// Waits until something holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A socket to the broker that says whatever a test wants.
pub fn socket(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the broker listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_nodelay(true).expect("no delay");
    stream
}

/// Everything the broker says until it closes the socket or resets it.
pub fn rest_or_reset(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    if let Err(error) = stream.read_to_end(&mut all) {
        let kind = error.kind();
        assert!(
            !matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut),
            "the broker does not close in time"
        );
    }
    all
}

/// Everything the broker says until it closes the socket.
pub fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    stream
        .read_to_end(&mut all)
        .expect("the broker closes in time");
    all
}

/// Makes a user with a password, in `--data-dir DIRECTORY` or in `--users-file FILE`.
pub fn add_user(place: [&str; 2], name: &str, password: &str) {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_ferrymq"))
        .args(["user", "add", name])
        .args(place)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("it was built");
    let mut stdin = tool.stdin.take().expect("it is piped");
    writeln!(stdin, "{password}").expect("it reads");
    drop(stdin);
    assert!(tool.wait().expect("it ends").success());
}

/// What is said in a session, said where there is none.
pub fn session_controls() -> Vec<Control> {
    let set = || Some(SequenceSet::of(CommandId(0)));
    vec![
        Control::SessionGap(wire::SessionGap { commands: set() }),
        Control::SessionFlush(wire::SessionFlush::default()),
        Control::SessionExpected(wire::SessionExpected::default()),
        Control::SessionConfirmed(wire::SessionConfirmed::default()),
        Control::SessionCompleted(wire::SessionCompleted::default()),
        Control::SessionKnownCompleted(wire::SessionKnownCompleted::default()),
        Control::SessionRequestTimeout(wire::SessionRequestTimeout::default()),
        Control::SessionCommandPoint(wire::SessionCommandPoint::default()),
    ]
}

/// One frame with one whole control.
pub fn control_frame(channel: u16, control: &Control) -> Vec<u8> {
    let mut payload = Vec::new();
    control.encode(&mut payload);
    frame(0x0f, 0, 0, channel, &payload)
}

/// One frame as it stands: flags, segment type, track.
pub fn frame(flags: u8, segment: u8, track: u8, channel: u16, payload: &[u8]) -> Vec<u8> {
    let size = u16::try_from(payload.len() + 12).expect("it fits");
    let mut bytes = vec![flags, segment];
    bytes.extend(size.to_be_bytes());
    bytes.extend([0, track]);
    bytes.extend(channel.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}

/// The header, and a start-ok whose properties are these octets.
pub fn start_ok_of(properties: &[u8]) -> Vec<u8> {
    let mut octets = vec![1, 2, 0x0f, 0];
    octets.extend((properties.len() as u32).to_be_bytes());
    octets.extend(properties);
    octets.extend(b"\x09ANONYMOUS\x00\x00\x00\x00\x05en_US");
    let parts = octets.chunks(60_000);
    let last = parts.len() - 1;
    let frames = parts.enumerate().map(|(n, part)| {
        let flags = 0x0c | u8::from(n == 0) << 1 | u8::from(n == last);
        frame(flags, 0, 0, 0, part)
    });
    let frames: Vec<Vec<u8>> = frames.collect();
    [wire::protocol_header::BYTES.to_vec(), frames.concat()].concat()
}

/// A map with one entry `a` of a type and content.
pub fn one_entry(code: u8, content: &[u8]) -> Vec<u8> {
    [&1_u32.to_be_bytes()[..], &[1, b'a', code], content].concat()
}

/// What a client says to open a connection anonymously, without waiting for answers.
pub fn opening() -> Vec<u8> {
    let start_ok = wire::ConnectionStartOk {
        client_properties: Some(Map::new()),
        mechanism: "ANONYMOUS".into(),
        response: None,
        locale: "en_US".into(),
    };
    let tune_ok = wire::ConnectionTuneOk {
        channel_max: 100,
        max_frame_size: Some(65535),
        heartbeat: Some(0),
    };
    let open = wire::ConnectionOpen {
        virtual_host: "".into(),
        capabilities: None,
        insist: true,
    };
    let mut bytes = wire::protocol_header::BYTES.to_vec();
    for control in [
        Control::ConnectionStartOk(start_ok),
        Control::ConnectionTuneOk(tune_ok),
        Control::ConnectionOpen(open),
    ] {
        bytes.extend(control_frame(0, &control));
    }
    bytes
}

/// A client that keeps to the protocol.
pub struct Client {
    pub stream: TcpStream,
    protocol: Connection,
    start: Instant,
    /// What came while something else was waited for.
    kept: VecDeque<Event>,
}

impl Client {
    /// Connects and opens.
    pub fn open(address: SocketAddr) -> Client {
        Client::open_with(address, ClientConfig::default())
    }

    /// Connects and opens with limits of its own.
    pub fn open_with(address: SocketAddr, config: ClientConfig) -> Client {
        let mut client = Client::start(address);
        client.protocol = Connection::client(config, Time(0));
        loop {
            match client.event() {
                Event::Start { .. } => client.protocol.start_ok("ANONYMOUS", None, "en_US"),
                Event::OpenOk { .. } => return client,
                Event::Tuned(_) => {}
                other => panic!("unexpected {other:?}"),
            }
        }
    }

    /// Connects and opens with PLAIN, a user and some password; code and text when the broker closes
    /// the connection instead.
    pub fn open_as(
        address: SocketAddr,
        user: &str,
        client_properties: Map,
    ) -> Result<Client, (u16, String)> {
        let mut client = Client::start(address);
        let config = ClientConfig {
            client_properties,
            ..ClientConfig::default()
        };
        client.protocol = Connection::client(config, Time(0));
        let response = format!("\0{user}\0password").into_bytes();
        loop {
            match client.event() {
                Event::Start { .. } => {
                    let response = Some(response.clone());
                    client.protocol.start_ok("PLAIN", response, "en_US");
                }
                Event::OpenOk { .. } => return Ok(client),
                Event::Tuned(_) => {}
                Event::Closed { code, text, .. } => return Err((code.0, text)),
                other => panic!("unexpected {other:?}"),
            }
        }
    }

    /// Connects with a mechanism; `answer` gives what is said to each challenge, the first to none, and
    /// None for no response. Code and text when the broker closes the connection instead of opening it.
    pub fn log_in(
        address: SocketAddr,
        mechanism: &str,
        mut answer: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Client, (u16, String)> {
        let mut client = Client::start(address);
        loop {
            match client.event() {
                Event::Start { .. } => {
                    client.protocol.start_ok(mechanism, answer(None), "en_US");
                }
                Event::Secure { challenge } => {
                    let response = answer(Some(&challenge)).unwrap_or_default();
                    client.protocol.secure_ok(response);
                }
                Event::OpenOk { .. } => return Ok(client),
                Event::Tuned(_) => {}
                Event::Closed { code, text, .. } => return Err((code.0, text)),
                other => panic!("unexpected {other:?}"),
            }
        }
    }

    /// What a broker offers.
    pub fn offered(address: SocketAddr) -> Vec<String> {
        let mut client = Client::start(address);
        match client.event() {
            Event::Start { mechanisms, .. } => mechanisms.iter().map(|m| m.to_string()).collect(),
            other => panic!("unexpected {other:?}"),
        }
    }

    /// Sends a command and waits until it is done, or has failed its session: code and text.
    pub fn ask(
        &mut self,
        channel: u16,
        command: wire::Command,
    ) -> Result<(), (wire::ErrorCode, String)> {
        let sent = self.protocol.send(channel, &command, true, None);
        let id = sent.expect("the session is attached");
        self.event_of(|event| match event {
            Event::Completed { commands, .. } if commands.contains(id) => Some(Ok(())),
            Event::Exception { exception, .. } => Some(Err((
                exception.error_code,
                exception
                    .description
                    .clone()
                    .unwrap_or_default()
                    .to_string(),
            ))),
            _ => None,
        })
    }

    /// Waits until the session of a channel has failed: code and text.
    pub fn exception(&mut self, channel: u16) -> (wire::ErrorCode, String) {
        self.event_of(|event| match event {
            Event::Exception {
                channel: at,
                exception,
                ..
            } if *at == channel => Some((
                exception.error_code,
                exception
                    .description
                    .clone()
                    .unwrap_or_default()
                    .to_string(),
            )),
            _ => None,
        })
    }

    /// Connects and says nothing but the header.
    pub fn start(address: SocketAddr) -> Client {
        Client {
            stream: socket(address),
            protocol: Connection::client(ClientConfig::default(), Time(0)),
            start: Instant::now(),
            kept: VecDeque::new(),
        }
    }

    pub fn protocol(&mut self) -> &mut Connection {
        &mut self.protocol
    }

    /// Writes what is to be said.
    pub fn flush(&mut self) {
        while !self.protocol.output().is_empty() {
            let written = self
                .stream
                .write(self.protocol.output().front())
                .expect("the broker reads");
            self.protocol.output().advance(written);
        }
    }

    /// The next thing that the broker says.
    pub fn event(&mut self) -> Event {
        loop {
            self.flush();
            if let Some(event) = self.protocol.poll_event() {
                return event;
            }
            let mut buffer = BytesMut::zeroed(64 * 1024);
            let read = self.stream.read(&mut buffer).expect("the broker answers");
            if read == 0 {
                self.protocol.handle_end_of_input();
                continue;
            }
            buffer.truncate(read);
            let now = Time(self.start.elapsed().as_millis() as u64);
            self.protocol.handle_input(now, &mut buffer);
        }
    }

    /// The next event for which `pick` gives something. The others are kept.
    pub fn event_of<T>(&mut self, mut pick: impl FnMut(&Event) -> Option<T>) -> T {
        for at in 0..self.kept.len() {
            if let Some(picked) = pick(&self.kept[at]) {
                self.kept.remove(at);
                return picked;
            }
        }
        loop {
            let event = self.event();
            if let Some(picked) = pick(&event) {
                return picked;
            }
            assert!(
                !matches!(event, Event::Closed { .. }),
                "{event:?} after {:?}",
                self.kept
            );
            self.kept.push_back(event);
        }
    }

    /// Attaches a session.
    pub fn attach(&mut self, channel: u16, name: &str) {
        self.protocol.attach(channel, name.into(), false);
        self.event_of(|event| matches!(event, Event::Attached { .. }).then_some(()));
    }

    /// Sends a command and waits until it is completed.
    pub fn run(&mut self, channel: u16, command: wire::Command) {
        let sent = self.protocol.send(channel, &command, true, None);
        let id = sent.expect("the session is attached");
        self.event_of(|event| match event {
            Event::Completed { commands, .. } if commands.contains(id) => Some(()),
            _ => None,
        });
    }

    /// Declares a queue.
    pub fn declare(&mut self, channel: u16, queue: &str) {
        let declare = wire::QueueDeclare {
            queue: queue.into(),
            ..Default::default()
        };
        self.run(channel, wire::Command::QueueDeclare(declare));
    }

    /// Subscribes to a queue without acceptance, with all the credit there is.
    pub fn subscribe(&mut self, channel: u16, queue: &str, accept_mode: wire::AcceptMode) {
        let subscribe = wire::MessageSubscribe {
            queue: queue.into(),
            destination: queue.into(),
            accept_mode,
            ..Default::default()
        };
        self.run(channel, wire::Command::MessageSubscribe(subscribe));
        for unit in [wire::CreditUnit::MESSAGE, wire::CreditUnit::BYTE] {
            let flow = wire::MessageFlow {
                destination: queue.into(),
                unit,
                value: Some(u32::MAX),
            };
            self.run(channel, wire::Command::MessageFlow(flow));
        }
    }

    /// Publishes to a queue by its name, without waiting.
    pub fn publish(&mut self, channel: u16, queue: &str, body: &[u8]) {
        self.publish_with(channel, queue, &[], body);
    }

    /// The same with more structs in the header, as they stand.
    pub fn publish_with(&mut self, channel: u16, queue: &str, rest: &[u8], body: &[u8]) {
        let transfer = wire::MessageTransfer {
            accept_mode: Some(wire::AcceptMode::NONE),
            ..Default::default()
        };
        let delivery = wire::DeliveryProperties {
            routing_key: Some(queue.into()),
            ..Default::default()
        };
        let mut header = Vec::new();
        wire::header::encode(&Some(delivery), rest, &mut header);
        let body = [bytes::Bytes::copy_from_slice(body)];
        let content = Content {
            header: Some(&header),
            body: Some(Pieces::Shared(&body)),
        };
        let command = wire::Command::MessageTransfer(transfer);
        let sent = self.protocol.send(channel, &command, false, Some(content));
        assert!(sent.is_some(), "the session is attached");
        self.flush();
    }

    /// What the broker knows of a queue, which need not be there.
    pub fn query_queue(&mut self, channel: u16, queue: &str) -> wire::QueueQueryResult {
        let query = wire::Command::QueueQuery(wire::QueueQuery {
            queue: queue.into(),
        });
        self.protocol().send(channel, &query, true, None);
        let value = self.event_of(|event| match event {
            Event::Result { value, .. } => value.clone(),
            _ => None,
        });
        value.parse().expect("the answer to a query")
    }

    /// Waits until all that was sent is done.
    pub fn sync(&mut self, channel: u16) {
        self.run(channel, wire::Command::ExecutionSync(Default::default()));
    }

    /// Waits for a delivery and completes it.
    pub fn receive(&mut self) -> Vec<u8> {
        let (channel, id, body) = self.event_of(|event| match event {
            Event::Command {
                channel, id, body, ..
            } => {
                let parts = body.iter().flat_map(|parts| parts.iter());
                let body: Vec<u8> = parts.flat_map(|part| part.iter().copied()).collect();
                Some((*channel, *id, body))
            }
            _ => None,
        });
        self.protocol.complete(channel, &SequenceSet::of(id));
        self.protocol.send_completed(channel);
        self.flush();
        body
    }

    /// Waits until the broker has closed the connection: code and text.
    pub fn closed(&mut self) -> (u16, String) {
        loop {
            if let Event::Closed { code, text, .. } = self.event() {
                return (code.0, text);
            }
        }
    }

    /// Ends without a word.
    pub fn cut(self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// The mechanisms that a `connection.start` offers.
pub fn texts(array: &Array) -> Vec<&str> {
    array.strs().collect()
}
