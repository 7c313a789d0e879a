import { useEffect } from "preact/hooks";
import { lazy, useRoute } from "preact-iso";
import { type Application, useApplication } from "../../api/applications";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { Loading } from "../../ui/Empty";
import { LinkIcon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { Problem } from "../../ui/Problem";
import { ApplicationStateBadge } from "../../ui/State";
import { Tabs } from "../../ui/Tabs";
import { stateOfApplication } from "../applications/facts";
import { EXTENSION, IMAGE } from "../applications/newApplication";
import { NotFound } from "../NotFound";
import { isPushedHere } from "../pushes/facts";
import { Actions } from "./Actions";
import { Overview } from "./Overview";
import { UnderMaintenance } from "./UnderMaintenance";
import "./application.css";

const Deployments = lazy(() => import("../deployments/Deployments"));
const DeploymentPage = lazy(() => import("../deployments/DeploymentPage"));
const DeployPlan = lazy(() => import("../deployPlans/DeployPlan"));
const Logs = lazy(() => import("./Logs"));
const Figures = lazy(() => import("../figures/Figures"));
const Uptime = lazy(() => import("../uptime/Uptime"));
const Variables = lazy(() => import("../variables/Variables"));
const Domains = lazy(() => import("../domains/Domains"));
const Access = lazy(() => import("../access/Access"));
const Settings = lazy(() => import("../settings/Settings"));
const Pushes = lazy(() => import("../pushes/Pushes"));
const DeliveryPage = lazy(() => import("../pushes/DeliveryPage"));
const FromExtension = lazy(() => import("./FromExtension"));
const Upload = lazy(() => import("../uploads/Upload"));
const Previews = lazy(() => import("../previews/Previews"));
const Commands = lazy(() => import("../commands/Commands"));
const RunPage = lazy(() => import("../commands/RunPage"));
const Volumes = lazy(() => import("../volumes/Volumes"));
const VolumePage = lazy(() => import("../volumes/VolumePage"));

/** The parts of the page, once it has been shown. */
function usePreload(): void {
  useEffect(() => {
    for (const part of [Deployments, DeploymentPage, Logs, Variables, Settings]) part.preload().catch(() => {});
  }, []);
}

const TABS = [
  "overview",
  "deployments",
  "plan",
  "logs",
  "commands",
  "figures",
  "uptime",
  "variables",
  "domains",
  "access",
  "volumes",
  "extension",
  "upload",
  "pushes",
  "previews",
  "settings",
] as const;
type TabName = (typeof TABS)[number];

/** A preview is pushed to and has previews only through the application that it belongs to, and is not checked. */
const NOT_OF_PREVIEWS: readonly TabName[] = ["uptime", "upload", "pushes", "previews"];
/** An image of a registry and an extension have no repository that is pushed to. */
const WITHOUT_REPOSITORY: readonly TabName[] = ["pushes", "previews"];

function labelOf(t: Text, name: TabName): string {
  if (name === "plan") return t.deployPlan.title;
  if (name === "figures") return t.figures.title;
  if (name === "uptime") return t.uptime.title;
  if (name === "extension") return t.extensionApplication.source;
  if (name === "upload") return t.uploads.title;
  if (name === "pushes") return t.pushes.title;
  if (name === "previews") return t.previews.title;
  if (name === "volumes") return t.volumes.title;
  if (name === "commands") return t.runs.title;
  if (name === "domains") return t.domains.title;
  if (name === "access") return t.access.title;
  return t.application[name];
}

/** One application: its head stays while its parts change below it. */
export default function ApplicationPage() {
  const t = useText();
  const { params } = useRoute();
  const id = params.id ?? "";
  const mayUpload = useMay("deploy:create");
  usePreload();
  const tab = TABS.find((name) => name === (params.tab ?? "overview"));
  const { data: application, error, refetch } = useApplication(id);

  if (!tab) return <NotFound />;
  if (error && !application) {
    return (
      <Page title={t.shell.applications}>
        <Problem error={error} onAgain={() => void refetch()} />
      </Page>
    );
  }
  if (!application) return <Loading />;
  return (
    <Page
      key={id}
      title={tab === "overview" ? application.name : `${application.name}: ${labelOf(t, tab)}`}
      heading={<Head application={application} />}
      actions={<Actions application={application} />}
    >
      <Tabs label={t.application.tabs} tabs={tabs(t, application, tab, mayUpload)} />
      <UnderMaintenance application={application} />
      <Part application={application} tab={tab} item={params.item} />
    </Page>
  );
}

function tabs(t: Text, { id, preview_of, repository }: Application, current: TabName, mayUpload: boolean) {
  const hidden = [
    ...(preview_of ? NOT_OF_PREVIEWS : []),
    ...(repository === IMAGE || repository === EXTENSION ? WITHOUT_REPOSITORY : []),
    ...(repository === EXTENSION ? [] : ["extension"]),
    ...(mayUpload && isPushedHere(repository) ? [] : ["upload"]),
  ];
  const shown = TABS.filter((name) => !hidden.includes(name));
  return shown.map((name) => ({
    href: `/applications/${id}${name === "overview" ? "" : `/${name}`}`,
    label: labelOf(t, name),
    current: name === current,
  }));
}

function Head({ application }: { application: Application }) {
  return (
    <div class="row page-title">
      <h1>{application.name}</h1>
      <ApplicationStateBadge state={stateOfApplication(application)} />
      <a class="row break" href={application.url} target="_blank" rel="noreferrer">
        {application.domain} <LinkIcon />
      </a>
    </div>
  );
}

function Part({ application, tab, item }: { application: Application; tab: TabName; item: string | undefined }) {
  if (tab === "deployments" && item) return <DeploymentPage key={item} application={application} id={item} />;
  if (tab === "deployments") return <Deployments application={application} />;
  if (tab === "plan") return <DeployPlan application={application} />;
  if (tab === "logs") return <Logs application={application} />;
  if (tab === "commands" && item) return <RunPage key={item} application={application} id={item} />;
  if (tab === "commands") return <Commands application={application} />;
  if (tab === "figures") return <Figures application={application} />;
  if (tab === "uptime") return <Uptime application={application} />;
  if (tab === "variables") return <Variables application={application} />;
  if (tab === "domains") return <Domains application={application} />;
  if (tab === "access") return <Access application={application} />;
  if (tab === "volumes" && item) return <VolumePage key={item} application={application} name={item} />;
  if (tab === "volumes") return <Volumes application={application} />;
  if (tab === "extension") return <FromExtension application={application} />;
  if (tab === "upload") return <Upload application={application} />;
  if (tab === "pushes" && item) return <DeliveryPage key={item} application={application} id={item} />;
  if (tab === "pushes") return <Pushes application={application} />;
  if (tab === "previews") return <Previews application={application} />;
  if (tab === "settings") return <Settings application={application} />;
  return <Overview application={application} />;
}
