import { QueryClient } from "@tanstack/preact-query";
import { ApiError, currentOrganizationId } from "./client";

const LONGEST_RETRIES = 2;

export const cache = new QueryClient({
  defaultOptions: {
    queries: {
      // The event stream says when something has changed; this is for what it does not tell.
      staleTime: 30_000,
      retry: (count, error) => count < LONGEST_RETRIES && !(error instanceof ApiError && error.status < 500),
    },
  },
});

/** A key of what belongs to the current organization. */
export function inOrganization(...parts: readonly unknown[]): readonly unknown[] {
  return ["organization", currentOrganizationId(), ...parts];
}
