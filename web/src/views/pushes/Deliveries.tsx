import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { type Delivery, useDeliveries, type Verdict } from "../../api/deliveries";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { Loading } from "../../ui/Empty";
import { FilterChoice, Filters } from "../../ui/Filter";
import { Pages } from "../../ui/Pages";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { shortCommit } from "../applications/facts";
import { HOSTS } from "../connections/hosts";
import { shortReference, VERDICT_TONES, VERDICTS } from "./facts";

/** What code hosts have sent for an application, and what became of it. */
export function Deliveries({ application }: { application: Application }) {
  const t = useText();
  const mayOpen = useMay("deploy:update");
  const [page, setPage] = useState(1);
  const [verdict, setVerdict] = useState<Verdict | "">("");
  const { data, error, refetch } = useDeliveries(application.id, page, verdict);
  const isNone = data?.pagination.total_count === 0;
  return (
    <section class="stack">
      <div class="row between">
        <h2>{t.pushes.deliveries}</h2>
        {(!isNone || verdict) && (
          <Filters>
            <FilterChoice
              label={t.pushes.verdict}
              value={verdict}
              options={VERDICTS.map((name) => [name, t.pushes.verdicts[name]])}
              onValue={(chosen) => {
                setVerdict(chosen as Verdict | "");
                setPage(1);
              }}
            />
          </Filters>
        )}
      </div>
      {error && !data && <Problem error={error} onAgain={() => void refetch()} />}
      {!data && !error && <Loading />}
      {isNone && <p class="muted">{verdict ? t.pushes.noSuchDelivery : t.pushes.noDelivery}</p>}
      {data && !isNone && (
        <>
          <Table
            label={t.pushes.deliveries}
            columns={columns(t, application.id, mayOpen)}
            rows={data.deliveries}
            rowKey={({ id }) => id}
          />
          <Pages of={data.pagination} onPage={setPage} />
        </>
      )}
    </section>
  );
}

function columns(t: Text, applicationId: string, mayOpen: boolean): Column<Delivery>[] {
  return [
    {
      title: t.pushes.event,
      isName: true,
      cell: (delivery) => {
        const name = delivery.event || t.pushes.unknownEvent;
        return (
          <span class="row">
            {mayOpen ? (
              <a class="row-link" href={`/applications/${applicationId}/pushes/${delivery.id}`}>
                {name}
              </a>
            ) : (
              name
            )}
            {delivery.replay_of && <span class="tag">{t.pushes.replayed}</span>}
          </span>
        );
      },
    },
    { title: t.pushes.verdict, bare: true, cell: ({ verdict }) => <VerdictBadge of={verdict} /> },
    { title: t.pushes.reason, bare: true, cell: ({ reason }) => reason },
    { title: t.pushes.reference, bare: true, cell: (delivery) => <What of={delivery} /> },
    {
      title: t.pushes.sender,
      minor: true,
      cell: ({ sender, host }) => (
        <span class="nowrap" title={HOSTS[host]}>
          {sender || HOSTS[host]}
        </span>
      ),
    },
    { title: t.deployments.started, bare: true, cell: ({ created_at }) => <Time at={created_at} /> },
    {
      title: t.pushes.deployment,
      hideTitle: true,
      numeric: true,
      cell: ({ deployment_id }) =>
        deployment_id && (
          <a class="nowrap" href={`/applications/${applicationId}/deployments/${deployment_id}`}>
            {t.pushes.toDeployment}
          </a>
        ),
    },
  ];
}

export function VerdictBadge({ of }: { of: Verdict }) {
  return <span class={`state ${VERDICT_TONES[of]}`}>{useText().pushes.verdicts[of]}</span>;
}

/** The branch or tag, and the commit that it led to. */
export function What({ of }: { of: Delivery }) {
  if (!of.reference) return null;
  return (
    <>
      {shortReference(of.reference)} {of.commit_hash && <code class="muted">{shortCommit(of.commit_hash)}</code>}
    </>
  );
}
