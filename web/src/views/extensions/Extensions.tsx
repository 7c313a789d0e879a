import { useRoute } from "preact-iso";
import { ExecutionPage } from "../executions/ExecutionPage";
import { Executions } from "../executions/Executions";
import { InstallationPage } from "../installations/InstallationPage";
import { Installations } from "../installations/Installations";
import { Catalog } from "./Catalog";
import { ExtensionPage } from "./ExtensionPage";
import { NewExtension } from "./NewExtension";
import "../application/application.css";
import "./extensions.css";

/** `/extensions/...`: the catalog, one extension of it, what is installed, what was run. */
export default function Extensions() {
  const { params } = useRoute();
  const { part, item, tab } = params;
  if (!part) return <Catalog />;
  if (part === "new") return <NewExtension />;
  if (part === "installations") {
    return item ? <InstallationPage key={item} id={item} tab={tab ?? "overview"} /> : <Installations />;
  }
  if (part === "executions") return item ? <ExecutionPage key={item} id={item} /> : <Executions />;
  return <ExtensionPage key={part} name={part} tab={item ?? "overview"} />;
}
