import { useId, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type Extension, type ParentOffer, useTakeParentOffer } from "../../api/extensions";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { ProblemText } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { Diff } from "../extensions/Diff";
import { addressOf } from "../extensions/facts";
import { placeIn, problemsOf } from "../extensions/problems";
import { type EditorHandle, TextEditor } from "../extensions/TextEditor";
import { TextProblems } from "../extensions/TextProblems";
import { bodyOf, choicesOf, type TakenAs, usualOf } from "./taking";

interface Props {
  extension: Extension;
  offer: ParentOffer;
  onLookAgain: () => void;
}

/** Brings the changes of the parent into the fork. Where both have changed a field, its user decides. */
export function TakeOffer({ extension, offer, onLookAgain }: Props) {
  const t = useText();
  const id = useId();
  const { route } = useLocation();
  const take = useTakeParentOffer(extension.id);
  const choices = choicesOf(offer);
  const [wanted, setWanted] = useState<TakenAs | null>(null);
  const [written, setWritten] = useState<string | null>(null);
  // A newer offer leaves what was decided and written, where that still can be.
  const chosen = choices.find((choice) => choice === wanted) ?? usualOf(offer);
  const text = written ?? (offer.yaml_content || extension.yaml_content);
  const isOwnText = chosen === "text";
  const found = isOwnText ? problemsOf(take.error) : [];
  const send = (isDraft: boolean) => {
    if (!chosen || take.isPending) return;
    take.mutate(
      { ...bodyOf(offer, chosen, text), ...(isDraft ? { draft: true } : {}) },
      {
        onSuccess: (made) => {
          tell(t.offers.taken);
          route(addressOf(made, "text"));
        },
        onError: onLookAgain,
      },
    );
  };
  return (
    <form
      class="card stack"
      onSubmit={(event) => {
        event.preventDefault();
        send(false);
      }}
    >
      <h2>{t.offers.take}</h2>
      <p class="muted">{t.extensionText.actsLater}</p>
      <fieldset class="stack">
        <legend>{offer.conflicts > 0 ? t.offers.whose(offer.conflicts) : t.offers.how}</legend>
        {choices.map((choice) => (
          <label key={choice} class="check">
            <input type="radio" name={id} checked={chosen === choice} onChange={() => setWanted(choice)} />
            {t.offers.choices[choice]}
          </label>
        ))}
      </fieldset>
      {offer.is_rewritten && !isOwnText && <p class="notice warn">{t.offers.rewritten}</p>}
      {(chosen === "merged" || chosen === "organization") && (
        <details>
          <summary>{t.offers.text}</summary>
          <Diff before={extension.yaml_content} after={offer.yaml_content} />
        </details>
      )}
      {isOwnText && (
        <OwnText
          text={text}
          onText={setWritten}
          problems={found.map((problem) => placeIn(text, problem))}
          isStale={take.variables?.yaml_content !== text}
        />
      )}
      {found.length === 0 && <ProblemText error={take.error} />}
      <div class="row">
        <Button type="submit" kind="primary" busy={take.isPending} disabled={chosen === null}>
          {t.offers.take}
        </Button>
        {found.length > 0 && (
          <Button busy={take.isPending} onClick={() => send(true)}>
            {t.extensionText.saveDraft}
          </Button>
        )}
      </div>
    </form>
  );
}

interface TextProps {
  text: string;
  onText: (text: string) => void;
  problems: ReturnType<typeof problemsOf>;
  isStale: boolean;
}

function OwnText({ text, onText, problems, isStale }: TextProps) {
  const t = useText().extensionText;
  const id = useId();
  const editor = useRef<EditorHandle | null>(null);
  return (
    <>
      <TextProblems
        id={id}
        problems={problems}
        isStale={isStale}
        onGoTo={(line, column) => editor.current?.goTo(line, column)}
      />
      <TextEditor
        label={t.label}
        text={text}
        readOnly={false}
        problems={problems}
        describedBy={problems.length > 0 ? id : ""}
        handle={editor}
        onText={onText}
      />
    </>
  );
}
