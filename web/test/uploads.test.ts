import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { ApiError, NetworkError } from "../src/api/client.ts";
import type { Upload } from "../src/api/uploads.ts";
import { ofFolder, ofTar } from "../src/uploads/folder.ts";
import { Sha256 } from "../src/uploads/sha256.ts";
import { type Bytes, FolderTar, TarOfUser, UnreadableFile } from "../src/uploads/tar.ts";
import { FIRST_PART, type Memory, nextPart, type Progress, transfer } from "../src/uploads/transfer.ts";
import { bodyOf, EMPTY_DRAFT, nameOf, PUSHED, UPLOADED } from "../src/views/applications/newApplication.ts";

const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const whole = (bytes: Bytes) => bytes.read(0, bytes.size);
const filled = (length: number) => Uint8Array.from({ length }, (_, at) => (at * 7) % 251);

/** As a browser makes it of a chosen folder. */
function inFolder(path: string, content: BlobPart = ""): File {
  return Object.defineProperty(new File([content], path.split("/").at(-1) ?? ""), "webkitRelativePath", {
    value: path,
  });
}

test("a hash of pieces is that of the whole", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1_000, 70_000]) {
    const bytes = filled(length);
    const hash = new Sha256();
    for (let at = 0; at < length; at += 37) hash.update(bytes.subarray(at, at + 37));
    assert.equal(hash.digest(), hashOf(bytes), String(length));
  }
});

interface Listed {
  name: string;
  mode: number;
  type: string;
  content: string;
}

