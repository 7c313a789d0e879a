import { keepPreviousData, useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { linked, request, type Schemas } from "./client";
import type { RunExtension } from "./extensions";

export type Execution = Schemas["ExtensionExecution"];
export type ExecutionStatus = Schemas["ExecutionStatus"];
export type ExecutionStep = Schemas["ExecutionStep"];

const PAGE_SIZE = 25;
const STEPS_MS = 2_000;
const LIST_MS = 5_000;

export const isUnderWay = ({ status }: { status: ExecutionStatus }): boolean =>
  status === "pending" || status === "running";

/** Of the organization, or of one extension. */
export function useExecutions(page: number, status?: ExecutionStatus, extensionId?: string, size = PAGE_SIZE) {
  const query = { page, page_size: size, ...(status ? { status } : {}) };
  return useQuery({
    queryKey: inOrganization("executions", extensionId ?? null, query),
    queryFn: ({ signal }) =>
      extensionId
        ? request("get", "/extensions/by-extension-id/{extension_id}/executions", {
            path: { extension_id: extensionId },
            query,
            signal,
          })
        : request("get", "/extensions/executions", { query, signal }),
    placeholderData: keepPreviousData,
    // Not every change is an event.
    refetchInterval: ({ state }) => (state.data?.executions.some(isUnderWay) ? LIST_MS : false),
  });
}

export function useExecution(id: string) {
  return useQuery({
    queryKey: inOrganization("execution", id),
    queryFn: ({ signal }) =>
      request("get", "/extensions/execution/{execution_id}", { path: { execution_id: id }, signal }),
    refetchInterval: ({ state }) => (state.data && isUnderWay(state.data) ? STEPS_MS : false),
  });
}

/** Lists, installations and the execution itself: all tell of it. */
export function refreshExecutions(): void {
  for (const noun of ["executions", "execution", "installations", "installation"]) {
    cache.invalidateQueries({ queryKey: inOrganization(noun) });
  }
}

export const useRun = (extensionId: string) =>
  useMutation({
    mutationFn: (body: RunExtension) =>
      request("post", "/extensions/{extension_id}/run", { path: { extension_id: extensionId }, body }),
    onSettled: refreshExecutions,
  });

export const useCancelExecution = (id: string) =>
  useMutation({
    mutationFn: () => request("post", "/extensions/execution/{execution_id}/cancel", { path: { execution_id: id } }),
    onSettled: refreshExecutions,
  });

/** What people call the extension, where the answer still has it. */
export const extensionOf = (execution: Execution): Schemas["Extension"] | null => linked(execution.extension);
