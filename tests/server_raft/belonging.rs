//! Who is listened to as a member.

use super::members::Members;

#[test]
fn members_of_another_cluster_are_refused_by_name() {
    let mut members = Members::new(3, &["--cluster-name", "green"]);
    let brokers: Vec<_> = (0..2).map(|n| members.launch(n)).collect();
    members.common = vec!["--cluster-name".to_owned(), "blue".to_owned()];
    let mut stranger = members.launch(2);
    stranger.log_line("one --cluster-name or");
    for mut broker in brokers {
        broker.log_line("it is of the cluster \"blue\" and the other of \"green\"");
    }
}
