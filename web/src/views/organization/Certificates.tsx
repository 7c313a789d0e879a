import { useState } from "preact/hooks";
import { type Certificate, useCertificates } from "../../api/certificates";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { DeleteCertificate } from "./DeleteCertificate";
import { Domains } from "./Domains";
import { UploadCertificate } from "./UploadCertificate";

const TONES: Readonly<Record<Certificate["state"], string>> = { valid: "good", expired: "bad", not_yet_valid: "" };
const SHOWN_NAMES = 3;

/** What the organization's domains are served with over https. */
export function Certificates() {
  const t = useText();
  const { may } = useSession();
  const { data, error, refetch } = useCertificates();
  const [uploads, setUploads] = useState(false);
  const [chosen, setChosen] = useState<Certificate | null>(null);
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  const upload = may("domain:create") && (
    <Button kind="primary" onClick={() => setUploads(true)}>
      {t.certificates.upload}
    </Button>
  );
  return (
    <>
      <Domains />
      {data.certificates.length === 0 ? (
        <Empty title={t.certificates.empty}>
          <p>{t.certificates.emptyText}</p>
          {!may("domain:create") && <p>{t.certificates.mayNot}</p>}
          {upload}
        </Empty>
      ) : (
        <>
          <div class="row between">
            <p class="muted">{t.certificates.text}</p>
            {upload}
          </div>
          <CertificateTable rows={data.certificates} onDelete={may("domain:delete") ? setChosen : null} />
        </>
      )}
      {uploads && <UploadCertificate onClose={() => setUploads(false)} />}
      {chosen && <DeleteCertificate certificate={chosen} onClose={() => setChosen(null)} />}
    </>
  );
}

interface TableProps {
  rows: readonly Certificate[];
  onDelete: ((certificate: Certificate) => void) | null;
}

function CertificateTable({ rows, onDelete }: TableProps) {
  const t = useText();
  const columns: Column<Certificate>[] = [
    { title: t.certificates.names, isName: true, cell: ({ names }) => <Names all={names} /> },
    {
      title: t.certificates.state,
      bare: true,
      cell: ({ state }) => <span class={`state ${TONES[state]}`}>{t.certificates.states[state]}</span>,
    },
    {
      title: t.certificates.domains,
      cell: ({ domains }) =>
        domains.length > 0 ? <Names all={domains} /> : <span class="muted">{t.certificates.unused}</span>,
    },
    { title: t.certificates.issuer, minor: true, cell: ({ issuer }) => <span class="small">{issuer}</span> },
    { title: t.certificates.key, minor: true, cell: ({ key_type }) => key_type },
    { title: t.certificates.ends, cell: ({ not_after }) => <Time at={not_after} /> },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: (certificate) =>
        onDelete &&
        certificate.user_id !== null && (
          <span class="row row-actions">
            <Button
              kind="danger"
              aria-label={`${t.certificates.remove}: ${certificate.names[0]}`}
              onClick={() => onDelete(certificate)}
            >
              {t.certificates.remove}
            </Button>
          </span>
        ),
    },
  ];
  return <Table label={t.organization.certificates} columns={columns} rows={rows} rowKey={({ id }) => id} />;
}

/** The first ones, and how many more there are. */
function Names({ all }: { all: readonly string[] }) {
  return (
    <span title={all.join("\n")}>
      {all.slice(0, SHOWN_NAMES).join(", ")}
      {all.length > SHOWN_NAMES && ` +${all.length - SHOWN_NAMES}`}
    </span>
  );
}
