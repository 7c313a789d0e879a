// A mail server that takes every mail, for the server that is tested.
import { createServer } from "node:net";
import { until } from "./until.mjs";

/** Listens on this machine. `args` are the server's settings. */
export async function startMailbox() {
  const mails = [];
  const server = createServer((socket) => converse(socket, mails));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  return {
    port,
    args: [
      // Links are followed by what is behind the #, so any address of this machine will do.
      ...["--public-url", "http://localhost:7780"],
      ...["--mail-host", "127.0.0.1", "--mail-port", `${port}`, "--mail-security", "none"],
      ...["--mail-from", "Windlass <windlass@example.org>", "--account-mails", "1000"],
    ],
    /** What is behind the # of the newest link of this kind that was mailed to this address. */
    linkTo: (email, kind) =>
      until(`a mail with a link (${kind}) comes to ${email}`, async () => {
        const found = mails.filter((mail) => mail.to === email).map((mail) => mail.text.match(`#${kind}=[\\w-]+`)?.[0]);
        return found.filter(Boolean).at(-1);
      }),
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}

/** SMTP, as much of it as it takes. */
function converse(socket, mails) {
  let received = "";
  let to = "";
  let isData = false;
  const say = (line) => socket.write(`${line}\r\n`);
  const hear = (line) => {
    const word = line.slice(0, 4).toUpperCase();
    if (word === "RCPT") to = line.match(/<(.*)>/)[1];
    if (word === "DATA") {
      isData = true;
      say("354 Go on");
    } else if (word === "QUIT") {
      socket.end("221 Bye\r\n");
    } else {
      say("250 OK");
    }
  };
  socket.on("error", () => {});
  socket.on("data", (part) => {
    received += part.toString("utf8");
    for (;;) {
      const mark = isData ? "\r\n.\r\n" : "\r\n";
      const end = received.indexOf(mark);
      if (end < 0) return;
      const whole = received.slice(0, end);
      received = received.slice(end + mark.length);
      if (!isData) hear(whole);
      else {
        isData = false;
        mails.push({ to, text: unquoted(whole) });
        say("250 Taken");
      }
    }
  });
  say("220 mail.test ESMTP");
}

/** Of quoted-printable. */
function unquoted(text) {
  return text
    .replace(/=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
}
