"""An SMTP server on aiosmtpd that keeps what it is sent.

SMTP_CERTIFICATE and SMTP_KEY name PEM files: the server then requires STARTTLS and the user `gateway`
with the password `correct horse`. The first line of output is a JSON object with the address and
that of a control port, where POST /messages returns all messages. The process ends when its input
does.
"""

import json
import os
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

MESSAGES = []


class Keeper:
    async def handle_DATA(self, server, session, envelope):
        MESSAGES.append({
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "text": envelope.content.decode("utf-8", "replace"),
            "encrypted": session.ssl is not None,
        })
        return "250 OK"


def authenticate(server, session, envelope, mechanism, data):
    good = (data.login, data.password) == (b"gateway", b"correct horse")
    return AuthResult(success=good, handled=good)


class Control(BaseHTTPRequestHandler):
    def do_POST(self):
        answer = json.dumps({"messages": MESSAGES}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


options = {}
if "SMTP_CERTIFICATE" in os.environ:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.environ["SMTP_CERTIFICATE"], os.environ["SMTP_KEY"])
    options = {
        "tls_context": context, "require_starttls": True,
        "authenticator": authenticate, "auth_required": True,
    }


class FreePort(Controller):
    """The controller asks its own port whether it is ready; a free port is known only then."""

    def _trigger_server(self):
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


smtp = FreePort(Keeper(), hostname="127.0.0.1", port=0, **options)
smtp.start()
control = ThreadingHTTPServer(("127.0.0.1", 0), Control)
threading.Thread(target=control.serve_forever, daemon=True).start()
print(json.dumps({
    "smtp": "127.0.0.1:%d" % smtp.port,
    "control": "http://127.0.0.1:%d" % control.server_port,
}), flush=True)
sys.stdin.read()
os._exit(0)
