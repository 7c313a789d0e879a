import { useState } from "preact/hooks";
import { type Uptime, useUpdateUptime } from "../../api/uptime";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { TextField } from "../../ui/Field";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { changedBody, draftOf, LIMITS, type UptimeDraft } from "./draft";

const FIELDS = ["path", "interval_seconds", "expected_status", "timeout_seconds", "failures"];
const WHOLE = { type: "number", required: true, autocomplete: "off" } as const;

interface Props {
  uptime: Uptime;
  /** It is turned on with it. */
  isNew?: boolean;
  onClose: () => void;
}

export function EditUptime({ uptime, isNew = false, onClose }: Props) {
  const t = useText();
  const update = useUpdateUptime(uptime.application_id);
  const [begun] = useState(() => draftOf(uptime));
  const [draft, setDraft] = useState(begun);
  const [problem, rest] = splitProblem(update.error, FIELDS);
  const bind = (name: keyof UptimeDraft, field: string) => ({
    value: draft[name],
    onValue: (value: string) => setDraft((before) => ({ ...before, [name]: value })),
    problem: problem(field),
  });
  const body = { ...changedBody(begun, draft), ...(isNew && { enabled: true }) };
  return (
    <Confirm
      title={isNew ? t.uptime.setUp : t.uptime.changeTitle}
      action={t.common.save}
      busy={update.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() =>
        update.mutate(body, {
          onSuccess: () => {
            tell(t.common.saved);
            onClose();
          },
        })
      }
    >
      <TextField
        label={t.uptime.path}
        hint={t.uptime.pathHint}
        required
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        {...bind("path", "path")}
      />
      <TextField
        {...WHOLE}
        {...LIMITS.interval_seconds}
        label={t.uptime.interval}
        hint={t.uptime.intervalHint}
        {...bind("interval", "interval_seconds")}
      />
      <TextField
        {...WHOLE}
        {...LIMITS.expected_status}
        label={t.uptime.expected}
        hint={t.uptime.expectedHint}
        {...bind("expected", "expected_status")}
      />
      <TextField
        {...WHOLE}
        {...LIMITS.timeout_seconds}
        label={t.uptime.timeout}
        hint={t.uptime.timeoutHint}
        {...bind("timeout", "timeout_seconds")}
      />
      <TextField
        {...WHOLE}
        {...LIMITS.failures}
        label={t.uptime.failures}
        hint={t.uptime.failuresHint}
        {...bind("failures", "failures")}
      />
    </Confirm>
  );
}
