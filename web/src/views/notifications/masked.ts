/** Only where it leads: the rest of a webhook's address is what lets its holder post there. */
export function maskedUrl(url: string): string {
  try {
    const { origin } = new URL(url);
    return `${origin}/********`;
  } catch {
    return "********";
  }
}
