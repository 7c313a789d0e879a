import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useConnections } from "../../api/connections";
import { useMay } from "../../session";
import { useText } from "../../text";
import { CheckField, TextField } from "../../ui/Field";
import { ChooseUpload } from "../uploads/ChooseUpload";
import { BranchField } from "./BranchField";
import { IMAGE, type NewApplicationDraft, PUSHED, UPLOADED } from "./newApplication";
import { RepositoryPicker } from "./RepositoryPicker";

/** What each part of the form for a new application gets. */
export interface PartProps {
  draft: NewApplicationDraft;
  change: (part: Partial<NewApplicationDraft>) => void;
  problem: (field: string) => string | null;
}

type Way = "address" | "connection" | "upload" | "push" | "image";

/** What is in place of an address. */
const WORDS: Readonly<Partial<Record<Way, string>>> = { upload: UPLOADED, push: PUSHED, image: IMAGE };
const WITHOUT_BRANCH: readonly Way[] = ["upload", "image"];

function wayOf({ connectionId, repository }: NewApplicationDraft): Way {
  if (connectionId) return "connection";
  if (repository === IMAGE) return "image";
  if (repository === UPLOADED) return "upload";
  return repository === PUSHED ? "push" : "address";
}

/** Where the code is: at an address, in a repository that a connection reaches, on the user's machine, or pushed to Windlass itself. */
export function SourceFields({ draft, change, problem }: PartProps) {
  const t = useText();
  const { query } = useLocation();
  const connections = useConnections(useMay("connection:update")).data?.connections ?? [];
  const [way, setWay] = useState<Way>(query.connection ? "connection" : wayOf(draft));
  const [fullName, setFullName] = useState("");
  // A link from a connection's list of repositories says which one is meant.
  useEffect(() => {
    if (query.connection) change({ connectionId: query.connection, repository: "", name: null, token: "" });
  }, []);

  const choose = (next: Way) => {
    setWay(next);
    setFullName("");
    change({
      connectionId: next === "connection" ? (connections[0]?.id ?? "") : "",
      repository: WORDS[next] ?? "",
      upload: null,
      branch: "",
      token: "",
    });
  };
  const ways: Way[] = [
    "address",
    ...(connections.length > 0 ? (["connection"] as const) : []),
    "upload",
    "push",
    "image",
  ];
  return (
    <section class="card stack">
      <h2>{t.create.source}</h2>
      <fieldset class="choices">
        <legend class="hidden-text">{t.create.source}</legend>
        {ways.map((name) => (
          <label key={name}>
            <input type="radio" name="way" checked={way === name} onChange={() => choose(name)} />
            {t.create.ways[name]}
          </label>
        ))}
      </fieldset>
      {way === "push" && <p class="muted">{t.create.pushHint}</p>}
      {way === "upload" && <ChooseUpload chosen={draft.upload} onChosen={(upload) => change({ upload })} />}
      <div class="fields">
        {way === "connection" && (
          <RepositoryPicker
            key={draft.connectionId}
            connections={connections}
            connectionId={draft.connectionId}
            chosen={draft.repository}
            wanted={draft.connectionId === query.connection ? (query.repository ?? "") : ""}
            onConnection={(connectionId) => {
              setFullName("");
              change({ connectionId, repository: "" });
            }}
            onRepository={(repository) => {
              setFullName(repository.full_name);
              change({ repository: repository.clone_url, branch: repository.default_branch });
            }}
          />
        )}
        {way === "address" && <AddressFields draft={draft} change={change} problem={problem} />}
        {way === "image" && <ImageFields draft={draft} change={change} problem={problem} />}
        {!WITHOUT_BRANCH.includes(way) && (
          <BranchField
            key={fullName}
            connectionId={way === "connection" ? draft.connectionId : ""}
            fullName={fullName}
            hint={way === "push" ? t.create.pushBranchHint : t.create.branchHint}
            value={draft.branch}
            onValue={(branch) => change({ branch })}
            problem={problem("branch")}
          />
        )}
      </div>
    </section>
  );
}

function ImageFields({ draft, change, problem }: PartProps) {
  const t = useText().create;
  return (
    <>
      <TextField
        label={t.image}
        hint={t.imageHint}
        required
        autocomplete="off"
        value={draft.image}
        onValue={(image) => change({ image })}
        problem={problem("image")}
      />
      <CheckField label={t.autoUpdate} checked={draft.autoUpdate} onChecked={(autoUpdate) => change({ autoUpdate })} />
      <p class="small muted">
        <a href="/registries">{t.imageCredentials}</a>
      </p>
    </>
  );
}

function AddressFields({ draft, change, problem }: PartProps) {
  const t = useText().create;
  return (
    <>
      <TextField
        label={t.repository}
        hint={t.repositoryHint}
        required
        autocomplete="off"
        value={draft.repository}
        onValue={(repository) => change({ repository })}
        problem={problem("repository")}
      />
      <TextField
        label={t.token}
        hint={t.tokenHint}
        type="password"
        autocomplete="off"
        optional
        value={draft.token}
        onValue={(token) => change({ token })}
        problem={problem("repository_token")}
      />
    </>
  );
}