/** Reads a tar back, with the attributes of pax, and checks its sums. */
function list(tar: Uint8Array): Listed[] {
  const words = (from: number, length: number) =>
    new TextDecoder().decode(tar.subarray(from, from + length)).replace(/\0.*$/s, "");
  const found: Listed[] = [];
  let attributes: Record<string, string> = {};
  let at = 0;
  for (; tar[at] !== 0; ) {
    const block = tar.slice(at, at + 512);
    const sum = Number.parseInt(words(at + 148, 8), 8);
    block.fill(0x20, 148, 156);
    assert.equal(
      block.reduce((all, byte) => all + byte, 0),
      sum,
    );
    assert.equal(words(at + 257, 6), "ustar");
    const type = words(at + 156, 1);
    const size = Number(attributes.size ?? Number.parseInt(words(at + 124, 12), 8));
    const content = new TextDecoder().decode(tar.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
    if (type === "x") attributes = readAttributes(content);
    else {
      const name = attributes.path ?? words(at - 512 - Math.ceil(size / 512) * 512, 100);
      const mode = Number.parseInt(words(at - 512 - Math.ceil(size / 512) * 512 + 100, 8), 8);
      found.push({ name, mode, type, content });
      attributes = {};
    }
  }
  assert.equal(tar.length - at, 1024);
  assert.ok(tar.subarray(at).every((byte) => byte === 0));
  return found;
}

function readAttributes(text: string): Record<string, string> {
  const bytes = new TextEncoder().encode(text);
  const found: Record<string, string> = {};
  for (let at = 0; at < bytes.length; ) {
    const length = Number.parseInt(new TextDecoder().decode(bytes.subarray(at, at + 10)), 10);
    const record = new TextDecoder().decode(bytes.subarray(at, at + length));
    const [, key = "", value = ""] = /^\d+ ([^=]+)=(.*)\n$/s.exec(record) ?? [];
    found[key] = value;
    at += length;
  }
  return found;
}

const LONG = `${"deep/".repeat(30)}file.txt`;
const FILES: [path: string, content: string][] = [
  ["www/index.html", "<h1>Hello</h1>"],
  ["empty", ""],
  ["start.sh", "#!/bin/sh\nexec true\n"],
  ["program", "\u007fELF and more"],
  ["exactly", "x".repeat(512)],
  [LONG, "deep"],
  ["ünïcödé/日本.txt", "names"],
  ["a\nb", "newline"],
  [`${"n".repeat(100)}`, "fits"],
];
const tarOf = (files: readonly [string, string][]) =>
  new FolderTar(files.map(([path, content]) => ({ path, file: new Blob([content]) })));

test("a tar has every file with its name, its content, and whether it is a program", async () => {
  const listed = list(await whole(tarOf(FILES)));
  const expected = [...FILES].sort(([one], [other]) => (one < other ? -1 : 1));
  assert.deepEqual(
    listed.map(({ name, content }) => [name, content]),
    expected,
  );
  assert.ok(listed.every(({ type }) => type === "0"));
  const programs = listed.filter(({ mode }) => mode === 0o755).map(({ name }) => name);
  assert.deepEqual(programs, ["program", "start.sh"]);
});

test("a tar read in pieces is the tar read at once", async () => {
  const tar = tarOf(FILES);
  const all = await whole(tar);
  for (const step of [1, 100, 511, 512, 513, 5_000]) {
    const pieces: number[] = [];
    for (let at = 0; at < tar.size; at += step) pieces.push(...(await tar.read(at, at + step)));
    assert.ok(all.every((byte, at) => byte === pieces[at]) && pieces.length === all.length, String(step));
  }
});

test("the same files make the same tar, whatever their order", async () => {
  const [one, other] = [await whole(tarOf(FILES)), await whole(tarOf([...FILES].reverse()))];
  assert.equal(hashOf(one), hashOf(other));
});

test("GNU tar reads it", async (context) => {
  const tar = await whole(tarOf(FILES));
  const { status, stdout, error } = spawnSync("tar", ["-tf", "-", "--quoting-style=literal"], { input: tar });
  if (error) return context.skip("there is no tar");
  assert.equal(status, 0);
  assert.ok(stdout.toString().includes(`${LONG}\n`));
  assert.ok(stdout.toString().includes("ünïcödé/日本.txt\n"));
});

test("a size that its field has no room for is in the attributes", async () => {
  const size = 8 ** 11;
  const file = { size, slice: () => new Blob(["abcd"]) } as unknown as Blob;
  const tar = new FolderTar([{ path: "large", file }]);
  assert.equal(tar.size, 3 * 512 + size + 1024);
  const head = await tar.read(0, 3 * 512);
  const attributes = new TextDecoder().decode(head.subarray(512, 1024)).replace(/\0.*$/s, "");
  assert.equal(attributes, `19 size=${size}\n`);
});

test("a file that is not there any more is named", async () => {
  const file = { size: 10, slice: () => new Blob([]) } as unknown as Blob;
  const tar = new FolderTar([{ path: "a/gone", file }]);
  await assert.rejects(whole(tar), (error) => error instanceof UnreadableFile && error.path === "a/gone");
});

test("of a folder everything is sent but its history, and packages only if they are wanted", () => {
  const files = ["app/index.js", "app/.git/HEAD", "app/sub/.GIT", "app/.env", "app/node_modules/a/index.js"];
  const chosen = (withPackages: boolean) =>
    ofFolder(
      files.map((path) => inFolder(path)),
      withPackages,
    );
  assert.deepEqual([chosen(false).name, chosen(false).files, chosen(false).hasPackages], ["app", 2, true]);
  assert.equal(chosen(true).files, 3);
  assert.equal(ofFolder([inFolder("app/.git/HEAD")], true).files, 0);
});

test("the paths in the tar begin below the folder", async () => {
  const { bytes } = ofFolder([inFolder("app/www/a.txt", "A")], false);
  assert.deepEqual(
    list(await whole(bytes)).map(({ name }) => name),
    ["www/a.txt"],
  );
});

test("a new application of an upload is one that is pushed to, called by its folder", () => {
  const draft = { ...EMPTY_DRAFT, repository: UPLOADED, upload: ofTar(new File(["x"], "my shop.tar.gz")) };
  assert.equal(nameOf(draft), "my-shop");
  assert.deepEqual(bodyOf(draft), { name: "my-shop", repository: PUSHED });
  assert.equal(nameOf({ ...EMPTY_DRAFT, repository: UPLOADED }), "");
});

test("parts grow while they are fast, shrink while they are slow, and stay within bounds", () => {
  assert.equal(nextPart(FIRST_PART, 10), 2 * FIRST_PART);
  assert.equal(nextPart(FIRST_PART, 2_000), FIRST_PART);
  assert.equal(nextPart(FIRST_PART, 9_000), FIRST_PART / 2);
  assert.equal(nextPart(8 << 20, 10), 8 << 20);
  assert.equal(nextPart(64 << 10, 60_000), 64 << 10);
});

const refusal = (status: number, retryAfter: number | null = null) =>
  new ApiError(status, "unknown", `refused with ${status}`, retryAfter);

/** A server in memory. What `fails` says is thrown instead of the answer to that part. */
class FakeServer {
  received: Uint8Array = new Uint8Array();
  begun = 0;
  removed: string[] = [];
  parts: number[] = [];
  /** By how many parts have come so far: before a part is taken, or after, as if its answer were lost. */
  fails = new Map<number, { error: Error; taken?: number }>();
  #size = 0;
  #id = "";

  #take(part: Uint8Array): void {
    const all = new Uint8Array(this.received.length + part.length);
    all.set(this.received);
    all.set(part, this.received.length);
    this.received = all;
  }

  #upload(): Upload {
    const offset = this.received.length;
    return {
      id: this.#id,
      application_id: "application",
      offset,
      size: this.#size,
      sha256: "",
      deployment_id: offset === this.#size ? "deployment" : null,
      created_at: "",
      expires_at: "",
    };
  }

  requests = {
    begin: async (size: number) => {
      this.begun += 1;
      this.received = new Uint8Array();
      [this.#size, this.#id] = [size, `upload-${this.begun}`];
      return this.#upload();
    },
    look: async (id: string) => {
      if (id !== this.#id) throw refusal(404);
      return this.#upload();
    },
    send: async (_: string, offset: number, part: Uint8Array<ArrayBuffer>) => {
      const failure = this.fails.get(this.parts.length);
      this.parts.push(part.length);
      if (failure) {
        this.#take(part.subarray(0, failure.taken ?? 0));
        throw failure.error;
      }
      if (offset !== this.received.length) throw refusal(409);
      this.#take(part);
      return this.#upload();
    },
    remove: async (id: string) => void this.removed.push(id),
  };
}

function memoryOf(known: Map<string, string>): Memory {
  return {
    recall: (sha256) => known.get(sha256) ?? null,
    keep: (sha256, id) => void known.set(sha256, id),
    forget: (sha256) => void known.delete(sha256),
  };
}

function run(server: FakeServer, bytes: Bytes, known = new Map<string, string>(), cancelledInPause?: AbortController) {
  const states: Progress[] = [];
  const pauses: number[] = [];
  const deployment = transfer({
    bytes,
    requests: server.requests,
    memory: memoryOf(known),
    signal: (cancelledInPause ?? new AbortController()).signal,
    pause: async (ms) => {
      pauses.push(ms);
      cancelledInPause?.abort();
    },
    onProgress: (state) => states.push(state),
  });
  return { deployment, states, pauses };
}

const CONTENT = filled(3 * FIRST_PART + 5);
const upload = () => new TarOfUser(new File([CONTENT], "a.tar"));
const isComplete = ({ received }: FakeServer) => assert.equal(hashOf(received), hashOf(CONTENT));

test("an upload is sent in parts, and forgotten when it is deployed", async () => {
  const [server, known] = [new FakeServer(), new Map<string, string>()];
  const { deployment, states } = run(server, upload(), known);
  assert.equal(await deployment, "deployment");
  isComplete(server);
  assert.deepEqual(server.parts, [FIRST_PART, 2 * FIRST_PART, 5]);
  assert.equal(known.size, 0);
  assert.deepEqual([...new Set(states.map(({ is }) => is))], ["reading", "sending", "finishing"]);
});

test("after a lost connection it goes on where the server has come to", async () => {
  const server = new FakeServer();
  // Half of a part has arrived; of another the answer is lost.
  server.fails.set(1, { error: new NetworkError("away"), taken: 1_000 });
  server.fails.set(2, { error: refusal(503, 7), taken: FIRST_PART });
  const { deployment, states, pauses } = run(server, upload());
  assert.equal(await deployment, "deployment");
  isComplete(server);
  assert.equal(server.begun, 1);
  assert.deepEqual(pauses, [1_000, 7_000]);
  assert.ok(states.some(({ is }) => is === "waiting"));
});

test("a lost answer to the last part is asked for again", async () => {
  const server = new FakeServer();
  server.fails.set(2, { error: new NetworkError("away"), taken: 5 });
  assert.equal(await run(server, upload()).deployment, "deployment");
  isComplete(server);
});

test("it is not tried for ever", async () => {
  const server = new FakeServer();
  for (let part = 0; part < 100; part += 1) server.fails.set(part, { error: new NetworkError("away") });
  const known = new Map<string, string>();
  const { deployment, pauses } = run(server, upload(), known);
  await assert.rejects(deployment, NetworkError);
  assert.equal(pauses.length, 20);
  assert.equal(Math.max(...pauses), 30_000);
  assert.equal(known.size, 1, "it cannot go on later");
});

test("the same bytes go on after the page was loaded anew; others begin", async () => {
  const [server, known] = [new FakeServer(), new Map<string, string>()];
  server.fails.set(1, { error: refusal(401) });
  await assert.rejects(run(server, upload(), known).deployment, ApiError);
  assert.equal(await run(server, upload(), known).deployment, "deployment");
  assert.equal(server.begun, 1);
  isComplete(server);
  await run(server, new TarOfUser(new File(["other"], "a.tar")), known).deployment;
  assert.equal(server.begun, 2);
});

test("one that the server does not know any more begins anew", async () => {
  const server = new FakeServer();
  const known = new Map([[hashOf(CONTENT), "expired"]]);
  assert.equal(await run(server, upload(), known).deployment, "deployment");
  assert.equal(server.begun, 1);
});

test("what is refused for its content is told at once, and forgotten", async () => {
  const [server, known] = [new FakeServer(), new Map<string, string>()];
  server.fails.set(0, { error: refusal(400) });
  const { deployment, pauses } = run(server, upload(), known);
  await assert.rejects(deployment, (error) => error instanceof ApiError && error.status === 400);
  assert.deepEqual([pauses.length, known.size], [0, 0]);
});

test("a cancelled one sends nothing more", async () => {
  const [server, ending] = [new FakeServer(), new AbortController()];
  server.fails.set(1, { error: new NetworkError("away") });
  const { deployment } = run(server, upload(), new Map(), ending);
  await assert.rejects(deployment, { name: "AbortError" });
  assert.equal(server.parts.length, 2);
});

test("one that is cancelled while it begins is known, so that it can be deleted, and sends nothing", async () => {
  const [server, known, ending] = [new FakeServer(), new Map<string, string>(), new AbortController()];
  const begin = server.requests.begin;
  server.requests.begin = (size) => {
    ending.abort();
    return begin(size);
  };
  await assert.rejects(run(server, upload(), known, ending).deployment, { name: "AbortError" });
  assert.deepEqual([server.begun, server.parts.length, [...known.values()]], [1, 0, ["upload-1"]]);
});
