import type { Schemas } from "../api/client";
import type { Line } from "./line";

/** What the API sends. Most of it is the same in all lines, and is let go. */
export type Sent = Pick<Schemas["ApplicationLog"], "log" | "stream" | "step" | "service" | "created_at" | "cursor">;
export type SentOfExecution = Pick<
  Schemas["ExecutionLog"],
  "message" | "stream" | "step_id" | "created_at" | "sequence"
>;

export const sentLine = (sent: Sent): Line => ({
  cursor: Number(sent.cursor),
  at: sent.created_at,
  text: sent.log,
  stream: sent.stream,
  step: sent.step,
  service: sent.service,
});

export type SentOfRun = Pick<Schemas["CommandRunLog"], "message" | "stream" | "created_at" | "sequence">;

export const numberedLine = (sent: SentOfExecution | SentOfRun): Line => ({
  cursor: sent.sequence,
  at: sent.created_at,
  text: sent.message,
  stream: sent.stream,
  step: "step_id" in sent ? sent.step_id : "",
  service: "",
});

/** The data of a followed event. */
export function followedLine(data: string, cursor: number): Line {
  const sent = JSON.parse(data) as Sent | SentOfExecution | SentOfRun | { missing: number };
  if ("missing" in sent) {
    return { cursor, at: "", text: "", stream: "windlass", step: "", service: "", missing: sent.missing };
  }
  return "log" in sent ? sentLine(sent) : numberedLine(sent);
}
