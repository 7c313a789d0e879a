import type { Line } from "./line";
import { SHOWN_CHARACTERS } from "./parse";

/** More are not remembered: lines that are out of the window are measured again when they come back. */
const MOST_REMEMBERED = 20_000;

/** How high lines are: all the same, except where they wrap or are unfolded, which is measured once they are drawn. */
export class Heights {
  lineHeight = 20;
  wraps = false;
  columns = 80;
  /** Changes with every measurement. */
  version = 0;
  private measured = new Map<number, number>();

  readonly of = (line: Line): number => {
    const measured = this.measured.size > 0 ? this.measured.get(line.cursor) : undefined;
    if (measured !== undefined) return measured;
    if (!this.wraps) return this.lineHeight;
    const length = Math.min(line.text.length, SHOWN_CHARACTERS);
    return this.lineHeight * Math.max(1, Math.ceil(length / this.columns));
  };

  isMeasured(cursor: number): boolean {
    return this.measured.has(cursor);
  }

  set(line: Line, height: number): void {
    const isNews = Math.abs(this.of(line) - height) > 0.1;
    if (this.wraps || isNews) this.measured.set(line.cursor, height);
    if (isNews) this.version += 1;
    if (this.measured.size > MOST_REMEMBERED) this.forget();
  }

  /** Something has changed about this line. */
  unset(cursor: number): void {
    if (this.measured.delete(cursor)) this.version += 1;
  }

  forget(): void {
    this.measured.clear();
    this.version += 1;
  }
}
