import { useMay } from "../../session";

/** A command can print what variables hold. */
export function useMayRun(): boolean {
  const [mayUpdate, mayRead] = [useMay("deploy:update"), useMay("variable:read")];
  return mayUpdate && mayRead;
}
