import { address } from "../api/client";
import { type Filter, serverPart } from "./filter";

/** Whose lines are shown. */
export interface LogSource {
  of: "application" | "deployment" | "execution" | "run";
  id: string;
}

const PATHS: Readonly<Record<LogSource["of"], (id: string) => string>> = {
  application: (id) => `/deploy/application/logs/${id}`,
  deployment: (id) => `/deploy/application/deployments/${id}/logs`,
  execution: (id) => `/extensions/execution/${id}/logs`,
  run: (id) => `/deploy/runs/${id}/logs`,
};

export const pathOf = ({ of, id }: LogSource): string => PATHS[of](encodeURIComponent(id));

/** The lines of an execution and of a command run have no filters and no steps with names, and cannot be downloaded. */
export const canFilter = ({ of }: LogSource): boolean => of !== "execution" && of !== "run";

export const downloadAddress = (source: LogSource, filter: Filter): string =>
  address(`${pathOf(source)}/download`, serverPart(filter));
