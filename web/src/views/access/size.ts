const UNITS: Readonly<Record<string, number>> = { "": 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };
const NAMES = ["TiB", "GiB", "MiB", "KiB"] as const;

/**
 * The bytes that a text means, or null if it means none: `500`, `10 MiB`, `1,5 GiB`. A single letter counts in 1024 as well; `MB` and
 * the like count in 1000.
 */
export function readSize(text: string): number | null {
  const found = /^(\d+(?:[.,]\d+)?)\s*([kmgt]?)(i?)(b?)$/i.exec(text.trim());
  if (!found) return null;
  const [, amount = "", letter = "", i, b] = found;
  if (i && !letter) return null;
  const unit = UNITS[letter.toLowerCase()] ?? 1;
  const isDecimal = letter !== "" && !i && Boolean(b);
  const factor = isDecimal ? 1000 ** Math.round(Math.log2(unit) / 10) : unit;
  return Math.round(Number(amount.replace(",", ".")) * factor);
}

/** The shortest text from which `readSize` reads exactly this again. */
export function writeSize(bytes: number): string {
  const name = NAMES.find((unit) => bytes > 0 && bytes % unitOf(unit) === 0);
  return name ? `${bytes / unitOf(name)} ${name}` : String(bytes);
}

const unitOf = (name: string): number => UNITS[name.charAt(0).toLowerCase()] ?? 1;
