import type { Access, EntriesField } from "../../api/access";

export type Entry = readonly [name: string, value: string];

/** In the order of their names. */
export const entriesOf = (access: Access, field: EntriesField): Entry[] =>
  Object.entries(access[field]).sort(([one], [other]) => (one < other ? -1 : 1));

export const entryOf = (access: Access, field: EntriesField, name: string): string | undefined =>
  Object.hasOwn(access[field], name) ? access[field][name] : undefined;

/** Those that Windlass answers with itself. */
export const STATUSES = ["401", "403", "404", "413", "429", "502", "503", "504"] as const;
export type Status = (typeof STATUSES)[number];

export const freeStatuses = ({ pages }: Access): Status[] => STATUSES.filter((status) => !Object.hasOwn(pages, status));

/** A message about one entry begins with its name, which stands above it. */
export function withoutName(message: string | null, name: string): string | null {
  return message?.startsWith(`${name}: `) ? message.slice(name.length + 2) : message;
}

// The server says which entry it refuses, and not whether for its name or its value: these tell at which field that is shown.

export const isUserName = (name: string): boolean => /^[!-9;-~]([ -9;-~]{0,62}[!-9;-~])?$/.test(name);

export const isHeaderValue = (value: string): boolean => value.length <= 1024 && /^([!-~]([ -~]*[!-~])?)?$/.test(value);
