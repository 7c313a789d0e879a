/** A line that is gone, one that has come, or how many lines are the same. */
export type DiffPart =
  | { is: "gone"; text: string; number: number }
  | { is: "come"; text: string; number: number }
  | { is: "same"; count: number; number: number };

/** Beyond this a comparison of all lines with all others would take too long. */
const MOST_CELLS = 4_000_000;

/** What makes the second text of the first, line by line. */
export function diff(before: string, after: string): DiffPart[] {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  const shorter = Math.min(old.length, fresh.length) - start;
  while (end < shorter && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end += 1;
  const parts: DiffPart[] = [];
  same(parts, start);
  middle(parts, old.slice(start, old.length - end), fresh.slice(start, fresh.length - end));
  same(parts, end);
  return parts;
}

function same(parts: DiffPart[], count: number): void {
  const last = parts.at(-1);
  if (last?.is === "same") last.count += count;
  else if (count > 0) parts.push({ is: "same", count, number: parts.length });
}

/** The longest lines in common, by the lengths for each pair of rests. */
function middle(parts: DiffPart[], old: readonly string[], fresh: readonly string[]): void {
  const width = fresh.length + 1;
  const isTooMuch = (old.length + 1) * width > MOST_CELLS;
  const lengths = new Uint32Array(isTooMuch ? 0 : (old.length + 1) * width);
  if (!isTooMuch) {
    for (let i = old.length - 1; i >= 0; i -= 1) {
      for (let j = fresh.length - 1; j >= 0; j -= 1) {
        const [below, right, beyond] = [
          lengths[(i + 1) * width + j],
          lengths[i * width + j + 1],
          lengths[(i + 1) * width + j + 1],
        ];
        lengths[i * width + j] = old[i] === fresh[j] ? (beyond ?? 0) + 1 : Math.max(below ?? 0, right ?? 0);
      }
    }
  }
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (!isTooMuch && i < old.length && j < fresh.length && old[i] === fresh[j]) {
      same(parts, 1);
      [i, j] = [i + 1, j + 1];
    } else if (
      i < old.length &&
      (j >= fresh.length || (lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0))
    ) {
      parts.push({ is: "gone", text: old[i] ?? "", number: parts.length });
      i += 1;
    } else {
      parts.push({ is: "come", text: fresh[j] ?? "", number: parts.length });
      j += 1;
    }
  }
}
