import { useId, useRef, useState } from "preact/hooks";
import { cache } from "../../api/cache";
import { type Extension, extensionQuery, useUpdateExtension } from "../../api/extensions";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Copy } from "../../ui/Copy";
import { useKept } from "../../ui/kept";
import { ProblemText } from "../../ui/Problem";
import { SaveBar } from "../../ui/SaveBar";
import { tell } from "../../ui/Toast";
import { Conflict } from "./Conflict";
import { placeIn, problemsIn, problemsOf } from "./problems";
import { type EditorHandle, TextEditor } from "./TextEditor";
import { TextProblems } from "./TextProblems";

/** A changed text, and the hash of the one that it was made of. */
interface TextDraft {
  base: string;
  text: string;
}

/** The text of an extension. What is stored meanwhile never touches what is being written. */
export default function EditText({ extension }: { extension: Extension }) {
  const t = useText();
  const problemsId = useId();
  const editor = useRef<EditorHandle | null>(null);
  const mayEdit = useMay("extension:create") && extension.organization_id !== null;
  const [draft, setDraft] = useKept<TextDraft | null>(`text ${extension.id}`, null);
  const update = useUpdateExtension(extension.id);
  const [error, setError] = useState<Error | null>(null);
  /** The text that the error is about. */
  const [sent, setSent] = useState("");
  const [isBusy, setBusy] = useState(false);

  const stored = extension.yaml_content;
  const text = draft?.text ?? stored;
  const isChanged = draft !== null && draft.text !== stored;
  const isInConflict = isChanged && draft.base !== extension.content_hash;
  const found = problemsOf(error);
  const problems = (error ? found : problemsIn(extension.validation_errors)).map((one) => placeIn(text, one));
  const onText = (next: string) =>
    setDraft((before) => (next === stored ? null : { base: before?.base ?? extension.content_hash, text: next }));
  const discard = () => {
    setDraft(() => null);
    setError(null);
  };

  const save = async (isDraft: boolean) => {
    setBusy(true);
    setSent(text);
    setError(null);
    try {
      // The stored text is looked at once more, so that nothing unseen is overwritten.
      const fresh = await cache.fetchQuery({ ...extensionQuery(extension.id), staleTime: 0 });
      cache.setQueryData(extensionQuery(extension.extension_id).queryKey, fresh);
      if (fresh.content_hash === (draft?.base ?? extension.content_hash)) {
        const made = await update.mutateAsync({ yaml_content: text, ...(isDraft ? { draft: true } : {}) });
        setDraft(() => null);
        tell(made.validation_status === "valid" ? t.common.saved : t.extensionText.savedDraft);
      }
    } catch (thrown) {
      setError(thrown as Error);
    }
    setBusy(false);
  };

  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy && isChanged && !isInConflict) void save(false);
      }}
    >
      {!mayEdit && (
        <p class="notice">{extension.is_verified ? t.extensionText.readOnlyVerified : t.extensionText.readOnlyRole}</p>
      )}
      {isInConflict && (
        <Conflict
          stored={stored}
          mine={text}
          onTheirs={discard}
          onMine={() => setDraft((before) => before && { ...before, base: extension.content_hash })}
        />
      )}
      <TextProblems
        id={problemsId}
        problems={problems}
        isStale={error ? sent !== text : isChanged}
        onGoTo={(line, column) => editor.current?.goTo(line, column)}
      />
      <TextEditor
        label={t.extensionText.label}
        text={text}
        readOnly={!mayEdit}
        problems={problems}
        describedBy={problems.length > 0 ? problemsId : ""}
        hint={t.extensionText.actsLater}
        handle={editor}
        onText={onText}
      />
      {mayEdit ? (
        <SaveBar>
          <Button type="submit" kind="primary" busy={isBusy} disabled={!isChanged || isInConflict}>
            {t.extensionText.save}
          </Button>
          {found.length > 0 && isChanged && (
            <Button busy={isBusy} onClick={() => void save(true)}>
              {t.extensionText.saveDraft}
            </Button>
          )}
          {isChanged && (
            <Button disabled={isBusy} onClick={discard}>
              {t.extensionText.discard}
            </Button>
          )}
          <span class="muted" role="status">
            {isChanged ? t.extensionText.changed : t.extensionText.unchanged}
          </span>
          {found.length === 0 && <ProblemText error={error} />}
        </SaveBar>
      ) : (
        <p>
          <Copy value={text} label={t.common.copy} />
        </p>
      )}
    </form>
  );
}
