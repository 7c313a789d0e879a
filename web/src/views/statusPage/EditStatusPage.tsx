import { useState } from "preact/hooks";
import { fetchStatusPage, type StatusPage, useUpdateStatusPage } from "../../api/statusPage";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { changed, changedValues, conflicts, type Draft, edit, insist, shown, without } from "../../ui/draft";
import { CheckField, TextField } from "../../ui/Field";
import { FieldConflict } from "../../ui/FieldConflict";
import { useKept } from "../../ui/kept";
import { ProblemText, splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { Applications } from "./Applications";
import { bodyOf, FIELDS, type Fields, fieldsOf } from "./fields";

const NO_DRAFT: Draft<Fields> = {};

/** All of it is saved together. What others change meanwhile never touches what was changed here. */
function useFields(page: StatusPage) {
  const t = useText();
  const { membership } = useSession();
  const [draft, setDraft] = useKept<Draft<Fields>>(`status page ${membership.organization_id}`, NO_DRAFT);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const update = useUpdateStatusPage();
  const stored = fieldsOf(page);
  const inConflict = conflicts(draft, stored);
  const [problem, rest] = splitProblem(error, FIELDS);

  const saveIfSeen = async () => {
    if (conflicts(draft, fieldsOf(await fetchStatusPage())).length > 0) return;
    const { enabled } = await update.mutateAsync(bodyOf(changedValues(draft)));
    setDraft(() => NO_DRAFT);
    tell(enabled ? t.statusPage.savedOn : t.common.saved);
  };
  return {
    isBusy,
    isChanged: changed(draft).length > 0,
    isInConflict: inConflict.length > 0,
    rest,
    problem,
    value: <K extends keyof Fields>(name: K): Fields[K] => shown(draft, stored, name),
    set: <K extends keyof Fields>(name: K, value: Fields[K]) => setDraft((before) => edit(before, stored, name, value)),
    save: async () => {
      setBusy(true);
      setError(null);
      await saveIfSeen().catch(setError);
      setBusy(false);
    },
    discard: () => {
      setDraft(() => NO_DRAFT);
      setError(null);
    },
    conflictAt: (name: keyof Fields, theirs: string) =>
      inConflict.includes(name) && (
        <FieldConflict
          theirs={theirs}
          onTakeTheirs={() => setDraft((before) => without(before, name))}
          onKeepMine={() => setDraft((before) => insist(before, stored, name))}
        />
      ),
  };
}

export function EditStatusPage({ page }: { page: StatusPage }) {
  const t = useText();
  const fields = useFields(page);
  const { isBusy, isChanged, isInConflict, value, set, problem, conflictAt } = fields;
  return (
    <form
      class="card stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (isChanged && !isInConflict && !isBusy) void fields.save();
      }}
    >
      <CheckField
        label={t.statusPage.enabled}
        checked={value("enabled")}
        onChecked={(enabled) => set("enabled", enabled)}
      >
        {conflictAt("enabled", page.enabled ? t.common.yes : t.common.no)}
      </CheckField>
      <TextField
        label={t.statusPage.name}
        required
        maxLength={100}
        autocomplete="off"
        value={value("title")}
        onValue={(title) => set("title", title)}
        problem={problem("title")}
      >
        {conflictAt("title", page.title)}
      </TextField>
      <TextField
        label={t.statusPage.domain}
        hint={t.statusPage.domainHint}
        required={value("enabled")}
        optional={!value("enabled")}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        value={value("domain")}
        onValue={(domain) => set("domain", domain)}
        problem={problem("domain")}
      >
        {conflictAt("domain", page.domain)}
      </TextField>
      <Applications
        all={value("applications")}
        onAll={(applications) => set("applications", applications)}
        problem={problem("applications")}
      >
        {conflictAt("applications", page.applications.map(({ name }) => name).join(", "))}
      </Applications>
      {isInConflict && <p class="problem-text">{t.settings.resolve}</p>}
      <ProblemText error={fields.rest} />
      <div class="row">
        <Button type="submit" kind="primary" busy={isBusy} disabled={!isChanged || isInConflict}>
          {t.common.save}
        </Button>
        {isChanged && (
          <Button disabled={isBusy} onClick={fields.discard}>
            {t.settings.discard}
          </Button>
        )}
      </div>
    </form>
  );
}
