"""Verifies one request by the reference library of Standard Webhooks: {"secret", "headers", "body"} on standard input."""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

request = json.load(sys.stdin)
try:
    json.dump(Webhook(request["secret"]).verify(request["body"], request["headers"]), sys.stdout)
except WebhookVerificationError as error:
    sys.exit(f"refused: {error}")
