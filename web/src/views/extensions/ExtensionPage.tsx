import { lazy } from "preact-iso";
import { type Extension, useExtension } from "../../api/extensions";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { Loading } from "../../ui/Empty";
import { Page } from "../../ui/Page";
import { Problem } from "../../ui/Problem";
import { Tabs } from "../../ui/Tabs";
import { ExecutionList } from "../executions/ExecutionList";
import { NotFound } from "../NotFound";
import { Actions } from "./Actions";
import { addressOf, canBeApplication } from "./facts";
import { ExtensionIcon } from "./Icon";
import { Marks } from "./Marks";
import { Overview } from "./Overview";
import { Run } from "./Run";

const AsApplication = lazy(() => import("./AsApplication"));

const EditText = lazy(() => import("./EditText"));

const ParentOffer = lazy(() => import("../offers/ParentOffer"));

const TABS = ["overview", "run", "application", "text", "parent", "executions"] as const;
type TabName = (typeof TABS)[number];

/** One extension: its head stays while its parts change below it. */
export function ExtensionPage({ name, tab: wanted }: { name: string; tab: string }) {
  const t = useText();
  const may: Roles = { run: useMay("extension:run"), deploy: useMay("deploy:create") };
  const tab = TABS.find((one) => one === wanted);
  const { data: extension, error, refetch } = useExtension(name);
  if (!tab) return <NotFound />;
  if (error && !extension) {
    return (
      <Page title={t.extensions.title}>
        <Problem error={error} onAgain={() => void refetch()} />
      </Page>
    );
  }
  if (!extension) return <Loading />;
  const shown = extension.name || extension.extension_id;
  return (
    <Page
      title={tab === "overview" ? shown : `${shown}: ${tabLabel(t, extension, tab)}`}
      heading={<Head extension={extension} />}
      actions={<Actions extension={extension} isAtRun={tab === "run"} />}
    >
      <Tabs
        label={t.extensions.pageTabs}
        tabs={TABS.filter((one) => isOffered(one, extension, may)).map((one) => ({
          href: addressOf(extension, one === "overview" ? undefined : one),
          label: tabLabel(t, extension, one),
          current: one === tab,
        }))}
      />
      <Part extension={extension} tab={tab} />
    </Page>
  );
}

interface Roles {
  run: boolean;
  deploy: boolean;
}

function isOffered(tab: TabName, extension: Extension, may: Roles): boolean {
  if (tab === "run") return may.run && extension.validation_status === "valid";
  if (tab === "application") return may.deploy && canBeApplication(extension);
  return tab !== "parent" || extension.parent_extension_id !== null;
}

function tabLabel(t: Text, extension: Extension, tab: TabName): string {
  return t.extensions.tab[tab === "run" && extension.extension_type === "install" ? "install" : tab];
}

function Head({ extension }: { extension: Extension }) {
  const t = useText();
  const name = extension.name || extension.extension_id;
  return (
    <div class="extension-head">
      <ExtensionIcon icon={extension.icon} name={name} large />
      <div>
        <h1>{name}</h1>
        <p class="row">
          <Marks extension={extension} />
          {extension.category && <span class="muted small">{extension.category}</span>}
          <span class="muted small">{t.extensions.type[extension.extension_type] ?? extension.extension_type}</span>
          {extension.version && <span class="muted small">{extension.version}</span>}
        </p>
      </div>
    </div>
  );
}

function Part({ extension, tab }: { extension: Extension; tab: TabName }) {
  if (tab === "run") return <Run extension={extension} />;
  if (tab === "application") return <AsApplication extension={extension} />;
  if (tab === "parent" && extension.parent_extension_id) return <ParentOffer extension={extension} />;
  if (tab === "text") return <EditText extension={extension} />;
  if (tab === "executions") return <ExecutionList extensionId={extension.id} />;
  return <Overview extension={extension} />;
}
