import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import { Button } from "./Button";
import "./menu.css";

interface Props {
  label: string;
  shown: ComponentChildren;
  kind?: "plain" | "quiet";
  class?: string;
  children: ComponentChildren;
}

/** A button that opens a list of links and buttons. The popover is the platform's: Escape and a click elsewhere close it. */
export function Menu({ label, shown, kind = "quiet", class: extra, children }: Props) {
  const id = useId();
  const button = useRef<HTMLSpanElement>(null);
  const list = useRef<HTMLDivElement>(null);

  // One function for all renders, so that it can be taken off again.
  const { current: place } = useRef(() => {
    const from = button.current?.getBoundingClientRect();
    const menu = list.current;
    if (!from || !menu) return;
    const width = menu.offsetWidth;
    menu.style.top = `${from.bottom + 4}px`;
    menu.style.left = `${Math.max(8, Math.min(from.left, document.documentElement.clientWidth - width - 8))}px`;
    menu.style.maxHeight = `${innerHeight - from.bottom - 12}px`;
  });
  const entries = () => [...(list.current?.querySelectorAll<HTMLElement>("a, button") ?? [])];
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLElement);
    all[(at + step + all.length) % all.length]?.focus();
  };

  return (
    <>
      <span ref={button}>
        <Button kind={kind} class={extra ?? ""} aria-label={label} popovertarget={id}>
          {shown}
        </Button>
      </span>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the arrows only help; each entry has keys of its own */}
      <div
        id={id}
        ref={list}
        popover="auto"
        class="menu"
        onToggle={(event) => {
          if (event.newState !== "open") {
            removeEventListener("resize", place);
            return;
          }
          place();
          addEventListener("resize", place);
          entries()[0]?.focus();
        }}
        onKeyDown={move}
        onClick={(event) => {
          if ((event.target as Element).closest("a, button")) list.current?.hidePopover();
        }}
      >
        {children}
      </div>
    </>
  );
}
