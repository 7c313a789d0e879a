import { useState } from "preact/hooks";
import { type EntriesField, useChangeEntry } from "../../api/access";
import { useText } from "../../text";
import { fieldMessage, splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { entryOf, withoutName } from "./entries";
import type { GroupProps } from "./useGroup";

export interface EntryDialogProps extends GroupProps {
  /** Null for a new one. */
  name: string | null;
  onClose: () => void;
}

/** What the dialogs for a user, a header and a page have in common: one entry is written, unless another user has just done it. */
export function useEntryDialog({ application, access, name, onClose }: EntryDialogProps, field: EntriesField) {
  const t = useText();
  const change = useChangeEntry(application, field);
  const stored = name === null ? undefined : entryOf(access, field, name);
  const [begun] = useState(stored);
  const [, rest] = splitProblem(change.error, [field]);
  const sentName = change.variables?.name ?? "";
  const refusal = change.error && !rest ? withoutName(fieldMessage(change.error), sentName) : null;
  return {
    begun,
    isBusy: change.isPending,
    /** What the server says about the entry, and what it says about something else. */
    refusal,
    error: rest,
    isChangedMeanwhile: begun !== stored,
    /** It is there already, so that a new one of this name would change it. */
    isTaken: (typed: string) => name === null && !change.isPending && entryOf(access, field, typed) !== undefined,
    save: (typed: string, value: string) =>
      change.mutate(
        { name: typed, value, seen: stored },
        {
          onSuccess: (isSaved) => {
            if (!isSaved) return;
            tell(`${t.common.saved} ${t.access.acts}`);
            onClose();
          },
        },
      ),
  };
}
