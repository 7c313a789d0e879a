import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useRuns } from "../../api/runs";
import { type Schedule, useSchedules } from "../../api/schedules";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { PlusIcon } from "../../ui/icons";
import { Pages } from "../../ui/Pages";
import { Problem } from "../../ui/Problem";
import { DeleteSchedule } from "./DeleteSchedule";
import { RunCommand } from "./RunCommand";
import { RunTable } from "./RunTable";
import { ScheduleDialog } from "./ScheduleDialog";
import { ScheduleTable } from "./ScheduleTable";
import { useMayRun } from "./useMayRun";

/** What an application runs beside what serves its visitors: now, and again and again. */
export default function Commands({ application }: { application: Application }) {
  return (
    <>
      <Runs application={application} />
      {!application.preview_of && <Schedules application={application} />}
    </>
  );
}

function Runs({ application }: { application: Application }) {
  const t = useText().runs;
  const mayRun = useMayRun();
  const [page, setPage] = useState(1);
  const [asks, setAsks] = useState(false);
  const { data, error, refetch } = useRuns(application.id, page);
  const run = mayRun && (
    <Button kind="primary" onClick={() => setAsks(true)}>
      {t.run}
    </Button>
  );
  return (
    <>
      {error && !data && <Problem error={error} onAgain={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && data.runs.length === 0 && (
        <Empty title={t.emptyTitle}>
          <p>{t.empty}</p>
          {run}
        </Empty>
      )}
      {data && data.runs.length > 0 && (
        <section class="stack">
          <div class="row between">
            <h2>{t.title}</h2>
            {run}
          </div>
          <RunTable runs={data.runs} />
          <Pages of={data.pagination} onPage={setPage} />
        </section>
      )}
      {asks && <RunCommand application={application} onClose={() => setAsks(false)} />}
    </>
  );
}

type Open = { what: "edit"; schedule: Schedule | null } | { what: "delete"; schedule: Schedule };

function Schedules({ application }: { application: Application }) {
  const t = useText().schedules;
  const mayRun = useMayRun();
  const { data, error, refetch } = useSchedules(application.id);
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <section class="stack">
      <div class="row between">
        <h2>{t.title}</h2>
        {mayRun && (
          <Button onClick={() => setOpen({ what: "edit", schedule: null })}>
            <PlusIcon />
            {t.add}
          </Button>
        )}
      </div>
      {data.schedules.length === 0 ? (
        <p class="muted">{t.empty}</p>
      ) : (
        <ScheduleTable
          schedules={data.schedules}
          onEdit={(schedule) => setOpen({ what: "edit", schedule })}
          onDelete={(schedule) => setOpen({ what: "delete", schedule })}
        />
      )}
      {open?.what === "edit" && <ScheduleDialog application={application} schedule={open.schedule} onClose={close} />}
      {open?.what === "delete" && <DeleteSchedule application={application} schedule={open.schedule} onClose={close} />}
    </section>
  );
}
