const MEMORY = "windlass-organization";

/** Each tab stays in its own organization; a new tab begins where the last choice was made. */
export function recallOrganization(): string | null {
  try {
    return sessionStorage.getItem(MEMORY) ?? localStorage.getItem(MEMORY);
  } catch {
    return null;
  }
}

export function rememberOrganization(id: string): void {
  try {
    sessionStorage.setItem(MEMORY, id);
    localStorage.setItem(MEMORY, id);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}
