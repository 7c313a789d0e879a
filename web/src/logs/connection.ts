import { Follower } from "./follower";
import type { Arrived } from "./line";
import type { LogReader } from "./reader";
import type { LogWindow } from "./window";

export type ConnectionState = "closed" | "connecting" | "open" | "waiting";

interface Handlers {
  onLines: (arrived: readonly Arrived[]) => void;
  onChange: () => void;
  onError: (error: Error) => void;
  /** The newest lines are to be read anew. */
  onReload: () => void;
  /** Whether the reader is at the newest line, and wants to stay there. */
  isFollowing: () => boolean;
}

/** Missing more than this, a reader of the newest lines is shown those at once; the others can be scrolled to. */
const MANY_LINES = 2_000;
const CALM_LINES_PER_SECOND = 5;

/** How new lines come: only while there can be any, and while they are looked at. */
export class Connection {
  state: ConnectionState = "closed";
  isLive = false;
  /** Few enough lines come that they can be read out. */
  isCalm = true;
  private tookAt = 0;
  /** The tab is looked at, or was a moment ago. */
  isAwake = true;
  private readonly follower: Follower;

  constructor(
    private readonly reader: LogReader,
    private readonly window: LogWindow,
    private readonly on: Handlers,
  ) {
    this.follower = new Follower(reader.followAddress, {
      onLines: (arrived) => {
        const passed = Math.max(50, Date.now() - this.tookAt);
        this.isCalm = (arrived.length * 1000) / passed <= CALM_LINES_PER_SECOND;
        this.tookAt = Date.now();
        on.onLines(arrived);
      },
      onState: (state) => this.become(state),
      onError: (error) => {
        this.become("closed");
        on.onError(error);
      },
      onRestart: () => {
        this.close();
        this.window.newest = 0;
        on.onReload();
      },
    });
  }

  get isRunning(): boolean {
    return this.follower.isRunning;
  }

  /** Goes on after the last line that is known. */
  open(): void {
    if (!this.isLive || !this.isAwake || this.isRunning) return;
    this.follower.start(this.window.newest);
    this.become("connecting");
  }

  close(): void {
    this.follower.stop();
    this.state = "closed";
  }

  /** The tab is not looked at: nothing is read any more. */
  sleep(): void {
    this.isAwake = false;
    this.close();
  }

  async wake(signal: AbortSignal): Promise<void> {
    this.isAwake = true;
    if (!this.isLive || this.isRunning) return;
    try {
      const newest = await this.reader.newest(signal);
      const missed = newest - this.window.newest;
      if (missed > MANY_LINES && this.on.isFollowing()) return this.on.onReload();
      if (missed > MANY_LINES) this.window.skipTo(newest, this.reader.countsAll ? missed : 0);
    } catch {
      // The connection is tried again and again, and tells what keeps it from being made.
    }
    if (!signal.aborted) this.open();
  }

  private become(state: ConnectionState): void {
    this.state = state;
    this.on.onChange();
  }
}
