import assert from "node:assert/strict";
import { test } from "node:test";
import type { Arrived, Line, Page } from "../src/logs/line.ts";
import { LogWindow } from "../src/logs/window.ts";

const line = (cursor: number, text = `line ${cursor}`): Line => ({
  cursor,
  at: new Date(cursor * 1000).toISOString(),
  text,
  stream: "stdout",
  step: "run",
  service: "",
});
const arrived = (cursor: number): Arrived => ({ cursor, read: () => line(cursor) });
const upTo = (from: number, to: number) => Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);
const cursors = (window: LogWindow) => window.lines.map(({ cursor }) => cursor);

/** A server with lines 1 to `head`, of which some match. */
class Server {
  constructor(
    public head: number,
    private readonly matches: (cursor: number) => boolean = () => true,
    private readonly size = 10,
  ) {}

  before(cursor: number | null): Page {
    const found = upTo(1, (cursor ?? this.head + 1) - 1).filter(this.matches);
    const lines = found.slice(-this.size).map((one) => line(one));
    return { lines, edge: lines[0]?.cursor ?? 0, isLast: found.length <= this.size };
  }

  after(cursor: number): Page {
    const found = upTo(cursor + 1, this.head).filter(this.matches);
    const lines = found.slice(0, this.size).map((one) => line(one));
    const edge = found.length > this.size ? (lines.at(-1)?.cursor ?? 0) : Math.max(cursor, this.head);
    return { lines, edge, isLast: edge <= cursor };
  }

  wanted(from: number, to: number): number[] {
    return upTo(from, to).filter(this.matches);
  }
}

const bounds = { lines: 30, bytes: 1_000_000 };

function opened(server: Server): LogWindow {
  const window = new LogWindow(bounds);
  window.hold();
  window.showNewest(server.before(null));
  return window;
}

test("the newest page is shown, and followed lines are added to it", () => {
  const window = opened(new Server(100));
  assert.deepEqual(cursors(window), upTo(91, 100));
  assert.ok(window.isAtNewest && window.hasOlder);
  window.follow([arrived(101), arrived(102)], true);
  assert.deepEqual(cursors(window), upTo(91, 102));
  assert.equal(window.unseen, 0);
});

test("what comes twice after a reconnection is taken once", () => {
  const window = opened(new Server(100));
  window.follow([arrived(101), arrived(102)], true);
  window.follow([arrived(101), arrived(102), arrived(103)], true);
  assert.deepEqual(cursors(window), upTo(91, 103));
});

test("for one who follows, the oldest lines go; for one who reads, new lines are only counted when it is full", () => {
  const window = opened(new Server(100));
  window.follow(upTo(101, 150).map(arrived), true);
  assert.deepEqual(cursors(window), upTo(121, 150));
  assert.equal(window.start, 121);
  const before = window.lines;
  window.follow(upTo(151, 153).map(arrived), false);
  assert.equal(window.lines, before);
  assert.ok(!window.isAtNewest);
  assert.equal(window.unseen, 3);
  window.follow([arrived(154)], false);
  assert.equal(window.unseen, 4);
});

test("lines that are not kept are not even read", () => {
  const window = opened(new Server(100));
  window.follow(upTo(101, 120).map(arrived), true);
  const unread: Arrived = { cursor: 121, read: () => assert.fail("it was read") };
  window.follow([unread], false);
  assert.equal(window.unseen, 1);
});

test("paging back drops the newest, paging forward comes back to them without holes", () => {
  const server = new Server(100);
  const window = opened(server);
  for (let page = 0; page < 5; page += 1) window.addOlder(server.before(window.start));
  assert.deepEqual(cursors(window), upTo(41, 70));
  assert.ok(!window.isAtNewest);
  window.follow([arrived(101)], false);
  server.head = 101;
  for (let page = 0; page < 5 && !window.isAtNewest; page += 1) {
    window.hold();
    window.addNewer(server.after(window.end));
  }
  assert.ok(window.isAtNewest);
  assert.deepEqual(cursors(window), upTo(72, 101));
});

test("lines that come while the newest are being read are not lost, however fast they come", () => {
  const server = new Server(100);
  const window = opened(server);
  window.addOlder(server.before(window.start));
  window.addOlder(server.before(window.start));
  window.follow([arrived(101)], false);
  assert.ok(!window.isAtNewest);
  window.hold();
  server.head = 103;
  const answer = server.before(null);
  window.follow(upTo(102, 106).map(arrived), false);
  window.showNewest(answer);
  assert.ok(window.isAtNewest);
  assert.deepEqual(cursors(window), upTo(94, 106));
});

test("a request that failed loses nothing that came meanwhile", () => {
  const window = opened(new Server(100));
  window.hold();
  window.follow([arrived(101)], true);
  window.release();
  assert.deepEqual(cursors(window), upTo(91, 101));
});

