import type { Extension } from "../../api/extensions";

/** Words that stand in addresses where the key of an extension could. The server reserves the other ones. */
const RESERVED = ["new"];

/** By its key, which can be read, unless that leads elsewhere. */
export function addressOf(extension: { id: string; extension_id: string }, tab?: string): string {
  const name = RESERVED.includes(extension.extension_id) ? extension.id : extension.extension_id;
  return `/extensions/${name}${tab ? `/${tab}` : ""}`;
}

/** What the variable is called that is an application's main domain. */
export const DOMAIN = "domain";

export interface Step {
  name: string;
  type: string;
  conditions: string[];
  ignore_errors: boolean;
}

interface Parsed {
  execution: { run: Step[]; validate: Step[] };
}

/** The steps that were read of its text; none of a draft. */
export function stepsOf({ parsed_content }: Extension): Parsed["execution"] {
  if (parsed_content === "") return { run: [], validate: [] };
  return (JSON.parse(parsed_content) as Parsed).execution;
}

const ON_THE_MACHINE = ["command", "file", "service", "user", "package"];

export const changesTheMachine = ({ type }: Pick<Step, "type">): boolean => ON_THE_MACHINE.includes(type);

/** Whether it leads visitors to its services, and leaves the machine alone. The server decides by the values. */
export function canBeApplication(extension: Extension): boolean {
  const { run } = stepsOf(extension);
  const isInstall = extension.extension_type === "install" && extension.validation_status === "valid";
  return isInstall && run.some(({ type }) => type === "proxy") && !run.some(changesTheMachine);
}

/** Whether it can be planned before a user has given anything. */
export const asksForNothing = ({ variables, validation_status }: Extension): boolean =>
  validation_status === "valid" && !variables.some((one) => one.is_required && one.default_value === null);

/** A text with one word or number per value, as people write it. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return Array.isArray(value) ? value.join("\n") : String(value);
}

/** Values by name. They come as the text of a JSON object, which is empty for callers who may not read them. */
export function readValues(text: string): Record<string, unknown> {
  if (text === "") return {};
  const parsed: unknown = JSON.parse(text);
  return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : {};
}

/** A name of a variable as a label: `close_registration` is read as "Close registration". */
export function labelOf(name: string): string {
  const words = name
    .replace(/_+/g, " ")
    .trim()
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
