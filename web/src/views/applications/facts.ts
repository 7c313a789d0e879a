import type { Application, ApplicationState } from "../../api/applications";
import { linked } from "../../api/client";

export function stateOfApplication(application: Application): ApplicationState {
  return linked(application.status)?.status ?? "stopped";
}

export const shortCommit = (hash: string): string => hash.replace(/^sha256:/, "").slice(0, 7);

/** The part of a repository's address that people know it by. */
export function repositoryName(repository: string): string {
  return repository
    .replace(/^[a-z+]+:\/\/([^@/]+@)?/, "")
    .replace(/\.git$/, "")
    .replace(/\/+$/, "");
}

/** A name for an application: the last part of its repository's address. */
export function proposedName(repository: string): string {
  const last = repositoryName(repository.trim()).split(/[/:]/).pop() ?? "";
  return last.replace(/[^A-Za-z0-9-]+/g, "-").replace(/^-+|-+$/g, "");
}
