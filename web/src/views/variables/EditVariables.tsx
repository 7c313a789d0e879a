import { useState } from "preact/hooks";
import { type Application, applicationQuery, useUpdateApplication } from "../../api/applications";
import { cache } from "../../api/cache";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { BeforeAfter, Changes } from "../../ui/Changes";
import { Dialog } from "../../ui/Dialog";
import { AreaField, CheckField } from "../../ui/Field";
import { ProblemText } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { type Change, changes, looksSecret, readVariables } from "./changes";
import { format, parse } from "./dotenv";
import type { VariableKind } from "./kinds";
import { LineProblems } from "./LineProblems";

interface Props {
  application: Application;
  kind: VariableKind;
  onClose: () => void;
}

/** All variables as one text, then what would change, then the save. */
export function EditVariables({ application, kind, onClose }: Props) {
  const t = useText();
  const stored = readVariables(application[kind]);
  const [begun] = useState(application[kind]);
  const [text, setText] = useState(() => format(stored));
  const [decided, setDecided] = useState<Readonly<Record<string, boolean>>>({});
  const [isReview, setReview] = useState(false);
  const [isLooking, setLooking] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const update = useUpdateApplication();
  const problem = error ?? update.error;
  const parsed = parse(text);

  const secretsBefore = new Set(application.secret_names);
  const isSecret = ({ name, kind: how }: Change): boolean =>
    decided[name] ?? (secretsBefore.has(name) || (how === "added" && looksSecret(name)));
  const all = changes(stored, parsed.variables);
  const shown = all.filter((change) => change.kind !== "same" || isSecret(change) !== secretsBefore.has(change.name));

  /** The stream may be late: what is stored is looked at once more, so that nothing unseen is overwritten. */
  const saveIfSeen = async () => {
    setLooking(true);
    try {
      const fresh = await cache.fetchQuery({ ...applicationQuery(application.id), staleTime: 0 });
      setError(null);
      const isSeen = fresh[kind] === application[kind] && `${fresh.secret_names}` === `${application.secret_names}`;
      if (isSeen) save(fresh.updated_at);
    } catch (thrown) {
      setError(thrown as Error);
    }
    setLooking(false);
  };

  const save = (unchanged_since: string) => {
    const decidedNow = new Map(
      all.filter(({ kind: how }) => how !== "removed").map((one) => [one.name, isSecret(one)]),
    );
    // Names of the other kind of variables stay as they are.
    const secrets = new Set([...secretsBefore].filter((name) => decidedNow.get(name) !== false));
    for (const [name, secret] of decidedNow) if (secret) secrets.add(name);
    update.mutate(
      { id: application.id, unchanged_since, [kind]: parsed.variables, secret_names: [...secrets] },
      {
        onSuccess: () => {
          tell(`${t.common.saved} ${t.variables.acts}`);
          onClose();
        },
      },
    );
  };

  return (
    <Dialog title={isReview ? t.variables.reviewTitle : t.variables.editTitle} onClose={onClose} wide>
      {begun !== application[kind] && <p class="notice warn">{t.variables.changedMeanwhile}</p>}
      {isReview ? (
        <Review
          rows={shown}
          isSecret={isSecret}
          wasSecret={(name) => secretsBefore.has(name)}
          onSecret={(name, secret) => setDecided({ ...decided, [name]: secret })}
        />
      ) : (
        <>
          <AreaField
            label={kind === "environment_variables" ? t.variables.run : t.variables.build}
            hint={t.variables.editHint}
            rows={18}
            value={text}
            onValue={setText}
          />
          <LineProblems problems={parsed.problems} />
        </>
      )}
      <ProblemText error={problem} />
      <div class="dialog-actions">
        {isReview ? (
          <>
            <Button onClick={() => setReview(false)}>{t.common.back}</Button>
            <Button
              kind="primary"
              busy={isLooking || update.isPending}
              disabled={shown.length === 0}
              onClick={() => void saveIfSeen()}
            >
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
