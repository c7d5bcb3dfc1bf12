//! Which links a member drives, and their tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::home::Home;
use super::link::{self, Plan};
use super::news::News;
use crate::wire::Text;

/// A link that has its task.
struct Driven {
    number: u64,
    plan: watch::Sender<Arc<Plan>>,
    task: tokio::task::AbortHandle,
}

/// Drives the links that its member owns.
pub struct Keeper {
    home: Arc<dyn Home>,
    news: Arc<News>,
    links: BTreeMap<Text, Driven>,
    tasks: JoinSet<()>,
}

impl Keeper {
    /// Runs until its task is ended, and its links with it.
    pub async fn run(home: Arc<dyn Home>, news: Arc<News>) {
        let mut keeper = Keeper {
            home,
            news: news.clone(),
            links: BTreeMap::new(),
            tasks: JoinSet::new(),
        };
        loop {
            tokio::select! {
                _ = news.next() => keeper.compare(),
                Some(_) = keeper.tasks.join_next() => {}
            }
        }
    }

    /// Begins and ends tasks, so that there is one for each link of this member.
    fn compare(&mut self) {
        let member = self.home.member();
        let mut owned: BTreeMap<Text, Plan> = BTreeMap::new();
        self.home.look(&mut |core| {
            let own = core
                .links()
                .iter()
                .filter(|link| link.owner == Some(member));
            owned = own
                .map(|link| (link.definition.name.clone(), Plan::of(link)))
                .collect();
        });
        self.links.retain(|name, driven| {
            let stays = owned
                .get(name)
                .is_some_and(|plan| plan.number == driven.number);
            if !stays {
                driven.task.abort();
            }
            stays
        });
        for (name, plan) in owned {
            match self.links.get(&name) {
                Some(driven) => _ = driven.plan.send_replace(Arc::new(plan)),
                None => self.begin(name, plan),
            }
        }
    }

    fn begin(&mut self, name: Text, plan: Plan) {
        let number = plan.number;
        let (sender, receiver) = watch::channel(Arc::new(plan));
        let driving = link::run(self.home.clone(), receiver, self.news.clone());
        let task = self.tasks.spawn(driving);
        let driven = Driven {
            number,
            plan: sender,
            task,
        };
        self.links.insert(name, driven);
    }
}
