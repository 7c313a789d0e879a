import { refreshApplication } from "./applications";
import { address, currentOrganizationId, open, type Schemas } from "./client";

export type Upload = Schemas["Upload"];

const BEGIN = "/deploy/application/upload";
const pathOf = (id: string): string => `${BEGIN}/${encodeURIComponent(id)}`;

/** The requests of one upload. It stays in its organization, also if another one is opened meanwhile. */
export type UploadRequests = ReturnType<typeof uploadRequests>;

export function uploadRequests(applicationId: string) {
  const headers = { "X-Organization-Id": currentOrganizationId() };
  const ask = async (url: string, init: RequestInit): Promise<Upload> => {
    const answer = await open(url, { ...init, headers });
    return ((await answer.json()) as { data: Upload }).data;
  };
  return {
    begin: (size: number, sha256: string) =>
      ask(address(BEGIN, { application_id: applicationId, size, sha256 }), { method: "POST" }),
    look: (id: string, signal: AbortSignal) => ask(address(pathOf(id)), { signal }),
    send: (id: string, offset: number, part: Uint8Array<ArrayBuffer>, signal: AbortSignal) =>
      ask(address(pathOf(id), { offset }), { method: "PATCH", body: part, signal }),
    remove: async (id: string): Promise<void> => {
      const answer = await open(address(pathOf(id)), { method: "DELETE", headers });
      // An answer that is not read keeps its connection.
      await answer.text();
    },
    /** What shows the application is read again once it is deployed. */
    done: () => refreshApplication(applicationId),
  };
}
