export function ExecutionList(_: { extensionId?: string }) {
  return null;
}
