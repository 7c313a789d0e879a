"""A mail server, aiosmtpd, on a free port of 127.0.0.1:

    mail.py none|starttls|tls CERTIFICATE KEY

It prints its port, then a line of JSON for each mail. With TLS it wants the login "ada" with the password "käse". It refuses mail for eve@. It ends when
its standard input does.
"""

import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("eve@"):
            return "550 5.1.1 No such user"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server, session, envelope):
        user = session.auth_data.login.decode() if session.authenticated else None
        mail = {"from": envelope.mail_from, "to": envelope.rcpt_tos, "user": user, "data": envelope.content.decode()}
        print(json.dumps({**mail, "is_encrypted": server.transport.get_extra_info("cipher") is not None}), flush=True)
        return "250 2.0.0 Taken"


def authenticate(server, session, envelope, mechanism, data):
    is_right = (data.login, data.password) == (b"ada", "käse".encode())
    # Otherwise it would leave the answer to this function.
    return AuthResult(success=is_right, handled=False, auth_data=data)


async def serve(security, certificate, key):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    options = {"hostname": "mail.test", "authenticator": authenticate, "auth_required": security != "none"}
    if security == "starttls":
        options |= {"tls_context": context, "require_starttls": True}
    if security == "tls":
        # It does not notice by itself that such a connection is encrypted.
        options |= {"auth_require_tls": False}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(Handler(), **options), "127.0.0.1", 0, ssl=context if security == "tls" else None
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(serve(*sys.argv[1:]))
