const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** As disks are sold: in thousands. */
export function bytes(count: number, language: string): string {
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value.toLocaleString(language, { maximumFractionDigits: value < 10 && unit > 0 ? 1 : 0 })} ${UNITS[unit]}`;
}
