import type { Access, UpdateAccess } from "../../api/access";
import { readSize, writeSize } from "./size";

/** As the forms show them: texts and ticks. Names and passwords, headers and pages are changed one by one instead. */
export interface Values {
  allow: string;
  deny: string;
  realm: string;
  requests_per_minute: string;
  request_burst: string;
  body_bytes: string;
  answer_seconds: string;
  security_headers: boolean;
  compress: boolean;
}

export type ValueName = keyof Values;

export function storedValues(access: Access): Values {
  return {
    allow: access.allow.join("\n"),
    deny: access.deny.join("\n"),
    realm: access.realm,
    requests_per_minute: String(access.requests_per_minute),
    request_burst: String(access.request_burst),
    body_bytes: writeSize(access.body_bytes),
    answer_seconds: String(access.answer_seconds),
    security_headers: access.security_headers,
    compress: access.compress,
  };
}

/** One per line, or however else they were pasted. */
export function networksIn(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter(Boolean))];
}

/** What is to be sent for the fields that were changed, and for no other. A size that cannot be read is not sent. */
export function bodyOf(changed: Partial<Values>): UpdateAccess {
  const { allow, deny, realm, body_bytes, security_headers, compress } = changed;
  const body: UpdateAccess = {};
  if (allow !== undefined) body.allow = networksIn(allow);
  if (deny !== undefined) body.deny = networksIn(deny);
  if (realm !== undefined) body.realm = realm.trim();
  for (const name of ["requests_per_minute", "request_burst", "answer_seconds"] as const) {
    const number = changed[name];
    if (number !== undefined) body[name] = Number(number);
  }
  const bytes = readSize(body_bytes ?? "");
  if (bytes !== null) body.body_bytes = bytes;
  if (security_headers !== undefined) body.security_headers = security_headers;
  if (compress !== undefined) body.compress = compress;
  return body;
}
