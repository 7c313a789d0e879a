// Every view as every role: no request is answered 403 (pages.mjs listens), and nothing is offered that the role may not do.
import { offered, offersOf } from "../offers.mjs";
import { problems } from "../pages.mjs";
import { ROLES } from "../platform.mjs";
import { viewsThatAre } from "../views.mjs";
import { furnished, openEveryView } from "../visit.mjs";
import { HOSTILE } from "../words.mjs";

const PERSON = /Grace the [a-z-]+/;
/** It is made of an application's name. */
const MAIN_DOMAIN = /[a-z0-9-]+\.localhost/;
/** The titles of messages are made of what they are about. */
const SENT_AGAIN = /^Send again: .*/;

export default async function roles(platform) {
  await furnished(platform);
  const toTheOwner = new Set();
  for (const role of ROLES) {
    const look = async (view, page, permissions) => {
      for (const name of new Set(await offered(page))) {
        judge(view, role, nameInTable(name), permissions);
        if (role === "owner") toTheOwner.add(`${view.route} ${nameInTable(name)}`);
      }
    };
    await openEveryView(platform, role, look, { inPlace: true });
  }
  nothingIsListedInVain(toTheOwner);
}

/** Words of the person who made something are in the names of some buttons. */
function nameInTable(name) {
  if (SENT_AGAIN.test(name)) return "Send again: $notice";
  if (PERSON.test(name)) return name.replace(PERSON, "$person");
  if (MAIN_DOMAIN.test(name)) return name.replace(MAIN_DOMAIN, "$main");
  const word = Object.keys(HOSTILE).find((key) => name.includes(HOSTILE[key]));
  return word ? name.replace(HOSTILE[word], `$${word}`) : name;
}

function judge(shown, role, name, permissions) {
  const { name: view, route } = shown;
  const permission = offersOf(shown)[name];
  if (permission === undefined)
    problems.push(`"${name}" of ${route} (${view}, ${role}) is not in test/browser/offers.mjs`);
  else if (permission && !permissions.includes(permission)) {
    problems.push(`${view} offers "${name}" to the ${role}, who lacks ${permission}`);
  }
}

/** What takes a permission is offered to the owner, or else the test would try nothing. */
function nothingIsListedInVain(seen) {
  for (const view of viewsThatAre()) {
    for (const [name, permission] of Object.entries(offersOf(view))) {
      if (permission && !seen.has(`${view.route} ${name}`))
        problems.push(`"${name}" is offered by no view of ${view.route}`);
    }
  }
}
