import type { Span } from "./ansi";

export interface Piece extends Span {
  isHit: boolean;
}

/** More in one line tell nothing, and cost. */
const MOST_HITS = 100;

/** Cuts spans where hits begin and end. */
export function withHits(spans: readonly Span[], shown: string, pattern: RegExp | null): Piece[] {
  const hits = pattern ? hitsIn(shown, pattern) : [];
  const pieces: Piece[] = [];
  let [at, next] = [0, 0];
  for (const { text, look } of spans) {
    const end = at + text.length;
    let from = at;
    while (from < end) {
      while ((hits[next]?.[1] ?? Number.POSITIVE_INFINITY) <= from) next += 1;
      const [hitFrom, hitTo] = hits[next] ?? [end, end];
      const isHit = hitFrom <= from;
      const to = Math.min(end, isHit ? hitTo : hitFrom);
      pieces.push({ text: text.slice(from - at, to - at), look, isHit });
      from = to;
    }
    at = end;
  }
  return pieces;
}

function hitsIn(text: string, pattern: RegExp): [from: number, to: number][] {
  const hits: [number, number][] = [];
  for (const found of text.matchAll(pattern)) {
    if (found[0].length > 0) hits.push([found.index, found.index + found[0].length]);
    if (hits.length >= MOST_HITS) break;
  }
  return hits;
}
