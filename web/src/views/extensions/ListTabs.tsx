import { useText } from "../../text";
import { Tabs } from "../../ui/Tabs";

/** The three lists: what there is, what is installed, what was run. */
export function ListTabs({ current }: { current: "catalog" | "installed" | "executions" }) {
  const t = useText().extensions;
  return (
    <Tabs
      label={t.tabs}
      tabs={[
        { href: "/extensions", label: t.catalog, current: current === "catalog" },
        { href: "/extensions/installations", label: t.installed, current: current === "installed" },
        { href: "/extensions/executions", label: t.executions, current: current === "executions" },
      ]}
    />
  );
}
