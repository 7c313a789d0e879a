import type { StatusPage } from "../../api/statusPage";
import { useText } from "../../text";
import { Facts } from "../../ui/Facts";
import { Table } from "../../ui/Table";
import { ApplicationName } from "./ApplicationName";

/** For those who may not change it. */
export function ShownStatusPage({ page }: { page: StatusPage }) {
  const t = useText().statusPage;
  return (
    <section class="card stack">
      <Facts
        rows={[
          [t.name, page.title],
          [t.domain, page.domain],
        ]}
      />
      <h3>{t.applications}</h3>
      {page.applications.length === 0 ? (
        <p class="muted">{t.none}</p>
      ) : (
        <Table
          label={t.applications}
          columns={[
            { title: t.publicName, isName: true, cell: ({ name }) => name },
            {
              title: t.application,
              cell: ({ application_id }) => (
                <a href={`/applications/${application_id}/uptime`}>
                  <ApplicationName id={application_id} />
                </a>
              ),
            },
          ]}
          rows={page.applications}
          rowKey={({ application_id }) => application_id}
        />
      )}
      <p class="muted">{t.mayNot}</p>
    </section>
  );
}
