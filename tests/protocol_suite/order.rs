//! Controls out of order: whatever a client sends before `open-ok`, in whatever order, nothing of a session
//! and no command comes out of the connection.
//!
//! All sequences of all controls, some commands, some content and some garbage, six long at most. What
//! cannot change any more is not gone on with: a connection that is closed is tried with one thing more of
//! each kind, and one that is open has come to where the rule ends.

use bytes::BytesMut;
use ferrymq::protocol::{Connection, Event};
use ferrymq::wire::{CloseCode, Command, Control, SegmentType, protocol_header};

use crate::pair::{broker_config, transfer};
use crate::raw::{NOW, attach, command, control, frame, open, point, start_ok, tune_ok};

/// The longest sequence.
const DEPTH: usize = 6;

/// So many sequences there are at least, over all ways to answer: a table that has lost its rows shows.
const SEQUENCES_MIN: usize = 100_000;

/// Something that a client sends.
struct Atom {
    name: &'static str,
    bytes: Vec<u8>,
}

fn atom(name: &'static str, bytes: impl Into<Vec<u8>>) -> Atom {
    let bytes = bytes.into();
    Atom { name, bytes }
}

/// Controls of class connection, in both directions.
fn of_connections() -> Vec<Atom> {
    let of = |name, sent: Control| atom(name, control(0, &sent));
    vec![
        atom("header", protocol_header::BYTES),
        of("start", Control::ConnectionStart(Default::default())),
        atom("start-ok", start_ok()),
        of("secure", Control::ConnectionSecure(Default::default())),
        of("secure-ok", Control::ConnectionSecureOk(Default::default())),
        of("tune", Control::ConnectionTune(Default::default())),
        atom("tune-ok", tune_ok(65_535, 0)),
        atom("open", open()),
        of("open-ok", Control::ConnectionOpenOk(Default::default())),
        of("redirect", Control::ConnectionRedirect(Default::default())),
        of(
            "heartbeat",
            Control::ConnectionHeartbeat(Default::default()),
        ),
        of("close", Control::ConnectionClose(Default::default())),
        of("close-ok", Control::ConnectionCloseOk(Default::default())),
    ]
}

/// Controls of class session, in both directions.
fn of_sessions() -> Vec<Atom> {
    let of = |name, sent: Control| atom(name, control(1, &sent));
    vec![
        atom("attach", attach(1, b"s")),
        of("attached", Control::SessionAttached(Default::default())),
        of("detach", Control::SessionDetach(Default::default())),
        of("detached", Control::SessionDetached(Default::default())),
        of(
            "request-timeout",
            Control::SessionRequestTimeout(Default::default()),
        ),
        of("timeout", Control::SessionTimeout(Default::default())),
        atom("command-point", point(1, 0)),
        of("expected", Control::SessionExpected(Default::default())),
        of("confirmed", Control::SessionConfirmed(Default::default())),
        of("completed", Control::SessionCompleted(Default::default())),
        of(
            "known-completed",
            Control::SessionKnownCompleted(Default::default()),
        ),
        of("flush", Control::SessionFlush(Default::default())),
        of("gap", Control::SessionGap(Default::default())),
    ]
}

/// Commands, content that belongs to none, and what is no frame of 0-10.
fn others() -> Vec<Atom> {
    let declare = Command::QueueDeclare(ferrymq::wire::QueueDeclare {
        queue: "q".into(),
        ..Default::default()
    });
    let sync = Command::ExecutionSync(Default::default());
    let mut unknown_type = frame(SegmentType::COMMAND, 15, 1, &[]);
    unknown_type[1] = 9;
    let mut wrong_track = start_ok();
    wrong_track[5] = 1;
    vec![
        atom("sync", command(1, &sync, true)),
        atom("declare", command(1, &declare, true)),
        atom("transfer", command(1, &transfer("q"), true)),
        atom("transfer on channel 0", command(0, &transfer("q"), true)),
        atom("header segment", frame(SegmentType::HEADER, 15, 1, &[])),
        atom("body segment", frame(SegmentType::BODY, 15, 1, b"body")),
        atom("unknown type of segment", unknown_type),
        atom("start-ok on the track of commands", wrong_track),
        atom(
            "unknown class",
            frame(SegmentType::CONTROL, 15, 0, &[0xee, 0xee]),
        ),
        atom("header of 0-9-1", *b"AMQP\x00\x00\x09\x01"),
    ]
}

/// How the broker answers who a client says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    /// It is let in.
    Yes,
    /// After a challenge.
    AfterChallenge,
    /// It is not.
    No,
    /// It has not been decided.
    NotYet,
}

/// How the octets come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    OneByOne,
    AllAtOnce,
}

/// What has become of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Became {
    Negotiating,
    Open,
    Closed,
}

struct Matrix {
    atoms: Vec<Atom>,
    answers: Answers,
    reads: Reads,
    depth: usize,
    sequences: usize,
    opened: usize,
}

