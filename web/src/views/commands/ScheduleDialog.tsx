import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { type Overlap, type Schedule, useCreateSchedule, useUpdateSchedule } from "../../api/schedules";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { AreaField, CheckField, SelectField, TextField } from "../../ui/Field";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { changedBody, draftOf, newBody, type ScheduleDraft } from "./draft";

const FIELDS = ["name", "cron", "command", "service", "overlap", "enabled", "timeout_seconds", "keep"];
const OVERLAPS: readonly Overlap[] = ["skip", "queue", "replace"];

/** Names and times: the browser neither proposes nor corrects them. */
const EXACT = { autocomplete: "off", autocapitalize: "off", spellcheck: false } as const;

interface Props {
  application: Application;
  /** Null for a new one. */
  schedule: Schedule | null;
  onClose: () => void;
}

export function ScheduleDialog({ application, schedule, onClose }: Props) {
  const t = useText();
  const create = useCreateSchedule(application.id);
  const update = useUpdateSchedule(application.id, schedule?.id ?? "");
  const [begun] = useState(() => draftOf(schedule));
  const [draft, setDraft] = useState(begun);
  const [problem, rest] = splitProblem(create.error ?? update.error, FIELDS);
  const change = (part: Partial<ScheduleDraft>) => setDraft((before) => ({ ...before, ...part }));
  const saved = () => {
    tell(t.common.saved);
    onClose();
  };
  return (
    <Confirm
      title={schedule ? t.schedules.editTitle(schedule.name) : t.schedules.add}
      action={schedule ? t.common.save : t.schedules.add}
      busy={create.isPending || update.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() =>
        schedule
          ? update.mutate(changedBody(begun, draft), { onSuccess: saved })
          : create.mutate(newBody(draft), { onSuccess: saved })
      }
    >
      <TextField
        {...EXACT}
        label={t.schedules.name}
        required
        value={draft.name}
        onValue={(name) => change({ name })}
        problem={problem("name")}
      />
      <TextField
        {...EXACT}
        label={t.schedules.cron}
        hint={t.schedules.cronHint}
        required
        value={draft.cron}
        onValue={(cron) => change({ cron })}
        problem={problem("cron")}
      />
      <AreaField
        label={t.runs.command}
        hint={t.runs.commandHint}
        required
        rows={3}
        value={draft.command}
        onValue={(command) => change({ command })}
        problem={problem("command")}
      />
      {application.build_pack === "docker-compose" && (
        <TextField
          {...EXACT}
          label={t.runs.service}
          hint={t.runs.serviceHint}
          optional
          value={draft.service}
          onValue={(service) => change({ service })}
          problem={problem("service")}
        />
      )}
      <SelectField
        label={t.schedules.overlap}
        options={OVERLAPS.map((name) => [name, t.schedules.overlaps[name]])}
        value={draft.overlap}
        onValue={(overlap) => change({ overlap: overlap as Overlap })}
        problem={problem("overlap")}
      />
      <TextField
        label={t.runs.limit}
        hint={t.runs.limitHint}
        optional
        inputmode="numeric"
        value={draft.limit}
        onValue={(limit) => change({ limit })}
        problem={problem("timeout_seconds")}
      />
      <TextField
        label={t.schedules.keep}
        inputmode="numeric"
        value={draft.keep}
        onValue={(keep) => change({ keep })}
        problem={problem("keep")}
      />
      <CheckField label={t.schedules.enabled} checked={draft.enabled} onChecked={(enabled) => change({ enabled })} />
    </Confirm>
  );
}
