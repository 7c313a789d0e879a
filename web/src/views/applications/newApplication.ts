import type { BuildPack, CreateDeployment, Language } from "../../api/applications";
import type { Chosen } from "../../uploads/folder";
import { looksSecret } from "../variables/changes";
import { parse } from "../variables/dotenv";
import { proposedName } from "./facts";

export interface NewApplicationDraft {
  repository: string;
  /** Only where the repository is IMAGE. */
  image: string;
  autoUpdate: boolean;
  /** Only where the repository is UPLOADED. */
  upload: Chosen | null;
  connectionId: string;
  token: string;
  branch: string;
  basePath: string;
  buildPack: BuildPack;
  /** These two only if one of several was chosen. */
  language: Language;
  program: string;
  /** Null as long as it is proposed from the repository. */
  name: string | null;
  port: string;
  variables: string;
  /** Names that the user has decided about; the others are proposed. */
  secrets: Readonly<Record<string, boolean>>;
}

export const EMPTY_DRAFT: NewApplicationDraft = {
  repository: "",
  image: "",
  autoUpdate: false,
  upload: null,
  connectionId: "",
  token: "",
  branch: "",
  basePath: "",
  buildPack: "auto",
  language: "",
  program: "",
  name: null,
  port: "",
  variables: "",
  secrets: {},
};

/** In place of an address: the repository is kept by Windlass and pushed to. */
export const PUSHED = "push";
/** The same: there is none, an image of a registry is taken. */
export const IMAGE = "image";
/** Neither is there here: the application is made from an extension. */
export const EXTENSION = "extension";
/** A folder is sent from this page. To the API that is the same as pushing it. */
export const UPLOADED = "upload";

/** What is pushed to has no address that a name could be made of. */
export const nameOf = (draft: NewApplicationDraft): string =>
  draft.name ?? (draft.repository === PUSHED ? "" : proposedName(addressOf(draft)));

/** Of an image without its tag, which says nothing about the application, as the ending of a tar does. */
function addressOf({ repository, image, upload }: NewApplicationDraft): string {
  if (repository === IMAGE) return (image.split("/").at(-1) ?? "").replace(/[:@].*$/, "");
  if (repository === UPLOADED) return (upload?.name ?? "").replace(/\.(tar(\.\w+)?|tgz|tzst)$/i, "");
  return repository;
}

export const isSecret = (draft: NewApplicationDraft, name: string): boolean => draft.secrets[name] ?? looksSecret(name);

/** What is empty is left out, so that the server's defaults act. */
export function bodyOf(draft: NewApplicationDraft): CreateDeployment {
  const repository = draft.repository === UPLOADED ? PUSHED : draft.repository.trim();
  const body: CreateDeployment = { name: nameOf(draft).trim(), repository };
  if (draft.repository === IMAGE) return imageBodyOf(draft, body);
  if (draft.branch.trim()) body.branch = draft.branch.trim();
  if (draft.basePath.trim()) body.base_path = draft.basePath.trim();
  if (draft.buildPack !== EMPTY_DRAFT.buildPack) body.build_pack = draft.buildPack;
  if (draft.language) body.language = draft.language;
  if (draft.program.trim()) body.program = draft.program.trim();
  if (draft.connectionId) body.connection_id = draft.connectionId;
  else if (draft.token) body.repository_token = draft.token;
  return running(draft, body);
}

function imageBodyOf(draft: NewApplicationDraft, body: CreateDeployment): CreateDeployment {
  body.image = draft.image.trim();
  if (draft.autoUpdate) body.auto_update = true;
  return running(draft, body);
}

/** What every application can have. */
function running(draft: NewApplicationDraft, body: CreateDeployment): CreateDeployment {
  const { variables } = parse(draft.variables);
  const names = Object.keys(variables);
  if (draft.port.trim()) body.port = Number(draft.port);
  if (names.length > 0) {
    body.environment_variables = variables;
    body.secret_names = names.filter((name) => isSecret(draft, name));
  }
  return body;
}
