//! A small file system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ferrymq::client::Message;
use ferrymq::wire::QueueDeclare;

use crate::durable_support::*;
use crate::server_support::Broker;

/// A file system in memory, of few octets, for as long as this lives.
pub struct SmallDisk {
    at: PathBuf,
    ballast: PathBuf,
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program} cannot be run: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{program} {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

impl SmallDisk {
    /// Mounts one.
    pub fn mount(under: &Path, mebibytes: u32) -> Result<SmallDisk, String> {
        let at = under.join("disk");
        fs::create_dir(&at).map_err(|error| error.to_string())?;
        let ballast = at.join("ballast");
        let disk = SmallDisk { at, ballast };
        let size = format!("size={mebibytes}m");
        run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", disk.text()])?;
        Ok(disk)
    }

    fn text(&self) -> &str {
        self.at.to_str().expect("it is UTF-8")
    }

    /// A broker's directory on it.
    pub fn data_dir(&self) -> String {
        format!("{}/broker", self.text())
    }

    /// Takes room from the broker.
    pub fn take(&self, mebibytes: usize) -> Result<(), String> {
        let octets = vec![1; mebibytes * 1024 * 1024];
        fs::write(&self.ballast, octets).map_err(|error| error.to_string())
    }

    /// Gives it back.
    pub fn give_back(&self) -> Result<(), String> {
        fs::remove_file(&self.ballast).map_err(|error| error.to_string())
    }

    /// Pages on a file system of their own, with what another broker has left there.
    pub async fn pages_apart(&self) -> Result<(), String> {
        let (data_dir, pages) = (self.data_dir(), format!("{}/pages", self.data_dir()));
        fs::create_dir_all(&pages).map_err(|error| error.to_string())?;
        run("mount", &["-t", "tmpfs", "-o", "size=40m", "tmpfs", &pages])?;
        let options = ["--data-dir", &data_dir, "--memory-limit", "0"];
        for _ in 0..2 {
            let mut broker = match Broker::start_under(&[], &options) {
                Ok(broker) => broker,
                Err(ended) => return Err(format!("it does not start: {:#?}", ended.log)),
            };
            let session = session(&broker).await;
            let passing = durable_queue("apart");
            declare(
                &session,
                QueueDeclare {
                    durable: false,
                    ..passing
                },
            )
            .await;
            for mut body in bodies(0, 1_000) {
                body.resize(1_000, 0);
                let message = Message::new(body).routing_key("apart");
                session.publish("", &message).await.expect("attached");
            }
            session.sync().await.expect("all are enqueued");
            if browse(&session, "apart").await.len() != 1_000 {
                return Err("messages in pages are missing".to_owned());
            }
            stop(&mut broker, "KILL");
        }
        run("umount", &[&pages])
    }

    /// A disk that must not be written to: the broker does not start, says why, and does no harm.
    pub async fn read_only(&self) -> Result<(), String> {
        let data_dir = self.data_dir();
        let options = ["--data-dir", &data_dir];
        let count = async |broker: &Broker| {
            let session = session(broker).await;
            browse(&session, crate::filling::KEPT).await.len()
        };
        let mut broker = Broker::start(&options);
        let before = count(&broker).await;
        stop(&mut broker, "TERM");
        run("mount", &["-o", "remount,ro", self.text()])?;
        let ended = match Broker::start_under(&[], &options) {
            Ok(_) => return Err("it starts on a disk that it cannot write to".to_owned()),
            Err(ended) => ended,
        };
        let line = ended.log.iter().find(|line| line.contains("critical"));
        let line = line.ok_or("it does not say why it does not start")?;
        if !line.contains(&data_dir) || !line.contains("Read-only file system") {
            return Err(format!("it does not say why it does not start: {line}"));
        }
        let tool = env!("CARGO_BIN_EXE_ferrymq");
        // Nothing need be written to look at it.
        run(tool, &["journal", "check", "--data-dir", &data_dir])?;
        run("mount", &["-o", "remount,rw", self.text()])?;
        let mut broker = Broker::start(&options);
        let after = count(&broker).await;
        stop(&mut broker, "TERM");
        match before == after && before > 0 {
            true => Ok(()),
            false => Err(format!("{before} messages were there and {after} are")),
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The namespace, which ends with this process, takes it along otherwise.
        let _ = run("umount", &["-l", self.text()]);
    }
}
