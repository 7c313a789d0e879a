export interface ServerSentEvent {
  name: string;
  data: string;
  id: string;
}

/** Reads server-sent events out of text that arrives in pieces of any size. */
export class EventParser {
  private rest = "";
  private name = "";
  private data: string[] = [];
  private id = "";
  private hasId = false;

  /** What the new piece has completed. An event without data only says how far the server has looked. */
  push(piece: string): ServerSentEvent[] {
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    const events: ServerSentEvent[] = [];
    for (const line of lines) {
      if (line === "") {
        if (this.data.length > 0 || this.hasId) {
          events.push({ name: this.name || "message", data: this.data.join("\n"), id: this.id });
        }
        this.name = "";
        this.data = [];
        this.hasId = false;
      } else {
        this.take(line);
      }
    }
    return events;
  }

  private take(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.name = value;
    if (field === "data") this.data.push(value);
    if (field === "id") {
      this.id = value;
      this.hasId = true;
    }
  }
}
