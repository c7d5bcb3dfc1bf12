//! Every command is answered, or its session has ended.

use ferrymq::broker::Request;

use super::cluster::Cluster;
use super::session::Doing;
use super::world::World;

/// Every command of a session that is still there is completed by now.
pub fn all_is_done<C: Cluster>(world: &mut World<C>) -> Result<(), String> {
    world.rest()?;
    world.all_come_back()?;
    for connection in world.open_connections() {
        let sessions = world.connections[connection].sessions.iter();
        let usable = sessions.filter(|(_, session)| session.is_usable());
        let channels: Vec<u16> = usable.map(|(channel, _)| *channel).collect();
        for channel in channels {
            world.command((connection, channel), true, Request::Sync, Doing::Other);
        }
    }
    world.rest()?;
    for (place, connection) in world.connections.iter().enumerate() {
        for (channel, session) in &connection.sessions {
            if !session.is_usable() {
                return Err(format!("{place}.{channel} was never answered"));
            }
            if !session.doings.is_empty() || !session.to_be_accepted.is_empty() {
                let (doings, waits) = (&session.doings, &session.to_be_accepted);
                return Err(format!("{place}.{channel} waits for {doings:?}, {waits:?}"));
            }
        }
    }
    Ok(())
}
