import { useEffect, useRef } from "preact/hooks";
import { lazy, useLocation } from "preact-iso";
import { useSession } from "../session";
import { INSTANCE, isAdmin, PLACES } from "./places";

const Palette = lazy(() => import("./Palette"));
const Shortcuts = lazy(() => import("./Shortcuts"));

type Opened = "palette" | "shortcuts" | null;

const SEQUENCE_MS = 1_000;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));
}

/** Keys of the whole dashboard. Single letters act only where no text is being typed and no dialog is open. */
export function Keyboard({ opened, onOpen }: { opened: Opened; onOpen: (opened: Opened) => void }) {
  const { route } = useLocation();
  const session = useSession();
  const lead = useRef(0);

  useEffect(() => {
    const go: Record<string, () => void> = {
      ...Object.fromEntries(
        PLACES.filter(({ may }) => session.may(may)).map(({ key, href }) => [key, () => route(href)]),
      ),
      n: () => session.may("deploy:create") && route("/applications/new"),
      u: () => route("/account"),
      [INSTANCE.key]: () => isAdmin(session.user) && route(INSTANCE.href),
    };
    const single: Record<string, () => void> = {
      "?": () => onOpen("shortcuts"),
      "/": () => document.querySelector<HTMLInputElement>("input[type=search]")?.focus(),
      g: () => {
        lead.current = Date.now();
      },
    };
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        if (!document.querySelector("dialog[open]")) onOpen("palette");
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("dialog[open]")) return;
      const isSequence = Date.now() - lead.current < SEQUENCE_MS;
      const action = isSequence ? go[event.key] : single[event.key];
      lead.current = 0;
      if (!action) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [route, session, onOpen]);

  if (opened === "palette") return <Palette onClose={() => onOpen(null)} />;
  if (opened === "shortcuts") return <Shortcuts onClose={() => onOpen(null)} />;
  return null;
}
