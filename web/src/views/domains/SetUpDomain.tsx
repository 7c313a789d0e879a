import { useState } from "preact/hooks";
import { type Certificate, useCertificates } from "../../api/certificates";
import { type Domain, useUpdateDomain } from "../../api/domains";
import { type Text, useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { Dialog } from "../../ui/Dialog";
import { Loading } from "../../ui/Empty";
import { CheckField, SelectField } from "../../ui/Field";
import { Problem, splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { relative } from "../../ui/time";
import { changedBody, covers, draftOf } from "./facts";

const FIELDS = ["certificate_id"];
const SHOWN_NAMES = 3;

interface Props {
  domain: Domain;
  onClose: () => void;
}

/** How visitors of a domain come encrypted. */
export function SetUpDomain({ domain, onClose }: Props) {
  const t = useText();
  const { data, error, refetch } = useCertificates();
  if (data) return <Form domain={domain} certificates={data.certificates} onClose={onClose} />;
  return (
    <Dialog title={t.domains.setUpTitle(domain.readable)} onClose={onClose}>
      {error ? <Problem error={error} onAgain={() => void refetch()} /> : <Loading />}
    </Dialog>
  );
}

function Form({ domain, certificates, onClose }: Props & { certificates: readonly Certificate[] }) {
  const t = useText();
  const update = useUpdateDomain(domain.domain);
  const [begun] = useState(() => draftOf(domain));
  const [draft, setDraft] = useState(begun);
  const [problem, rest] = splitProblem(update.error, FIELDS);
  const saved = () => {
    tell(t.common.saved);
    onClose();
  };
  return (
    <Confirm
      title={t.domains.setUpTitle(domain.readable)}
      action={t.common.save}
      busy={update.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() => update.mutate(changedBody(begun, draft), { onSuccess: saved })}
    >
      <CheckField
        label={t.domains.httpsOnly}
        checked={draft.httpsOnly}
        onChecked={(httpsOnly) => setDraft((before) => ({ ...before, httpsOnly }))}
      >
        <p class="hint">{t.domains.httpsOnlyHint}</p>
      </CheckField>
      <SelectField
        label={t.domains.certificate}
        hint={t.domains.certificateHint}
        options={[
          ["", t.domains.best],
          ...certificates.filter((one) => covers(one, domain.domain)).map((one) => optionOf(t, one)),
        ]}
        value={draft.certificateId}
        onValue={(certificateId) => setDraft((before) => ({ ...before, certificateId }))}
        problem={problem("certificate_id")}
      />
      <p class="muted">{t.domains.setUpText}</p>
    </Confirm>
  );
}

function optionOf(t: Text, { id, names, issuer, state, not_after }: Certificate): readonly [string, string] {
  const ends = `${t.certificates.ends} ${relative(Date.parse(not_after), Date.now(), t.language)}`;
  const shown = [
    names.slice(0, SHOWN_NAMES).join(", "),
    issuer,
    state === "valid" ? ends : t.certificates.states[state],
  ];
  return [id, shown.join(" · ")];
}
