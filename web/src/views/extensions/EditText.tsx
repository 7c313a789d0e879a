import { useId, useRef } from "preact/hooks";
import type { Extension } from "../../api/extensions";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Copy } from "../../ui/Copy";
import { ProblemText } from "../../ui/Problem";
import { SaveBar } from "../../ui/SaveBar";
import { Conflict } from "./Conflict";
import { type EditorHandle, TextEditor } from "./TextEditor";
import { TextProblems } from "./TextProblems";
import { type EditedText, useTextDraft } from "./useTextDraft";

/** The text of an extension, and the way to change it for those who may. */
export default function EditText({ extension }: { extension: Extension }) {
  const t = useText();
  const problemsId = useId();
  const editor = useRef<EditorHandle | null>(null);
  const mayEdit = useMay("extension:create") && extension.organization_id !== null;
  const edited = useTextDraft(extension);
  const { text, problems, isBusy, isChanged, isInConflict } = edited;
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy && isChanged && !isInConflict) void edited.save(false);
      }}
    >
      {!mayEdit && (
        <p class="notice">{extension.is_verified ? t.extensionText.readOnlyVerified : t.extensionText.readOnlyRole}</p>
      )}
      {isInConflict && (
        <Conflict stored={extension.yaml_content} mine={text} onTheirs={edited.discard} onMine={edited.keepMine} />
      )}
      <TextProblems
        id={problemsId}
        problems={problems}
        isStale={edited.isStale}
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
        onText={edited.write}
      />
      {mayEdit ? (
        <Save edited={edited} />
      ) : (
        <p>
          <Copy value={text} label={t.common.copy} />
        </p>
      )}
    </form>
  );
}

function Save({ edited }: { edited: EditedText }) {
  const t = useText().extensionText;
  const { isBusy, isChanged } = edited;
  return (
    <SaveBar>
      <Button type="submit" kind="primary" busy={isBusy} disabled={!isChanged || edited.isInConflict}>
        {t.save}
      </Button>
      {edited.isRefused && isChanged && (
        <Button busy={isBusy} onClick={() => void edited.save(true)}>
          {t.saveDraft}
        </Button>
      )}
      {isChanged && (
        <Button disabled={isBusy} onClick={edited.discard}>
          {t.discard}
        </Button>
      )}
      <span class="muted" role="status">
        {isChanged ? t.changed : t.unchanged}
      </span>
      <ProblemText error={edited.error} />
    </SaveBar>
  );
}
