// What is tried. Each topic makes what it needs.
import access from "./topics/access.mjs";
import account from "./topics/account.mjs";
import buildPlan from "./topics/build-plan.mjs";
import certificates from "./topics/certificates.mjs";
import commands from "./topics/commands.mjs";
import compose from "./topics/compose.mjs";
import conflict from "./topics/conflict.mjs";
import deployPlan from "./topics/deploy-plan.mjs";
import domains from "./topics/domains.mjs";
import everyView from "./topics/every-view.mjs";
import extensionApplication from "./topics/extension-application.mjs";
import failure from "./topics/failure.mjs";
import figures from "./topics/figures.mjs";
import firstStart from "./topics/first-start.mjs";
import forms from "./topics/forms.mjs";
import images from "./topics/images.mjs";
import invitation from "./topics/invitation.mjs";
import log from "./topics/log.mjs";
import notifications from "./topics/notifications.mjs";
import password from "./topics/password.mjs";
import roles from "./topics/roles.mjs";
import rollback from "./topics/rollback.mjs";
import session from "./topics/session.mjs";
import sharedVariables from "./topics/shared-variables.mjs";
import shell from "./topics/shell.mjs";
import sites from "./topics/sites.mjs";
import updates from "./topics/updates.mjs";
import uploads from "./topics/uploads.mjs";
import uptime from "./topics/uptime.mjs";
import walk from "./topics/walk.mjs";

/** Done at the same time, each by a process with a server of its own, and each in this order. */
export const LANES = [
  // The first one registers the admin in the browser.
  {
    "first-start": firstStart,
    failure,
    rollback,
    log,
    conflict,
    session,
    forms,
    certificates,
    domains,
    access,
    sites,
    "build-plan": buildPlan,
    compose,
    images,
    uploads,
    updates,
    "extension-application": extensionApplication,
    "deploy-plan": deployPlan,
    commands,
    "shared-variables": sharedVariables,
    notifications,
    figures,
    uptime,
    shell,
    invitation,
    account,
    password,
  },
  // They fill the organization with hostile texts.
  { "every-view": everyView, roles },
];

/** What takes longer than a change should wait for, by name only: `make test-long`. */
const LONG = { walk };

export const TOPICS = Object.assign({}, ...LANES, LONG);
