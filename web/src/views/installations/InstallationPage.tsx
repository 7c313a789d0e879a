import { isUnderWay } from "../../api/executions";
import { type Installation, isBusy, useInstallation } from "../../api/installations";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Loading } from "../../ui/Empty";
import { Page } from "../../ui/Page";
import { Problem } from "../../ui/Problem";
import { Tabs } from "../../ui/Tabs";
import { ExecutionTable } from "../executions/ExecutionTable";
import { InstallationStateBadge } from "../extensions/State";
import { NotFound } from "../NotFound";
import { Actions } from "./Actions";
import { InstallationLogs } from "./InstallationLogs";
import { Overview } from "./Overview";
import { Update } from "./Update";
import { useExecutionsOf } from "./useExecutionsOf";
import "./installations.css";

const TABS = ["overview", "update", "logs", "executions"] as const;

/** One installation: its head stays while its parts change below it. */
export default function InstallationPage({ id, tab: wanted }: { id: string; tab: string }) {
  const t = useText();
  const mayRun = useMay("extension:run");
  const tab = TABS.find((one) => one === wanted);
  const { data: installation, error, refetch } = useInstallation(id);
  if (!tab) return <NotFound />;
  if (error && !installation) {
    return (
      <Page title={t.installations.title}>
        <Problem error={error} onAgain={() => void refetch()} />
      </Page>
    );
  }
  if (!installation) return <Loading />;
  const label = (one: (typeof TABS)[number]) =>
    t.installations.tab[one === "update" && !installation.has_update ? "change" : one];
  return (
    <Page
      title={tab === "overview" ? installation.name : `${installation.name}: ${label(tab)}`}
      heading={<Head installation={installation} />}
      actions={<Actions installation={installation} isAtUpdate={tab === "update"} />}
    >
      <Tabs
        label={t.installations.tabs}
        tabs={TABS.filter((one) => one !== "update" || mayRun || installation.has_update).map((one) => ({
          href: `/extensions/installations/${id}${one === "overview" ? "" : `/${one}`}`,
          label: label(one),
          current: one === tab,
        }))}
      />
      <Latest installation={installation} />
      {tab === "overview" && <Overview installation={installation} />}
      {tab === "update" && <Update installation={installation} />}
      {tab === "logs" && <InstallationLogs installation={installation} />}
      {tab === "executions" && <History installation={installation} />}
    </Page>
  );
}

function Head({ installation }: { installation: Installation }) {
  return (
    <div class="row page-title">
      <h1>{installation.name}</h1>
      <span role="status">
        <InstallationStateBadge state={installation.state} />
      </span>
      <a href={`/extensions/${installation.extension_key}`}>{installation.extension_key}</a>
      <span class="muted">{installation.version}</span>
    </div>
  );
}

/** What is under way, or has failed. */
function Latest({ installation }: { installation: Installation }) {
  const t = useText().installations;
  const mayRun = useMay("extension:run");
  const { executions = [] } = useExecutionsOf(installation);
  const busy = executions.find(isUnderWay);
  const failed = executions.find(({ status }) => status === "failed" || status === "cancelled");
  if (isBusy(installation)) {
    return (
      <p class="notice">
        <span>
          {t.busy} {busy && <a href={`/extensions/executions/${busy.id}`}>{t.watch}</a>}
        </span>
      </p>
    );
  }
  if (installation.state !== "failed") return null;
  return (
    <section class="notice bad">
      <h2>{t.failedTitle}</h2>
      <p>
        {t.failedText} {failed && <a href={`/extensions/executions/${failed.id}`}>{t.toExecution}</a>}
      </p>
      {mayRun && installation.execution_id === null && (
        <p>
          <a href={`/extensions/${installation.extension_key}/run`}>{t.runAgain}</a>
        </p>
      )}
    </section>
  );
}

function History({ installation }: { installation: Installation }) {
  const t = useText();
  const { executions, isCut } = useExecutionsOf(installation);
  if (!executions) return <Loading />;
  return (
    <>
      {executions.length === 0 ? (
        <p class="muted">{t.executions.none}</p>
      ) : (
        <ExecutionTable executions={executions} hasExtension={false} />
      )}
      {isCut && <p class="muted small">{t.installations.manyExecutions}</p>}
    </>
  );
}
