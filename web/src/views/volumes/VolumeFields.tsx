import { useState } from "preact/hooks";
import { useText } from "../../text";
import { CheckField, TextField } from "../../ui/Field";
import type { VolumeDraft } from "./draft";
import "./volumes.css";

interface PartProps {
  draft: VolumeDraft;
  change: (part: Partial<VolumeDraft>) => void;
  problem: (field: string) => string | null;
}

type Props = PartProps & { isNew: boolean };

/** Names, paths and commands: the browser neither proposes nor corrects them. */
const EXACT = { autocomplete: "off", spellcheck: false } as const;

export function VolumeFields({ isNew, ...part }: Props) {
  const t = useText().volumes;
  const { draft, change, problem } = part;
  return (
    <>
      <TextField
        {...EXACT}
        label={t.name}
        hint={t.nameHint}
        required
        value={draft.name}
        onValue={(name) => change({ name })}
        problem={problem("name")}
      />
      <TextField
        {...EXACT}
        label={t.path}
        hint={t.pathHint}
        required
        placeholder="/data"
        value={draft.path}
        onValue={(path) => change({ path })}
        problem={problem("path")}
      />
      <Schedule {...part} />
      <Advanced {...part} isNew={isNew} />
    </>
  );
}

/** How often snapshots are taken, and how many of them are kept. */
function Schedule({ draft, change, problem }: PartProps) {
  const t = useText().volumes;
  return (
    <div class="pair">
      <TextField
        label={t.hours}
        hint={t.hoursHint}
        type="number"
        min={0}
        max={8760}
        required
        value={draft.hours}
        onValue={(hours) => change({ hours })}
        problem={problem("snapshot_hours")}
      />
      <TextField
        label={t.kept}
        hint={t.keptHint}
        type="number"
        min={1}
        max={1000}
        required
        value={draft.kept}
        onValue={(kept) => change({ kept })}
        problem={problem("kept_snapshots")}
      />
    </div>
  );
}

function Advanced({ draft, change, problem, isNew }: Props) {
  const t = useText().volumes;
  // Only what was there at first opens it, so that it stays open while a field in it is emptied.
  const [begunOpen] = useState(draft.shared || draft.before !== "" || draft.after !== "");
  const hasProblem = ["host_path", "before_snapshot", "after_snapshot"].some((name) => problem(name));
  return (
    <details open={hasProblem || begunOpen || undefined}>
      <summary>{t.advanced}</summary>
      <div class="stack">
        <Shared {...{ draft, change, problem }} />
        <TextField
          {...EXACT}
          label={t.before}
          hint={t.beforeHint}
          optional
          class="mono"
          value={draft.before}
          onValue={(before) => change({ before })}
          problem={problem("before_snapshot")}
        />
        <TextField
          {...EXACT}
          label={t.after}
          optional
          class="mono"
          value={draft.after}
          onValue={(after) => change({ after })}
          problem={problem("after_snapshot")}
        />
        {isNew && (
          <TextField
            {...EXACT}
            label={t.hostPath}
            hint={t.hostPathHint}
            optional
            value={draft.hostPath}
            onValue={(hostPath) => change({ hostPath })}
            problem={problem("host_path")}
          />
        )}
      </div>
    </details>
  );
}

function Shared({ draft, change, problem }: PartProps) {
  const t = useText().volumes;
  const refused = problem("shared");
  return (
    <CheckField label={t.shared} checked={draft.shared} onChecked={(shared) => change({ shared })}>
      {refused && (
        <p class="field-problem" role="alert">
          {refused}
        </p>
      )}
      <p class="hint">{t.sharedHint}</p>
    </CheckField>
  );
}
