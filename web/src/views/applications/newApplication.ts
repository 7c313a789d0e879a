import type { BuildPack, CreateDeployment, Language } from "../../api/applications";
import { looksSecret } from "../variables/changes";
import { parse } from "../variables/dotenv";
import { proposedName } from "./facts";

export interface NewApplicationDraft {
  repository: string;
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

/** What is pushed to has no address that a name could be made of. */
export const nameOf = (draft: NewApplicationDraft): string =>
  draft.name ?? (draft.repository === PUSHED ? "" : proposedName(draft.repository));

export const isSecret = (draft: NewApplicationDraft, name: string): boolean => draft.secrets[name] ?? looksSecret(name);

/** What is empty is left out, so that the server's defaults act. */
export function bodyOf(draft: NewApplicationDraft): CreateDeployment {
  const { variables } = parse(draft.variables);
  const names = Object.keys(variables);
  const body: CreateDeployment = { name: nameOf(draft).trim(), repository: draft.repository.trim() };
  if (draft.branch.trim()) body.branch = draft.branch.trim();
  if (draft.basePath.trim()) body.base_path = draft.basePath.trim();
  if (draft.buildPack !== EMPTY_DRAFT.buildPack) body.build_pack = draft.buildPack;
  if (draft.language) body.language = draft.language;
  if (draft.program.trim()) body.program = draft.program.trim();
  if (draft.port.trim()) body.port = Number(draft.port);
  if (draft.connectionId) body.connection_id = draft.connectionId;
  else if (draft.token) body.repository_token = draft.token;
  if (names.length > 0) {
    body.environment_variables = variables;
    body.secret_names = names.filter((name) => isSecret(draft, name));
  }
  return body;
}
