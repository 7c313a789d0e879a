import type { Application } from "../../api/applications";
import { Access } from "./Access";
import { Deliveries } from "./Deliveries";
import { isPushedHere } from "./facts";
import { PushHere } from "./PushHere";
import { Webhook } from "./Webhook";
import "./pushes.css";

/** How an application hears of pushes, how its repository is read, and what code hosts have sent. */
export default function Pushes({ application }: { application: Application }) {
  if (isPushedHere(application.repository)) return <PushHere application={application} />;
  return (
    <>
      <div class="columns">
        <Webhook application={application} />
        <Access application={application} />
      </div>
      <Deliveries application={application} />
    </>
  );
}
