import type { NewVolume, UpdateVolume, Volume } from "../../api/volumes";

/** As the form shows them: texts and ticks. */
export interface VolumeDraft {
  name: string;
  path: string;
  shared: boolean;
  hostPath: string;
  hours: string;
  kept: string;
  before: string;
  after: string;
}

export function draftOf(volume: Volume | null): VolumeDraft {
  return {
    name: volume?.name ?? "",
    path: volume?.path ?? "",
    shared: volume?.shared ?? false,
    hostPath: volume?.host_path ?? "",
    hours: String(volume?.snapshot_hours ?? 0),
    kept: String(volume?.kept_snapshots ?? 7),
    before: volume?.before_snapshot ?? "",
    after: volume?.after_snapshot ?? "",
  };
}

/** What is empty is left out, so that the server's defaults act. */
export function newBody(draft: VolumeDraft): NewVolume {
  const body: NewVolume = {
    name: draft.name.trim(),
    path: draft.path.trim(),
    shared: draft.shared,
    snapshot_hours: Number(draft.hours),
    kept_snapshots: Number(draft.kept),
  };
  if (draft.hostPath.trim()) body.host_path = draft.hostPath.trim();
  if (draft.before.trim()) body.before_snapshot = draft.before.trim();
  if (draft.after.trim()) body.after_snapshot = draft.after.trim();
  return body;
}

/** Only what differs from what the user began with: another user may have changed the rest meanwhile. */
export function changedBody(begun: VolumeDraft, draft: VolumeDraft): UpdateVolume {
  const body: UpdateVolume = {};
  if (draft.name !== begun.name) body.name = draft.name.trim();
  if (draft.path !== begun.path) body.path = draft.path.trim();
  if (draft.shared !== begun.shared) body.shared = draft.shared;
  if (draft.hours !== begun.hours) body.snapshot_hours = Number(draft.hours);
  if (draft.kept !== begun.kept) body.kept_snapshots = Number(draft.kept);
  if (draft.before !== begun.before) body.before_snapshot = draft.before.trim();
  if (draft.after !== begun.after) body.after_snapshot = draft.after.trim();
  return body;
}
