import { useEffect, useState } from "preact/hooks";
import { useText } from "../text";
import { Button } from "../ui/Button";

export function Offline() {
  const t = useText();
  const [isOnline, setOnline] = useState(navigator.onLine);
  useEffect(() => {
    const look = () => setOnline(navigator.onLine);
    addEventListener("online", look);
    addEventListener("offline", look);
    return () => {
      removeEventListener("online", look);
      removeEventListener("offline", look);
    };
  }, []);
  return <div role="status">{!isOnline && <p class="banner">{t.shell.offline}</p>}</div>;
}

const LEAST_MS_BETWEEN_LOOKS = 60_000;

/** The page names its script by a hash of its content: another name is another version. */
async function isReplaced(): Promise<boolean> {
  const running = document.querySelector<HTMLScriptElement>("script[type=module][src]")?.getAttribute("src");
  if (!running?.startsWith("/assets/")) return false;
  const answer = await fetch("/", { cache: "no-cache" });
  if (!answer.ok) return false;
  const page = await answer.text();
  return page.includes("/assets/") && !page.includes(running);
}

export function NewVersion() {
  const t = useText();
  const [isThere, setThere] = useState(false);
  useEffect(() => {
    let lastLook = Date.now();
    const look = () => {
      if (document.hidden || Date.now() - lastLook < LEAST_MS_BETWEEN_LOOKS) return;
      lastLook = Date.now();
      isReplaced().then(
        (replaced) => replaced && setThere(true),
        () => {},
      );
    };
    // A part of the dashboard that is loaded late is gone when a new version has come.
    const onMissing = (event: Event) => {
      event.preventDefault();
      setThere(true);
    };
    document.addEventListener("visibilitychange", look);
    addEventListener("focus", look);
    addEventListener("vite:preloadError", onMissing);
    return () => {
      document.removeEventListener("visibilitychange", look);
      removeEventListener("focus", look);
      removeEventListener("vite:preloadError", onMissing);
    };
  }, []);
  return (
    <div role="status">
      {isThere && (
        <p class="banner">
          {t.shell.newVersion} <Button onClick={() => location.reload()}>{t.common.reload}</Button>
        </p>
      )}
    </div>
  );
}
