import assert from "node:assert/strict";
import { test } from "node:test";
import type { Certificate } from "../src/api/certificates.ts";
import type { Domain } from "../src/api/domains.ts";
import { addressOf, changedBody, covers, domainsOf, draftOf, keyOf, visitUrl } from "../src/views/domains/facts.ts";

const MAIN = { id: null, domain: "shop.localhost", readable: "shop.localhost", path: "/", application_id: "1" };
const domain = (part: Partial<Domain>): Domain => ({ ...MAIN, https: "none", https_only: true, ...part }) as Domain;
const certificate = (...names: string[]) => ({ names }) as Certificate;

test("an application's domains begin with its main one", () => {
  const all = [
    domain({ id: "a", domain: "a.example.org" }),
    domain({}),
    domain({ id: "b", domain: "b.example.org" }),
    domain({ domain: "c.example.org", application_id: "2" }),
    domain({ domain: "d.example.org", application_id: null }),
  ];
  const names = domainsOf("1", all).map((one) => one.domain);
  assert.deepEqual(names, ["shop.localhost", "a.example.org", "b.example.org"]);
});

test("a domain is written as people read it, with its path unless that is everything", () => {
  const books = domain({ domain: "xn--bcher-kva.example", readable: "bücher.example" });
  assert.equal(addressOf(books), "bücher.example");
  assert.equal(addressOf({ ...books, path: "/api" }), "bücher.example/api");
  assert.notEqual(keyOf(books), keyOf({ ...books, path: "/api" }));
});

test("a domain is visited over https where it is served at the usual port", () => {
  const www = domain({ domain: "www.example.org", path: "/api" });
  assert.equal(visitUrl(www, "http://shop.localhost"), "http://www.example.org/api");
  assert.equal(visitUrl({ ...www, https: "served" }, "http://shop.localhost"), "https://www.example.org/api");
  assert.equal(visitUrl({ ...www, https: "served" }, "http://shop.localhost:7781"), "http://www.example.org:7781/api");
  assert.equal(visitUrl(domain({ domain: "*.example.org" }), "http://shop.localhost"), null);
});

test("a certificate is for its own names, and for those right below its wildcards", () => {
  assert.equal(covers(certificate("a.org", "www.a.org"), "www.a.org"), true);
  assert.equal(covers(certificate("*.a.org"), "www.a.org"), true);
  assert.equal(covers(certificate("*.a.org"), "*.a.org"), true);
  assert.equal(covers(certificate("*.a.org"), "a.org"), false);
  assert.equal(covers(certificate("*.a.org"), "x.www.a.org"), false);
  assert.equal(covers(certificate("*.org"), "*.a.org"), false);
});

test("of a domain only what was changed is sent", () => {
  const begun = draftOf(domain({ chosen_certificate_id: "c" }));
  assert.deepEqual(changedBody(begun, begun), { https_only: null, certificate_id: null });
  assert.deepEqual(changedBody(begun, { httpsOnly: false, certificateId: "" }), {
    https_only: false,
    certificate_id: "",
  });
});
