import { useText } from "../../text";
import { Page } from "../../ui/Page";
import { ListTabs } from "../extensions/ListTabs";
import { ExecutionList } from "./ExecutionList";

export function Executions() {
  const t = useText();
  return (
    <Page title={t.executions.title} heading={<h1>{t.extensions.title}</h1>}>
      <ListTabs current="executions" />
      <ExecutionList />
    </Page>
  );
}
