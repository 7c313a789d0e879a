import { useState } from "preact/hooks";
import { useUploadCertificate } from "../../api/certificates";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { AreaField } from "../../ui/Field";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";

const FIELDS = ["certificate_chain", "private_key"];
const ROWS = 6;
const SHOWN_NAMES = 3;

export function UploadCertificate({ onClose }: { onClose: () => void }) {
  const t = useText();
  const upload = useUploadCertificate();
  const [chain, setChain] = useState("");
  const [key, setKey] = useState("");
  const [problem, rest] = splitProblem(upload.error, FIELDS);
  return (
    <Confirm
      title={t.certificates.upload}
      action={t.certificates.uploadAction}
      busy={upload.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() =>
        upload.mutate(
          { certificate_chain: chain, private_key: key },
          {
            onSuccess: ({ names }) => {
              tell(t.certificates.uploaded(names.slice(0, SHOWN_NAMES).join(", ")));
              onClose();
            },
          },
        )
      }
    >
      <AreaField
        label={t.certificates.chain}
        hint={t.certificates.chainHint}
        placeholder="-----BEGIN CERTIFICATE-----"
        rows={ROWS}
        required
        autocomplete="off"
        value={chain}
        onValue={setChain}
        problem={problem("certificate_chain")}
      />
      <AreaField
        label={t.certificates.privateKey}
        hint={t.certificates.privateKeyHint}
        placeholder="-----BEGIN PRIVATE KEY-----"
        rows={ROWS}
        required
        autocomplete="off"
        value={key}
        onValue={setKey}
        problem={problem("private_key")}
      />
    </Confirm>
  );
}
