/**
 * When this browser's login was made, renewed or first looked at, and when it ends, as all tabs know it. The login itself is in a cookie that
 * no script reads.
 */
const MEMORY = "windlass-login";
const BEGUN = "windlass-renewal";
const DAY_MS = 86_400_000;
/** Longer than a renewal takes. */
const LONGEST_MS = 30_000;
const SETTLING_MS = 300;

export const RENEWAL_PATH = "/auth/refresh";
export const RENEWAL_LOCK = "windlass-renewal";

export interface KnownLogin {
  from: number;
  until: number;
}

/** Once a day, or half-way where logins are shorter: so a login ends only in a browser that is not used for almost all its life. */
export function isDue(login: KnownLogin, now: number): boolean {
  return now - login.from >= Math.min(DAY_MS, (login.until - login.from) / 2);
}

export function recallLogin(): KnownLogin | null {
  try {
    const { from, until } = JSON.parse(localStorage.getItem(MEMORY) ?? "null") ?? {};
    return typeof from === "number" && typeof until === "number" ? { from, until } : null;
  } catch {
    return null;
  }
}

/** False without a storage: then no tab can know what another one does, and none renews. */
function store(name: string, value: string): boolean {
  try {
    localStorage.setItem(name, value);
    return true;
  } catch {
    return false;
  }
}

export function rememberLogin(expiresAt: string): void {
  store(MEMORY, JSON.stringify({ from: Date.now(), until: Date.parse(expiresAt) }));
}

export const beginRenewal = (): boolean => store(BEGUN, String(Date.now()));

/** How long ago the last renewal began in any tab. */
export function sinceRenewal(): number {
  try {
    return Date.now() - Number(localStorage.getItem(BEGUN) ?? 0);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * Whether a request that took so long was perhaps sent with a login that was being renewed, whose old token stops working at once.
 * Answers when the new one is there.
 */
export async function wasOvertaken(url: string, tookMs: number): Promise<boolean> {
  // A renewal would wait for itself.
  if (url.endsWith(RENEWAL_PATH)) return false;
  if (sinceRenewal() > tookMs + LONGEST_MS) return false;
  await navigator.locks?.request(RENEWAL_LOCK, { mode: "shared" }, () => {});
  await new Promise((resolve) => setTimeout(resolve, SETTLING_MS));
  return true;
}
