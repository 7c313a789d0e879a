/** A server that has any number of lines without storing them: what line n says follows from n. */
export interface FakeServer {
  fetch: typeof fetch;
  head: number;
  /** Lines that are printed in a second. */
  rate: number;
  /** Open connections that follow. */
  followers: number;
  requests: string[];
  breakOff(): void;
}

const E = "\u001b";
const KINDS: readonly ((n: number) => string)[] = [
  (n) => `GET /items/${n} 200 ${n % 97} ms`,
  (n) => JSON.stringify({ level: "info", msg: `request ${n} done`, ms: n % 90, user: { id: n % 1000 } }),
  (n) => `${E}[32m✓${E}[0m job ${n} ${E}[1;33mslow${E}[0m ${E}[38;5;208morange${E}[0m`,
  (n) => `WARN queue length ${n % 500}`,
  (n) => `level=debug msg="tick ${n}" worker=${n % 8}`,
  (n) => `ERROR cannot reach upstream ${n}: connection refused`,
  (n) => `<img src=x onerror="document.title='xss ${n}'"> is only text`,
];

export const textOf = (n: number): string =>
  n % 5_000 === 0 ? `long ${n} ${"abcdefghij".repeat(1_000)}` : (KINDS[n % KINDS.length]?.(n) ?? "");

const STREAMS = ["stdout", "stderr", "windlass"];
const START = Date.parse("2026-11-16T00:00:00Z");

function lineOf(n: number) {
  const created_at = new Date(START + n * 20).toISOString();
  const stream = n % 50 === 0 ? STREAMS[2] : n % 10 === 0 ? STREAMS[1] : STREAMS[0];
  const own = "00000000-0000-0000-0000-000000000002";
  const ids = {
    id: own,
    application_id: own,
    application_deployment_id: own,
    application: {},
    application_deployment: {},
  };
  return {
    ...ids,
    log: textOf(n),
    created_at,
    updated_at: created_at,
    stream,
    step: "run",
    service: "",
    cursor: String(n),
  };
}

type Sent = ReturnType<typeof lineOf>;

function matcher(query: URLSearchParams): (line: Sent) => boolean {
  const term = query.get("search_term")?.toLowerCase();
  const regex = query.get("regex");
  const pattern = regex ? new RegExp(regex) : null;
  const [stream, since] = [query.get("stream"), query.get("start_time")];
  return (line) =>
    (!term || line.log.toLowerCase().includes(term)) &&
    (!pattern || pattern.test(line.log)) &&
    (!stream || line.stream === stream) &&
    (!since || line.created_at >= since);
}

/** A search looks at so many lines at once, as the real one takes so many seconds. */
const SEARCHED = 50_000;

function page(head: number, query: URLSearchParams) {
  const size = Number(query.get("page_size") ?? 100);
  const matches = matcher(query);
  const logs: Sent[] = [];
  const after = query.get("after");
  if (after !== null) {
    let at = Math.min(Number(after), head);
    const since = query.get("start_time");
    if (since) at = Math.max(at, Math.floor((Date.parse(since) - START) / 20) - 1);
    for (let looked = 0; at < head && logs.length < size && looked < SEARCHED; looked += 1) {
      const line = lineOf(++at);
      if (matches(line)) logs.push(line);
    }
    return { logs, next_cursor: String(at) };
  }
  let at = Math.min(Number(query.get("before") ?? head + 1), head + 1);
  for (let looked = 0; at > 1 && logs.length < size && looked < SEARCHED; looked += 1) {
    const line = lineOf(--at);
    if (matches(line)) logs.push(line);
  }
  return { logs, next_cursor: at > 1 ? String(at) : "" };
}

export function fakeServer(lines: number): FakeServer {
  const open = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const encoder = new TextEncoder();
  let printedAt = performance.now();
  const server: FakeServer = {
    head: lines,
    rate: 0,
    followers: 0,
    requests: [],
    breakOff() {
      for (const one of open) one.error(new TypeError("broken off"));
      open.clear();
      server.followers = 0;
    },
    fetch: async (input, init) => {
      const url = new URL(String(input), location.href);
      server.requests.push(url.pathname + url.search);
      const headers = new Headers(init?.headers);
      if (headers.get("X-Windlass-Client") !== "browser") throw new Error("the client's header is missing");
      await new Promise((resolve) => setTimeout(resolve, 15));
      if (init?.signal?.aborted) throw new DOMException("aborted", "AbortError");
      if (url.pathname.endsWith("/follow")) return followed(url.searchParams, headers, init?.signal ?? null);
      return Response.json({ status: "success", message: "", data: page(server.head, url.searchParams) });
    },
  };

  function followed(query: URLSearchParams, headers: Headers, signal: AbortSignal | null): Response {
    const matches = matcher(query);
    let at = Number(headers.get("Last-Event-ID") ?? query.get("after") ?? server.head);
    let timer: ReturnType<typeof setInterval>;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        open.add(controller);
        server.followers += 1;
        controller.enqueue(encoder.encode(`retry: 1000\nid: ${at}\n\n`));
        const end = () => {
          clearInterval(timer);
          if (!open.delete(controller)) return;
          server.followers -= 1;
          controller.error(new DOMException("aborted", "AbortError"));
        };
        signal?.addEventListener("abort", end);
        timer = setInterval(() => {
          if (!open.has(controller)) return clearInterval(timer);
          let events = "";
          for (let sent = 0; at < server.head && sent < 1000; sent += 1) {
            const line = lineOf(++at);
            if (matches(line)) events += `id: ${at}\ndata: ${JSON.stringify(line)}\n\n`;
          }
          if (events) controller.enqueue(encoder.encode(events));
        }, 20);
      },
      cancel() {
        clearInterval(timer);
      },
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }

  setInterval(() => {
    const now = performance.now();
    const printed = Math.floor(((now - printedAt) / 1000) * server.rate);
    if (server.rate === 0 || printed > 0) printedAt = now;
    server.head += printed;
  }, 10);
  return server;
}
