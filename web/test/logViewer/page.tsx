import { render } from "preact";
import { LogView } from "../../src/logs/LogView";
import { fakeServer } from "./fake";
import "../../src/style/tokens.css";
import "../../src/style/base.css";

const query = new URLSearchParams(location.search);
const server = fakeServer(Number(query.get("lines") ?? 1_000_000));
Object.assign(globalThis, { server, fetch: server.fetch });
const id = "00000000-0000-0000-0000-000000000001";
render(<LogView source={{ of: "application", id }} isLive />, document.getElementById("app") as HTMLElement);
