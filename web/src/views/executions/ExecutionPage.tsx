import { useState } from "preact/hooks";
import { type Execution, extensionOf, isUnderWay, useCancelExecution, useExecution } from "../../api/executions";
import { LogView } from "../../logs/LogView";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { Button, ButtonLink } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { Loading } from "../../ui/Empty";
import { Facts } from "../../ui/Facts";
import { Page } from "../../ui/Page";
import { Problem } from "../../ui/Problem";
import { Duration, Time } from "../../ui/Time";
import { tell } from "../../ui/Toast";
import { addressOf } from "../extensions/facts";
import { ExecutionStateBadge } from "../extensions/State";
import { Values } from "../extensions/Values";
import { Failure } from "./Failure";
import { OfExtension } from "./OfExtension";
import { StepTable } from "./StepTable";
import { UserName } from "./UserName";

/** One execution, watched as it goes on. */
export default function ExecutionPage({ id }: { id: string }) {
  const t = useText();
  const { data: execution, error, refetch } = useExecution(id);
  if (error && !execution) {
    return (
      <Page title={t.executions.title}>
        <Problem error={error} onAgain={() => void refetch()} />
      </Page>
    );
  }
  if (!execution) return <Loading />;
  const underWay = isUnderWay(execution);
  return (
    <Page
      title={titleOf(t, execution)}
      heading={<Head execution={execution} />}
      actions={<Actions execution={execution} />}
    >
      <Failure execution={execution} />
      {execution.status === "pending" && <p class="notice">{t.executions.waiting}</p>}
      <div class="columns">
        <section class="card stack">
          <h2>{t.executions.steps}</h2>
          <StepTable execution={execution} />
        </section>
        <section class="card stack">
          <h2>{t.executions.facts}</h2>
          <Facts rows={facts(t, execution)} />
        </section>
        {execution.kind !== "uninstall" && (
          <section class="card stack">
            <h2>{t.executions.values}</h2>
            <Values text={execution.variable_values} />
          </section>
        )}
      </div>
      <section class="stack">
        <h2>{t.executions.log}</h2>
        <LogView source={{ of: "execution", id }} isLive={underWay} />
      </section>
    </Page>
  );
}

function titleOf(t: Text, execution: Execution): string {
  const extension = extensionOf(execution);
  const kind = t.executions.kind[execution.kind];
  return extension ? `${kind}: ${extension.name || extension.extension_id}` : kind;
}

function Head({ execution }: { execution: Execution }) {
  const t = useText();
  return (
    <div class="row page-title">
      <h1>{titleOf(t, execution)}</h1>
      <span role="status">
        <ExecutionStateBadge state={execution.status} />
      </span>
    </div>
  );
}

function Actions({ execution }: { execution: Execution }) {
  const t = useText();
  const mayRun = useMay("extension:run");
  const cancel = useCancelExecution(execution.id);
  const [asks, setAsks] = useState(false);
  const extension = extensionOf(execution);
  // A removal that has begun cannot be called off.
  const canCancel = isUnderWay(execution) && !(execution.kind === "uninstall" && execution.status === "running");
  const isFirst = execution.kind === "run" || execution.kind === "install";
  const canTryAgain =
    ["failed", "cancelled"].includes(execution.status) && isFirst && extension && !extension.deleted_at;
  return (
    <>
      {execution.installation_id && !(execution.kind === "uninstall" && execution.status === "completed") && (
        <ButtonLink href={`/extensions/installations/${execution.installation_id}`}>
          {t.executions.toInstallation}
        </ButtonLink>
      )}
      {mayRun && canTryAgain && (
        <ButtonLink kind="primary" href={addressOf(extension, "run")}>
          {t.executions.again}…
        </ButtonLink>
      )}
      {mayRun && canCancel && (
        <Button kind="danger" onClick={() => setAsks(true)}>
          {t.executions.cancel}…
        </Button>
      )}
      {asks && canCancel && (
        <Confirm
          title={t.executions.cancelTitle}
          action={t.executions.cancelAction}
          danger
          busy={cancel.isPending}
          error={cancel.error}
          onClose={() => setAsks(false)}
          onConfirm={() =>
            cancel.mutate(undefined, {
              onSuccess: () => {
                setAsks(false);
                tell(t.executions.cancelled);
              },
            })
          }
        >
          <p>{t.executions.cancelText}</p>
        </Confirm>
      )}
    </>
  );
}

function facts(t: Text, execution: Execution): Parameters<typeof Facts>[0]["rows"] {
  const { started_at, completed_at } = execution;
  return [
    [t.executions.extension, <OfExtension key="e" execution={execution} />],
    [t.executions.version, execution.version],
    [t.executions.by, <UserName key="u" id={execution.user_id} />],
    [t.executions.started, <Time key="t" at={execution.created_at} />],
    [t.executions.duration, started_at && <Duration from={started_at} to={completed_at} />],
    [t.executions.host, execution.server_hostname],
    [t.executions.exitCode, Boolean(execution.exit_code) && String(execution.exit_code)],
  ];
}
