export function NewExtension() {
  return null;
}
