import { Connection } from "./connection";
import type { Arrived, Page } from "./line";
import type { LogReader } from "./reader";
import { LogWindow } from "./window";

/** Where the view is to go. A new object is a new wish. */
export interface Target {
  cursor: number;
  place: "start" | "middle" | "end";
}

/** One log that is read: its window, what is being loaded, and the connection that new lines come through. */
export class LogSession {
  private static count = 0;
  /** Each session has another one. */
  readonly number = ++LogSession.count;
  readonly window = new LogWindow();
  readonly connection: Connection;
  isJumping = false;
  isLoadingOlder = false;
  isLoadingNewer = false;
  error: Error | null = null;
  target: Target | null = null;
  /** The reader is at the newest line, and wants to stay there. */
  isFollowing = true;
  private ending = new AbortController();

  constructor(
    readonly reader: LogReader,
    private readonly onChange: () => void,
  ) {
    this.connection = new Connection(reader, this.window, {
      onLines: (arrived) => this.take(arrived),
      onChange,
      onError: (error) => {
        this.error = error;
        this.onChange();
      },
      onReload: () => void this.toNewest(),
      isFollowing: () => this.isFollowing && this.window.isAtNewest,
    });
  }

  /** At the newest line, or where a link leads. */
  async open(line: number | null, isLive: boolean): Promise<void> {
    this.connection.isLive = isLive;
    await (line === null ? this.toNewest() : this.toLine(line));
  }

  end(): void {
    this.ending.abort();
    this.connection.close();
  }

  toNewest(): Promise<void> {
    return this.jump(async (signal) => {
      // With a filter, the last line that matches does not tell how far the server has looked.
      if (!this.reader.isWhole && this.window.newest === 0) await this.learnNewest(signal);
      this.window.hold();
      const page = await this.reader.before(null, signal);
      this.window.showNewest(page);
      return { cursor: this.window.end, place: "end" };
    });
  }

  toOldest(): Promise<void> {
    return this.jump(async (signal) => {
      await this.learnNewest(signal);
      this.window.hold();
      const later = await this.reader.after(0, signal);
      this.window.showAround({ lines: [], edge: 0, isLast: true }, later);
      return { cursor: 0, place: "start" };
    });
  }

  async toLine(cursor: number): Promise<void> {
    if (this.window.has(cursor)) {
      this.target = { cursor, place: "middle" };
      this.onChange();
      return;
    }
    await this.jump((signal) => this.showLine(cursor, signal));
  }

  toTime(time: string): Promise<void> {
    return this.jump(async (signal) => {
      const cursor = await this.reader.atTime(time, signal);
      return this.showLine(cursor ?? Math.max(1, await this.reader.newest(signal)), signal);
    });
  }

  older(): void {
    if (!this.mayLoad || this.isLoadingOlder || !this.window.hasOlder) return;
    void this.load(
      "isLoadingOlder",
      (signal) => this.reader.before(this.window.start, signal),
      (page) => this.window.addOlder(page),
    );
  }

  newer(): void {
    if (!this.mayLoad || this.isLoadingNewer || this.window.isAtNewest) return;
    this.readNewer();
  }

  private get mayLoad(): boolean {
    return this.connection.isAwake && !this.isJumping && !this.error;
  }

  again(): void {
    this.error = null;
    this.wake();
    if (this.window.lines.length === 0) void this.toNewest();
  }

  setFollowing(isFollowing: boolean): void {
    this.isFollowing = isFollowing;
    if (!isFollowing || !this.window.isAtNewest || this.window.unseen === 0) return;
    this.window.markSeen();
    this.onChange();
  }

  setLive(isLive: boolean): void {
    if (this.connection.isLive === isLive) return;
    this.connection.isLive = isLive;
    if (isLive) this.wake();
    else this.finish();
  }

  get isAsleep(): boolean {
    return !this.connection.isAwake;
  }

  sleep(): void {
    this.connection.sleep();
  }

  wake(): void {
    void this.connection.wake(this.ending.signal);
    // A search that has stopped goes on.
    this.onChange();
  }

  /** Nothing more will be printed: what was printed last may not have come yet. */
  private finish(): void {
    this.connection.close();
    if (this.window.isAtNewest && !this.isLoadingNewer) this.readNewer();
    this.onChange();
  }

  private take(arrived: readonly Arrived[]): void {
    if (this.ending.signal.aborted) return;
    const { accepts } = this.reader;
    const wanted = accepts ? arrived.filter((one) => accepts(one.read())) : arrived;
    this.window.follow(wanted, this.isFollowing && this.window.isAtNewest);
    if (wanted.length > 0) this.onChange();
  }

  private readNewer(): void {
    if (this.connection.isLive) this.window.hold();
    void this.load(
      "isLoadingNewer",
      (signal) => this.reader.after(this.window.end, signal),
      (page) => this.window.addNewer(page),
    );
  }

  private async showLine(cursor: number, signal: AbortSignal): Promise<Target> {
    await this.learnNewest(signal);
    this.window.hold();
    const [earlier, later] = await Promise.all([
      this.reader.before(cursor, signal),
      this.reader.after(cursor - 1, signal),
    ]);
    this.window.showAround(earlier, later);
    return { cursor, place: "middle" };
  }

  private async learnNewest(signal: AbortSignal): Promise<void> {
    if (!this.connection.isRunning) this.window.skipTo(await this.reader.newest(signal), 0);
  }

  private async load(
    flag: "isLoadingOlder" | "isLoadingNewer",
    read: (signal: AbortSignal) => Promise<Page>,
    add: (page: Page) => void,
  ): Promise<void> {
    const { signal } = this.ending;
    this[flag] = true;
    this.onChange();
    try {
      const page = await read(signal);
      if (signal.aborted) return;
      add(page);
    } catch (error) {
      if (signal.aborted) return;
      if (flag === "isLoadingNewer") this.window.release();
      this.error = error as Error;
    }
    this[flag] = false;
    this.onChange();
  }

  /** Replaces the window. What was being loaded for the former one is given up. */
  private async jump(show: (signal: AbortSignal) => Promise<Target>): Promise<void> {
    this.ending.abort();
    const ending = new AbortController();
    this.ending = ending;
    this.isLoadingOlder = false;
    this.isLoadingNewer = false;
    this.isJumping = true;
    this.error = null;
    this.onChange();
    try {
      const target = await show(ending.signal);
      if (ending.signal.aborted) return;
      this.target = target;
    } catch (error) {
      if (ending.signal.aborted) return;
      this.window.release();
      this.error = error as Error;
    }
    this.isJumping = false;
    if (!this.error) this.connection.open();
    this.onChange();
  }
}
