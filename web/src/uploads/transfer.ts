import { ApiError, NetworkError } from "../api/client";
import type { Upload, UploadRequests } from "../api/uploads";
import { Sha256 } from "./sha256";
import type { Bytes } from "./tar";

/** How far it is. `done` counts bytes. */
export type Progress =
  | { is: "reading"; done: number }
  | { is: "sending"; done: number }
  | { is: "waiting"; done: number; error: Error }
  | { is: "finishing" };

/** Which uploads were begun, by what they were of. */
export interface Memory {
  recall: (sha256: string) => string | null;
  keep: (sha256: string, id: string) => void;
  forget: (sha256: string) => void;
}

export interface Transfer {
  bytes: Bytes;
  requests: Omit<UploadRequests, "done">;
  memory: Memory;
  signal: AbortSignal;
  /** Waits before it is tried again, at most for so long. */
  pause: (ms: number) => Promise<void>;
  onProgress: (progress: Progress) => void;
}

const READ_AT_ONCE = 1 << 20;
export const FIRST_PART = 256 << 10;
const SMALLEST_PART = 64 << 10;
const LARGEST_PART = 8 << 20;
const FAST_MS = 1_000;
const SLOW_MS = 5_000;
/** One after the other, with no byte arriving between them. */
const MOST_TRIES = 20;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** A part takes some seconds: then progress is seen, a cut connection costs little, and a fast one is used. */
export function nextPart(part: number, tookMs: number): number {
  if (tookMs < FAST_MS) return Math.min(part * 2, LARGEST_PART);
  return tookMs > SLOW_MS ? Math.max(part / 2, SMALLEST_PART) : part;
}

/** Sends all of it, and goes on after each interruption where the server has come to. Returns the id of the deployment. */
export async function transfer(of: Transfer): Promise<string> {
  const sha256 = await hashOf(of);
  of.signal.throwIfAborted();
  const begun = await unfinished(of, sha256);
  // Its answer is waited for also when it is cancelled meanwhile: only with its id it can be deleted.
  const upload = begun ?? (await of.requests.begin(of.bytes.size, sha256));
  of.memory.keep(sha256, upload.id);
  of.signal.throwIfAborted();
  try {
    const deployment = await sendAll(of, upload);
    of.memory.forget(sha256);
    return deployment;
  } catch (error) {
    if (isOver(error)) of.memory.forget(sha256);
    throw error;
  }
}

async function hashOf({ bytes, signal, onProgress }: Transfer): Promise<string> {
  const hash = new Sha256();
  for (let at = 0; at < bytes.size; at += READ_AT_ONCE) {
    signal.throwIfAborted();
    onProgress({ is: "reading", done: at });
    hash.update(await bytes.read(at, at + READ_AT_ONCE));
  }
  return hash.digest();
}

/** One of the same bytes that was begun before, also by this page before it was loaded anew. */
async function unfinished({ requests, memory, signal }: Transfer, sha256: string): Promise<Upload | null> {
  const id = memory.recall(sha256);
  if (id === null) return null;
  return requests.look(id, signal).catch((error: unknown) => {
    if (!isGone(error)) throw error;
    memory.forget(sha256);
    return null;
  });
}

async function sendAll(of: Transfer, begun: Upload): Promise<string> {
  let upload = begun;
  let part = FIRST_PART;
  let failures = 0;
  while (upload.deployment_id === null) {
    try {
      const began = Date.now();
      const before = upload.offset;
      upload = await sendPart(of, upload, part);
      part = nextPart(part, Date.now() - began);
      if (upload.offset > before) failures = 0;
    } catch (error) {
      failures += 1;
      if (of.signal.aborted || !canBeTriedAgain(error) || failures > MOST_TRIES) throw error;
      of.onProgress({ is: "waiting", done: upload.offset, error });
      await of.pause(waitBefore(failures, error));
      of.signal.throwIfAborted();
      // Its answer may be lost as well; then what was known before is tried, and the server says where it is.
      upload = await of.requests.look(upload.id, of.signal).catch((again: unknown) => {
        if (of.signal.aborted || !canBeTriedAgain(again)) throw again;
        return upload;
      });
    }
  }
  return upload.deployment_id;
}

/** The last part is answered when all of it was unpacked. An empty one asks for that answer again. */
async function sendPart(
  { bytes, requests, signal, onProgress }: Transfer,
  upload: Upload,
  size: number,
): Promise<Upload> {
  const { id, offset } = upload;
  const end = Math.min(bytes.size, offset + size);
  onProgress(end === bytes.size ? { is: "finishing" } : { is: "sending", done: offset });
  return requests.send(id, offset, await bytes.read(offset, end), signal);
}

/** Twice as long each time, unless the server says when. */
function waitBefore(failures: number, error: Error): number {
  const asked = error instanceof ApiError && error.retryAfterSeconds ? error.retryAfterSeconds * 1000 : 0;
  return Math.min(LONGEST_WAIT_MS, Math.max(asked, FIRST_WAIT_MS * 2 ** (failures - 1)));
}

/** No answer, too slow, too many, or another request that still brings a part. */
function canBeTriedAgain(error: unknown): error is Error {
  if (error instanceof NetworkError) return true;
  return error instanceof ApiError && ([408, 409, 429].includes(error.status) || error.status >= 500);
}

const isGone = (error: unknown): boolean => error instanceof ApiError && error.status === 404;

/** The server has deleted it: what it was refused for would be refused again. */
const isOver = (error: unknown): boolean => error instanceof ApiError && [400, 404, 413].includes(error.status);
