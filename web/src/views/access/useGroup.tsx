import { useState } from "preact/hooks";
import { type Access, fetchAccess, useUpdateAccess } from "../../api/access";
import type { Application } from "../../api/applications";
import { useText } from "../../text";
import { changed, changedValues, conflicts, type Draft, edit, insist, shown, without } from "../../ui/draft";
import { FieldConflict } from "../../ui/FieldConflict";
import { useKept } from "../../ui/kept";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { bodyOf, storedValues, type ValueName, type Values } from "./values";

export interface GroupProps {
  application: Application;
  access: Access;
  readOnly: boolean;
}

type NameOf<T> = { [K in ValueName]: Values[K] extends T ? K : never }[ValueName];

const NO_DRAFT: Draft<Values> = {};

/** Fields that are saved together. What the server sends meanwhile never touches what was changed. */
export function useGroup({ application, access, readOnly }: GroupProps, fields: readonly ValueName[]) {
  const t = useText();
  const [draft, setDraft] = useKept<Draft<Values>>(`access ${application.id} ${fields}`, NO_DRAFT);
  const update = useUpdateAccess(application);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const stored = storedValues(access);
  const inConflict = conflicts(draft, stored);
  const [problem, rest] = splitProblem(error, fields);

  const saveIfSeen = async () => {
    // The stream may be late: what is stored is looked at once more, so that nothing unseen is overwritten.
    const fresh = await fetchAccess(application);
    if (conflicts(draft, storedValues(fresh)).length > 0) return;
    await update.mutateAsync(bodyOf(changedValues(draft)));
    setDraft(() => NO_DRAFT);
    tell(`${t.common.saved} ${t.access.acts}`);
  };
  const save = async () => {
    setBusy(true);
    setError(null);
    await saveIfSeen().catch(setError);
    setBusy(false);
  };
  const conflictAt = (name: ValueName) => {
    if (!inConflict.includes(name)) return null;
    const theirs = stored[name];
    return (
      <FieldConflict
        theirs={typeof theirs === "boolean" ? (theirs ? t.common.yes : t.common.no) : theirs}
        onTakeTheirs={() => setDraft((before) => without(before, name))}
        onKeepMine={() => setDraft((before) => insist(before, stored, name))}
      />
    );
  };
  const set = <K extends ValueName>(name: K, value: Values[K]) =>
    setDraft((before) => edit(before, stored, name, value));
  return {
    isBusy,
    isChanged: changed(draft).length > 0,
    isInConflict: inConflict.length > 0,
    /** What went wrong and is about none of the fields. */
    error: rest,
    save,
    discard: () => {
      setDraft(() => NO_DRAFT);
      setError(null);
    },
    text: (name: NameOf<string>) => ({
      value: shown(draft, stored, name),
      onValue: (value: string) => set(name, value),
      problem: problem(name),
      readOnly,
      children: conflictAt(name),
    }),
    check: (name: NameOf<boolean>) => ({
      checked: shown(draft, stored, name),
      onChecked: (value: boolean) => set(name, value),
      disabled: readOnly,
      conflict: conflictAt(name),
    }),
  };
}

export type Group = ReturnType<typeof useGroup>;
