"""A WebSocket client on the standard library alone: text frames, pings answered, close codes."""

import base64
import hashlib
import os
import socket
import ssl
import struct
from urllib.parse import urlsplit

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _CLOSE, _PING, _PONG = 0x1, 0x8, 0x9, 0xA
_HEAD_MAX_BYTES = 65536


class Refused(Exception):
    """The response was not an upgrade. `status` is its HTTP status, `body` its body."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body}")
        self.status, self.body = status, body


class Closed(Exception):
    """The connection has ended; `code` says why, 1006 if there was no close frame."""

    def __init__(self, code):
        super().__init__(str(code))
        self.code = code


class WebSocket:
    def __init__(self, url, silence_seconds=75):
        """The service pings every 30 s: if nothing arrives for longer, the connection is dead."""
        parts = urlsplit(url)
        secure = parts.scheme in ("wss", "https")
        port = parts.port or (443 if secure else 80)
        self._socket = socket.create_connection((parts.hostname, port), timeout=silence_seconds)
        if secure:
            self._socket = ssl.create_default_context().wrap_socket(self._socket, server_hostname=parts.hostname)
        self._stream = self._socket.makefile("rb")
        try:
            self._shake_hands(parts)
        except BaseException:
            self._socket.close()
            raise

    def _shake_hands(self, parts):
        key = base64.b64encode(os.urandom(16)).decode()
        target = f"{parts.path}?{parts.query}"
        head = [f"GET {target} HTTP/1.1", f"Host: {parts.netloc}", "Upgrade: websocket", "Connection: Upgrade"]
        head += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", ""]
        self._socket.sendall("\r\n".join(head).encode())
        status = int((self._stream.readline(_HEAD_MAX_BYTES).split(b" ") + [b"0", b"0"])[1])
        headers = {}
        while (line := self._stream.readline(_HEAD_MAX_BYTES)) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        if status != 101:
            raise Refused(status, self._stream.read(int(headers.get("content-length", 0))).decode())
        expected = base64.b64encode(hashlib.sha1((key + _GUID).encode()).digest()).decode()
        if headers.get("sec-websocket-accept") != expected:
            raise Refused(status, "this is no WebSocket server")

    def send(self, text):
        self._send(_TEXT, text.encode())

    def receive(self):
        """The next text. Raises Closed at the end."""
        text = b""
        while True:
            final, opcode, payload = self._frame()
            if opcode == _PING:
                # Sent at once, because the roster waits for it.
                self._send(_PONG, payload)
            elif opcode == _CLOSE:
                self.close()
                raise Closed(struct.unpack("!H", payload[:2])[0] if len(payload) >= 2 else 1005)
            elif opcode < _CLOSE:
                text += payload
                if final:
                    return text.decode()

    def close(self):
        try:
            self._send(_CLOSE, struct.pack("!H", 1000))
        except (Closed, OSError):
            pass
        self._socket.close()

    def _frame(self):
        first, second = self._read(2)
        length = second & 0x7F
        if length == 126:
            (length,) = struct.unpack("!H", self._read(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", self._read(8))
        return first & 0x80, first & 0x0F, self._read(length)

    def _read(self, count):
        try:
            data = self._stream.read(count)
        except OSError:
            raise Closed(1006) from None
        if len(data) < count:
            raise Closed(1006)
        return data

    def _send(self, opcode, payload):
        length = len(payload)
        if length < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | length)
        elif length < 65536:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, length)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, length)
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
        try:
            self._socket.sendall(head + mask + masked)
        except OSError:
            raise Closed(1006) from None
