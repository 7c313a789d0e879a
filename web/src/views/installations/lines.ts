import { type InstallationLog, installationLines } from "../../api/installations";

/** So many lines are kept; a log can have millions. */
export const MOST_LINES = 2_000;
const PAGE = 1_000;

export interface Lines {
  lines: readonly InstallationLog[];
  /** Earlier ones can be read. */
  hasEarlier: boolean;
  /** The reader has gone back so far that later ones were let go. */
  isCut: boolean;
}

export const NO_LINES: Lines = { lines: [], hasEarlier: false, isCut: false };

/** The newest stay, unless the reader has gone back. */
export function append(before: Lines, more: readonly InstallationLog[]): Lines {
  // What follows would leave a hole.
  if (before.isCut) return before;
  const { lines, hasEarlier } = before;
  const last = lines.at(-1)?.sequence ?? 0;
  const all = [...lines, ...more.filter(({ sequence }) => sequence > last)];
  return { lines: all.slice(-MOST_LINES), hasEarlier: hasEarlier || all.length > MOST_LINES, isCut: false };
}

/** The oldest stay. */
export function prepend({ lines, isCut }: Lines, earlier: readonly InstallationLog[], hasEarlier: boolean): Lines {
  const first = lines[0]?.sequence ?? Number.POSITIVE_INFINITY;
  const all = [...earlier.filter(({ sequence }) => sequence < first), ...lines];
  return { lines: all.slice(0, MOST_LINES), hasEarlier, isCut: isCut || all.length > MOST_LINES };
}

type Ask = (after: number, limit: number) => Promise<readonly InstallationLog[]>;

/**
 * A number so near to the newest line that one page has all that follows it. The server reads lines only from a number on and does
 * not tell the last one, so it is searched for: first in steps that double, then between the last two.
 */
export async function nearNewest(ask: Ask): Promise<number> {
  const hasAfter = async (number: number) => (await ask(number, 1)).length > 0;
  let [low, high] = [0, PAGE];
  while (await hasAfter(high)) [low, high] = [high, high * 2];
  while (high - low > PAGE) {
    const middle = Math.floor((low + high) / 2);
    if (await hasAfter(middle)) low = middle;
    else high = middle;
  }
  return low;
}

const asking =
  (id: string, signal: AbortSignal): Ask =>
  async (after, limit) =>
    (await installationLines(id, after, limit, signal)).logs;

export async function newestLines(id: string, signal: AbortSignal): Promise<Lines> {
  const ask = asking(id, signal);
  const near = await nearNewest(ask);
  const found = await ask(near, PAGE);
  const after = Math.max(0, (found.at(-1)?.sequence ?? 0) - PAGE);
  const lines = near > after ? await ask(after, PAGE) : found;
  return { lines, hasEarlier: lines[0]?.sequence === after + 1 && after > 0, isCut: false };
}

export const linesAfter = (id: string, after: number, signal: AbortSignal) => asking(id, signal)(after, PAGE);

/** Those before a line. */
export async function linesBefore(id: string, before: number, signal: AbortSignal) {
  const after = Math.max(0, before - 1 - PAGE);
  const lines = await asking(id, signal)(after, Math.max(1, before - 1 - after));
  // Lines that the server has removed since leave a hole, after which there is nothing earlier.
  return { lines, hasEarlier: after > 0 && lines[0]?.sequence === after + 1 };
}
