import { type Arrived, bytesOf, find, type Line, type Page } from "./line";

export interface Bounds {
  lines: number;
  bytes: number;
}

export const BOUNDS: Bounds = { lines: 5_000, bytes: 24 * 1024 * 1024 };

/**
 * A part of a log, without holes: every wanted line from `start` to `end`. It is bounded, so what is added at one end is taken away at
 * the other. Lines that are followed are kept only where the window ends at the newest line; elsewhere they are counted.
 */
export class LogWindow {
  lines: readonly Line[] = [];
  /** Earlier lines are before this one. */
  start = 0;
  /** Later lines are after this one. */
  end = 0;
  hasOlder = false;
  isAtNewest = false;
  /** Lines that have come since the reader left the newest one. */
  unseen = 0;
  /** The last line that is known to exist. */
  newest = 0;

  private bytes = 0;
  /** What comes while later lines are being read: their answer may not have it yet. */
  private held: Arrived[] | null = null;
  private heldAfter = 0;

  constructor(private readonly bounds: Bounds = BOUNDS) {}

  get size(): number {
    return this.bytes;
  }

  /** To be called before the request for the newest or for later lines is sent. */
  hold(): void {
    this.held ??= [];
    this.heldAfter = this.newest;
  }

  /** For when that request has failed. */
  release(): void {
    const held = this.held ?? [];
    this.held = null;
    if (this.isAtNewest) this.keep(held, false);
  }

  showNewest(page: Page): void {
    this.replace(page.lines);
    this.start = page.edge;
    this.hasOlder = !page.isLast;
    // All that was known when it was asked for is in the answer, also where the last of it does not match the filter.
    this.end = Math.max(this.heldAfter, page.lines.at(-1)?.cursor ?? 0);
    this.unseen = 0;
    this.trimOldest();
    this.attach();
  }

  /** Earlier lines and later lines, which begin at the same place. */
  showAround(earlier: Page, later: Page): void {
    this.replace([...earlier.lines, ...later.lines]);
    this.start = earlier.edge;
    this.hasOlder = !earlier.isLast;
    this.end = later.edge;
    this.isAtNewest = false;
    this.attachIfReached(later);
  }

  addOlder(page: Page): void {
    const added = page.lines.filter((line) => line.cursor < this.start);
    this.lines = [...added, ...this.lines];
    this.bytes += sum(added);
    this.start = page.edge;
    this.hasOlder = !page.isLast;
    this.trimNewest();
  }

  addNewer(page: Page): void {
    this.append(page.lines.filter((line) => line.cursor > this.end));
    this.end = Math.max(this.end, page.edge);
    this.trimOldest();
    this.attachIfReached(page);
  }

  /** Takes lines as they come. A reader who follows sees the newest; under one who reads, nothing goes away. */
  follow(arrived: readonly Arrived[], isFollowing: boolean): void {
    const fresh = arrived.filter(({ cursor }) => cursor > this.newest);
    const last = fresh.at(-1);
    if (!last) return;
    this.newest = last.cursor;
    this.unseen = isFollowing ? 0 : this.unseen + fresh.length;
    if (this.held) this.holdMore(fresh);
    else if (this.isAtNewest) this.keep(fresh, isFollowing);
  }

  /** Lines that are known to exist, without having been sent. */
  skipTo(newest: number, unseen: number): void {
    if (newest <= this.newest) return;
    this.newest = newest;
    this.unseen += unseen;
    this.isAtNewest = false;
  }

  markSeen(): void {
    if (this.isAtNewest) this.unseen = 0;
  }

  has(cursor: number): boolean {
    return this.lines[find(this.lines, cursor)]?.cursor === cursor;
  }

  private holdMore(fresh: readonly Arrived[]): void {
    // Beyond this it cannot be kept anyway.
    if (this.held && this.held.length <= this.bounds.lines) this.held.push(...fresh);
  }

  private attachIfReached(page: Page): void {
    // While nothing is followed, only the server knows where the end is.
    const isReached = this.held ? this.end >= this.heldAfter : page.isLast;
    if (isReached) this.attach();
    else this.held = null;
  }

  private attach(): void {
    const held = this.held ?? [];
    this.held = null;
    this.newest = Math.max(this.newest, this.end);
    // What came meanwhile is more than the window takes, so that lines are missing between.
    this.isAtNewest = held.length <= this.bounds.lines;
    if (this.isAtNewest) this.keep(held, true);
  }

  private keep(arrived: readonly Arrived[], mayDropOldest: boolean): void {
    const fresh = arrived.filter(({ cursor }) => cursor > this.end);
    const last = fresh.at(-1);
    if (!last) return;
    if (!mayDropOldest && !this.hasRoomFor(fresh)) {
      this.isAtNewest = false;
      return;
    }
    const wanted = fresh.slice(-this.bounds.lines);
    if (wanted.length < fresh.length) this.dropAll(wanted[0]?.cursor ?? last.cursor);
    this.append(wanted.map((one) => one.read()));
    this.end = last.cursor;
    this.trimOldest();
  }

  private hasRoomFor(arrived: readonly Arrived[]): boolean {
    return this.lines.length + arrived.length <= this.bounds.lines && this.bytes < this.bounds.bytes;
  }

  private replace(lines: readonly Line[]): void {
    this.lines = lines;
    this.bytes = sum(lines);
  }

  private append(added: readonly Line[]): void {
    if (added.length === 0) return;
    this.lines = [...this.lines, ...added];
    this.bytes += sum(added);
  }

  private dropAll(start: number): void {
    this.replace([]);
    this.start = start;
    this.hasOlder = true;
  }

  private isOver(count: number): boolean {
    return count > this.bounds.lines || (this.bytes > this.bounds.bytes && count > 1);
  }

  private trimOldest(): void {
    let from = 0;
    while (this.isOver(this.lines.length - from)) this.bytes -= bytesOf(this.lines[from++] as Line);
    if (from === 0) return;
    this.lines = this.lines.slice(from);
    this.hasOlder = true;
    this.start = this.lines[0]?.cursor ?? this.start;
  }

  private trimNewest(): void {
    let to = this.lines.length;
    while (this.isOver(to)) this.bytes -= bytesOf(this.lines[--to] as Line);
    if (to === this.lines.length) return;
    this.lines = this.lines.slice(0, to);
    this.end = this.lines.at(-1)?.cursor ?? this.end;
    this.isAtNewest = false;
  }
}

function sum(lines: readonly Line[]): number {
  let bytes = 0;
  for (const line of lines) bytes += bytesOf(line);
  return bytes;
}
