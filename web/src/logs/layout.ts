import { find, type Line } from "./line";

/** Beyond this, browsers lose precision. */
const FARTHEST_PX = 4_000_000;

/**
 * Where each line is. A line keeps its place when others are added or dropped before it, so that its row need not be touched: the
 * places begin at `origin`, which moves instead.
 */
export class Layout {
  lines: readonly Line[] = [];
  origin = 0;
  /** Where each line begins, and at last where the last one ends. */
  private tops = new Float64Array(1);

  get height(): number {
    return (this.tops[this.lines.length] ?? 0) - this.origin;
  }

  top(index: number): number {
    return this.tops[index] ?? 0;
  }

  update(lines: readonly Line[], heightOf: (line: Line) => number, anchor: number): void {
    const kept = this.keptPlace(lines, anchor);
    if (this.tops.length < lines.length + 1) this.tops = new Float64Array(Math.ceil((lines.length + 1) * 1.5));
    let top = 0;
    for (let index = 0; index < lines.length; index += 1) {
      this.tops[index] = top;
      top += heightOf(lines[index] as Line);
    }
    this.tops[lines.length] = top;
    this.lines = lines;
    this.origin = 0;
    const shift = kept ? kept.top - (this.tops[kept.index] ?? 0) : 0;
    if (shift === 0 || Math.abs(shift) > FARTHEST_PX) return;
    for (let index = 0; index <= lines.length; index += 1) this.tops[index] = (this.tops[index] ?? 0) + shift;
    this.origin = shift;
  }

  /** The line at a place that is measured from the origin. */
  indexAt(place: number): number {
    let [low, high] = [0, Math.max(0, this.lines.length - 1)];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.top(middle) - this.origin <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The anchor, or else the last line that is still there: those that are dropped are at the other end. */
  private keptPlace(lines: readonly Line[], anchor: number): { index: number; top: number } | null {
    const [first, last] = [lines[0], lines.at(-1)];
    if (!first || !last) return null;
    const isThere = (cursor: number) => cursor >= first.cursor && cursor <= last.cursor;
    const old = [anchor, this.lines[0]?.cursor ?? -1, this.lines.at(-1)?.cursor ?? -1].find(isThere);
    if (old === undefined) return null;
    const [before, index] = [find(this.lines, old), find(lines, old)];
    return this.lines[before]?.cursor === lines[index]?.cursor ? { index, top: this.top(before) } : null;
  }
}
