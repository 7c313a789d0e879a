import { useId, useImperativeHandle, useMemo, useRef } from "preact/hooks";
import { useText } from "../../text";
import { indent, newLine, offsetOf, outdent, type Replacement } from "./editing";
import type { Problem } from "./problems";
import "./editor.css";

/** What others may ask of the editor. */
export interface EditorHandle {
  goTo: (line: number, column: number) => void;
}

interface Props {
  label: string;
  text: string;
  readOnly: boolean;
  problems: readonly Problem[];
  /** Of what belongs to the field, such as the list of problems. */
  describedBy: string;
  hint?: string;
  handle: { current: EditorHandle | null };
  onText: (text: string) => void;
}

/** A plain text field with the numbers of its lines. Lines with problems are marked. */
export function TextEditor({ label, text, readOnly, problems, describedBy, hint, handle, onText }: Props) {
  const t = useText().extensionText;
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  // Tab passes the field by until its user works in it, and again after Escape.
  const keepsTab = useRef(false);
  const marked = new Set(problems.map(({ line }) => line));
  const count = text.split("\n").length;
  const numbers = useMemo(() => Array.from({ length: count }, (_, at) => at + 1).join("\n"), [count]);

  useImperativeHandle(
    handle,
    () => ({
      goTo: (line, column) => {
        const field = area.current;
        if (!field) return;
        const at = offsetOf(field.value, line, column);
        field.focus();
        field.setSelectionRange(at, at);
        field.scrollTop = Math.max(0, (line - 4) * Number.parseFloat(getComputedStyle(field).lineHeight));
        field.scrollLeft = 0;
      },
    }),
    [],
  );

  const replace = (field: HTMLTextAreaElement, { from, to, text: added, start, end }: Replacement) => {
    field.setSelectionRange(from, to);
    // The only way that the browser's undo knows of.
    if (!document.execCommand("insertText", false, added)) field.setRangeText(added, from, to, "end");
    field.setSelectionRange(start, end);
    onText(field.value);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const field = area.current;
    if (!field || readOnly || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape") keepsTab.current = false;
    if (event.key !== "Enter" && !(event.key === "Tab" && keepsTab.current)) return;
    event.preventDefault();
    const edited = { text: field.value, start: field.selectionStart, end: field.selectionEnd };
    const change = event.key === "Enter" ? newLine : event.shiftKey ? outdent : indent;
    replace(field, change(edited));
  };

  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="editor">
        <div class="editor-gutter" ref={gutter} aria-hidden="true">
          {[...marked].map((line) => (
            <div key={line} class="editor-mark" style={{ top: `calc(0.5rem + ${line - 1} * var(--line-height))` }} />
          ))}
          <div class="editor-numbers">{numbers}</div>
        </div>
        <textarea
          id={id}
          ref={area}
          wrap="off"
          rows={24}
          spellcheck={false}
          autocapitalize="off"
          autocomplete="off"
          readOnly={readOnly}
          aria-describedby={[readOnly ? "" : `${id}-hint`, describedBy].filter(Boolean).join(" ")}
          aria-invalid={problems.length > 0 || undefined}
          value={text}
          onInput={({ currentTarget }) => {
            keepsTab.current = true;
            onText(currentTarget.value);
          }}
          onPointerDown={() => {
            keepsTab.current = true;
          }}
          onBlur={() => {
            keepsTab.current = false;
          }}
          onKeyDown={onKeyDown}
          onScroll={({ currentTarget }) => {
            if (gutter.current) gutter.current.scrollTop = currentTarget.scrollTop;
          }}
        />
      </div>
      {!readOnly && (
        <p class="hint" id={`${id}-hint`}>
          {t.hint} {hint}
        </p>
      )}
    </div>
  );
}
