/** A random id. `crypto.randomUUID` is only there over https and on the own machine; this is there always. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
