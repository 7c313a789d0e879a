import type { Installation } from "../../api/installations";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { bytes } from "../../ui/bytes";
import { Copy } from "../../ui/Copy";
import { Facts } from "../../ui/Facts";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { UserName } from "../executions/UserName";
import { Values } from "../extensions/Values";
import { Domains } from "./Domains";
import { Uninstall } from "./Uninstall";

type Service = Installation["services"][number];

export function Overview({ installation }: { installation: Installation }) {
  const t = useText();
  const mayRun = useMay("extension:run");
  const { services, domains, volumes } = installation;
  return (
    <>
      {installation.has_update && (
        <p class="notice">
          <span>
            {t.installations.updateThere}{" "}
            <a href={`/extensions/installations/${installation.id}/update`}>{t.installations.updateChanges}</a>
          </span>
        </p>
      )}
      <section class="stack">
        <h2>{t.installations.services}</h2>
        {services.length === 0 ? (
          <p class="muted">{t.installations.noServices}</p>
        ) : (
          <Table
            label={t.installations.services}
            columns={columns(t)}
            rows={services}
            rowKey={({ container_name, name }) => container_name || name}
          />
        )}
      </section>
      <div class="columns">
        <section class="card stack">
          <h2>{t.installations.about}</h2>
          <Facts
            rows={[
              [t.installations.domains, domains.length > 0 && <Domains of={domains} />],
              [t.installations.version, installation.version],
              [t.executions.by, <UserName key="u" id={installation.user_id} />],
              [t.application.created, <Time key="c" at={installation.created_at} />],
              [t.installations.changed, <Time key="t" at={installation.updated_at} />],
            ]}
          />
          <h2>{t.installations.volumes}</h2>
          {volumes.length === 0 ? (
            <p class="muted">{t.installations.noVolumes}</p>
          ) : (
            <Facts
              rows={volumes.map(({ name, size_bytes }) => [
                name,
                size_bytes === null ? t.installations.sizeUnknown : bytes(size_bytes),
              ])}
            />
          )}
        </section>
        <section class="card stack">
          <h2>{t.installations.values}</h2>
          <Values text={installation.variable_values} />
        </section>
      </div>
      {mayRun && <Uninstall installation={installation} />}
    </>
  );
}

function columns(t: Text): Column<Service>[] {
  return [
    { title: t.installations.serviceName, isName: true, cell: ({ name }) => name },
    { title: t.installations.state, bare: true, cell: ({ status }) => <ServiceState status={status} /> },
    {
      title: t.installations.serviceImage,
      bare: true,
      cell: ({ image, image_id }) => <code title={image_id}>{image}</code>,
    },
    {
      title: t.installations.serviceAddress,
      bare: true,
      cell: ({ host, address }) => (
        <span class="row nowrap">
          <code title={address}>{host}</code>
          {host && <Copy value={host} />}
        </span>
      ),
    },
  ];
}

const TONES: Readonly<Record<Service["status"], string>> = {
  "": "",
  starting: "busy",
  running: "good",
  unhealthy: "bad",
  crashing: "bad",
  exited: "bad",
  removed: "",
};

function ServiceState({ status }: { status: Service["status"] }) {
  return <span class={`state ${TONES[status]}`}>{useText().state.container[status]}</span>;
}
