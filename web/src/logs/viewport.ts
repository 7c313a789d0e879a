import { Heights } from "./heights";
import { Layout } from "./layout";
import { find } from "./line";
import type { Selected } from "./selection";
import type { LogSession, Target } from "./session";

/** Rows are drawn so far beyond what is seen, and drawn anew once for so much scrolling. */
const BEYOND_PX = 400;
const BAND_PX = 100;
/** More lines are asked for when so much is left. */
const EDGE_PX = 4_000;
const NEAR_END_PX = 3;
/** Of an own change of the scroll position, what the browser may round. */
const ROUNDED_PX = 1.5;

/** What of a log is seen, and what is done so that it stays in place while lines come and go around it. */
export class Viewport {
  readonly layout = new Layout();
  readonly heights = new Heights();
  selected: Selected = null;
  /** The first line that is seen. */
  anchor = 0;

  private box: HTMLElement | null = null;
  private isAtEnd = true;
  private scrollTop = 0;
  private height = 600;
  private band = 0;
  private expected = -1;
  private applied = 0;
  private target: Target | null = null;
  private arranged = -1;

  get follows(): boolean {
    return this.isAtEnd && !this.selected;
  }

  /** Also what undoes it. */
  attach(box: HTMLElement): () => void {
    this.box = box;
    this.resize();
    const onWheel = ({ deltaY }: WheelEvent) => {
      // The reader turns up: at once, because lines that come could be faster.
      if (deltaY < 0 && this.scrollTop > 0) this.isAtEnd = false;
    };
    // Passive, so that scrolling does not wait for it.
    box.addEventListener("wheel", onWheel, { passive: true });
    return () => {
      box.removeEventListener("wheel", onWheel);
      this.box = null;
    };
  }

  /** True if lines may be higher or lower than before. */
  resize(): boolean {
    const { box, heights } = this;
    if (!box) return false;
    const style = getComputedStyle(box);
    const columns = Math.max(10, Math.floor((box.clientWidth - 160) / (Number.parseFloat(style.fontSize) * 0.6)));
    const isOther = columns !== heights.columns || Number.parseFloat(style.lineHeight) !== heights.lineHeight;
    heights.lineHeight = Number.parseFloat(style.lineHeight) || 20;
    heights.columns = columns;
    if (isOther) heights.forget();
    const isHigher = box.clientHeight !== this.height;
    this.height = box.clientHeight;
    return isOther || isHigher;
  }

  /** Before drawing: where the lines are, and where to scroll so that the anchor does not move. */
  arrange(session: LogSession): void {
    const { lines, isAtNewest } = session.window;
    const { layout, heights } = this;
    if (lines !== layout.lines || heights.version !== this.arranged) {
      const before = this.placeOf(this.anchor);
      layout.update(lines, heights.of, this.anchor);
      this.arranged = heights.version;
      const after = this.placeOf(this.anchor);
      if (before !== null && after !== null) this.scrollTop += after - before;
    }
    if (session.target !== this.target) this.aimAt(session.target);
    else if (this.follows && isAtNewest) this.scrollTop = this.farthest;
    this.scrollTop = Math.max(0, Math.min(this.scrollTop, this.farthest));
  }

  /** The lines to draw. */
  range(): [from: number, to: number] {
    const at = this.band * BAND_PX;
    const isNear = Math.abs(this.scrollTop - at) < BAND_PX;
    if (!isNear) this.band = Math.floor(this.scrollTop / BAND_PX);
    const top = this.band * BAND_PX;
    const to = this.layout.indexAt(top + BAND_PX + this.height + BEYOND_PX) + 1;
    return [this.layout.indexAt(top - BEYOND_PX), Math.min(to, this.layout.lines.length)];
  }

  /** After drawing. True if it has to be drawn again, because rows are not as high as was thought. */
  settle(session: LogSession, rows: Iterable<Element>, hasOpen: boolean): boolean {
    const { box } = this;
    if (!box) return false;
    // Not compared with the box's own: to ask for that makes the browser lay out everything at once.
    if (Math.abs(this.applied - this.scrollTop) > 0.5) {
      box.scrollTop = this.scrollTop;
      this.applied = this.scrollTop;
      this.expected = this.scrollTop;
    }
    this.findAnchor();
    const isOther = (this.heights.wraps || hasOpen) && this.measure(rows);
    session.setFollowing(this.follows);
    if (!isOther) this.askForMore(session);
    return isOther;
  }

  /** What has to be drawn again: nothing, the rows, or all, because the reader has left the end or has come to it. */
  scrolled(session: LogSession): "nothing" | "rows" | "all" {
    const { box } = this;
    if (!box) return "nothing";
    this.scrollTop = box.scrollTop;
    this.applied = this.scrollTop;
    const isOwn = Math.abs(this.scrollTop - this.expected) < ROUNDED_PX;
    const before = this.follows;
    if (!isOwn) {
      this.expected = -1;
      // The end of the window is not the end of the log: who scrolls on is not taken there.
      this.isAtEnd = session.window.isAtNewest && this.farthest - this.scrollTop < NEAR_END_PX;
    }
    this.findAnchor();
    session.setFollowing(this.follows);
    this.askForMore(session);
    const band = Math.floor(this.scrollTop / BAND_PX);
    const isOther = band !== this.band;
    this.band = band;
    if (before !== this.follows) return "all";
    return isOther ? "rows" : "nothing";
  }

  goToEnd(): void {
    this.isAtEnd = true;
  }

  private get farthest(): number {
    return Math.max(0, this.layout.height - this.height);
  }

  private aimAt(target: Target | null): void {
    this.target = target;
    if (!target) return;
    this.isAtEnd = target.place === "end";
    if (target.place === "start") this.scrollTop = 0;
    if (target.place === "end") this.scrollTop = this.farthest;
    if (target.place === "middle") {
      const index = find(this.layout.lines, target.cursor);
      const place = this.layout.top(index) - this.layout.origin;
      const isSeen = place >= this.scrollTop && place < this.scrollTop + this.height - this.heights.lineHeight;
      if (!isSeen) this.scrollTop = place - this.height / 3;
      this.anchor = this.layout.lines[index]?.cursor ?? 0;
    }
  }

  private placeOf(cursor: number): number | null {
    const index = find(this.layout.lines, cursor);
    if (this.layout.lines[index]?.cursor !== cursor) return null;
    return this.layout.top(index) - this.layout.origin;
  }

  private findAnchor(): void {
    this.anchor = this.layout.lines[this.layout.indexAt(this.scrollTop)]?.cursor ?? 0;
  }

  private measure(rows: Iterable<Element>): boolean {
    const { heights, layout } = this;
    const version = heights.version;
    for (const row of rows) {
      if (!(row instanceof HTMLElement)) continue;
      const cursor = Number(row.dataset.cursor);
      const isOpen = row.dataset.open !== undefined;
      if (!isOpen && (!heights.wraps || heights.isMeasured(cursor))) continue;
      const line = layout.lines[find(layout.lines, cursor)];
      if (line?.cursor === cursor) heights.set(line, row.getBoundingClientRect().height);
    }
    return heights.version !== version;
  }

  private askForMore(session: LogSession): void {
    if (this.scrollTop < EDGE_PX) session.older();
    if (this.farthest - this.scrollTop < EDGE_PX) session.newer();
  }
}
