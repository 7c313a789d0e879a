import assert from "node:assert/strict";
import { test } from "node:test";
import type { Member, Role } from "../src/api/organization.ts";
import { isDue } from "../src/api/renewal.ts";
import { auditAddress, isFiltered, queryOf, readFilter } from "../src/views/audit/filter.ts";
import { placeOf } from "../src/views/audit/links.ts";
import { matching } from "../src/views/instance/settings.ts";
import { maskedUrl } from "../src/views/notifications/masked.ts";
import { bodyOf, fieldsOf } from "../src/views/notifications/smtp.ts";
import { grantable, isLower, offersFor } from "../src/views/organization/roles.ts";

const member = (user_id: string, role: Role) => ({ user_id, roles: [role] }) as Member;
const PERMISSIONS: Record<Role, string[]> = {
  viewer: ["member:read"],
  member: ["member:read"],
  admin: ["member:read", "member:update", "member:delete"],
  owner: ["member:read", "member:update", "member:delete", "owner:update"],
};
const mayAs = (role: Role) => (permission: string) => PERMISSIONS[role].includes(permission);
const members = [member("o", "owner"), member("a", "admin"), member("m", "member"), member("v", "viewer")];
const offered = (me: string, role: Role, all = members) =>
  all.map((one) => {
    const { role: change, remove, leave } = offersFor(one, all, me, mayAs(role));
    return `${change ? "c" : ""}${remove ? "r" : ""}${leave ? "l" : ""}`;
  });

test("each role is offered what the API lets it do with members", () => {
  assert.deepEqual(offered("v", "viewer"), ["", "", "", "l"]);
  assert.deepEqual(offered("m", "member"), ["", "", "l", ""]);
  assert.deepEqual(offered("a", "admin"), ["", "cl", "cr", "cr"]);
  assert.deepEqual(offered("o", "owner"), ["", "cr", "cr", "cr"]);
});

test("of two owners either can go, and only owners touch them", () => {
  const two = [member("o", "owner"), member("p", "owner"), member("a", "admin")];
  assert.deepEqual(offered("o", "owner", two), ["cl", "cr", "cr"]);
  assert.deepEqual(offered("a", "admin", two), ["", "", "cl"]);
});

test("only owners make owners", () => {
  assert.deepEqual(grantable(mayAs("admin")), ["viewer", "member", "admin"]);
  assert.equal(grantable(mayAs("owner")).length, 4);
  assert.equal(isLower("viewer", "member"), true);
  assert.equal(isLower("owner", "member"), false);
});

test("a filter of the audit log survives its address", () => {
  const filter = {
    ...{ search: "a b", actor: "Ada", action: "delete" as const, resource: "member", from: "2026-11-01" },
    ...{ to: "2026-11-02", scope: "instance" as const, page: 2 },
  };
  const query = Object.fromEntries(new URL(auditAddress(filter), "http://h").searchParams);
  assert.deepEqual(readFilter(query), filter);
  assert.deepEqual(readFilter({ from: "yesterday", action: "odd", scope: "organization", page: "x" }), {});
  assert.equal(isFiltered({ scope: "instance", page: 3 }), false);
});

test("the last day of a filter belongs to it", () => {
  const { from, to, resource_type } = queryOf({ from: "2026-11-01", to: "2026-11-01", resource: "smtp" });
  assert.equal(resource_type, "smtp");
  assert.equal(Date.parse(to ?? "") - Date.parse(from ?? ""), 86_400_000);
});

test("an entry leads to what it is about, unless that is gone", () => {
  const place = (resource: string, action: string, metadata: Record<string, string> = {}) =>
    placeOf({ resource, action, resource_id: "1", metadata } as Parameters<typeof placeOf>[0]);
  assert.equal(place("application", "update"), "/applications/1");
  assert.equal(place("application", "delete"), null);
  assert.equal(place("deployment", "create", { application_id: "2" }), "/applications/2/deployments/1");
  assert.equal(place("deployment", "delete", { application_id: "2" }), null);
  assert.equal(place("extension", "update", { extension: "redis" }), "/extensions/redis");
  assert.equal(place("connection", "delete"), "/connections");
  assert.equal(place("invitation", "delete"), "/organization/invitations");
  assert.equal(place("domain", "delete"), "/organization/certificates");
  assert.equal(place("denial", "access"), null);
});

test("a login is renewed once a day, or half-way where it is shorter", () => {
  const hour = 3_600_000;
  const week = { from: 0, until: 7 * 24 * hour };
  assert.equal(isDue(week, 23 * hour), false);
  assert.equal(isDue(week, 24 * hour), true);
  assert.equal(isDue({ from: 0, until: 24 * hour }, 13 * hour), true);
  assert.equal(isDue({ from: 0, until: 24 * hour }, 11 * hour), false);
});

test("of the mail server only what was typed is sent", () => {
  const stored = { ...fieldsOf(null), host: "mail.example.org", from_email: "a@example.org" };
  assert.deepEqual(Object.keys(bodyOf(stored)).sort(), [
    ...["from_email", "from_name", "host", "is_active", "security", "username"],
  ]);
  assert.deepEqual(bodyOf({ ...stored, port: "25", password: "x" }).port, 25);
  assert.equal(bodyOf({ ...stored, password: "x" }).password, "x");
  assert.equal(bodyOf({ ...stored, noPassword: true }).password, "");
});

test("the address of a webhook shows only where it leads", () => {
  assert.equal(maskedUrl("https://hooks.example.org/services/secret?x=1"), "https://hooks.example.org/********");
  assert.equal(maskedUrl("odd"), "********");
});

test("settings are found by words in their name and value", () => {
  const settings = [
    { name: "listen", section: "Server", help: "Where to listen", value: "0.0.0.0:7780", is_default: false },
    { name: "session-days", section: "Accounts", help: "How long", value: "7", is_default: true },
  ];
  assert.deepEqual(matching(settings, "7780 LIST", false), [settings[0]]);
  assert.deepEqual(matching(settings, "", true), [settings[0]]);
  assert.equal(matching(settings, "", false).length, 2);
});
