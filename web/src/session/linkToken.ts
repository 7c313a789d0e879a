/** The token of a link to join, or to set a new password, travels behind the #, where no server sees it. */
export function linkToken(of: "invitation" | "reset"): string | null {
  return new URLSearchParams(location.hash.slice(1)).get(of);
}

/** Once it is used, it must not be in the address any more. */
export function forgetLinkToken(): void {
  history.replaceState(null, "", location.pathname + location.search);
}
