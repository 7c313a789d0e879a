import { address, open, request, type Schemas } from "../api/client";
import {
  beginRenewal,
  isDue,
  RENEWAL_LOCK,
  RENEWAL_PATH,
  recallLogin,
  rememberLogin,
  sinceRenewal,
} from "../api/renewal";

const FIRST_LOOK_MS = 3_000;
const LEAST_MS_BETWEEN_LOOKS = 60_000;

/**
 * A login ends some days after it was made (`session-days`). While a user is at work in any tab, it is renewed long before that, by
 * one tab for all. A browser that is only left open is not in use: its login ends.
 */
export function keepLoginAlive(): () => void {
  let lastLook = 0;
  const look = () => {
    if (document.hidden || Date.now() - lastLook < LEAST_MS_BETWEEN_LOOKS) return;
    lastLook = Date.now();
    const login = recallLogin();
    if (!login) learn().catch(() => {});
    else if (isDue(login, Date.now())) renewOnce().catch(() => {});
  };
  // Opening the dashboard is use as well; what it asks for first goes before.
  const timer = setTimeout(look, FIRST_LOOK_MS);
  addEventListener("pointerdown", look, { passive: true });
  addEventListener("keydown", look, { passive: true });
  return () => {
    clearTimeout(timer);
    removeEventListener("pointerdown", look);
    removeEventListener("keydown", look);
  };
}

/** When the login ends, where no tab of this browser has noted it. */
async function learn(): Promise<void> {
  const sessions = await request("get", "/auth/sessions");
  const present = sessions.find(({ current }) => current);
  if (present) rememberLogin(present.expires_at);
}

async function renewOnce(): Promise<void> {
  if (navigator.locks) {
    await navigator.locks.request(RENEWAL_LOCK, { ifAvailable: true }, (lock) => (lock ? renew() : undefined));
    return;
  }
  // Over plain http from another machine browsers have no locks: then the tab that has written first goes first.
  if (sinceRenewal() > LEAST_MS_BETWEEN_LOOKS) await renew();
}

async function renew(): Promise<void> {
  const login = recallLogin();
  // Another tab may have been quicker.
  if (!login || !isDue(login, Date.now()) || !beginRenewal()) return;
  // The answer carries the new login: it must arrive although the tab is closed meanwhile.
  const answer = await open(address(RENEWAL_PATH), { method: "POST", keepalive: true });
  const { data } = (await answer.json()) as { data: Schemas["LoggedIn"] };
  rememberLogin(data.expires_at);
}