test("a jump shows lines on both sides, away from the newest", () => {
  const server = new Server(1000);
  const window = opened(server);
  window.hold();
  window.showAround(server.before(500), server.after(499));
  assert.deepEqual(cursors(window), upTo(490, 509));
  assert.ok(window.has(500) && !window.isAtNewest && window.hasOlder);
  window.follow([arrived(1001)], false);
  assert.deepEqual(cursors(window), upTo(490, 509));
});

test("a jump near the end is at the newest", () => {
  const server = new Server(1000);
  const window = opened(server);
  window.hold();
  const later = server.after(994);
  window.follow([arrived(1001)], false);
  window.showAround(server.before(995), later);
  assert.ok(window.isAtNewest);
  assert.equal(cursors(window).at(-1), 1001);
});

test("it is bounded in bytes too, and keeps at least one line", () => {
  const window = new LogWindow({ lines: 1000, bytes: 10_000 });
  const long = (cursor: number) => ({ cursor, read: () => line(cursor, "x".repeat(2_000)) });
  window.hold();
  window.showNewest({ lines: [], edge: 0, isLast: true });
  window.follow(upTo(1, 20).map(long), true);
  assert.deepEqual(cursors(window), [19, 20]);
  assert.ok(window.size <= 10_000 && window.hasOlder);
  window.follow([{ cursor: 21, read: () => line(21, "x".repeat(50_000)) }], true);
  assert.deepEqual(cursors(window), [21]);
});

test("a search that finds nothing gets on, and the end of the log is found", () => {
  const server = new Server(100, (cursor) => cursor === 3);
  const window = new LogWindow(bounds);
  window.skipTo(100, 0);
  window.hold();
  window.showNewest({ lines: [], edge: 60, isLast: false });
  assert.ok(window.hasOlder && window.isAtNewest);
  assert.equal(window.end, 100);
  window.addOlder(server.before(window.start));
  assert.deepEqual(cursors(window), [3]);
  assert.ok(!window.hasOlder);
});

test("lines that were missed while nothing was read are told, and reached by paging", () => {
  const server = new Server(100);
  const window = opened(server);
  server.head = 125;
  window.skipTo(125, 25);
  assert.equal(window.unseen, 25);
  assert.ok(!window.isAtNewest);
  while (!window.isAtNewest) {
    window.hold();
    window.addNewer(server.after(window.end));
  }
  assert.deepEqual(cursors(window), upTo(96, 125));
});

test("without a connection, the end is where the server says it is", () => {
  const server = new Server(15);
  const window = new LogWindow(bounds);
  window.showAround({ lines: [], edge: 0, isLast: true }, server.after(0));
  assert.ok(!window.isAtNewest);
  window.addNewer(server.after(window.end));
  window.addNewer(server.after(window.end));
  assert.ok(window.isAtNewest);
  assert.deepEqual(cursors(window), upTo(1, 15));
});

/** Small numbers that look random and are the same in each run. */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    yield Math.floor(state / 65_536);
  }
}

for (const every of [1, 3, 50]) {
  test(`whatever is done, no line between its ends is missing or doubled (one of ${every} matches)`, () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const random = numbers(seed);
      const next = (below: number) => random.next().value % below;
      const matches = (cursor: number) => cursor % every === 0;
      const server = new Server(200 + next(300), matches);
      const window = new LogWindow(bounds);
      if (every > 1) window.skipTo(server.head, 0);
      window.hold();
      window.showNewest(server.before(null));
      let sent = window.newest;
      const send = () => {
        const from = sent + 1;
        server.head += next(12);
        sent = Math.max(sent, server.head - next(3));
        window.follow(server.wanted(from, sent).map(arrived), next(2) === 0 && window.isAtNewest);
      };
      for (let turn = 0; turn < 60; turn += 1) {
        const action = next(6);
        if (action === 0) send();
        else if (action === 1 && window.hasOlder) window.addOlder(server.before(window.start));
        else if (action === 2 && !window.isAtNewest) {
          window.hold();
          const answer = server.after(window.end);
          send();
          window.addNewer(answer);
        } else if (action === 3) {
          window.hold();
          const answer = server.before(null);
          send();
          window.showNewest(answer);
        } else if (action === 4) {
          const at = 1 + next(server.head);
          window.hold();
          const [earlier, later] = [server.before(at), server.after(at - 1)];
          send();
          window.showAround(earlier, later);
        } else window.markSeen();
        const [from, to] = [window.hasOlder ? window.start : 1, window.end];
        assert.deepEqual(cursors(window), server.wanted(from, to), `seed ${seed}, turn ${turn}`);
        assert.ok(window.lines.length <= bounds.lines);
        if (window.isAtNewest) assert.deepEqual(server.wanted(window.end + 1, sent), [], `seed ${seed}, turn ${turn}`);
      }
    }
  });
}
