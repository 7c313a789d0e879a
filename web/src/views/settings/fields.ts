import type { Application, UpdateApplication } from "../../api/applications";
import type { Text } from "../../text";
import { EXTENSION, IMAGE } from "../applications/newApplication";

export type FieldName = keyof Text["settings"]["field"];

export interface FieldKind {
  name: FieldName;
  as: "text" | "number" | "check" | "lines" | "command" | "password" | "key" | "select";
  /** What a member needs beside `deploy:update`. */
  needs?: "deploy:forks";
}

type Section = "general" | "source" | "building" | "running" | "limits" | "commands" | "pushes";

const field = (name: FieldName, as: FieldKind["as"] = "text"): FieldKind => ({ name, as });

export const SECTIONS: readonly [Section, readonly FieldKind[]][] = [
  ["general", [field("name"), field("domain"), field("environment"), field("labels")]],
  [
    "source",
    [
      field("image"),
      field("branch"),
      field("connection_id", "select"),
      field("build_pack", "select"),
      field("base_path"),
      field("dockerfile_path"),
      field("repository_token", "password"),
      field("repository_ssh_key", "key"),
    ],
  ],
  [
    "building",
    [
      field("build_target"),
      field("git_in_context", "check"),
      field("compose_file"),
      field("service"),
      field("language", "select"),
      field("language_version"),
      field("program"),
      field("install_command", "command"),
      field("build_command", "command"),
      field("start_command", "command"),
      field("output_path"),
      field("single_page", "check"),
    ],
  ],
  [
    "running",
    [
      field("port", "number"),
      field("replicas", "number"),
      field("health_path"),
      field("health_seconds", "number"),
      field("drain_seconds", "number"),
      field("stop_seconds", "number"),
      field("error_rate_percent", "number"),
      field("error_rate_seconds", "number"),
    ],
  ],
  [
    "limits",
    [
      field("memory_mb", "number"),
      field("cpu_millis", "number"),
      field("pids", "number"),
      field("kept_releases", "number"),
    ],
  ],
  [
    "commands",
    [
      field("pre_run_command", "command"),
      field("post_run_command", "command"),
      field("pause", "check"),
      field("snapshot_before_deploy", "check"),
    ],
  ],
  [
    "pushes",
    [
      field("auto_deploy", "check"),
      field("watch_paths", "lines"),
      field("tag_pattern"),
      field("auto_update", "check"),
      field("previews", "check"),
      { name: "preview_forks", as: "check", needs: "deploy:forks" },
    ],
  ],
];

const OF_IMAGES: readonly FieldName[] = ["image", "auto_update"];
const OF_REPOSITORIES: readonly FieldName[] = [
  "branch",
  "connection_id",
  "build_pack",
  "base_path",
  "dockerfile_path",
  "repository_token",
  "repository_ssh_key",
  "build_target",
  "git_in_context",
  "compose_file",
  "service",
  "language",
  "language_version",
  "program",
  "install_command",
  "build_command",
  "start_command",
  "output_path",
  "single_page",
  "auto_deploy",
  "watch_paths",
  "tag_pattern",
  "previews",
  "preview_forks",
];

/** An image of a registry is neither fetched nor built; and of what an extension starts, its text says how many there are. */
function othersOf(repository: string): readonly FieldName[] {
  if (repository === EXTENSION) return [...OF_REPOSITORIES, ...OF_IMAGES, "replicas"];
  return repository === IMAGE ? OF_REPOSITORIES : OF_IMAGES;
}

/** Those that an application can have. */
export function sectionsOf(repository: string): typeof SECTIONS {
  const others = othersOf(repository);
  const own = SECTIONS.map(([section, kinds]): (typeof SECTIONS)[number] => [
    section,
    kinds.filter(({ name }) => !others.includes(name)),
  ]);
  return own.filter(([, kinds]) => kinds.length > 0);
}

/** As the form shows them: texts and ticks. */
export type Values = Record<FieldName, string | boolean>;

export function storedValues(application: Application): Values {
  const { settings, triggers } = application;
  return {
    name: application.name,
    domain: application.domain,
    environment: application.environment,
    labels: application.labels.join(", "),
    branch: application.branch,
    connection_id: application.connection_id ?? "",
    build_pack: application.build_pack,
    base_path: application.base_path,
    dockerfile_path: application.dockerfile_path,
    single_page: settings.single_page,
    language: settings.language,
    language_version: settings.language_version,
    build_target: settings.build_target,
    git_in_context: settings.git_in_context,
    compose_file: settings.compose_file,
    service: settings.service,
    program: settings.program,
    install_command: settings.install_command,
    build_command: settings.build_command,
    start_command: settings.start_command,
    output_path: settings.output_path,
    image: settings.image,
    repository_token: "",
    repository_ssh_key: "",
    port: String(application.port),
    replicas: String(settings.replicas),
    health_path: settings.health_path,
    health_seconds: String(settings.health_seconds),
    drain_seconds: String(settings.drain_seconds),
    stop_seconds: String(settings.stop_seconds),
    error_rate_percent: String(settings.error_rate_percent),
    error_rate_seconds: String(settings.error_rate_seconds),
    memory_mb: String(settings.memory_mb),
    cpu_millis: String(settings.cpu_millis),
    pids: String(settings.pids),
    kept_releases: String(settings.kept_releases),
    pre_run_command: application.pre_run_command,
    post_run_command: application.post_run_command,
    pause: settings.pause,
    snapshot_before_deploy: settings.snapshot_before_deploy,
    auto_deploy: triggers.auto_deploy,
    watch_paths: triggers.watch_paths.join("\n"),
    tag_pattern: triggers.tag_pattern,
    auto_update: triggers.auto_update,
    previews: triggers.previews,
    preview_forks: triggers.preview_forks,
  };
}

const KINDS = new Map(SECTIONS.flatMap(([, kinds]) => kinds).map((kind) => [kind.name, kind.as]));

const pieces = (text: string, separator: RegExp): string[] => [
  ...new Set(
    text
      .split(separator)
      .map((piece) => piece.trim())
      .filter(Boolean),
  ),
];

export interface Requests {
  /** Null where nothing of it has changed. */
  update: UpdateApplication | null;
  labels: string[] | null;
}

/** What is to be sent for the fields that were changed, and for no other. */
export function requestsFor(id: string, changed: Partial<Values>): Requests {
  const update: Record<string, unknown> = {};
  let labels: string[] | null = null;
  for (const [name, value] of Object.entries(changed) as [FieldName, string | boolean][]) {
    if (name === "labels") labels = pieces(String(value), /,/);
    else if (KINDS.get(name) === "number") update[name] = Number(value);
    else if (KINDS.get(name) === "lines") update[name] = pieces(String(value), /\n/);
    else update[name] = value;
  }
  const isEmpty = Object.keys(update).length === 0;
  return { update: isEmpty ? null : ({ id, ...update } as UpdateApplication), labels };
}

/** The label of a field of the API, or its name where the form does not have it. */
export function fieldLabel(t: Text, name: string): string {
  if (name === "environment_variables") return t.variables.title;
  if (name === "build_variables") return `${t.variables.title} (${t.variables.build})`;
  return (t.settings.field as Record<string, readonly [string, string]>)[name]?.[0] ?? name;
}
