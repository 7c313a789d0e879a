import { useConnections } from "../../api/connections";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { HOSTS } from "../connections/hosts";
import type { FieldKind } from "./fields";

type Option = readonly [value: string, label: string];

/** What a field that is chosen from can be. What is stored is always among it. */
export function useOptions(kind: FieldKind, value: string): readonly Option[] {
  const t = useText();
  const mayRead = useMay("connection:read");
  const { data } = useConnections(mayRead && kind.name === "connection_id");
  const options = optionsOf(t, kind, data?.connections ?? []);
  const isUnknown = !options.some(([name]) => name === value);
  return isUnknown ? [...options, [value, data || kind.name !== "connection_id" ? value : t.common.loading]] : options;
}

type Connections = NonNullable<ReturnType<typeof useConnections>["data"]>["connections"];

function optionsOf(t: Text, kind: FieldKind, connections: Connections): readonly Option[] {
  if (kind.name === "connection_id") return connectionOptions(t, connections);
  return kind.name === "language" ? languages(t) : buildPacks(t);
}

function connectionOptions(t: Text, connections: Connections): readonly Option[] {
  const named = connections.map(({ id, name, host }) => [id, `${name} (${HOSTS[host]})`] as const);
  return [["", t.settings.noConnection], ...named];
}

export const buildPacks = (t: Text): readonly Option[] => [
  ["auto", t.settings.buildPacks.auto],
  ["dockerfile", t.settings.buildPacks.dockerfile],
  ["static", t.settings.buildPacks.static],
  ["docker-compose", t.settings.buildPacks["docker-compose"]],
];

/** Names that are the same in every language. */
const LANGUAGES: readonly Option[] = [
  ["node", "Node"],
  ["python", "Python"],
  ["go", "Go"],
  ["rust", "Rust"],
  ["ruby", "Ruby"],
  ["php", "PHP"],
  ["java", "Java"],
  ["dotnet", ".NET"],
  ["deno", "Deno"],
  ["elixir", "Elixir"],
  ["procfile", "Procfile"],
];

/** By the word of the API. */
export const LANGUAGE_NAMES: Readonly<Record<string, string>> = Object.fromEntries(LANGUAGES);

const languages = (t: Text): readonly Option[] => [
  ["", t.settings.buildPacks.auto],
  ...LANGUAGES,
  ["static", t.settings.noLanguage],
];
