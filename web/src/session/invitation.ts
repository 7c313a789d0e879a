/** An invitation's token travels behind the #, where no server sees it. */
export function invitationToken(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get("invitation");
}

/** Once it is used, it must not be in the address any more. */
export function forgetInvitation(): void {
  history.replaceState(null, "", location.pathname + location.search);
}
