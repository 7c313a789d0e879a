import { ApiError, NetworkError, open } from "./client";
import { EventParser, type ServerSentEvent } from "./sse";

export interface StreamOptions {
  url: string;
  /** Where an earlier stream has ended, if there was one. */
  lastEventId?: string;
  signal: AbortSignal;
  onEvent: (event: ServerSentEvent) => void;
  onState?: (state: "open" | "waiting") => void;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

/** Reads a stream until the signal ends it, and goes on after each interruption where it has stopped. */
export async function follow(options: StreamOptions): Promise<void> {
  let lastEventId = options.lastEventId ?? "";
  let wait = FIRST_WAIT_MS;
  while (!options.signal.aborted) {
    try {
      await readOnce(options, lastEventId, (event) => {
        if (event.id) lastEventId = event.id;
        wait = FIRST_WAIT_MS;
        if (event.data) options.onEvent(event);
      });
    } catch (error) {
      if (options.signal.aborted) return;
      if (!(error instanceof NetworkError) && !canBeTriedAgain(error)) throw error;
      if (error instanceof ApiError && error.retryAfterSeconds) wait = error.retryAfterSeconds * 1000;
    }
    if (options.signal.aborted) return;
    options.onState?.("waiting");
    await pause(wait, options.signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

function canBeTriedAgain(error: unknown): boolean {
  // Anything but a refusal is a connection that broke while it was read.
  if (!(error instanceof ApiError)) return true;
  return error.status === 429 || error.status >= 500;
}

async function readOnce(options: StreamOptions, from: string, onEvent: (event: ServerSentEvent) => void) {
  const headers: Record<string, string> = from ? { "Last-Event-ID": from } : {};
  const answer = await open(options.url, { headers, signal: options.signal });
  if (!answer.body) return;
  options.onState?.("open");
  const parser = new EventParser();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const event of parser.push(value)) onEvent(event);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    signal.addEventListener("abort", done, { once: true });
  });
}
