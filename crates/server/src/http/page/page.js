"use strict";

// An invitation's token travels behind the #, where no server sees it.
const invitation = new URLSearchParams(location.hash.slice(1)).get("invitation");
const byId = (id) => document.getElementById(id);

async function call(method, path, body) {
  const answer = await fetch("/api/v1" + path, { method, body: body && JSON.stringify(body) });
  const envelope = await answer.json();
  if (envelope.status !== "success") throw new Error(envelope.message);
  return envelope.data;
}

function offerRegistration(title, isFirst) {
  byId("title").textContent = title;
  for (const label of document.querySelectorAll("[data-for=first]")) label.hidden = !isFirst;
  byId("register").hidden = false;
}

async function showState() {
  const { admin_registered: registered } = await call("GET", "/auth/is-admin-registered");
  if (!registered) {
    byId("state").textContent = "Nobody is registered yet. The first one becomes the admin.";
    offerRegistration("Register the admin", true);
  } else if (invitation) {
    byId("state").textContent = "You are invited to join an organization here.";
    offerRegistration("Accept the invitation", false);
  } else {
    byId("state").textContent = "This server is set up. Newcomers need an invitation from one of its members.";
  }
}

async function register(event) {
  event.preventDefault();
  byId("problem").textContent = "";
  const filled = [...new FormData(event.target)].filter(([, value]) => value !== "");
  const body = Object.fromEntries(filled);
  if (invitation) body.token = invitation;
  try {
    const { access_token: token } = await call("POST", "/auth/register", body);
    byId("token").textContent = token;
    byId("example").textContent = `curl -H "Authorization: Bearer ${token}" ${location.origin}/api/v1/user`;
    byId("register").hidden = true;
    byId("state").hidden = true;
    byId("done").hidden = false;
  } catch (error) {
    byId("problem").textContent = error.message;
  }
}

byId("register").addEventListener("submit", register);
showState().catch((error) => {
  byId("state").textContent = "The server cannot tell its state: " + error.message;
});
