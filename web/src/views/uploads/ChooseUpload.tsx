import { useId, useState } from "preact/hooks";
import { useText } from "../../text";
import { bytes as sizeOf } from "../../ui/bytes";
import { CheckField } from "../../ui/Field";
import { type Chosen, ofFolder, ofTar } from "../../uploads/folder";

interface Props {
  chosen: Chosen | null;
  onChosen: (chosen: Chosen | null) => void;
}

type What = "folder" | "tar";
const WHATS: readonly What[] = ["folder", "tar"];
const TARS = ".tar,.gz,.tgz,.zst,.tzst";

/** A folder of the user's machine, or a tar of one. Nothing is read before it is sent. */
export function ChooseUpload({ chosen, onChosen }: Props) {
  const t = useText().uploads;
  const id = useId();
  const [what, setWhat] = useState<What>(chosen?.files === null ? "tar" : "folder");
  const [folder, setFolder] = useState<readonly File[]>([]);
  const [withPackages, setWithPackages] = useState(false);
  const choose = (next: What) => {
    setWhat(next);
    onChosen(null);
  };
  const take = (files: readonly File[]) => {
    const [first] = files;
    setFolder(files);
    if (!first) onChosen(null);
    else onChosen(what === "tar" ? ofTar(first) : ofFolder(files, withPackages));
  };
  const takePackages = (are: boolean) => {
    setWithPackages(are);
    if (folder.length > 0) onChosen(ofFolder(folder, are));
  };
  return (
    <div class="stack">
      <fieldset class="row">
        <legend class="hidden-text">{t.what}</legend>
        {WHATS.map((name) => (
          <label key={name} class="check">
            <input type="radio" name={id} checked={what === name} onChange={() => choose(name)} />
            {t.whats[name]}
          </label>
        ))}
      </fieldset>
      <div class="field">
        <label for={id}>{what === "tar" ? t.tar : t.folder}</label>
        <input
          key={what}
          id={id}
          type="file"
          accept={what === "tar" ? TARS : undefined}
          ref={(input) => {
            if (input) input.webkitdirectory = what === "folder";
          }}
          aria-describedby={`${id}-hint`}
          onChange={({ currentTarget }) => take([...(currentTarget.files ?? [])])}
        />
        <p class="hint" id={`${id}-hint`}>
          {what === "tar" ? t.tarHint : t.folderHint}
        </p>
      </div>
      {chosen?.hasPackages && (
        <CheckField
          label={t.withPackages}
          checked={withPackages}
          onChecked={takePackages}
          disabled={folder.length === 0}
        />
      )}
      <p role="status" class="break">
        {chosen && <Summary chosen={chosen} />}
      </p>
    </div>
  );
}

function Summary({ chosen }: { chosen: Chosen }) {
  const t = useText().uploads;
  if (isEmpty(chosen)) return <span class="problem-text">{t.empty(chosen.name)}</span>;
  const size = sizeOf(chosen.bytes.size);
  return <>{chosen.files === null ? `${chosen.name}: ${size}` : t.filesOf(chosen.name, chosen.files, size)}</>;
}

const isEmpty = ({ files, bytes }: Chosen): boolean => files === 0 || bytes.size === 0;

/** Whether there is anything to send. */
export const canBeSent = (chosen: Chosen | null): chosen is Chosen => chosen !== null && !isEmpty(chosen);
