import { useEffect, useState } from "preact/hooks";
import { uploadRequests } from "../api/uploads";
import { text } from "../text";
import { tell as tellUser } from "../ui/Toast";
import type { Chosen } from "./folder";
import { memoryOf } from "./memory";
import { type Progress, transfer } from "./transfer";

/** An upload of this page. It goes on while other views are shown. */
export interface Running {
  chosen: Chosen;
  state: Progress | { is: "deployed"; deploymentId: string } | { is: "failed"; error: Error };
  /** Ends it, and has the server forget it. */
  cancel: () => void;
  /** Does not wait any longer before it is tried again. */
  hurry: () => void;
}

interface Watcher {
  applicationId: string;
  look: () => void;
}

/** How long it is known what became of one. */
const KNOWN_MS = 5_000;

const all = new Map<string, Running>();
const watchers = new Set<Watcher>();

const watchersOf = (id: string): Watcher[] => [...watchers].filter(({ applicationId }) => applicationId === id);

function show(applicationId: string, running: Running | null): void {
  if (running) all.set(applicationId, running);
  else all.delete(applicationId);
  for (const { look } of watchersOf(applicationId)) look();
}

/** The one to an application, or null. */
export function useUpload(applicationId: string): Running | null {
  const [, setCount] = useState(0);
  useEffect(() => {
    const watcher = { applicationId, look: () => setCount((count) => count + 1) };
    watchers.add(watcher);
    watcher.look();
    return () => {
      watchers.delete(watcher);
    };
  }, [applicationId]);
  return all.get(applicationId) ?? null;
}

/** Its end was seen. */
export const forgetUpload = (applicationId: string): void => show(applicationId, null);

export function startUpload(applicationId: string, chosen: Chosen): void {
  const requests = uploadRequests(applicationId);
  const { recall, keep, forget } = memoryOf(applicationId);
  const ending = new AbortController();
  const waiting = new Waiting(ending.signal);
  let begun: { sha256: string; id: string } | null = null;
  const remove = () => {
    if (!begun) return;
    forget(begun.sha256);
    // One that cannot be deleted expires.
    requests.remove(begun.id).catch(() => {});
  };
  const cancel = () => {
    ending.abort();
    show(applicationId, null);
    remove();
  };
  const tell = (state: Running["state"]) => {
    if (!ending.signal.aborted) show(applicationId, { chosen, state, cancel, hurry: waiting.end });
  };
  const memory = {
    recall,
    forget,
    keep: (sha256: string, id: string) => {
      begun = { sha256, id };
      if (ending.signal.aborted) remove();
      else keep(sha256, id);
    },
  };
  tell({ is: "reading", done: 0 });
  transfer({
    bytes: chosen.bytes,
    requests,
    memory,
    signal: ending.signal,
    pause: waiting.pause,
    onProgress: tell,
  }).then(
    (deploymentId) => {
      requests.done();
      tell({ is: "deployed", deploymentId });
      tellIfUnseen(text().uploads.deployed(chosen.name));
      // A view that is just being opened still leads on to the deployment; one that is opened later begins another upload.
      setTimeout(() => {
        if (all.get(applicationId)?.state.is === "deployed") show(applicationId, null);
      }, KNOWN_MS);
    },
    (error: Error) => {
      tell({ is: "failed", error });
      if (!ending.signal.aborted) tellIfUnseen(text().uploads.failedUnseen(chosen.name));
    },
  );
  /** For a user who looks at another view. */
  function tellIfUnseen(message: string): void {
    if (watchersOf(applicationId).length === 0) tellUser(message);
  }
}

/** Ends early when the network is back, when the user does not want to wait, and when the upload is cancelled. */
class Waiting {
  private stop: (() => void) | null = null;

  constructor(signal: AbortSignal) {
    signal.addEventListener("abort", this.end);
  }

  end = (): void => this.stop?.();

  pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => this.stop?.(), ms);
      this.stop = () => {
        clearTimeout(timer);
        removeEventListener("online", this.end);
        this.stop = null;
        resolve();
      };
      addEventListener("online", this.end);
    });
}

const isUnderWay = ({ state }: Running): boolean => state.is !== "failed" && state.is !== "deployed";

// With the page the files are gone that it sends: the browser asks first.
addEventListener("beforeunload", (event) => {
  if ([...all.values()].some(isUnderWay)) event.preventDefault();
});
