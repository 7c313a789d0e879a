import { useState } from "preact/hooks";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { BeforeAfter, Changes } from "../../ui/Changes";
import { Dialog } from "../../ui/Dialog";
import { AreaField, CheckField } from "../../ui/Field";
import { ProblemText } from "../../ui/Problem";
import { type Change, changes, looksSecret } from "./changes";
import { format, parse, type Variables } from "./dotenv";
import { LineProblems } from "./LineProblems";

interface Props {
  label: string;
  stored: Variables;
  secretNames: readonly string[];
  /** Whether somebody else has changed what is stored since the dialog was opened. */
  isStale: boolean;
  busy: boolean;
  error: Error | null;
  /** Among the names are those of secrets that the text does not have. */
  onSave: (variables: Record<string, string>, secretNames: string[]) => void;
  onClose: () => void;
}

/** All variables as one text, then what would change, then the save. */
export function VariableEditor({ label, stored, secretNames, isStale, busy, error, onSave, onClose }: Props) {
  const t = useText();
  const [text, setText] = useState(() => format(stored));
  const [decided, setDecided] = useState<Readonly<Record<string, boolean>>>({});
  const [isReview, setReview] = useState(false);
  const parsed = parse(text);

  const secretsBefore = new Set(secretNames);
  const isSecret = ({ name, kind: how }: Change): boolean =>
    decided[name] ?? (secretsBefore.has(name) || (how === "added" && looksSecret(name)));
  const all = changes(stored, parsed.variables);
  const shown = all.filter((change) => change.kind !== "same" || isSecret(change) !== secretsBefore.has(change.name));

  const save = () => {
    const decidedNow = new Map(
      all.filter(({ kind: how }) => how !== "removed").map((one) => [one.name, isSecret(one)]),
    );
    // Names of the other kind of variables stay as they are.
    const secrets = new Set([...secretsBefore].filter((name) => decidedNow.get(name) !== false));
    for (const [name, secret] of decidedNow) if (secret) secrets.add(name);
    onSave(parsed.variables, [...secrets]);
  };

  return (
    <Dialog title={isReview ? t.variables.reviewTitle : t.variables.editTitle} onClose={onClose} wide>
      {isStale && <p class="notice warn">{t.variables.changedMeanwhile}</p>}
      {isReview ? (
        <Review
          rows={shown}
          isSecret={isSecret}
          wasSecret={(name) => secretsBefore.has(name)}
          onSecret={(name, secret) => setDecided({ ...decided, [name]: secret })}
        />
      ) : (
        <>
          <AreaField label={label} hint={t.variables.editHint} rows={18} value={text} onValue={setText} />
          <LineProblems problems={parsed.problems} />
        </>
      )}
      <ProblemText error={error} />
      <div class="dialog-actions">
        {isReview ? (
          <>
            <Button onClick={() => setReview(false)}>{t.common.back}</Button>
            <Button kind="primary" busy={busy} disabled={shown.length === 0} onClick={save}>
              {t.common.save}
            </Button>
          </>
        ) : (
          <>
            <Button onClick={onClose}>{t.common.cancel}</Button>
            <Button kind="primary" disabled={parsed.problems.length > 0} onClick={() => setReview(true)}>
              {t.variables.review}
            </Button>
          </>
        )}
      </div>
    </Dialog>
  );
}

interface ReviewProps {
  rows: Change[];
  isSecret: (change: Change) => boolean;
  wasSecret: (name: string) => boolean;
  onSecret: (name: string, secret: boolean) => void;
}

function Review({ rows, isSecret, wasSecret, onSecret }: ReviewProps) {
  const t = useText();
  if (rows.length === 0) return <p>{t.variables.nothing}</p>;
  return (
    <Changes>
      {rows.map((change) => (
        <li key={change.name}>
          <span class="row">
            <strong class="mono">{change.name}</strong>
            {change.kind !== "same" && <span class="tag">{t.variables[change.kind]}</span>}
            {change.kind === "same" && (
              <span class="tag">{wasSecret(change.name) ? t.variables.nowPlain : t.variables.nowSecret}</span>
            )}
          </span>
          {change.kind !== "same" && <BeforeAfter before={change.before} after={change.after} />}
          {change.kind !== "removed" && (
            <CheckField
              label={t.variables.keepSecret(change.name)}
              checked={isSecret(change)}
              onChecked={(checked) => onSecret(change.name, checked)}
            />
          )}
        </li>
      ))}
    </Changes>
  );
}
