import { wasOvertaken } from "./renewal";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
export type ErrorCode = Schemas["ErrorCode"];

type Verb = "get" | "post" | "put" | "patch" | "delete";
/** The paths that answer to a verb, as openapi.json has them, without their common beginning. */
type PathsWith<V extends Verb> = {
  [P in keyof paths]: paths[P] extends Record<V, object> ? (P extends `/api/v1${infer R}` ? R : never) : never;
}[keyof paths];
type Operation<V extends Verb, P extends string> = `/api/v1${P}` extends keyof paths
  ? V extends keyof paths[`/api/v1${P}`]
    ? paths[`/api/v1${P}`][V]
    : never
  : never;
type Data<O> = O extends { responses: { 200: { content: { "application/json": { data: infer D } } } } } ? D : never;
type Query<O> = O extends { parameters: { query?: infer Q } } ? Q : never;
type InPath<O> = O extends { parameters: { path: infer P } } ? P : never;
type Body<O> = O extends { requestBody?: { content: { "application/json": infer B } } } ? B : never;

export interface Options<O> {
  path?: InPath<O>;
  query?: Query<O>;
  body?: Body<O>;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** Codes of what is wrong with one field. */
const ABOUT_A_FIELD: readonly string[] = ["invalid_request", "name_taken", "domain_taken"];

/** What the server refused, in its own words. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: ErrorCode | "unknown",
    message: string,
    readonly retryAfterSeconds: number | null,
  ) {
    super(message);
  }

  /** The field that the message is about: messages of invalid requests begin with its name. */
  get field(): string | null {
    if (!ABOUT_A_FIELD.includes(this.code)) return null;
    return /^([a-z][a-z0-9_]*)[^:\s]*: /.exec(this.message)?.[1] ?? null;
  }
}

/** No answer at all: the network or the server is away. */
export class NetworkError extends Error {}

let organizationId: string | null = null;
let onUnauthenticated: () => void = () => {};

export function actIn(id: string | null): void {
  organizationId = id;
}

export function currentOrganizationId(): string {
  return organizationId ?? "";
}

/** Called when an answer says that the login is over. */
export function whenUnauthenticated(action: () => void): void {
  onUnauthenticated = action;
}

/** What stands behind the path of an address: of several values each once, and of what is empty nothing. */
export function queryText(query: object): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    const text = Array.isArray(value) ? [...new Set(value)].join(",") : String(value ?? "");
    if (text !== "") search.append(name, text);
  }
  const text = search.toString();
  return text && `?${text}`;
}

export function address(path: string, query: object = {}): string {
  return `/api/v1${path}${queryText(query)}`;
}

/** These belong to the user, and must be answered when the user is no longer in the organization that is open. */
const OF_THE_USER = /^\/api\/v1\/(user|auth)(\/|\?|$)/;

function commonHeaders(url: string): Record<string, string> {
  const headers: Record<string, string> = { "X-Windlass-Client": "browser" };
  if (organizationId && !OF_THE_USER.test(url)) headers["X-Organization-Id"] = organizationId;
  return headers;
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { credentials: "same-origin", cache: "no-store", ...init });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new NetworkError("The server does not answer.", { cause: error });
  }
}

async function refusal(answer: Response): Promise<ApiError> {
  const retry = Number(answer.headers.get("Retry-After"));
  const envelope = (await answer.json().catch(() => null)) as Partial<Schemas["Failure"]> | null;
  const message = envelope?.message ?? `${answer.status} ${answer.statusText}`;
  return new ApiError(answer.status, envelope?.error ?? "unknown", message, retry > 0 ? retry : null);
}

/** Sends a request and throws what went wrong. A stream's answer is returned as it is. */
export async function open(url: string, init: RequestInit = {}): Promise<Response> {
  const began = Date.now();
  const once = () => send(url, { ...init, headers: { ...commonHeaders(url), ...init.headers } });
  let answer = await once();
  if (answer.ok) return answer;
  let error = await refusal(answer);
  if (error.code === "unauthenticated" && (await wasOvertaken(url, Date.now() - began))) {
    // Nothing was done with the login that has just been renewed, so it can be sent again with the new one.
    answer = await once();
    if (answer.ok) return answer;
    error = await refusal(answer);
  }
  if (error.code === "unauthenticated") onUnauthenticated();
  throw error;
}

export async function request<V extends Verb, P extends PathsWith<V>>(
  verb: V,
  path: P,
  options: Options<Operation<V, P>> = {},
): Promise<Data<Operation<V, P>>> {
  const inPath = (options.path ?? {}) as Record<string, string>;
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(inPath[name] ?? ""));
  const init: RequestInit = { method: verb.toUpperCase() };
  if (options.headers) init.headers = options.headers;
  if (options.signal) init.signal = options.signal;
  if (options.body !== undefined) init.body = JSON.stringify(options.body);
  const answer = await open(address(filled, options.query as object | undefined), init);
  const envelope = (await answer.json()) as { data: Data<Operation<V, P>> };
  return envelope.data;
}

/** A related record, or null where the answer has `{}` in its place. */
export function linked<T extends object>(link: T | Record<string, never>): T | null {
  return Object.keys(link).length > 0 ? (link as T) : null;
}