impl Matrix {
    fn names(&self, sequence: &[usize]) -> Vec<&'static str> {
        sequence.iter().map(|at| self.atoms[*at].name).collect()
    }

    /// Plays a sequence; gives what became of the connection. Fails if anything came out of it that is
    /// not of opening it.
    fn play(&self, sequence: &[usize]) -> Became {
        let mut broker = Connection::broker(broker_config(), NOW);
        let mut closed = 0;
        let whole: Vec<u8>;
        let pieces: Vec<&[u8]> = match self.reads {
            Reads::OneByOne => sequence.iter().map(|at| &*self.atoms[*at].bytes).collect(),
            Reads::AllAtOnce => {
                let bytes = sequence.iter().map(|at| &*self.atoms[*at].bytes);
                whole = bytes.collect::<Vec<_>>().concat();
                vec![&whole]
            }
        };
        for piece in pieces {
            broker.handle_input(NOW, &mut BytesMut::from(piece));
            while let Some(event) = broker.poll_event() {
                match event {
                    Event::StartOk { .. } => self.answer(&mut broker, true),
                    Event::SecureOk { .. } => self.answer(&mut broker, false),
                    Event::TuneOk(_) => {}
                    // Here the rule ends, and what follows may be of a session.
                    Event::Open { .. } => return Became::Open,
                    Event::Closed { .. } => closed += 1,
                    other => panic!("{:?}: {other:?}", self.names(sequence)),
                }
            }
        }
        assert!(!broker.is_open(), "{:?}", self.names(sequence));
        assert!(closed <= 1, "{:?}", self.names(sequence));
        match broker.is_closed() {
            true => Became::Closed,
            false => Became::Negotiating,
        }
    }

    fn answer(&self, broker: &mut Connection, is_first: bool) {
        match self.answers {
            Answers::AfterChallenge if is_first => broker.secure(b"who".to_vec()),
            Answers::Yes | Answers::AfterChallenge => broker.authenticated(),
            Answers::No => broker.close(CloseCode::CONNECTION_FORCED, "no"),
            Answers::NotYet => {}
        }
    }

    /// All sequences that begin with this one.
    fn go_on(&mut self, sequence: &mut Vec<usize>) {
        for at in 0..self.atoms.len() {
            sequence.push(at);
            self.sequences += 1;
            match self.play(sequence) {
                Became::Open => {
                    self.opened += 1;
                    self.check_opened(sequence);
                }
                Became::Closed => self.try_one_more(sequence),
                Became::Negotiating if sequence.len() < self.depth => self.go_on(sequence),
                Became::Negotiating => {}
            }
            sequence.pop();
        }
    }

    /// A connection that is closed says nothing more, whatever comes.
    fn try_one_more(&mut self, sequence: &mut Vec<usize>) {
        if sequence.len() >= self.depth {
            return;
        }
        for at in 0..self.atoms.len() {
            sequence.push(at);
            self.sequences += 1;
            assert_eq!(self.play(sequence), Became::Closed);
            sequence.pop();
        }
    }

    /// Only the order of the protocol opens a connection, with heartbeats between.
    fn check_opened(&self, sequence: &[usize]) {
        let mut names = self.names(sequence);
        names.retain(|name| *name != "heartbeat");
        // The track is not looked at, as in qpidd: a control is known by its segment.
        for name in &mut names {
            if name.starts_with("start-ok") {
                *name = "start-ok";
            }
        }
        let wanted: &[&str] = match self.answers {
            Answers::AfterChallenge => &["header", "start-ok", "secure-ok", "tune-ok", "open"],
            _ => &["header", "start-ok", "tune-ok", "open"],
        };
        assert_eq!(names, wanted);
        assert!(matches!(
            self.answers,
            Answers::Yes | Answers::AfterChallenge
        ));
    }
}

#[test]
fn out_of_order_controls_bring_nothing_of_a_session_before_open_ok() {
    let mut all = 0;
    for reads in [Reads::OneByOne, Reads::AllAtOnce] {
        for answers in [
            Answers::Yes,
            Answers::AfterChallenge,
            Answers::No,
            Answers::NotYet,
        ] {
            let mut atoms = of_connections();
            atoms.extend(of_sessions());
            atoms.extend(others());
            // Where nobody answers nothing is read: what comes behind makes no difference, and all of it
            // would be all there is.
            let depth = match answers {
                Answers::NotYet => 4,
                _ => DEPTH,
            };
            let mut matrix = Matrix {
                atoms,
                answers,
                reads,
                depth,
                sequences: 0,
                opened: 0,
            };
            matrix.go_on(&mut Vec::new());
            let is_in = matches!(answers, Answers::Yes | Answers::AfterChallenge);
            assert_eq!(matrix.opened > 0, is_in, "{answers:?}");
            println!(
                "{answers:?}, {reads:?}: {} sequences, {} of them open a connection",
                matrix.sequences, matrix.opened
            );
            all += matrix.sequences;
        }
    }
    println!("{all} sequences of controls, none of which executes anything before open-ok");
    assert!(all >= SEQUENCES_MIN, "{all}");
}

#[test]
fn a_session_that_comes_with_its_open_waits_for_open_ok() {
    let mut broker = Connection::broker(broker_config(), NOW);
    let bytes = [
        protocol_header::BYTES.to_vec(),
        start_ok(),
        tune_ok(65_535, 0),
        open(),
        attach(1, b"s"),
        point(1, 0),
        command(1, &transfer("q"), true),
    ];
    broker.handle_input(NOW, &mut BytesMut::from(&bytes.concat()[..]));
    let mut is_asked = false;
    while let Some(event) = broker.poll_event() {
        match event {
            Event::StartOk { .. } => broker.authenticated(),
            Event::TuneOk(_) => {}
            Event::Open { .. } => is_asked = true,
            other => panic!("{other:?}"),
        }
    }
    assert!(is_asked && !broker.is_open());
    broker.open_ok(&[]);
    assert!(matches!(
        broker.poll_event(),
        Some(Event::Attach { channel: 1, .. })
    ));
}
