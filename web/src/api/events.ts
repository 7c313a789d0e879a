import { cache } from "./cache";
import { address, type Schemas } from "./client";
import { follow } from "./stream";

export type WindlassEvent = Schemas["Event"];

interface Message {
  id: string;
  event: WindlassEvent | null;
}

const FLUSH_MS = 250;

/**
 * One connection for all tabs of a browser: the tab that holds the lock reads the stream and passes events on. When it
 * closes, the lock goes to another tab, which goes on after the last event that it was told.
 */
export function listenToEvents(organizationId: string): () => void {
  const name = `windlass-events-${organizationId}`;
  const ending = new AbortController();
  const channel = new BroadcastChannel(name);
  const staleness = new Staleness();
  let lastEventId = "";

  const take = (message: Message) => {
    lastEventId = message.id || lastEventId;
    staleness.add(message.event);
  };
  channel.onmessage = ({ data }: MessageEvent<Message>) => take(data);

  const read = () =>
    follow({
      url: address("/events"),
      lastEventId,
      signal: ending.signal,
      onEvent: ({ name: kind, data, id }) => {
        const message = { id, event: kind === "gap" ? null : (JSON.parse(data) as WindlassEvent) };
        if (navigator.locks) channel.postMessage(message);
        take(message);
      },
    });
  // Over plain http from another machine browsers have no locks: then each tab reads for itself.
  const reading = navigator.locks ? navigator.locks.request(name, { signal: ending.signal }, read) : read();
  reading.catch(() => {
    // Ended, or refused: a refusal of the stream is shown by the requests that are refused as well.
  });

  return () => {
    ending.abort();
    channel.close();
    staleness.stop();
  };
}

/** Beginnings of keys: an execution changes what it has installed as well, and its event does not tell which. */
const ABOUT_EXECUTIONS = ["execution", "executions", "installation", "installations"];

/** Collects what events were about, so that a burst of them asks for each thing once. */
class Staleness {
  private ids = new Set<string>();
  private everything = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  add(event: WindlassEvent | null): void {
    if (!event) this.everything = true;
    if (event?.application_id) this.ids.add(event.application_id);
    if (event?.deployment_id) this.ids.add(event.deployment_id);
    if (event?.name.startsWith("execution.")) for (const part of ABOUT_EXECUTIONS) this.ids.add(part);
    this.timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private flush(): void {
    const { ids, everything } = this;
    this.ids = new Set();
    this.everything = false;
    this.timer = undefined;
    cache.invalidateQueries({
      predicate: ({ queryKey }) => everything || isAbout(queryKey, ids),
      // A hidden tab asks when it is looked at again.
      refetchType: document.hidden ? "none" : "active",
    });
  }
}

function isAbout(key: readonly unknown[], ids: ReadonlySet<string>): boolean {
  return key[2] === "applications" || key.some((part) => typeof part === "string" && ids.has(part));
}
