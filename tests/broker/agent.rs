//! An agent of management, as the test plays it.

use ferrymq::broker::event::Event;
use ferrymq::broker::management::{Action, AgentCommand, ForAgent, Requester, Versions, WallTime};
use ferrymq::broker::{Command, Refusal};

use super::told::Told;
use super::{Broker, Connection, MEMBER, Message};

/// The agent of a member.
pub struct Agent {
    connection: Connection,
    acted: u64,
}

impl Agent {
    /// The agent of [`MEMBER`] opens.
    pub fn open(broker: &Broker) -> Agent {
        Agent::of_member(broker, MEMBER, "agent")
    }

    /// The agent of another member.
    pub fn of_member(broker: &Broker, member: super::MemberId, name: &str) -> Agent {
        let agent = Agent {
            connection: broker.unopened(member),
            acted: 0,
        };
        agent.command(AgentCommand::Open {
            name: name.into(),
            versions: Versions {
                in_version_1: false,
                in_version_2: true,
            },
            now: WallTime(0),
            run: 7,
        });
        agent
    }

    /// Proposes a command of the agent.
    pub fn command(&self, command: AgentCommand) {
        let Connection { broker, key } = &self.connection;
        let command = Command::Agent {
            connection: key.number,
            command: Box::new(command),
        };
        broker.entry(key.member, vec![command]);
    }

    /// What it has been told, but for what rules have decided.
    pub fn told(&self) -> Vec<ForAgent> {
        let told = self.connection.broker.take_told(self.connection.key, 0);
        let of = |told| match told {
            Told::Agent(told) => Some(*told),
            Told::Ruled(_) => None,
            other => panic!("not for an agent: {other:?}"),
        };
        told.into_iter().filter_map(of).collect()
    }

    /// The events that it has been told.
    pub fn events(&self) -> Vec<Event> {
        let event = |told| match told {
            ForAgent::Event(event) => Some(event),
            _ => None,
        };
        self.told().into_iter().filter_map(event).collect()
    }

    /// The bodies of requests that it has been told.
    pub fn requests(&self) -> Vec<String> {
        let request = |told| match told {
            ForAgent::Request { message, .. } => {
                Some(String::from_utf8_lossy(message.body().expect("in memory")).into_owned())
            }
            _ => None,
        };
        self.told().into_iter().filter_map(request).collect()
    }

    /// Begins something on behalf of a user; what becomes of it is told later.
    pub fn begin(&mut self, action: Action) {
        self.acted += 1;
        self.command(AgentCommand::Act {
            number: self.acted,
            requester: Requester {
                user: "boss".into(),
                address: "there".into(),
            },
            action: Box::new(action),
        });
    }

    /// What became of what was begun last; what else was told is dropped.
    pub fn outcome(&self) -> Option<Result<u64, Refusal>> {
        let outcome = |told| match told {
            ForAgent::Outcome { number, outcome } if number == self.acted => Some(outcome),
            _ => None,
        };
        self.told().into_iter().find_map(outcome)
    }

    /// Does something and gives what became of it.
    pub fn act(&mut self, action: Action) -> Result<u64, Refusal> {
        self.begin(action);
        self.outcome().expect("it is done")
    }

    /// The broker publishes a message.
    pub fn publish(&self, exchange: &str, message: Message) {
        self.command(AgentCommand::Publish {
            exchange: exchange.into(),
            message: message.into(),
        });
    }

    /// The agent's connection ends.
    pub fn end(&self) {
        self.connection.end();
    }
}
