import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { type Domain, useDomains } from "../../api/domains";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { PlusIcon } from "../../ui/icons";
import { Problem } from "../../ui/Problem";
import { AddDomain } from "./AddDomain";
import { CheckDomain } from "./CheckDomain";
import { type DomainAction, DomainTable } from "./DomainTable";
import { domainsOf } from "./facts";
import { RemoveDomain } from "./RemoveDomain";
import { SetUpDomain } from "./SetUpDomain";

/** The names by which visitors come to an application. */
export default function Domains({ application }: { application: Application }) {
  const t = useText();
  const mayAdd = useMay("domain:create") && !application.preview_of;
  const { data, error, refetch } = useDomains(application.id);
  const [adds, setAdds] = useState(false);
  const [opened, setOpened] = useState<{ what: DomainAction; domain: Domain } | null>(null);
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  const domains = domainsOf(application.id, data.domains);
  const close = () => setOpened(null);
  return (
    <>
      <div class="row between">
        <p class="muted">{application.preview_of ? t.domains.ofPreview : t.domains.text}</p>
        {mayAdd && (
          <Button kind="primary" onClick={() => setAdds(true)}>
            <PlusIcon />
            {t.domains.add}
          </Button>
        )}
      </div>
      {domains.length === 0 ? (
        <Empty title={t.domains.empty} />
      ) : (
        <DomainTable
          application={application}
          domains={domains}
          onOpen={(what, domain) => setOpened({ what, domain })}
        />
      )}
      {adds && <AddDomain application={application} onClose={() => setAdds(false)} />}
      {opened?.what === "check" && <CheckDomain domain={opened.domain} onClose={close} />}
      {opened?.what === "setUp" && <SetUpDomain domain={opened.domain} onClose={close} />}
      {opened?.what === "remove" && <RemoveDomain application={application} domain={opened.domain} onClose={close} />}
    </>
  );
}
