import type { Extension } from "../../api/extensions";
export function EditText(_: { extension: Extension }) {
  return null;
}
