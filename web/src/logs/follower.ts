import type { ServerSentEvent } from "../api/sse";
import { follow } from "../api/stream";
import type { Arrived } from "./line";
import { followedLine } from "./sent";

interface Handlers {
  onLines: (arrived: readonly Arrived[]) => void;
  onState: (state: "open" | "waiting") => void;
  onError: (error: Error) => void;
  /** The numbers of the lines have gone back: the server's store was put back to an earlier time. */
  onRestart: () => void;
}

/** Lines can come faster than they can be drawn or read. */
const FLUSH_MS = 50;
const HIDDEN_FLUSH_MS = 1_000;
const MOST_WAITING = 1_000;

/** One connection that lines come through. They are handed on together, just before a frame is drawn. */
export class Follower {
  private last = 0;
  private waiting: Arrived[] = [];
  private ending: AbortController | null = null;
  private cancelFlush: (() => void) | null = null;
  private flushedAt = 0;

  constructor(
    private readonly url: string,
    private readonly on: Handlers,
  ) {}

  get isRunning(): boolean {
    return this.ending !== null;
  }

  start(after: number): void {
    this.stop();
    const ending = new AbortController();
    this.ending = ending;
    this.last = after;
    follow({
      url: this.url,
      lastEventId: String(after),
      signal: ending.signal,
      onState: (state) => ending.signal.aborted || this.on.onState(state),
      onEvent: (event) => ending.signal.aborted || this.take(event),
    }).catch((error: Error) => {
      if (ending.signal.aborted) return;
      this.stop();
      this.on.onError(error);
    });
  }

  stop(): void {
    this.ending?.abort();
    this.ending = null;
    this.flush();
  }

  private take({ data, id }: ServerSentEvent): void {
    const cursor = Number(id);
    if (cursor <= this.last) {
      this.waiting = [];
      this.on.onRestart();
      return;
    }
    this.last = cursor;
    this.waiting.push({ cursor, read: () => followedLine(data, cursor) });
    if (this.waiting.length >= MOST_WAITING) this.flush();
    else this.cancelFlush ??= this.planFlush();
  }

  private planFlush(): () => void {
    const wait = document.hidden ? HIDDEN_FLUSH_MS : Math.max(0, this.flushedAt + FLUSH_MS - performance.now());
    let frame = 0;
    const timer = setTimeout(() => {
      // A hidden tab has no frames. In a frame, the reader's own scrolling is known before lines are added.
      if (document.hidden) this.flush();
      else frame = requestAnimationFrame(() => this.flush());
    }, wait);
    return () => {
      clearTimeout(timer);
      cancelAnimationFrame(frame);
    };
  }

  private flush(): void {
    this.cancelFlush?.();
    this.cancelFlush = null;
    this.flushedAt = performance.now();
    const arrived = this.waiting;
    this.waiting = [];
    if (arrived.length > 0) this.on.onLines(arrived);
  }
}
