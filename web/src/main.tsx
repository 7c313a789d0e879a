import "./style/tokens.css";
import "./style/base.css";

import { QueryClientProvider } from "@tanstack/preact-query";
import { render } from "preact";
import { ErrorBoundary, LocationProvider } from "preact-iso";
import { App } from "./App";
import { cache } from "./api/cache";
import { SessionProvider } from "./session";
import { wearRemembered } from "./theme";

wearRemembered();

const root = document.getElementById("app");
if (root) {
  render(
    <QueryClientProvider client={cache}>
      <LocationProvider>
        <ErrorBoundary>
          <SessionProvider>
            <App />
          </SessionProvider>
        </ErrorBoundary>
      </LocationProvider>
    </QueryClientProvider>,
    root,
  );
}
