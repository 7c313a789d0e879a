import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

// How the sources lean on each other.

const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .map((name) => join("src", name))
  .filter((path) => /\.(tsx?|css)$/.test(path) && !path.endsWith(".d.ts"));
const code = sources.filter((path) => !path.endsWith(".css"));
const textOf = new Map(sources.map((path) => [path, readFileSync(path, "utf8")]));

const all = (path: string, pattern: RegExp): string[] =>
  [...(textOf.get(path) ?? "").matchAll(pattern)].map(([, found = ""]) => found);

/** What is loaded together with a file: imports of types only, and those that are done later, are not. */
function importsOf(path: string): string[] {
  return all(path, /^(?:import|export)(?! type)\b[^;"]*"(\.[^"]+)"/gm)
    .map((name) => join(dirname(path), name))
    .flatMap((base) => ["", ".ts", ".tsx", "/index.ts", "/index.tsx"].map((end) => base + end))
    .filter((file) => existsSync(file) && statSync(file).isFile());
}

/** `src/views/volumes` of a file in it; other files belong to none. */
const viewOf = (path: string): string | undefined => /^src\/views\/[^/]+(?=\/)/.exec(path)?.[0];

function circleFrom(path: string, way: readonly string[], done: Set<string>): readonly string[] | null {
  if (way.includes(path)) return [...way.slice(way.indexOf(path)), path];
  if (done.has(path)) return null;
  for (const next of importsOf(path)) {
    const circle = circleFrom(next, [...way, path], done);
    if (circle) return circle;
  }
  done.add(path);
  return null;
}

test("no files import each other in a circle", () => {
  const done = new Set<string>();
  for (const path of code) assert.equal(circleFrom(path, [], done)?.join(" > "), undefined);
});

test("no view imports the styles of another one", () => {
  for (const path of code) {
    const others = importsOf(path).filter((css) => css.endsWith(".css") && viewOf(css) && viewOf(css) !== viewOf(path));
    assert.deepEqual(others, [], path);
  }
});

test("no view uses a class that only another one defines", () => {
  const homes = new Map<string, Set<string | undefined>>();
  for (const path of sources.filter((name) => name.endsWith(".css"))) {
    for (const name of all(path, /\.([a-z][\w-]*)(?=[^{};]*\{)/g)) {
      homes.set(name, (homes.get(name) ?? new Set()).add(viewOf(path)));
    }
  }
  for (const path of code) {
    const used = all(path, /class=(?:"|\{`)([^"`]*)/g).flatMap((text) => text.split(/[^\w-]+/));
    const foreign = used.filter((name) => {
      const home = homes.get(name);
      return home && !home.has(undefined) && !home.has(viewOf(path));
    });
    assert.deepEqual(foreign, [], path);
  }
});
