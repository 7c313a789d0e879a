"use strict";

const byId = (id) => document.getElementById(id);

// An invitation's token travels behind the #, where no server sees it.
const invitation = () => new URLSearchParams(location.hash.slice(1)).get("invitation");

async function call(method, path, body, token) {
  const headers = token ? { Authorization: "Bearer " + token } : {};
  const answer = await fetch("/api/v1" + path, { method, headers, body: body && JSON.stringify(body) });
  const envelope = await answer.json();
  if (envelope.status !== "success") throw new Error(envelope.message);
  return envelope.data;
}

function offerRegistration(title, { isFirst = false, isInvited = false }) {
  byId("title").textContent = title;
  for (const label of document.querySelectorAll("[data-for=first]")) label.hidden = !isFirst;
  for (const label of document.querySelectorAll("[data-for=own]")) label.hidden = isInvited;
  byId("register").hidden = false;
  byId("accept").hidden = !isInvited;
}

async function showState() {
  const { admin_registered: registered } = await call("GET", "/auth/is-admin-registered");
  if (!registered) {
    byId("state").textContent = "There is no user yet. The first one becomes the admin.";
    offerRegistration("Register the admin", { isFirst: true });
  } else if (invitation()) {
    byId("state").textContent = "With this link you can join an organization here, once.";
    offerRegistration("Register and join", { isInvited: true });
  } else {
    byId("state").textContent =
      "This server is set up. Newcomers need an invitation, unless its operator has opened registration.";
    offerRegistration("Register", {});
  }
}

function showDone(welcome, token) {
  byId("welcome").textContent = welcome;
  byId("token").textContent = token;
  byId("example").textContent = `curl -H "Authorization: Bearer ${token}" ${location.origin}/api/v1/user`;
  for (const id of ["register", "accept", "state"]) byId(id).hidden = true;
  byId("done").hidden = false;
}

async function register(fields) {
  if (invitation()) fields.token = invitation();
  const { access_token: token } = await call("POST", "/auth/register", fields);
  showDone("You are registered", token);
}

async function accept(fields) {
  const { access_token: token } = await call("POST", "/auth/login", fields);
  await call("POST", "/organizations/invite/accept", { token: invitation() }, token);
  showDone("You have joined", token);
}

function onSubmit(id, action) {
  byId(id).addEventListener("submit", async (event) => {
    event.preventDefault();
    const problem = event.target.querySelector(".problem");
    problem.textContent = "";
    const filled = [...new FormData(event.target)].filter(([, value]) => value !== "");
    try {
      await action(Object.fromEntries(filled));
    } catch (error) {
      problem.textContent = error.message;
    }
  });
}

function refresh() {
  showState().catch((error) => {
    byId("state").textContent = "The server cannot tell its state: " + error.message;
  });
}

onSubmit("register", register);
onSubmit("accept", accept);
window.addEventListener("hashchange", refresh);
refresh();
