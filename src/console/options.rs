//! What can be said to the subcommands.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Which broker, and what its answers look like.
#[derive(Args, Clone, Debug)]
pub struct Target {
    /// Where the broker serves management: http://HOST:PORT, or https://HOST:PORT with --ca-file
    #[arg(
        long,
        global = true,
        env = "FERRYMQ_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:15672"
    )]
    pub url: String,

    /// Who asks, where the broker wants users to log in; the password is in the variable
    /// FERRYMQ_PASSWORD, or asked for on the terminal
    #[arg(long, global = true, env = "FERRYMQ_USER", value_name = "NAME")]
    pub user: Option<String>,

    /// File (PEM) with the authority that the broker's certificate is of, for https
    #[arg(long, global = true, env = "FERRYMQ_CA_FILE", value_name = "FILE")]
    pub ca_file: Option<PathBuf>,

    /// File (PEM) with a certificate that proves who asks, and those between it and an authority
    #[arg(long, global = true, env = "FERRYMQ_CERT_FILE", value_name = "FILE")]
    pub cert_file: Option<PathBuf>,

    /// File (PEM) with its key
    #[arg(long, global = true, env = "FERRYMQ_KEY_FILE", value_name = "FILE")]
    pub key_file: Option<PathBuf>,

    /// Print JSON: an array for a list, else an object, with the fields of the management API
    #[arg(long, global = true)]
    pub json: bool,
}

/// Subcommands of a noun, and which broker they are for: that is said before or behind them.
#[derive(Args, Clone, Debug)]
pub struct Of<C: Subcommand> {
    /// Which broker.
    #[command(flatten)]
    pub target: Target,
    /// What is to be done.
    #[command(subcommand)]
    pub command: C,
}

/// A name.
#[derive(Args, Clone, Debug)]
pub struct Named {
    /// Its name
    pub name: String,
}

/// A list.
#[derive(Args, Clone, Debug)]
pub struct Listed {
    /// Only what has this text in its name
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// The field of the management API by which to sort
    #[arg(long, value_name = "FIELD")]
    pub sort: Option<String>,
    /// The last comes first
    #[arg(long)]
    pub reverse: bool,
}

/// Something that is made.
#[derive(Args, Clone, Debug)]
pub struct Made {
    /// Its name
    pub name: String,
    /// It ends with the broker
    #[arg(long)]
    pub transient: bool,
    /// It goes by itself when it is no more used
    #[arg(long)]
    pub auto_delete: bool,
    /// The exchange that gets what nobody took
    #[arg(long, value_name = "EXCHANGE")]
    pub alternate_exchange: Option<String>,
    /// An argument; a value that is no JSON is a text. May be repeated
    #[arg(long = "argument", value_name = "NAME=VALUE")]
    pub arguments: Vec<String>,
}

/// `ferrymq queue`.
#[derive(Subcommand, Clone, Debug)]
pub enum Queue {
    /// List queues
    List(Listed),
    /// Show a queue
    Show(Named),
    /// Make a queue; one that is there and like that is left as it is
    Add {
        /// The queue.
        #[command(flatten)]
        made: Made,
    },
    /// Delete a queue
    Delete {
        /// Only if nobody has subscribed to it
        #[arg(long)]
        if_unused: bool,
        /// Only if there is no message in it
        #[arg(long)]
        if_empty: bool,
        /// Which.
        #[command(flatten)]
        named: Named,
    },
    /// Discard the messages of a queue that nobody has acquired
    Purge(Named),
    /// Move messages of a queue to another
    Move {
        /// From which queue
        source: String,
        /// To which queue
        destination: String,
        /// How many at most; 0 is all
        #[arg(long, default_value_t = 0)]
        count: u32,
        /// Only messages with this application header
        #[arg(long, value_name = "NAME=VALUE")]
        filter: Option<String>,
    },
}

/// `ferrymq exchange`.
#[derive(Subcommand, Clone, Debug)]
pub enum Exchange {
    /// List exchanges
    List(Listed),
    /// Show an exchange
    Show(Named),
    /// Make an exchange; one that is there and like that is left as it is
    Add {
        /// How it routes: direct, fanout, topic or headers
        #[arg(long = "type", default_value = "direct")]
        kind: String,
        /// The exchange.
        #[command(flatten)]
        made: Made,
    },
    /// Delete an exchange
    Delete {
        /// Only if no queue is bound to it
        #[arg(long)]
        if_unused: bool,
        /// Which.
        #[command(flatten)]
        named: Named,
    },
}

/// Both ends of a binding.
#[derive(Args, Clone, Debug)]
pub struct Ends {
    /// The exchange
    pub exchange: String,
    /// The queue
    pub queue: String,
    /// The binding key
    #[arg(default_value = "")]
    pub key: String,
}

/// `ferrymq binding`.
#[derive(Subcommand, Clone, Debug)]
pub enum Binding {
    /// List bindings
    List(Listed),
    /// Bind a queue to an exchange
    Add {
        /// An argument; a value that is no JSON is a text. May be repeated
        #[arg(long = "argument", value_name = "NAME=VALUE")]
        arguments: Vec<String>,
        /// What to bind.
        #[command(flatten)]
        ends: Ends,
    },
    /// Take a binding away
    Delete(Ends),
}

/// `ferrymq connection`.
#[derive(Subcommand, Clone, Debug)]
pub enum Connection {
    /// List connections
    List(Listed),
    /// Close a connection
    Close(Named),
}

