import { address, open, request } from "../api/client";
import { acceptsWhole, type Filter, isEverything, serverPart } from "./filter";
import type { Line, Page } from "./line";
import { numberedLine, type Sent, sentLine } from "./sent";
import { canFilter, type LogSource, pathOf } from "./source";

/** Reads a log's lines, whatever its source and its filter are. */
export interface LogReader {
  /** Null for the newest. */
  before(cursor: number | null, signal: AbortSignal): Promise<Page>;
  after(cursor: number, signal: AbortSignal): Promise<Page>;
  /** The last line that there is, wanted or not. */
  newest(signal: AbortSignal): Promise<number>;
  /** The first line that was printed at this time or later. */
  atTime(time: string, signal: AbortSignal): Promise<number | null>;
  /** The next line that matches, in either direction. */
  next(cursor: number, isBackwards: boolean, signal: AbortSignal): Promise<number | null>;
  followAddress: string;
  accepts: ((line: Line) => boolean) | null;
  isWhole: boolean;
  /** Each number between two lines is a wanted line. */
  countsAll: boolean;
}

const PAGE_LINES = 500;
/** What a line is read with. */
const LOOK = { relations: "none", colors: "true" };
/** Where the browser leaves lines out, so many requests are made before what was found is shown. */
const MOST_REQUESTS = 8;
/** No line will ever have this number; the server takes it for its last one. */
const BEYOND = "9223372036854775807";

export function readerOf(source: LogSource, filter: Filter): LogReader {
  return canFilter(source) ? pagedReader(source, filter) : numberedReader(source, filter);
}

function pagedReader(source: LogSource, filter: Filter): LogReader {
  const path = pathOf(source);
  const ask = async (query: object, signal: AbortSignal) => {
    const url = address(path, { ...LOOK, page_size: PAGE_LINES, ...query });
    const { data } = (await (await open(url, { signal })).json()) as { data: { logs: Sent[]; next_cursor: string } };
    return { lines: data.logs.map(sentLine), next: data.next_cursor };
  };
  const filters = serverPart(filter);
  const earlier = async (before: number | null, signal: AbortSignal, size = PAGE_LINES): Promise<Page> => {
    const { lines, next } = await ask({ ...filters, before, page_size: size }, signal);
    return { lines: lines.reverse(), edge: Number(next || 0), isLast: next === "" };
  };
  const later = async (after: number, signal: AbortSignal, size = PAGE_LINES): Promise<Page> => {
    const { lines, next } = await ask({ ...filters, after, page_size: size }, signal);
    return { lines, edge: Number(next), isLast: Number(next) <= after };
  };
  return {
    before: (cursor, signal) => earlier(cursor, signal),
    after: (cursor, signal) => later(cursor, signal),
    newest: async (signal) => Number((await ask({ after: BEYOND, page_size: 1 }, signal)).next),
    atTime: async (start_time, signal) =>
      (await ask({ ...filters, after: 0, start_time, page_size: 1 }, signal)).lines[0]?.cursor ?? null,
    next: (cursor, isBackwards, signal) =>
      nextHit(null, cursor, isBackwards, (at) => (isBackwards ? earlier(at, signal, 1) : later(at, signal, 1))),
    followAddress: address(`${path}/follow`, { ...filters, colors: LOOK.colors }),
    accepts: null,
    isWhole: isEverything(filter),
    countsAll: isEverything(filter) && source.of === "application",
  };
}

interface NumberedQuery {
  after: string;
  limit: number;
}

const requestsOfExecution = (execution_id: string) =>
  [
    (query: NumberedQuery, signal: AbortSignal) =>
      request("get", "/extensions/execution/{execution_id}/logs", { path: { execution_id }, query, signal }),
    (signal: AbortSignal) => request("get", "/extensions/execution/{execution_id}", { path: { execution_id }, signal }),
  ] as const;

