# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Handshake": all its packets and their valid order."""

from bits import BitReader, PROTOCOL_VERSION

HELLO, CHALLENGE, ANSWER, ACCEPT, REFUSE, DATA, CLOSE = range(1, 8)
MAGIC = 0x31575650
PADDED_BYTES = 96
REFUSE_REASONS = (1, 2, 3, 4, 5, 7, 8)
CLOSE_REASONS = range(1, 7)
REASON_TEXT_BYTES_MAX = 120


def read_cookie(reader):
    return reader.u(32), reader.take(16)


class Handshakes:
    """Handshake packets in both directions, by address and nonce."""

    def __init__(self):
        self.hellos = set()  # (address, nonce)
        self.cookies = set()  # (address, nonce, cookie)
        self.answers = set()  # (address, nonce)
        self.accepted = {}  # (address, nonce): connection id
        self.refused = 0

    def received(self, datagram, address):
        """Returns (type, connection id, nonce) for a proven answer or a close, otherwise None."""
        reader = body_of(datagram)
        if datagram[0] == HELLO:
            if reader.u(32) != MAGIC:
                raise reader.wrong("a hello of another protocol")
            reader.u(16), reader.u(64)
            self.hellos.add((address, reader.u(64)))
            reader.finish(PADDED_BYTES)
            return None
        if datagram[0] == ANSWER:
            reader.u(64)
            nonce = reader.u(64)
            cookie = read_cookie(reader)
            connection = reader.u(64)
            reader.finish(PADDED_BYTES)
            if (address, nonce, cookie) not in self.cookies:
                return None
            self.answers.add((address, nonce))
            return ANSWER, connection, nonce
        if datagram[0] == CLOSE:
            return CLOSE, read_close(reader), None
        raise reader.wrong(f"a client sends type {datagram[0]}")

    def sent(self, datagram, address, nonces_of_sessions):
        """Returns (type, connection id, nonce) for an accept or a close, otherwise None."""
        reader = body_of(datagram)
        if datagram[0] == CHALLENGE:
            nonce = reader.u(64)
            self.cookies.add((address, nonce, read_cookie(reader)))
            reader.finish()
            if (address, nonce) not in self.hellos and nonce not in nonces_of_sessions:
                raise reader.wrong("a challenge without a hello")
            return None
        if datagram[0] == ACCEPT:
            nonce, connection = reader.u(64), reader.u(64)
            reader.finish()
            if (address, nonce) not in self.answers:
                raise reader.wrong("an accept without an answer")
            if connection == 0:
                raise reader.wrong("connection id 0")
            if self.accepted.setdefault((address, nonce), connection) != connection:
                raise reader.wrong("the same address and nonce have two connection ids")
            return ACCEPT, connection, nonce
        if datagram[0] == REFUSE:
            reader.u(64)
            if reader.u(8) not in REFUSE_REASONS or reader.u(16) != PROTOCOL_VERSION:
                raise reader.wrong("a refusal with an unknown reason or another version")
            reader.finish()
            self.refused += 1
            return None
        if datagram[0] == CLOSE:
            return CLOSE, read_close(reader), None
        raise reader.wrong(f"a server sends type {datagram[0]}")


def body_of(datagram):
    reader = BitReader(datagram)
    reader.at = 5 * 8
    return reader


def read_reason_text(reader):
    size = reader.u(8)
    if size > REASON_TEXT_BYTES_MAX:
        raise reader.wrong("a reason text of too many bytes")
    return reader.take(size)


def read_close(reader):
    connection = reader.u(64)
    if reader.u(8) not in CLOSE_REASONS:
        raise reader.wrong("a close with an unknown reason")
    read_reason_text(reader)
    reader.finish()
    return connection
