// What is tried, in this order: the first one registers the admin in the browser; each other one makes what it needs.
import conflict from "./topics/conflict.mjs";
import everyView from "./topics/every-view.mjs";
import failure from "./topics/failure.mjs";
import firstStart from "./topics/first-start.mjs";
import log from "./topics/log.mjs";
import roles from "./topics/roles.mjs";
import rollback from "./topics/rollback.mjs";
import session from "./topics/session.mjs";

export const TOPICS = {
  "first-start": firstStart,
  failure,
  rollback,
  log,
  conflict,
  session,
  "every-view": everyView,
  roles,
};
