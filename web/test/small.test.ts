import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApplicationFilter } from "../src/api/applications.ts";
import { ApiError, address, linked } from "../src/api/client.ts";
import { tokenIn } from "../src/session/linkToken.ts";
import { fontStack } from "../src/theme/font.ts";
import { changeFilter, isFiltered } from "../src/ui/filter.ts";
import { clientName } from "../src/views/account/clientName.ts";
import { proposedName, repositoryName } from "../src/views/applications/facts.ts";
import { applicationsAddress, readFilter } from "../src/views/applications/filter.ts";

test("a message names the field that it is about", () => {
  const field = (message: string) => new ApiError(400, "invalid_request", message, null).field;
  assert.equal(field("branch: must not begin with /"), "branch");
  assert.equal(field("environment_variables.A: is too long (line 1)"), "environment_variables");
  assert.equal(field("The body is not JSON: oops"), null);
  assert.equal(new ApiError(409, "conflict", "branch: taken", null).field, null);
  assert.equal(new ApiError(409, "domain_taken", "domain: another organization has it.", null).field, "domain");
});

test("what is empty is not in the address", () => {
  assert.equal(address("/a", { b: "", c: undefined, d: 0, e: ["x y", "z"] }), "/api/v1/a?d=0&e=x+y%2Cz");
  assert.equal(address("/a", { b: [], c: null }), "/api/v1/a");
  assert.equal(address("/a"), "/api/v1/a");
});

test("an empty link is no record", () => {
  assert.equal(linked({}), null);
  assert.deepEqual(linked({ id: "1" }), { id: "1" });
});

test("a link's token is read from behind the #, and only for what it is", () => {
  assert.equal(tokenIn("#reset=a-b_c", "reset"), "a-b_c");
  assert.equal(tokenIn("#verify-email=a-b_c", "verify-email"), "a-b_c");
  assert.equal(tokenIn("#reset=a-b_c", "verify-email"), null);
  assert.equal(tokenIn("#reset=", "reset"), null);
  assert.equal(tokenIn("", "invitation"), null);
});

test("a font's name can be nothing but a name", () => {
  assert.equal(fontStack("outfit"), "");
  assert.equal(fontStack("serif"), "serif");
  assert.equal(fontStack('x", url(evil)\\'), '"x, url(evil)", system-ui, sans-serif');
});

test("a name is proposed from any address of a repository", () => {
  const proposed = ["https://a.b/team/shop.git", "git@a.b:team/my_shop.git", "/srv/code/hello/", "push", ""].map(
    proposedName,
  );
  assert.deepEqual(proposed, ["shop", "my-shop", "hello", "push", ""]);
  assert.equal(repositoryName("https://user:pass@a.b/team/shop.git"), "a.b/team/shop");
});

test("a filter survives its address", () => {
  const filter = { search: "a b", label: ["x", "y"], environment: "staging", state: "failed" as const, page: 3 };
  const query = Object.fromEntries(new URL(applicationsAddress(filter), "http://h").searchParams);
  assert.deepEqual(readFilter(query), filter);
  assert.deepEqual(readFilter({ state: "odd", page: "-1" }), {});
});

test("of several values each is sent once", () => {
  assert.equal(address("/a", { b: ["x", "y", "x"] }), "/api/v1/a?b=x%2Cy");
});

test("a changed filter begins at its first page, and what is empty does not filter", () => {
  assert.deepEqual(changeFilter<ApplicationFilter>({ search: "a", page: 3 }, { search: "b" }), { search: "b" });
  assert.deepEqual(changeFilter<ApplicationFilter>({ search: "a", label: ["x"] }, { search: "", label: [] }), {});
  assert.equal(isFiltered({ page: 2 }), false);
});

test("programs are called by what people call them", () => {
  const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0 Safari/537.36";
  assert.equal(clientName(chrome), "Chrome, Linux");
  assert.equal(clientName("curl/8.5.0"), "curl/8.5.0");
  assert.equal(clientName(""), "?");
});
