export function Executions() {
  return null;
}
