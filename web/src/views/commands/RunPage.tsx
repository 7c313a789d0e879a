import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { type CommandRun, isUnderWay, useCancelRun, useCommandRun } from "../../api/runs";
import { LogView } from "../../logs/LogView";
import { type Text, useText } from "../../text";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { Loading } from "../../ui/Empty";
import { Evidence } from "../../ui/Evidence";
import { Facts } from "../../ui/Facts";
import { Problem } from "../../ui/Problem";
import { Duration, Time } from "../../ui/Time";
import { tell } from "../../ui/Toast";
import { RunStatusBadge } from "./RunStatusBadge";
import { useMayRun } from "./useMayRun";

/** One run, watched as it goes on. */
export default function RunPage({ application, id }: { application: Application; id: string }) {
  const t = useText();
  const { data: run, error, refetch } = useCommandRun(application.id, id);
  if (error && !run) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!run) return <Loading />;
  return (
    <>
      <section class="card stack">
        <div class="row between">
          <h2 class="row">
            {t.runs.one}
            <span role="status">
              <RunStatusBadge status={run.status} />
            </span>
          </h2>
          <Cancel run={run} />
        </div>
        <Evidence label={t.runs.command} text={run.command} />
        {run.status === "queued" && <p class="notice">{t.runs.waiting}</p>}
        <Facts rows={facts(t, run)} />
      </section>
      {run.status !== "skipped" && (
        <section class="stack">
          <h2>{t.runs.log}</h2>
          <LogView source={{ of: "run", id }} isLive={isUnderWay(run)} />
        </section>
      )}
    </>
  );
}

function facts(t: Text, run: CommandRun): Parameters<typeof Facts>[0]["rows"] {
  const { application_id, deployment_id, started_at, completed_at, scheduled_at } = run;
  return [
    [t.runs.reason, run.reason],
    [t.runs.exitCode, run.exit_code !== null && String(run.exit_code)],
    [t.runs.schedule, run.schedule_name],
    [t.runs.scheduled, scheduled_at && <Time key="s" at={scheduled_at} />],
    [t.runs.by, !run.schedule_name && run.actor],
    [t.runs.when, <Time key="t" at={run.created_at} />],
    [t.runs.duration, started_at && <Duration from={started_at} to={completed_at} />],
    [t.runs.service, run.service],
    [
      t.runs.deployment,
      deployment_id && (
        <a key="d" href={`/applications/${application_id}/deployments/${deployment_id}`}>
          {t.runs.toDeployment}
        </a>
      ),
    ],
  ];
}

function Cancel({ run }: { run: CommandRun }) {
  const t = useText().runs;
  const mayRun = useMayRun();
  const cancel = useCancelRun(run);
  const [asks, setAsks] = useState(false);
  if (!mayRun || !isUnderWay(run)) return null;
  return (
    <>
      <Button kind="danger" onClick={() => setAsks(true)}>
        {t.cancel}…
      </Button>
      {asks && (
        <Confirm
          title={t.cancelTitle}
          action={t.cancel}
          danger
          busy={cancel.isPending}
          error={cancel.error}
          onClose={() => setAsks(false)}
          onConfirm={() =>
            cancel.mutate(undefined, {
              onSuccess: () => {
                setAsks(false);
                tell(t.cancelled);
              },
            })
          }
        >
          <p>{t.cancelText}</p>
        </Confirm>
      )}
    </>
  );
}
