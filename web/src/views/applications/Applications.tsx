import { useLocation } from "preact-iso";
import { type Application, useApplications } from "../../api/applications";
import { stateOf } from "../../api/deployments";
import { type ApplicationTraffic, sum, type Traffic, useTraffic } from "../../api/traffic";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { Bars } from "../../ui/Bars";
import { ButtonLink } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { isFiltered } from "../../ui/filter";
import { PlusIcon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { Pages } from "../../ui/Pages";
import { Problem } from "../../ui/Problem";
import { ApplicationStateBadge, DeploymentStateBadge } from "../../ui/State";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { ApplicationFilters } from "./ApplicationFilters";
import { stateOfApplication } from "./facts";
import { applicationsAddress, readFilter } from "./filter";
import "./applications.css";

export function Applications() {
  const t = useText();
  const { query, route } = useLocation();
  const mayCreate = useMay("deploy:create");
  const filter = readFilter(query);
  const { data, error, refetch } = useApplications(filter);
  const { data: traffic } = useTraffic(null, 1);
  const applications = data?.applications ?? [];
  const isEmpty = data?.pagination.total_count === 0;
  const create = mayCreate && (
    <ButtonLink kind="primary" href="/applications/new">
      <PlusIcon />
      {t.applications.create}
    </ButtonLink>
  );

  return (
    <Page title={t.applications.title} actions={!(isEmpty && !isFiltered(filter)) && create}>
      {(!isEmpty || isFiltered(filter)) && (
        <ApplicationFilters
          filter={filter}
          listed={applications}
          onFilter={(next) => route(applicationsAddress(next), true)}
        />
      )}
      {error && <Problem error={error} onAgain={() => void refetch()} />}
      {!data && !error && <Loading />}
      {isEmpty && isFiltered(filter) && (
        <Empty title={t.applications.nothingFound}>
          <ButtonLink href="/applications">{t.common.clearFilters}</ButtonLink>
        </Empty>
      )}
      {isEmpty && !isFiltered(filter) && (
        <Empty title={t.applications.emptyTitle}>
          <p>{t.applications.empty}</p>
          {create || <p>{t.applications.emptyViewer}</p>}
        </Empty>
      )}
      {applications.length > 0 && (
        <Table label={t.applications.title} columns={columns(t, traffic)} rows={applications} rowKey={({ id }) => id} />
      )}
      {data && !isEmpty && (
        <div class="row between">
          <p class="muted">{t.applications.count(data.pagination.total_count)}</p>
          <Pages of={data.pagination} onPage={(page) => route(applicationsAddress({ ...filter, page }))} />
        </div>
      )}
    </Page>
  );
}

function columns(t: Text, traffic: Traffic | undefined): Column<Application>[] {
  return [
    {
      title: t.applications.name,
      isName: true,
      cell: (application) => (
        <>
          <a class="row-link" href={`/applications/${application.id}`}>
            {application.name}
          </a>{" "}
          {application.labels.map((label) => (
            <span key={label} class="tag">
              {label}
            </span>
          ))}
        </>
      ),
    },
    {
      title: t.applications.state,
      bare: true,
      cell: (application) => <ApplicationStateBadge state={stateOfApplication(application)} />,
    },
    {
      title: t.applications.url,
      bare: true,
      cell: (application) => (
        <a href={application.url} target="_blank" rel="noreferrer">
          {application.domain}
        </a>
      ),
    },
    {
      title: t.applications.environment,
      bare: true,
      minor: true,
      cell: ({ environment }) => environment,
    },
    {
      title: t.applications.branch,
      minor: true,
      cell: ({ branch }) => branch || <span class="muted">{t.applications.defaultBranch}</span>,
    },
    {
      title: t.traffic.lastHour,
      minor: true,
      cell: ({ id }) => <LastHour of={traffic?.applications.find(({ application_id }) => application_id === id)} />,
    },
    {
      title: t.applications.lastDeployment,
      cell: (application) => <Last of={application} />,
    },
  ];
}

function Last({ of }: { of: Application }) {
  const [last] = of.deployments;
  if (!last) return null;
  return (
    <span class="row">
      <DeploymentStateBadge state={stateOf(last)} /> <Time at={last.created_at} />
    </span>
  );
}

function LastHour({ of }: { of: ApplicationTraffic | undefined }) {
  const t = useText();
  if (!of) return null;
  const label = t.traffic.count(sum(of.requests), sum(of.errors));
  return (
    <span class="sparkline" title={label}>
      <Bars label={label} requests={of.requests} errors={of.errors} height={20} />
    </span>
  );
}
