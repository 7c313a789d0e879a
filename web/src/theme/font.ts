/** A family's name comes from the server: as a quoted string it can be nothing but a name. */
function quoted(family: string): string {
  return `"${family.replace(/["\\\n\r\f]/g, "")}"`;
}

const GENERIC = ["serif", "sans-serif", "monospace", "system-ui"];

/** `outfit` is what the server gives to new users, who have not chosen anything: their system's font. */
export function fontStack(family: string): string {
  if (family === "" || family === "outfit" || family === "system-ui") return "";
  return GENERIC.includes(family) ? family : `${quoted(family)}, system-ui, sans-serif`;
}
