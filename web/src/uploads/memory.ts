import type { Memory } from "./transfer";

const KEY = "windlass-uploads";
/** More than a user may have open at a time. */
const MOST = 20;

/** The newest last. */
type Begun = [of: string, id: string][];

function read(): Begun {
  try {
    const known: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(known) ? (known as Begun) : [];
  } catch {
    return [];
  }
}

function write(begun: Begun): void {
  try {
    if (begun.length > 0) localStorage.setItem(KEY, JSON.stringify(begun.slice(-MOST)));
    else localStorage.removeItem(KEY);
  } catch {
    // Without storage an upload goes on only in the page that has begun it.
  }
}

/** Of uploads to one application. What was sent is told apart by its hash, so that only the same goes on. */
export function memoryOf(applicationId: string): Memory {
  const nameOf = (sha256: string) => `${applicationId} ${sha256}`;
  const others = (sha256: string) => read().filter(([of]) => of !== nameOf(sha256));
  return {
    recall: (sha256) => read().find(([of]) => of === nameOf(sha256))?.[1] ?? null,
    keep: (sha256, id) => write([...others(sha256), [nameOf(sha256), id]]),
    forget: (sha256) => write(others(sha256)),
  };
}
