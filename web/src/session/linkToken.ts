/** What links lead to: to join, to set a new password, to prove an e-mail address. */
export type LinkKind = "invitation" | "reset" | "verify-email";

/** The token of a link travels behind the #, where no server sees it. */
export const linkToken = (of: LinkKind): string | null => tokenIn(location.hash, of);

/** Nothing where the link is cut off. */
export function tokenIn(hash: string, of: LinkKind): string | null {
  return new URLSearchParams(hash.slice(1)).get(of) || null;
}

/** Once it is used, it must not be in the address any more. */
export function forgetLinkToken(): void {
  history.replaceState(null, "", location.pathname + location.search);
}
