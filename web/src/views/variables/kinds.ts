/** The fields of an application that hold variables of its own. */
export type VariableKind = "environment_variables" | "build_variables";

export const KINDS: readonly VariableKind[] = ["environment_variables", "build_variables"];

/** As the addresses of files name them. */
export const kindInPath = (kind: VariableKind) => (kind === "environment_variables" ? "environment" : "build");
