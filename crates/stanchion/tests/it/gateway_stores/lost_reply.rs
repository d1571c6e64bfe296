//! The upstream has committed, and its client never heard of it.

use stanchion_testkit::eventually_sync;

use super::site::{BOTH, Site, in_progress, until_answered};
use crate::http_client::Era;
use crate::support::PATIENCE;

/// The connection is cut between the effect and the answer; the client asks the other instance, under a new id.
pub(super) fn a_lost_reply_is_told_by_the_other_instance(site: &Site) {
    let (first, second) = (site.instance(""), site.instance(""));
    for server in BOTH {
        for era in [Era::Modern, Era::Legacy] {
            let (here, there) = (first.client(server).of(era), second.client(server).of(era));
            let name = format!("{server}-{era:?}");
            let call = site.append(&name).key(&name);
            let lost = here.start("1", &call);
            site.effect(&name);
            drop(lost);
            assert!(in_progress(&there.ask("2", &call)), "the answer is held back");
            site.touch(&format!("{name}-go"));
            let told = until_answered(&there, &call);
            assert!(told.is_replay(), "{told:?}");
            assert_eq!(here.ask("\"here\"", &call).raw_result(), told.raw_result(), "every instance says the same");
            assert_eq!(site.lines(&name), 1, "one effect");

            // Without a key nobody can know that it is the same call: it runs again, and says what the first one said.
            let control = format!("{name}-control");
            let call = site.append(&control);
            let lost = here.start("1", &call);
            site.effect(&control);
            drop(lost);
            site.touch(&format!("{control}-go"));
            let again = there.ask("2", &call);
            assert!(!again.is_replay(), "{again:?}");
            assert_eq!(site.lines(&control), 2, "void: a lost reply does no harm here");
            assert_eq!(told.unmarked_result(), again.raw_result(), "the replay is what the server said");
        }
    }
}

/// The answer is recorded, nobody has read it, and its instance is killed.
pub(super) fn an_answer_that_nobody_read_outlives_its_instance(site: &Site) {
    let second = site.instance("");
    for server in BOTH {
        let mut first = site.instance("");
        let call = site.append(server).key(server);
        site.touch(&format!("{server}-go"));
        let unread = first.client(server).start("1", &call);
        eventually_sync(PATIENCE, "the answer is recorded", || site.state(server) == "done");
        first.kill();
        drop(unread);
        let told = second.client(server).ask("2", &call);
        assert!(told.is_replay(), "{told:?}");
        assert_eq!((told.text().as_str(), site.lines(server)), ("appended", 1));
    }
}
