import type { Ref } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useText } from "../text";
import { Button } from "../ui/Button";
import type { Question } from "./useQuestion";

const TYPING_MS = 300;
/** As the server has it. */
const LONGEST = { text: 200, regex: 500 } as const;

interface Props {
  inputRef: Ref<HTMLInputElement>;
  question: Question;
  onAsk: (change: Partial<Question>) => void;
  onStep: (isBackwards: boolean) => void;
  onLeave: () => void;
}

/** Looks for text on the server: among the lines, or leaving out those without it. */
export function SearchBar({ inputRef, question, onAsk, onStep, onLeave }: Props) {
  const t = useText().logs;
  const { search, onlyHits } = question;
  const [text, setText] = useState("");
  const [isRegex, setRegex] = useState(false);
  const ask = () => {
    if (text === (search?.text ?? "") && isRegex === (search?.isRegex ?? isRegex)) return false;
    onAsk({ search: text ? { text, isRegex } : null });
    return true;
  };
  // Only what is typed starts the wait
  useEffect(() => {
    const timer = setTimeout(ask, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, isRegex]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !ask()) onStep(event.shiftKey);
    if (event.key !== "Escape") return;
    setText("");
    onLeave();
  };
  return (
    <search class="row log-search">
      <input
        ref={inputRef}
        type="search"
        aria-label={t.search}
        placeholder={isRegex ? t.searchRegex : t.search}
        value={text}
        maxLength={isRegex ? LONGEST.regex : LONGEST.text}
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <label class="check">
        <input type="checkbox" checked={isRegex} onChange={({ currentTarget }) => setRegex(currentTarget.checked)} />
        {t.regex}
      </label>
      {search && (
        <>
          <label class="check">
            <input
              type="checkbox"
              checked={onlyHits}
              onChange={({ currentTarget }) => onAsk({ onlyHits: currentTarget.checked })}
            />
            {t.onlyHits}
          </label>
          <Button aria-label={t.previousHit} title={t.previousHit} class="icon-only" onClick={() => onStep(true)}>
            ↑
          </Button>
          <Button aria-label={t.nextHit} title={t.nextHit} class="icon-only" onClick={() => onStep(false)}>
            ↓
          </Button>
        </>
      )}
    </search>
  );
}