/// `ferrymq cluster`.
#[derive(Subcommand, Clone, Debug)]
pub enum Cluster {
    /// List the members: who counts, who leads, who runs
    Status,
    /// Have a member end its process; it takes part again when it is started
    Stop(Named),
    /// Have the processes of all members end, and wait until that of the one that is asked has
    StopAll(Wait),
    /// Show the level at which the broker runs, and to which it can be raised
    Level,
    /// Raise the level to the highest that the versions of all members know: an upgrade is over then, and
    /// older versions take part no more
    Finalise,
    /// Take a member out, whether it runs or not, and wait until that is done. It ends, and its data
    /// directory has to be removed before the broker can join as a new member
    Remove {
        /// Which
        #[command(flatten)]
        named: Named,
        /// How long
        #[command(flatten)]
        wait: Wait,
    },
}

/// A link that is made.
#[derive(Args, Clone, Debug)]
pub struct MadeLink {
    /// Its name
    pub name: String,
    /// Where the other broker is: HOST or HOST:PORT
    pub address: String,
    /// It is there again when this broker is started anew
    #[arg(long)]
    pub durable: bool,
    /// Over TLS
    #[arg(long)]
    pub tls: bool,
    /// As whom the link logs in at the other broker; the password is in the variable
    /// FERRYMQ_LINK_PASSWORD
    #[arg(long, value_name = "NAME")]
    pub login: Option<String>,
    /// The SASL mechanism to log in with; without it one that the other broker offers
    #[arg(long, value_name = "NAME")]
    pub mechanism: Option<String>,
}

/// A route that is made.
#[derive(Args, Clone, Debug)]
pub struct MadeRoute {
    /// The link that it goes over
    pub link: String,
    /// The exchange, or with --queue the queue, that messages come from
    pub source: String,
    /// The exchange that they go to
    pub destination: String,
    /// The binding key of what is carried
    #[arg(default_value = "")]
    pub key: String,
    /// Its name; without it link, source, destination and key with ! between
    #[arg(long)]
    pub name: Option<String>,
    /// What somebody has bound to the exchange here is carried, whatever it is
    #[arg(long, conflicts_with_all = ["queue", "push"])]
    pub dynamic: bool,
    /// The source is a queue
    #[arg(long)]
    pub queue: bool,
    /// From this broker to the other
    #[arg(long)]
    pub push: bool,
    /// It is there again when this broker is started anew, if its link is
    #[arg(long)]
    pub durable: bool,
    /// Messages of a queue are acknowledged after so many: none is lost with the link. 0: not at all
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub ack: u16,
    /// Messages that may be on their way at most
    #[arg(long, value_name = "COUNT")]
    pub credit: Option<u32>,
}

/// `ferrymq link`.
#[derive(Subcommand, Clone, Debug)]
pub enum Link {
    /// List links: where to, how they are, and what went wrong last
    List,
    /// Make a link to another broker
    Add(MadeLink),
    /// Take a link away, and its routes
    Delete(Named),
    /// List routes
    Routes,
    /// Make a route on a link
    AddRoute(MadeRoute),
    /// Take a route away
    DeleteRoute(Named),
}

/// How long something is waited for.
#[derive(Args, Clone, Copy, Debug)]
pub struct Wait {
    /// Seconds to wait
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub wait: u64,
}

/// `ferrymq definitions`.
#[derive(Subcommand, Clone, Debug)]
pub enum Definitions {
    /// Print exchanges, queues and bindings as one JSON document
    Export {
        /// Write it there
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// See to it that what a document defines is there: all of it, or nothing is changed
    Import {
        /// The document; - for standard input
        file: PathBuf,
        /// Only tell the difference
        #[arg(long)]
        dry_run: bool,
        /// Delete what the document does not have
        #[arg(long)]
        prune: bool,
    },
}

/// The subcommands.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Queues of a running broker
    Queue(Of<Queue>),
    /// Exchanges of a running broker
    Exchange(Of<Exchange>),
    /// Bindings of a running broker
    Binding(Of<Binding>),
    /// Connections of a running broker
    Connection(Of<Connection>),
    /// The cluster that a running broker is in
    Cluster(Of<Cluster>),
    /// Links of a running broker to others, and the routes on them
    Link(Of<Link>),
    /// Definitions of a running broker
    Definitions(Of<Definitions>),
    /// Show what the queues of a running broker do, again and again
    Top {
        /// Seconds between two looks
        #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
        interval: u64,
        /// Looks; 0 goes on until it is interrupted
        #[arg(long, default_value_t = 0)]
        count: u32,
        /// Queues that are shown
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
        queues: u16,
        /// Which broker.
        #[command(flatten)]
        target: Target,
    },
    /// Show whether a broker runs and serves, and its sums
    Status {
        /// Which broker.
        #[command(flatten)]
        target: Target,
    },
}

impl Command {
    /// Which broker it is for, and what its answers look like.
    pub fn target(&self) -> &Target {
        match self {
            Command::Queue(of) => &of.target,
            Command::Exchange(of) => &of.target,
            Command::Link(of) => &of.target,
            Command::Binding(of) => &of.target,
            Command::Connection(of) => &of.target,
            Command::Cluster(of) => &of.target,
            Command::Definitions(of) => &of.target,
            Command::Top { target, .. } | Command::Status { target } => target,
        }
    }
}
