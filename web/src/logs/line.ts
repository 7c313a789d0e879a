import type { Schemas } from "../api/client";

export type Stream = Schemas["LogStream"];
export type Step = Schemas["LogStep"];

/** A line as it was printed. What is in it is worked out only when it is shown: see `parse.ts`. */
export interface Line {
  /** Its place among the lines of its source. Later lines have greater ones. */
  readonly cursor: number;
  readonly at: string;
  readonly text: string;
  readonly stream: Stream;
  /** Of an execution's line: the id of its step. */
  readonly step: string;
  /** Of a compose file; empty for other lines. */
  readonly service: string;
  /** Not a line, but how many lines were removed before they could be read. */
  readonly missing?: number;
}

/** A line that has come, and is read only if it is kept. */
export interface Arrived {
  readonly cursor: number;
  read(): Line;
}

/** Lines in the order in which they were printed, and how far the server has looked for them. */
export interface Page {
  readonly lines: readonly Line[];
  /**
   * Of a page of earlier lines: the next page is before this one. Of a page of later lines: everything up to this one was looked at.
   * A search that finds nothing still gets on.
   */
  readonly edge: number;
  /** There is nothing beyond it at the time of the answer. */
  readonly isLast: boolean;
}

/** What a line takes in memory, about. */
export const LINE_BYTES = 200;
export const bytesOf = (line: Line): number => LINE_BYTES + 2 * line.text.length;

/** The line, or the first one after it. */
export function find(lines: readonly Line[], cursor: number): number {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lines[middle]?.cursor ?? 0) < cursor) low = middle + 1;
    else high = middle;
  }
  return low;
}
