import { useState } from "preact/hooks";
import { type Application, applicationQuery, useUpdateApplication, useUpdateLabels } from "../../api/applications";
import { cache } from "../../api/cache";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { changed, changedValues, conflicts, type Draft, edit, insist, shown, without } from "../../ui/draft";
import { useKept } from "../../ui/kept";
import { ProblemText, splitProblem } from "../../ui/Problem";
import { SaveBar } from "../../ui/SaveBar";
import { tell } from "../../ui/Toast";
import { Pending } from "../application/Pending";
import { DeleteApplication } from "./DeleteApplication";
import { requestsFor, sectionsOf, storedValues, type Values } from "./fields";
import { SettingField } from "./SettingField";

const NO_DRAFT: Draft<Values> = {};

/** A form of what was changed: what the server sends meanwhile never touches it, and is shown where both have changed. */
export default function Settings({ application }: { application: Application }) {
  const t = useText();
  const mayUpdate = useMay("deploy:update");
  const mayDelete = useMay("deploy:delete");
  const update = useUpdateApplication();
  const updateLabels = useUpdateLabels();
  const [draft, setDraft] = useKept<Draft<Values>>(`settings ${application.id}`, NO_DRAFT);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);

  const stored = storedValues(application);
  const inConflict = conflicts(draft, stored);
  const count = changed(draft).length;
  const [problem, rest] = splitProblem(error, Object.keys(stored));

  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      // The stream may be late: what is stored is looked at once more, so that nothing unseen is overwritten.
      const fresh = await cache.fetchQuery({ ...applicationQuery(application.id), staleTime: 0 });
      if (conflicts(draft, storedValues(fresh)).length === 0) {
        const requests = requestsFor(application.id, changedValues(draft));
        if (requests.update) await update.mutateAsync({ ...requests.update, unchanged_since: fresh.updated_at });
        if (requests.labels) await updateLabels.mutateAsync({ id: application.id, labels: requests.labels });
        setDraft(() => NO_DRAFT);
        tell(t.common.saved);
      }
    } catch (thrown) {
      setError(thrown as Error);
    }
    setBusy(false);
  };

  return (
    <>
      <Pending application={application} />
      {!mayUpdate && <p class="notice">{t.settings.readOnly}</p>}
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy && count > 0 && inConflict.length === 0) void save();
        }}
      >
        {sectionsOf(application.repository).map(([section, kinds]) => (
          <section key={section} class="card stack">
            <h2>{t.settings[section]}</h2>
            <div class="fields">
              {kinds.map((kind) => (
                <SettingField
                  key={kind.name}
                  kind={kind}
                  value={shown(draft, stored, kind.name)}
                  theirs={inConflict.includes(kind.name) ? stored[kind.name] : null}
                  problem={problem(kind.name)}
                  readOnly={!mayUpdate}
                  onValue={(value) => setDraft((before) => edit(before, stored, kind.name, value))}
                  onTakeTheirs={() => setDraft((before) => without(before, kind.name))}
                  onKeepMine={() => setDraft((before) => insist(before, stored, kind.name))}
                />
              ))}
            </div>
          </section>
        ))}
        {mayUpdate && (
          <SaveBar>
            <Button type="submit" kind="primary" busy={busy} disabled={count === 0 || inConflict.length > 0}>
              {t.common.save}
            </Button>
            {count > 0 && (
              <Button onClick={() => setDraft(() => NO_DRAFT)} disabled={busy}>
                {t.settings.discard}
              </Button>
            )}
            <span class="muted" role="status">
              {t.settings.changes(count)}
            </span>
            {inConflict.length > 0 && <p class="problem-text">{t.settings.resolve}</p>}
            <ProblemText error={rest} />
          </SaveBar>
        )}
      </form>
      {mayDelete && <DeleteApplication application={application} />}
    </>
  );
}
