import type { Verdict } from "../../api/deliveries";
import { PUSHED } from "../applications/newApplication";

/** Without a code host: the repository is kept by Windlass. */
export const isPushedHere = (repository: string): boolean => repository === PUSHED;

/** Whether a repository is fetched over ssh: `ssh://git@host/path`, or `git@host:path` without a scheme. */
export function isOverSsh(repository: string): boolean {
  if (repository.includes("://")) return /^(git\+)?ssh:\/\//.test(repository);
  return /^[^/\s]+@[^/:\s]+:/.test(repository);
}

/** `refs/heads/main` is `main` to people, and so is a tag. */
export const shortReference = (reference: string): string => reference.replace(/^refs\/(heads|tags)\//, "");

export const VERDICTS: readonly Verdict[] = ["accepted", "ignored", "refused"];

export const VERDICT_TONES: Readonly<Record<Verdict, string>> = { accepted: "good", ignored: "", refused: "bad" };

/** As people read it, if it is JSON; else as it came. */
export function readable(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

/** Where code hosts reach this server only from its own machine or network, their deliveries do not arrive. */
export function isOnlyNear(address: string): boolean {
  try {
    const { hostname } = new URL(address);
    return /^(localhost|127\.|0\.0\.0\.0$|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[::1?\]$)/.test(hostname);
  } catch {
    return false;
  }
}

/** What `git push` is told: the address with a place for the key. */
export function pushAddress(server: string, organizationId: string, applicationId: string): string {
  return `${server.replace(/\/+$/, "")}/${organizationId}/${applicationId}.git`;
}
