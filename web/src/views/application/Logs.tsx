import type { Application } from "../../api/applications";
import { liveOf } from "../../api/deployments";
import { LogView } from "../../logs/LogView";
import { servicesOf } from "../deployments/Instances";

export default function Logs({ application }: { application: Application }) {
  const live = liveOf(application.deployments);
  return <LogView source={{ of: "application", id: application.id }} isLive services={live ? servicesOf(live) : []} />;
}
