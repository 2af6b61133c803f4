#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""Checks tools/conformance/crypto.py with the vectors of the RFCs, and then the vectors of PROTOCOL.md with it
(tools/conformance/encryption.json). With --write, writes that file."""
import json
import os
import sys
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "conformance"))

import crypto  # noqa: E402

VECTORS = os.path.join(ROOT, "tools", "conformance", "encryption.json")


def vectors():
    """All values of a made-up connection, as hexadecimal text."""
    secret, nonce, connection = bytes(range(32)), 0x0123456789ABCDEF, 0xFEDCBA9876543210
    keys = crypto.session_keys(secret, nonce, connection)
    body = crypto.little(nonce, 8) + crypto.little(connection, 8)
    client, server = bytes(range(64, 96)), bytes(range(96, 128))
    base = bytes([9]) + bytes(31)
    client_public, server_public = crypto.x25519(client, base), crypto.x25519(server, base)
    backend_key, salt = bytes(range(128, 160)), bytes(range(160, 176))
    servers = [(bytes(10) + b"\xff\xff" + bytes([192, 0, 2, 7]), 7777)]
    request = crypto.make_request(backend_key, 7, 4711, 99, secret, servers, b"vip", 2_000_000_000, salt)
    return {
        "secret": secret, "nonce": nonce, "connection_id": connection, "answer_key": crypto.answer_key(secret, nonce), **keys,
        "accept_tag": crypto.handshake_tag(keys["handshake_to_client"], crypto.ACCEPT, body),
        "data_to_server": crypto.sealed_packet(keys["packets_to_server"], crypto.DATA, 70_000,
                                               crypto.little(connection, 8) + crypto.little(70_000 & 0xFFFF, 2), b"to the server"),
        "data_to_client": crypto.sealed_packet(keys["packets_to_client"], crypto.DATA, 3, crypto.little(3, 2), b"to the client"),
        "close_to_client": crypto.sealed_packet(keys["packets_to_client"], crypto.CLOSE, crypto.CLOSE_NUMBER,
                                                crypto.little(connection, 8), b"\x04\x03out"),
        "client_private": client, "client_public": client_public, "server_private": server, "server_public": server_public,
        "exchanged_secret": crypto.exchanged_secret(client, server_public, client_public, server_public),
        "backend_key": backend_key, "token_request": request, "token": crypto.make_token(request, secret, servers, 2_000_000_000),
    }


def as_text(value):
    return value.hex() if isinstance(value, bytes) else f"{value:016x}" if isinstance(value, int) else value


class Rfc(unittest.TestCase):
    def test_chacha20_poly1305(self):  # RFC 8439, 2.8.2
        key, nonce = bytes(range(0x80, 0xA0)), bytes.fromhex("070000004041424344454647")
        clear = bytes.fromhex("50515253c0c1c2c3c4c5c6c7")
        text = (b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen "
                b"would be it.")
        sealed = crypto.chacha20(key, 1, nonce, text)
        self.assertEqual(sealed[:16].hex(), "d31a8d34648e60db7b86afbc53ef7ec2")
        self.assertEqual(crypto.aead_tag(key, nonce, clear, sealed).hex(), "1ae10b594f09e26a7e902ecbd0600691")

    def test_x25519(self):  # RFC 7748, 5.2
        base, own, other = bytes([9]) + bytes(31), bytes(range(32)), bytes(range(32, 64))
        # Both sides get the same point.
        self.assertEqual(crypto.x25519(own, crypto.x25519(other, base)), crypto.x25519(other, crypto.x25519(own, base)))
        once = crypto.x25519(base, base)
        self.assertEqual(once.hex(), "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079")

    def test_hmac(self):  # RFC 4231, 4.2
        self.assertEqual(crypto.hmac(b"\x0b" * 20, b"Hi There").hex(),
                         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")


class Protocol(unittest.TestCase):
    def test_vectors(self):
        with open(VECTORS, encoding="utf-8") as file:
            written = json.load(file)
        self.assertEqual(written, {name: as_text(value) for name, value in vectors().items()})

    def test_opens_what_it_seals(self):
        values = vectors()
        packet = values["data_to_client"]
        self.assertEqual(crypto.opened_packet(values["packets_to_client"], 3, 2, packet), b"to the client")
        self.assertIsNone(crypto.opened_packet(values["packets_to_client"], 4, 2, packet))
        self.assertIsNone(crypto.opened_packet(values["packets_to_server"], 3, 2, packet))
        for i in range(1, len(packet)):
            changed = packet[:i] + bytes([packet[i] ^ 1]) + packet[i + 1:]
            self.assertIsNone(crypto.opened_packet(values["packets_to_client"], 3, 2, changed))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        with open(VECTORS, "w", encoding="utf-8") as out:
            json.dump({name: as_text(value) for name, value in vectors().items()}, out, indent=1)
            out.write("\n")
        sys.exit(0)
    unittest.main()
