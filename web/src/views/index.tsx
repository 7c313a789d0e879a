import { useEffect } from "preact/hooks";
import { Route, Router } from "preact-iso";
import { Applications } from "./applications/Applications";
import { late } from "./late";
import { NotFound } from "./NotFound";

const NewApplication = late(() => import("./applications/NewApplication"));
const ApplicationPage = late(() => import("./application/ApplicationPage"));
const Extensions = late(() => import("./extensions/Extensions"));
const OrganizationPage = late(() => import("./organization/OrganizationPage"));
const Audit = late(() => import("./audit/Audit"));
const InstancePage = late(() => import("./instance/InstancePage"));
const Account = late(() => import("./account/Account"));
const Connections = late(() => import("./connections/Connections"));
const NewConnection = late(() => import("./connections/NewConnection"));
const ConnectionPage = late(() => import("./connections/ConnectionPage"));
const Registries = late(() => import("./registries/Registries"));

const LATER_MS = 1_500;

/** Parts that are loaded late are fetched when the first view has been shown, so that opening them does not wait. */
function usePreload(): void {
  useEffect(() => {
    const timer = setTimeout(() => {
      const likely = [ApplicationPage, NewApplication, Extensions, Connections, OrganizationPage, Audit, Account];
      for (const view of likely) view.preload().catch(() => {});
    }, LATER_MS);
    return () => clearTimeout(timer);
  }, []);
}

/** The addresses of the dashboard. A new view is a line here; what a first visit does not need is loaded when it is opened. */
export function Views() {
  usePreload();
  return (
    <Router>
      <Route path="/" component={Applications} />
      <Route path="/applications" component={Applications} />
      <Route path="/applications/new" component={NewApplication} />
      <Route path="/applications/:id/:tab?/:item?" component={ApplicationPage} />
      <Route path="/extensions/:part?/:item?/:tab?" component={Extensions} />
      <Route path="/organization/:tab?/:item?" component={OrganizationPage} />
      <Route path="/audit" component={Audit} />
      <Route path="/instance/:tab?" component={InstancePage} />
      <Route path="/account/:tab?" component={Account} />
      <Route path="/connections" component={Connections} />
      <Route path="/connections/new" component={NewConnection} />
      <Route path="/connections/:id" component={ConnectionPage} />
      <Route path="/registries" component={Registries} />
      <Route default component={NotFound} />
    </Router>
  );
}
