const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** As short as it can be read; empty where it is not known. */
export function sizeText(bytes: number | null): string {
  if (bytes === null) return "";
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}
