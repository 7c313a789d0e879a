import type { ComponentType } from "preact";
import { lazy } from "preact-iso";
import { loadLater } from "../text";

/** A view that a first visit does not need: its code and its texts are loaded when it is opened, or before. */
export function late<P>(view: () => Promise<{ default: ComponentType<P> }>) {
  return lazy(async () => {
    const [loaded] = await Promise.all([view(), loadLater()]);
    return loaded;
  });
}
