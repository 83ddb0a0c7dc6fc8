"""An agent that joins a channel and answers the peers that write to it. Standard library only.

    PARLEY_KEY=sk_id_…:sk_secret_… python3 agent.py chat/1
"""

import base64
import hashlib
import hmac
import json
import os
import random
import sys
import time

from websocket import Closed, Refused, WebSocket

NAME = "agent"
TOKEN_SECONDS = 3600
RETRY_FIRST_SECONDS, RETRY_MAX_SECONDS = 0.5, 30
# The key was revoked; the backend kicked us. After 4002 a fresh token helps, after other codes a later retry.
FINAL = {4001, 4020}


def connect_token(key_id, secret, channel):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    now = int(time.time())
    claims = {"sub": NAME, "iat": now, "exp": now + TOKEN_SECONDS, "channels": [channel], "peerMetadata": {"name": NAME}}
    signed = part({"alg": "HS256", "kid": key_id, "typ": "JWT"}) + "." + part(claims)
    signature = hmac.new(secret.encode(), signed.encode(), hashlib.sha256).digest()
    return signed + "." + base64.urlsafe_b64encode(signature).rstrip(b"=").decode()


def answer(question, members):
    """Put your model here."""
    if question == "who is here?":
        return "I see " + (", ".join(sorted(members)) or "nobody but you and me")
    return f"You said {question!r}, in {len(question.split())} words"


def talk(connection, channel, welcomed):
    members = set()
    while True:
        frame = json.loads(connection.receive())
        kind = frame["type"]
        if kind == "welcome":
            welcomed()
            connection.send(json.dumps({"type": "subscribe", "channel": channel, "requestId": "subscribe"}))
        elif kind == "presence":
            members |= {peer["peerId"] for peer in frame["joined"]}
            members -= {peer["peerId"] for peer in frame["left"]}
            if frame.get("snapshot"):
                print(f"in {channel}, with {sorted(members)}", flush=True)
        elif kind == "error":
            print(f"refused: {frame['code']}: {frame['message']}", flush=True)
        elif kind == "message" and isinstance(frame["data"], dict):
            text = str(frame["data"].get("text", ""))
            if text.startswith(f"@{NAME} "):
                reply = {"text": answer(text[len(NAME) + 2 :], members - {frame["from"]}), "to": frame["from"]}
                frame = {"type": "publish", "channel": channel, "data": reply}
                connection.send(json.dumps(frame, ensure_ascii=False))


def main():
    base = os.environ.get("PARLEY_URL", "http://localhost:8080")
    key_id, _, secret = os.environ.get("PARLEY_KEY", "").partition(":")
    if not secret:
        sys.exit(
            "Set PARLEY_KEY to a secret key, sk_id_…:sk_secret_… That of the demo, in the project's folder:\n"
            "  export PARLEY_KEY=$(sed -n 's/^ *secret key  *//p' data/first-run.txt)"
        )
    channel = sys.argv[1] if len(sys.argv) > 1 else "chat/1"
    failures = 0

    def welcomed():
        nonlocal failures
        failures = 0

    while True:
        try:
            talk(WebSocket(f"{base}/v1?token={connect_token(key_id, secret, channel)}"), channel, welcomed)
        except Closed as closed:
            why = closed.code
            if why in FINAL:
                sys.exit(f"the end: {why}")
        except Refused as refused:
            why = refused
            if refused.status == 401:
                sys.exit(f"refused: {refused}")
        except OSError as error:
            why = error
        wait = min(RETRY_MAX_SECONDS, RETRY_FIRST_SECONDS * 2**failures) * random.uniform(0.5, 1)
        failures += 1
        print(f"connection lost ({why}), trying again in {wait:.1f} s", flush=True)
        time.sleep(wait)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
