const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** As short as it can be compared: `0 B`, `1.4 MiB`, `23 GiB`. */
export function bytes(count: number): string {
  const power = Math.min(UNITS.length - 1, count < 1 ? 0 : Math.floor(Math.log2(count) / 10));
  const amount = count / 1024 ** power;
  const digits = power > 0 && amount < 9.95 ? 1 : 0;
  return `${amount.toFixed(digits)} ${UNITS[power]}`;
}
