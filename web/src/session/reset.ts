/** The token of a password link travels behind the #, where no server sees it. */
export function resetToken(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get("reset");
}

/** Once it is used, it must not be in the address any more. */
export function forgetReset(): void {
  history.replaceState(null, "", location.pathname + location.search);
}
