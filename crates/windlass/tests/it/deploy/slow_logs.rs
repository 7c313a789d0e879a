//! Lines that cannot be stored keep no application from being served.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use windlass_testing::Kind;

use super::support::*;

/// How long visitors may be without an application whose container has vanished.
const LIMIT: Duration = Duration::from_secs(9);

/// Run by itself: the engine takes longer beside other tests.
mod timed {
    use super::*;

    /// Containers that are to go are read to their end first, however long that takes.
    #[tokio::test(flavor = "multi_thread")]
    async fn an_application_is_repaired_while_the_lines_of_others_wait() {
        let platform = Platform::on(Kind::Postgres, &[]).await;
        let repository = repository(&platform, "quick", "one");
        let application = platform.deploy(&body("quick", &repository));
        let (id, deployment) = (id_of(&application), newest_deployment(&application));
        platform.deployed(&deployment).await;
        platform.settled().await;
        let slow = "create function be_slow() returns trigger language plpgsql as \
                    $$ begin perform pg_sleep(600); return new; end $$;
                    create trigger slow_lines before insert or update on log_chunks for each row execute function be_slow();";
        platform.place.execute(slow).await;
        let live = containers_of(&id).remove(0);
        let image = docker(&["inspect", "--format", "{{.Image}}", &live]);
        let labels = [
            format!("windlass.instance={}", platform.instance),
            format!("windlass.app={id}"),
            format!("windlass.deployment={deployment}"),
        ];
        // Between the two steps of `docker run`, the reconciler would remove what is not started yet.
        platform.process().signal(Signal::STOP);
        for number in 0..4 {
            let name = format!("stray-{number}-{}", platform.instance);
            let mut run = vec!["run", "-d", "--name", &name];
            run.extend(labels.iter().flat_map(|label| ["--label", label.as_str()]));
            run.extend([image.as_str(), "/bin/sh", "-c", "echo lines; sleep 300"]);
            docker(&run);
        }
        platform.process().signal(Signal::CONT);
        until("the reconciler has begun to remove what it does not know", async || {
            let filter = format!("name=stray-.*{}", platform.instance);
            let running = docker(&["ps", "-q", "--filter", &filter]);
            (running.lines().count() < 4).then_some(())
        })
        .await;
        docker(&["rm", "-f", &live]);
        let vanished = Instant::now();
        until("it serves again", async || {
            (platform.visit("quick.localhost", "/").await == (200, "one".into())).then_some(())
        })
        .await;
        assert!(vanished.elapsed() < LIMIT, "it took {:?}", vanished.elapsed());
        // What waits is not lost: once lines can be stored, the containers go.
        platform.place.execute("drop trigger slow_lines on log_chunks").await;
    }
}
