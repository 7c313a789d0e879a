export function ExecutionPage(_: { id: string }) {
  return null;
}
