import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary, useRef, useState } from "preact/hooks";
import { ErrorBoundary, useLocation } from "preact-iso";
import { listenToEvents } from "../api/events";
import { useSession } from "../session";
import { useText } from "../text";
import { Button } from "../ui/Button";
import { Empty } from "../ui/Empty";
import { Toasts } from "../ui/Toast";
import { NewVersion, Offline } from "./Banners";
import { Keyboard } from "./Keyboard";
import { TopBar } from "./TopBar";
import "./shell.css";

export function Shell({ isLapsed, children }: { isLapsed: boolean; children: ComponentChildren }) {
  const t = useText();
  const { membership } = useSession();
  const { path } = useLocation();
  const main = useRef<HTMLElement>(null);
  const [opened, setOpened] = useState<"palette" | "shortcuts" | null>(null);

  useEffect(() => {
    if (!isLapsed) return listenToEvents(membership.organization_id);
  }, [membership.organization_id, isLapsed]);
  useFocusOnNewPage(path, main);

  // What was typed stays, but after a login has ended nothing of it is to be seen.
  return (
    <div class={isLapsed ? "veiled" : undefined}>
      <a class="skip" href="#content">
        {t.common.skip}
      </a>
      <TopBar onPalette={() => setOpened("palette")} onShortcuts={() => setOpened("shortcuts")} />
      <Offline />
      <NewVersion />
      <main id="content" ref={main} tabIndex={-1}>
        <ErrorBoundary>
          <Guard path={path}>{children}</Guard>
        </ErrorBoundary>
      </main>
      <Keyboard opened={opened} onOpen={setOpened} />
      <Toasts />
    </div>
  );
}

/** A fault in one view leaves the rest usable, and goes away with the next view. */
function Guard({ path, children }: { path: string; children: ComponentChildren }) {
  const t = useText();
  const [fault, forget] = useErrorBoundary((error) => console.error(error));
  const faultyPath = useRef("");
  if (fault && !faultyPath.current) faultyPath.current = path;
  useEffect(() => {
    if (!faultyPath.current || faultyPath.current === path) return;
    faultyPath.current = "";
    forget();
  }, [path, forget]);
  if (!fault) return <>{children}</>;
  return (
    <Empty title={t.shell.broken}>
      <p>{t.shell.brokenHint}</p>
      <Button onClick={() => location.reload()}>{t.common.reload}</Button>
    </Empty>
  );
}

/** For those who do not see that the page is another one. */
function useFocusOnNewPage(path: string, main: { current: HTMLElement | null }): void {
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    const isInside = main.current?.contains(document.activeElement);
    if (!isInside) main.current?.focus({ preventScroll: true });
  }, [path, main]);
}
