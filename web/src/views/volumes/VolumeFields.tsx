import { useState } from "preact/hooks";
import { useText } from "../../text";
import { CheckField, TextField } from "../../ui/Field";
import type { VolumeDraft } from "./draft";
import "./volumes.css";

interface Props {
  draft: VolumeDraft;
  change: (part: Partial<VolumeDraft>) => void;
  isNew: boolean;
  problem: (field: string) => string | null;
}

export function VolumeFields({ draft, change, isNew, problem }: Props) {
  const t = useText();
  const shared = problem("shared");
  // Only what was there at first opens it, so that it stays open while a field in it is emptied.
  const [begunOpen] = useState(draft.shared || draft.before !== "" || draft.after !== "");
  const hasMore = ["host_path", "before_snapshot", "after_snapshot"].some((name) => problem(name));
  return (
    <>
      <TextField
        label={t.volumes.name}
        hint={t.volumes.nameHint}
        required
        autocomplete="off"
        spellcheck={false}
        value={draft.name}
        onValue={(name) => change({ name })}
        problem={problem("name")}
      />
      <TextField
        label={t.volumes.path}
        hint={t.volumes.pathHint}
        required
        autocomplete="off"
        spellcheck={false}
        placeholder="/data"
        value={draft.path}
        onValue={(path) => change({ path })}
        problem={problem("path")}
      />
      <div class="pair">
        <TextField
          label={t.volumes.hours}
          hint={t.volumes.hoursHint}
          type="number"
          min={0}
          max={8760}
          required
          value={draft.hours}
          onValue={(hours) => change({ hours })}
          problem={problem("snapshot_hours")}
        />
        <TextField
          label={t.volumes.kept}
          hint={t.volumes.keptHint}
          type="number"
          min={1}
          max={1000}
          required
          value={draft.kept}
          onValue={(kept) => change({ kept })}
          problem={problem("kept_snapshots")}
        />
      </div>
      <details open={hasMore || begunOpen || undefined}>
        <summary>{t.volumes.advanced}</summary>
        <div class="stack">
          <CheckField
            label={t.volumes.shared}
            checked={draft.shared}
            onChecked={(checked) => change({ shared: checked })}
          >
            {shared && (
              <p class="field-problem" role="alert">
                {shared}
              </p>
            )}
            <p class="hint">{t.volumes.sharedHint}</p>
          </CheckField>
          <TextField
            label={t.volumes.before}
            hint={t.volumes.beforeHint}
            optional
            class="mono"
            autocomplete="off"
            spellcheck={false}
            value={draft.before}
            onValue={(before) => change({ before })}
            problem={problem("before_snapshot")}
          />
          <TextField
            label={t.volumes.after}
            optional
            class="mono"
            autocomplete="off"
            spellcheck={false}
            value={draft.after}
            onValue={(after) => change({ after })}
            problem={problem("after_snapshot")}
          />
          {isNew && (
            <TextField
              label={t.volumes.hostPath}
              hint={t.volumes.hostPathHint}
              optional
              autocomplete="off"
              spellcheck={false}
              value={draft.hostPath}
              onValue={(hostPath) => change({ hostPath })}
              problem={problem("host_path")}
            />
          )}
        </div>
      </details>
    </>
  );
}
