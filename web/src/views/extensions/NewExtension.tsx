import { useId, useRef } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useCreateExtension } from "../../api/extensions";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button, ButtonLink } from "../../ui/Button";
import { useKept } from "../../ui/kept";
import { Page } from "../../ui/Page";
import { ProblemText } from "../../ui/Problem";
import { SaveBar } from "../../ui/SaveBar";
import { tell } from "../../ui/Toast";
import { EXAMPLE } from "./example";
import { addressOf } from "./facts";
import { placeIn, problemsOf } from "./problems";
import { type EditorHandle, TextEditor } from "./TextEditor";
import { TextProblems } from "./TextProblems";

/** An extension from an example that can be run as it is. */
export default function NewExtension() {
  const t = useText();
  const { route } = useLocation();
  const { membership, may } = useSession();
  const problemsId = useId();
  const editor = useRef<EditorHandle | null>(null);
  const [text, setText] = useKept(`new extension ${membership.organization_id}`, EXAMPLE);
  const create = useCreateExtension();
  const found = problemsOf(create.error);
  const problems = found.map((problem) => placeIn(text, problem));
  if (!may("extension:create")) {
    return (
      <Page title={t.extensionText.createTitle}>
        <p class="notice">{t.extensionText.readOnlyRole}</p>
      </Page>
    );
  }
  const save = (isDraft: boolean) =>
    create.mutate(
      { yaml_content: text, ...(isDraft ? { draft: true } : {}) },
      {
        onSuccess: (made) => {
          setText(() => EXAMPLE);
          tell(made.validation_status === "valid" ? t.extensionText.created : t.extensionText.savedDraft);
          route(addressOf(made, made.validation_status === "valid" ? undefined : "text"));
        },
      },
    );
  return (
    <Page title={t.extensionText.createTitle}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!create.isPending) save(false);
        }}
      >
        <p class="prose">{t.extensionText.createHint}</p>
        <TextProblems
          id={problemsId}
          problems={problems}
          isStale={create.variables?.yaml_content !== text}
          onGoTo={(line, column) => editor.current?.goTo(line, column)}
        />
        <TextEditor
          label={t.extensionText.label}
          text={text}
          readOnly={false}
          problems={problems}
          describedBy={problems.length > 0 ? problemsId : ""}
          handle={editor}
          onText={(next) => setText(() => next)}
        />
        <SaveBar>
          <Button type="submit" kind="primary" busy={create.isPending}>
            {t.extensionText.createAction}
          </Button>
          {found.length > 0 && (
            <Button busy={create.isPending} onClick={() => save(true)}>
              {t.extensionText.saveDraft}
            </Button>
          )}
          <ButtonLink kind="quiet" href="/extensions">
            {t.common.cancel}
          </ButtonLink>
          {found.length === 0 && <ProblemText error={create.error} />}
        </SaveBar>
      </form>
    </Page>
  );
}