const requestsOfRun = (run_id: string) =>
  [
    (query: NumberedQuery, signal: AbortSignal) =>
      request("get", "/deploy/runs/{run_id}/logs", { path: { run_id }, query, signal }),
    (signal: AbortSignal) => request("get", "/deploy/runs/{run_id}", { path: { run_id }, signal }),
  ] as const;

/** Its lines are numbered from 1 without holes, and the server reads them in one direction only. */
function numberedReader(source: LogSource, filter: Filter): LogReader {
  const [ask, record] = source.of === "run" ? requestsOfRun(source.id) : requestsOfExecution(source.id);
  const accepts = acceptsWhole(filter);
  const later = async (after: number, signal: AbortSignal, limit = PAGE_LINES): Promise<Page> => {
    const sent = await ask({ after: String(after), limit }, signal);
    return { lines: sent.logs.map(numberedLine), edge: sent.next_after, isLast: sent.next_after <= after };
  };
  const newest = async (signal: AbortSignal) => (await record(signal)).log_seq;
  const earlier = async (before: number | null, signal: AbortSignal): Promise<Page> => {
    const end = before ?? (await newest(signal)) + 1;
    const from = Math.max(0, end - 1 - PAGE_LINES);
    const lines: Line[] = [];
    for (let at = from; at < end - 1; ) {
      const page = await later(at, signal, Math.min(PAGE_LINES, end - 1 - at));
      if (page.isLast) break;
      // Where the oldest lines are gone, a page begins later than it was asked for.
      lines.push(...page.lines.filter(({ cursor }) => cursor < end));
      at = page.edge;
    }
    return { lines, edge: from + 1, isLast: from === 0 };
  };
  return {
    before: (cursor, signal) => until(accepts, false, cursor, (at) => earlier(at, signal)),
    after: (cursor, signal) => until(accepts, true, cursor, (at) => later(at ?? 0, signal)),
    newest,
    atTime: async (time, signal) => {
      let [low, high] = [0, await newest(signal)];
      const beyond = high;
      while (low < high) {
        const middle = (low + high) >> 1;
        const line = (await later(middle, signal, 1)).lines[0];
        if (line && Date.parse(line.at) < Date.parse(time)) low = middle + 1;
        else high = middle;
      }
      return low < beyond ? low + 1 : null;
    },
    next: (cursor, isBackwards, signal) =>
      nextHit(accepts, cursor, isBackwards, (at) => (isBackwards ? earlier(at, signal) : later(at, signal))),
    followAddress: address(`${pathOf(source)}/follow`),
    accepts,
    isWhole: isEverything(filter),
    countsAll: isEverything(filter),
  };
}

type ReadOne = (at: number | null) => Promise<Page>;

/** Goes on until a good part of a page was found, or enough was asked. */
async function until(accepts: LogReader["accepts"], isForwards: boolean, from: number | null, readOne: ReadOne) {
  if (!accepts) return readOne(from);
  let [lines, at]: [Line[], number | null] = [[], from];
  for (let requests = 1; ; requests += 1) {
    const page = await readOne(at);
    const found = page.lines.filter(accepts);
    lines = isForwards ? [...lines, ...found] : [...found, ...lines];
    at = page.edge;
    const isEnough = lines.length >= PAGE_LINES / 5 || requests === MOST_REQUESTS;
    if (page.isLast || isEnough) return { lines, edge: page.edge, isLast: page.isLast };
  }
}

async function nextHit(
  accepts: LogReader["accepts"],
  from: number,
  isBackwards: boolean,
  readOne: (at: number) => Promise<Page>,
): Promise<number | null> {
  for (let at = from; ; ) {
    const { lines, edge, isLast } = await readOne(at);
    const found = accepts ? lines.filter(accepts) : lines;
    const hit = isBackwards ? found.at(-1) : found[0];
    if (hit) return hit.cursor;
    if (isLast) return null;
    at = edge;
  }
}
