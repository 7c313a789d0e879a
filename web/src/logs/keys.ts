export interface KeyActions {
  search: () => void;
  nextHit: () => void;
  previousHit: () => void;
  newest: () => void;
  oldest: () => void;
  wrap: () => void;
  link: () => void;
}

const KEYS: Readonly<Record<string, keyof KeyActions>> = {
  "/": "search",
  n: "nextHit",
  N: "previousHit",
  End: "newest",
  g: "newest",
  Home: "oldest",
  w: "wrap",
  l: "link",
};

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches("input, select, textarea");

/** Keys of a log act where the focus is in it, and go before those of the dashboard. */
export function onLogKey(event: KeyboardEvent, actions: KeyActions): void {
  if (event.altKey || isTyping(event.target)) return;
  const isFind = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f";
  const name = isFind ? "search" : event.ctrlKey || event.metaKey ? undefined : KEYS[event.key];
  if (!name) return;
  event.preventDefault();
  event.stopPropagation();
  actions[name]();
}

/** The browser's own search would find only the few lines that are drawn. Asked for a second time, it is not kept away. */
export function onFindKey(event: KeyboardEvent, search: () => void): void {
  const isFind = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "f";
  if (!isFind || event.defaultPrevented || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  search();
}
