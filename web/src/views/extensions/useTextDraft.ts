import { useState } from "preact/hooks";
import { cache } from "../../api/cache";
import { type Extension, extensionQuery, useUpdateExtension } from "../../api/extensions";
import { useText } from "../../text";
import { useKept } from "../../ui/kept";
import { tell } from "../../ui/Toast";
import { placeIn, problemsIn, problemsOf } from "./problems";

/** A changed text, and the hash of the one that it was made of. */
interface TextDraft {
  base: string;
  text: string;
}

export type EditedText = ReturnType<typeof useTextDraft>;

/** The text of an extension while it is changed. What is stored meanwhile never touches what is being written. */
export function useTextDraft(extension: Extension) {
  const { yaml_content: stored, content_hash: hash } = extension;
  const [draft, setDraft] = useKept<TextDraft | null>(`text ${extension.id}`, null);
  const { isBusy, error, sent, send, forget } = useSave(extension);
  const text = draft?.text ?? stored;
  const isChanged = draft !== null && draft.text !== stored;
  const found = problemsOf(error);
  return {
    text,
    isChanged,
    isInConflict: isChanged && draft.base !== hash,
    isBusy,
    /** Those of the stored text until another one was refused. */
    problems: (error ? found : problemsIn(extension.validation_errors)).map((one) => placeIn(text, one)),
    /** The problems are about another text than the one in the editor. */
    isStale: error ? sent !== text : isChanged,
    /** The server refuses the text, which can still be stored as a draft. */
    isRefused: found.length > 0,
    /** What went wrong and is no fault of the text. */
    error: found.length > 0 ? null : error,
    write: (next: string) =>
      setDraft((before) => (next === stored ? null : { base: before?.base ?? hash, text: next })),
    discard: () => {
      setDraft(() => null);
      forget();
    },
    keepMine: () => setDraft((before) => before && { ...before, base: hash }),
    save: (isDraft: boolean) => send(text, draft?.base ?? hash, isDraft, () => setDraft(() => null)),
  };
}

function useSave(extension: Extension) {
  const t = useText();
  const update = useUpdateExtension(extension.id);
  const [error, setError] = useState<Error | null>(null);
  /** The text that the error is about. */
  const [sent, setSent] = useState("");
  const [isBusy, setBusy] = useState(false);
  const store = async (text: string, base: string, isDraft: boolean, onStored: () => void) => {
    // The stored text is looked at once more, so that nothing unseen is overwritten.
    const fresh = await cache.fetchQuery({ ...extensionQuery(extension.id), staleTime: 0 });
    cache.setQueryData(extensionQuery(extension.extension_id).queryKey, fresh);
    if (fresh.content_hash !== base) return;
    const made = await update.mutateAsync({ yaml_content: text, ...(isDraft ? { draft: true } : {}) });
    onStored();
    tell(made.validation_status === "valid" ? t.common.saved : t.extensionText.savedDraft);
  };
  const send = async (text: string, base: string, isDraft: boolean, onStored: () => void) => {
    setBusy(true);
    setSent(text);
    setError(null);
    await store(text, base, isDraft, onStored).catch(setError);
    setBusy(false);
  };
  return { isBusy, error, sent, send, forget: () => setError(null) };
}
