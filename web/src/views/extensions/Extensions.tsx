import { useEffect } from "preact/hooks";
import { lazy, useRoute } from "preact-iso";
import { Executions } from "../executions/Executions";
import { Installations } from "../installations/Installations";
import { Catalog } from "./Catalog";
import { ExtensionPage } from "./ExtensionPage";
import "./extensions.css";

const ExecutionPage = lazy(() => import("../executions/ExecutionPage"));
const InstallationPage = lazy(() => import("../installations/InstallationPage"));
const NewExtension = lazy(() => import("./NewExtension"));

/** The pages that the lists lead to, once a list has been shown. */
function usePreload(): void {
  useEffect(() => {
    for (const page of [ExecutionPage, InstallationPage, NewExtension]) page.preload().catch(() => {});
  }, []);
}

/** `/extensions/...`: the catalog, one extension of it, what is installed, what was run. */
export default function Extensions() {
  const { params } = useRoute();
  const { part, item, tab } = params;
  usePreload();
  if (!part) return <Catalog />;
  if (part === "new") return <NewExtension />;
  if (part === "installations") {
    return item ? <InstallationPage key={item} id={item} tab={tab ?? "overview"} /> : <Installations />;
  }
  if (part === "executions") return item ? <ExecutionPage key={item} id={item} /> : <Executions />;
  return <ExtensionPage key={part} name={part} tab={item ?? "overview"} />;
}
