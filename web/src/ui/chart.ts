export type Values = readonly (number | null)[];

/** A number that people read easily and that is no less: 1, 2 or 5 with zeros. Of bytes a power of two. */
export function ceiling(values: readonly Values[], ofBytes: boolean): number {
  let most = 0;
  for (const line of values) for (const value of line) most = Math.max(most, value ?? 0);
  if (most <= 0) return 1;
  if (ofBytes) return 2 ** Math.max(10, Math.ceil(Math.log2(most)));
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [1, 2, 5, 10].find((step) => step * power >= most) ?? 10;
  return step * power;
}

/** A path through the values, from left to right. A gap ends it, and a value between two gaps is a dash. */
export function pathOf(values: Values, most: number, width: number, height: number): string {
  const slot = width / Math.max(1, values.length);
  const place = (value: number) => round(height - (Math.min(value, most) / most) * height);
  let path = "";
  let isDrawing = false;
  values.forEach((value, index) => {
    if (value === null) {
      isDrawing = false;
      return;
    }
    const [x, y] = [round((index + 0.5) * slot), place(value)];
    if (isDrawing) path += `L${x} ${y}`;
    else if ((values[index + 1] ?? null) === null) path += `M${round(index * slot)} ${y}h${round(slot)}`;
    else path += `M${x} ${y}`;
    isDrawing = true;
  });
  return path;
}

const round = (number: number): number => Math.round(number * 100) / 100;

/** Where the last value is that any line has. */
export function lastOf(lines: readonly Values[]): number | null {
  const last = Math.max(-1, ...lines.map((line) => line.findLastIndex((value) => value !== null)));
  return last < 0 ? null : last;
}
